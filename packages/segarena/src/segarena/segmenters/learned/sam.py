"""The SAM family: networks for clicks, boxes and masks, whose weights you provide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid
from segarena.registry import segmenter
from segarena.samples import Sample
from segarena.segmenters.drawing.prompt_pixel_marks import require_image
from segarena.segmenters.learned.network_segmenter import BatchingSegmenter
from segarena.segmenters.learned.promptable.inference_options import ImageOptions


@dataclass(kw_only=True, eq=False)
class SamNetworkSegmenter(BatchingSegmenter):
    """Base class of segmenters with a SAM network; subclasses load it and set `network`.

    Args:
        image_batch: number of images that the encoder takes in one pass, if the next images are
            loaded ahead; None is 1. Above 1, the last digits of an encoding may depend on the images
            that shared its pass.
    """

    image_batch: int | None = None

    name: ClassVar[str]
    network: Any = field(init=False, repr=False)

    def encode(self, sample: Sample) -> Any:
        """Return the embeddings of the sample's image; `predict` reuses them and never runs the encoder.

        Raises:
            SegmenterError: the sample is not an image, or does not fit into memory.
        """
        return self.network.encode(require_image(sample, self.name))

    def encode_batch(self, samples: Sequence[Sample]) -> list[Any]:
        """Return the embeddings of several images from one pass of the encoder.

        Raises:
            SegmenterError: a sample is not an image, or they do not fit into memory.
        """
        return self.network.encode_batch([require_image(each, self.name) for each in samples])

    def load(self, family: str) -> None:
        """Check the number of images in a pass, then load the model."""
        if self.image_batch is not None and self.image_batch < 1:
            raise PluginInvalid(
                f"image_batch={self.image_batch!r}: expected a whole number of at least 1"
            )
        super().load(family)

    def pack(self, encoded: Any) -> dict[str, NDArray[Any]]:
        """Convert embeddings to arrays for the cache."""
        return self.network.pack(encoded)

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Restore embeddings from the arrays of `pack`."""
        return self.network.unpack(arrays)

    def create_sam_batch_runner(self) -> Any:
        """Return the batch runner for the loaded network."""
        side_px = int(self.model.config.prompt_encoder_config.image_size)
        return self.create_batch_runner(side_px)


@dataclass(kw_only=True, eq=False)
class SamFamilySegmenter(ImageOptions, SamNetworkSegmenter):
    """Base class of the SAM family; docs/segmenters.md explains all options."""

    prompt_kinds = frozenset({"click", "box", "mask"})

    def __post_init__(self) -> None:
        from segarena.segmenters.learned.promptable.sam_network import SamNetwork

        super().__post_init__()
        self.load(self.name)
        batches = self.create_sam_batch_runner()
        self.network = SamNetwork(self.model, self.name, self, batches, self.precision)

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Predict each dialogue from all clicks, the newest box, and the previous logits or newest mask.

        Raises:
            SegmenterError: this round has no prompt, or a prompt of an unsupported kind.
            InvalidPrompt: a prompt is outside the image.
            PredictionInvalid: the network returned NaN or infinity.
        """
        return self.network.predict(encoded, dialogues)


@segmenter("sam")
class SamSegmenter(SamFamilySegmenter):
    """SAM, and networks of the same architecture such as MedSAM.

    The image keeps its aspect ratio and is padded. A box is given by its first and last pixel, as
    in SAM's own code that derives boxes from masks.

    Source: Kirillov et al., Segment Anything, ICCV 2023.
    """

    name = "sam"


@segmenter("sam-hq")
class SamHqSegmenter(SamFamilySegmenter):
    """SAM-HQ: SAM with an additional output token and features of an early layer, for finer masks.

    The image is prepared as for SAM; each mask is the sum of SAM's mask and the additional token's
    mask.

    Source: Ke et al., Segment Anything in High Quality, NeurIPS 2023.
    """

    name = "sam-hq"


@segmenter("sam2")
class Sam2Segmenter(SamFamilySegmenter):
    """SAM 2 and SAM 2.1 on images.

    The image is resized to a square without keeping its aspect ratio. Previous logits are clipped
    to -32..32, as in the authors' code.

    Source: Ravi et al., SAM 2: Segment Anything in Images and Videos, ICLR 2025.
    """

    name = "sam2"


@segmenter("edgetam")
class EdgeTamSegmenter(SamFamilySegmenter):
    """EdgeTAM on images: SAM 2 with a small backbone, which requires the package timm.

    The image is prepared as for SAM 2.

    Source: Zhou et al., EdgeTAM: On-Device Track Anything Model, CVPR 2025.
    """

    name = "edgetam"


@segmenter("sam3-tracker")
class Sam3TrackerSegmenter(SamFamilySegmenter):
    """The part of SAM 3 for clicks, boxes and masks, on images.

    The image is prepared as for SAM 2, but in a square of 1008 pixels and with other colour
    statistics.

    Source: Carion et al., SAM 3: Segment Anything with Concepts, 2025.
    """

    name = "sam3-tracker"
