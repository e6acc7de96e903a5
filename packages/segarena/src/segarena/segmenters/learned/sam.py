"""The SAM family: networks that answer clicks, boxes and masks, with weights that somebody brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.registry import segmenter
from segarena.samples import Sample
from segarena.segmenters.drawing.marks import require_image
from segarena.segmenters.learned.network_segmenter import BatchingSegmenter
from segarena.segmenters.learned.promptable.inference_options import ImageOptions


@dataclass(kw_only=True, eq=False)
class SamNetworkSegmenter(BatchingSegmenter):
    """A segmenter that stands on a network of the SAM family: subclasses load one and set `network`."""

    name: ClassVar[str]
    network: Any = field(init=False, repr=False)

    def encode(self, sample: Sample) -> Any:
        """Return the embeddings of the sample's image: the one pass of the encoder.

        Raises:
            SegmenterError: the sample is not an image, or does not fit into memory.
        """
        return self.network.encode(require_image(sample, self.name))

    def pack(self, encoded: Any) -> dict[str, NDArray[Any]]:
        """Return embeddings as arrays, so that other runs can have them."""
        return self.network.pack(encoded)

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the embeddings that `pack` was given."""
        return self.network.unpack(arrays)

    def sam_batches(self) -> Any:
        """Return how many dialogues the loaded network decodes at once."""
        return self.choose_batches(int(self.model.config.prompt_encoder_config.image_size))


@dataclass(kw_only=True, eq=False)
class SamFamilySegmenter(ImageOptions, SamNetworkSegmenter):
    """What all of the family have in common; every option is explained in docs/segmenters.md."""

    prompt_kinds = frozenset({"click", "box", "mask"})

    def __post_init__(self) -> None:
        from segarena.segmenters.learned.promptable.sam_network import SamNetwork

        super().__post_init__()
        self.load(self.name)
        self.network = SamNetwork(self.model, self.name, self, self.sam_batches())

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue from all its clicks, its newest box, and the previous logits or its newest mask.

        Raises:
            SegmenterError: no prompt in this round, or one of another kind.
            InvalidPrompt: a prompt outside of the image.
            PredictionInvalid: the network gave NaN or infinity.
        """
        return self.network.predict(encoded, dialogues)


@segmenter("sam")
class SamSegmenter(SamFamilySegmenter):
    """SAM, and networks of its shape such as MedSAM.

    Source: Kirillov et al., Segment Anything, ICCV 2023. The image keeps its ratio and is padded. Boxes are given by
    their first and last pixels, as SAM's own code makes them of masks.
    """

    name = "sam"


@segmenter("sam-hq")
class SamHqSegmenter(SamFamilySegmenter):
    """SAM-HQ: SAM with one more output token, and features of an early layer in its masks.

    Source: Ke et al., Segment Anything in High Quality, NeurIPS 2023. Prepared like SAM; every mask is the sum of
    SAM's and the new token's.
    """

    name = "sam-hq"


@segmenter("sam2")
class Sam2Segmenter(SamFamilySegmenter):
    """SAM 2 and SAM 2.1 on images.

    Source: Ravi et al., SAM 2: Segment Anything in Images and Videos, ICLR 2025. The image fills a square whatever its
    ratio; previous logits are handed back within plus and minus 32, as in the authors' code.
    """

    name = "sam2"


@segmenter("edgetam")
class EdgeTamSegmenter(SamFamilySegmenter):
    """EdgeTAM on images: SAM 2 with a small backbone. The library needs the package timm for that backbone.

    Source: Zhou et al., EdgeTAM: On-Device Track Anything Model, CVPR 2025. Prepared like SAM 2.
    """

    name = "edgetam"


@segmenter("sam3-tracker")
class Sam3TrackerSegmenter(SamFamilySegmenter):
    """The part of SAM 3 that answers clicks and boxes, on images.

    Source: Carion et al., SAM 3: Segment Anything with Concepts, 2025. Prepared like SAM 2, in a square of 1008 pixels
    and with other colour statistics.
    """

    name = "sam3-tracker"
