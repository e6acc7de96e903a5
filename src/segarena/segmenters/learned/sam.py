"""The SAM family: networks that answer clicks, boxes and masks, with weights that somebody brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.registry import segmenter
from segarena.samples import Sample
from segarena.segmenters.drawing.marks import image_of


class SamFamily:
    """What all of the family have in common; every option is explained in docs/segmenters.md.

    Args:
        weights: a folder, a name on the hub or the authors' own file (see `segarena.segmenters.weights.loading`).
        device: "auto", "cpu", "cuda" or "cuda:1".
        dtype: "float32", "bfloat16" or "float16".
        batch_size: dialogues decoded at once on a GPU; "auto" asks for its free memory. The CPU does one by one.
        mask_choice: of several masks the "best-iou" by the network's own estimate, or the "first", "second", "third".
        multimask: when the network gives several masks: at a "first-click" alone, "always" or "never".
        after_negative: "keep" the previous logits, or the "published-reset" of the RClicks code.
        threshold: of the upsampled logits; a pixel above it is in.
        allow_download: whether a name on the hub may be fetched.

    Raises:
        PluginInvalid: an option that does not exist, or a device that is not there.
        InvalidInput: the weights cannot be used.
        MissingExtra: torch or transformers is not installed.
    """

    prompt_kinds = frozenset({"click", "box", "mask"})
    family: ClassVar[str]

    def __init__(
        self,
        *,
        weights: str,
        device: str = "auto",
        dtype: str = "float32",
        batch_size: int | str = "auto",
        mask_choice: str = "best-iou",
        multimask: str = "first-click",
        after_negative: str = "keep",
        threshold: float = 0.0,
        allow_download: bool = False,
    ) -> None:
        # torch is an extra, and every listing of plug-ins imports this file.
        from segarena.segmenters.learned.promptable import devices
        from segarena.segmenters.learned.promptable.network import PromptedNetwork
        from segarena.segmenters.learned.promptable.prompting import Habits
        from segarena.segmenters.weights.loading import load_model

        habits = Habits(
            mask_choice=mask_choice, multimask=multimask, after_negative=after_negative, threshold=threshold
        )
        place, numbers = devices.choose_device(device), devices.choose_dtype(dtype)
        devices.check_batch_size(batch_size)
        self.device = str(place)
        load: Any = load_model  # what it returns has a configuration; torch's base class of modules has none
        model = load(weights, family=self.family, device=self.device, dtype=dtype, allow_download=allow_download)
        side_px = int(model.config.prompt_encoder_config.image_size)
        size = devices.choose_batch_size(batch_size, place, side_px=side_px, bytes_per_number=numbers.itemsize)
        self.network = PromptedNetwork(model, self.family, habits, devices.Batches(size))

    @property
    def fingerprint(self) -> str:
        """A hash of all weights."""
        return self.network.fingerprint

    def encode(self, sample: Sample) -> Any:
        """Return the embeddings of the sample's image: the one pass of the encoder.

        Raises:
            SegmenterError: the sample is not an image, or does not fit into memory.
        """
        return self.network.encode(image_of(sample, self.family))

    def pack(self, encoded: Any) -> dict[str, NDArray[Any]]:
        """Return embeddings as arrays, so that other runs can have them."""
        return self.network.pack(encoded)

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the embeddings that `pack` was given."""
        return self.network.unpack(arrays)

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue from all its clicks, its newest box, and the previous logits or its newest mask.

        Raises:
            SegmenterError: no prompt in this round, or one of another kind.
            InvalidPrompt: a prompt outside of the image.
            PredictionInvalid: the network gave NaN or infinity.
        """
        return self.network.predict(encoded, dialogues)


@segmenter("sam")
class SamSegmenter(SamFamily):
    """SAM, and networks of its shape such as MedSAM.

    Source: Kirillov et al., Segment Anything, ICCV 2023. The image keeps its ratio and is padded. Boxes are given by
    their first and last pixels, as SAM's own code makes them of masks.
    """

    family = "sam"


@segmenter("sam-hq")
class SamHqSegmenter(SamFamily):
    """SAM-HQ: SAM with one more output token, and features of an early layer in its masks.

    Source: Ke et al., Segment Anything in High Quality, NeurIPS 2023. Prepared like SAM; every mask is the sum of
    SAM's and the new token's.
    """

    family = "sam-hq"


@segmenter("sam2")
class Sam2Segmenter(SamFamily):
    """SAM 2 and SAM 2.1 on images.

    Source: Ravi et al., SAM 2: Segment Anything in Images and Videos, ICLR 2025. The image fills a square whatever its
    ratio; previous logits are handed back within plus and minus 32, as in the authors' code.
    """

    family = "sam2"


@segmenter("edgetam")
class EdgeTamSegmenter(SamFamily):
    """EdgeTAM on images: SAM 2 with a small backbone. The library needs the package timm for that backbone.

    Source: Zhou et al., EdgeTAM: On-Device Track Anything Model, CVPR 2025. Prepared like SAM 2.
    """

    family = "edgetam"


@segmenter("sam3-tracker")
class Sam3TrackerSegmenter(SamFamily):
    """The part of SAM 3 that answers clicks and boxes, on images.

    Source: Carion et al., SAM 3: Segment Anything with Concepts, 2025. Prepared like SAM 2, in a square of 1008 pixels
    and with other colour statistics.
    """

    family = "sam3-tracker"
