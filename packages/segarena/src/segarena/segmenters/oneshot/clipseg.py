"""CLIPSeg: a decoder on CLIP that is told what to look for by a picture of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.arrays.boxes import bounding_window
from segarena.comparison import Memory
from segarena.dialogue import Prediction
from segarena.errors import PluginInvalid
from segarena.registry import segmenter
from segarena.samples import Mask, Sample, Shape, Support
from segarena.segmenters.drawing.marks import require_image
from segarena.segmenters.learned.network_segmenter import BatchingSegmenter
from segarena.segmenters.oneshot.support_segmenter import Supports, SupportSegmenter, support_key

if TYPE_CHECKING:
    from segarena.pytorch import Tensor

Shown: TypeAlias = Literal["crop", "whole", "cut-out"]
_MEAN_COLOUR = np.array([0.485, 0.456, 0.406], np.float32) * 255
_INTENSITY = 0.1
_CONTEXT = 0.1
_BLUR_PX = 3
_BLUR_SIDE = 352


@dataclass(frozen=True, slots=True, eq=False)
class ClipLayers:
    """What CLIP's image encoder made of an image.

    Attributes:
        shape: (H, W) of the image.
        layers: what the decoder reads, (n, 1, patches + 1, channels), from the first layer to the last.
    """

    shape: Shape
    layers: Tensor


@segmenter("clipseg")
@dataclass(kw_only=True, eq=False)
class ClipSegSegmenter(SupportSegmenter, BatchingSegmenter):
    """CLIPSeg with a support image as its prompt; the logits of several supports are averaged.

    A support is one vector, CLIP's of a picture in which the object stands out (see `show_object`). The image fills a
    square whatever its ratio; logits are upsampled bilinearly to the image. What was encoded of a support image is not
    used, since CLIP must see that picture instead. An empty mask makes all of it background.

    Args:
        shown: how the object is shown.
        side_px: of the square, a multiple of the patch size; 352 is the published one.
        threshold: of the upsampled logits; a pixel above it is in.

    Source: Lüddecke and Ecker, Image Segmentation Using Text and Image Prompts, CVPR 2022.
    """

    shown: Shown = "crop"
    side_px: int = 352
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.threshold):
            raise PluginInvalid(
                f"threshold={self.threshold!r}: expected a finite logit, 0.0 for one half"
            )
        self.load("clipseg")
        patch_px = self.model.config.vision_config.patch_size
        if self.side_px < patch_px or self.side_px % patch_px:
            raise PluginInvalid(
                f"side_px={self.side_px}: expected a multiple of the patch size, {patch_px}"
            )
        self.batches = self.choose_batches(self.side_px)

    def encode(self, sample: Sample) -> ClipLayers:
        """Return what the decoder reads of the image: one pass of CLIP's image encoder.

        Raises:
            SegmenterError: the sample is not an image, or does not fit into memory.
        """
        from segarena.pytorch import torch

        image = require_image(sample, "clipseg")
        hidden = self._look(image, output_hidden_states=True).hidden_states
        return ClipLayers(
            image.shape[:2], torch.stack([hidden[index + 1] for index in self.model.extract_layers])
        )

    def pack(self, encoded: ClipLayers) -> dict[str, NDArray[Any]]:
        """Return an encoding as arrays, so that other runs can have it."""
        from segarena.segmenters.learned.promptable import tensor_serialization

        return {
            "shape": np.array(encoded.shape),
            "layers": tensor_serialization.pack_tensor(encoded.layers),
        }

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> ClipLayers:
        """Return the encoding that `pack` was given."""
        from segarena.segmenters.learned.promptable import tensor_serialization

        layers = tensor_serialization.unpack_tensor(arrays["layers"], self.numbers, self.place)
        return ClipLayers(tuple(int(length) for length in arrays["shape"]), layers)

    def _answer(
        self, encoded: ClipLayers, asked: Sequence[Supports], memory: Memory
    ) -> list[Prediction]:
        # Each support is looked at once, however many dialogues hold it.
        distinct = {support_key(support): support for support in chain(*asked)}
        decoded = self.batches.map(
            lambda batch: self._decode(encoded, batch), list(distinct.values())
        )
        logits = dict(zip(distinct, decoded, strict=True))
        own = [[logits[support_key(support)] for support in supports] for supports in asked]
        return [self._finish(each, encoded.shape) for each in own]

    def _look(self, image: NDArray[np.uint8], **how: Any) -> Any:
        """Return what CLIP's image encoder says of an image."""
        from segarena.segmenters.learned.promptable.devices import encoding_context
        from segarena.segmenters.learned.promptable.image_preparation import BILINEAR, prepare_image

        pixels = prepare_image(image, (self.side_px, self.side_px), BILINEAR).to(
            self.place, self.numbers
        )
        with encoding_context():
            return self.model.clip.get_image_features(pixels, **how)

    def _decode(self, encoded: ClipLayers, supports: Sequence[Support]) -> list[Tensor]:
        """Return the logits of one image for each support, float32 (side, side)."""
        from segarena.pytorch import torch

        pictures = [
            highlight_object(
                require_image(support.sample, "clipseg"), support.mask, self.shown, self.side_px
            )
            for support in supports
        ]
        vectors = torch.cat([self._look(picture).pooler_output for picture in pictures])
        layers = [layer.expand(len(supports), -1, -1) for layer in encoded.layers]
        with torch.inference_mode():
            return list(self.model.decoder(layers, vectors).logits.float())

    def _finish(self, logits: Sequence[Tensor], shape: Shape) -> Prediction:
        from segarena.pytorch import functional, torch
        from segarena.segmenters.learned.promptable.tensor_serialization import check_finite

        mean = torch.stack(list(logits)).mean(0)
        check_finite(mean, f"as {self.numbers}")
        full = functional.interpolate(
            mean[None, None], tuple(shape), mode="bilinear", align_corners=False
        )[0, 0]
        return Prediction(mask=(full > self.threshold).cpu().numpy())


def highlight_object(
    image: NDArray[np.uint8], mask: Mask, shown: Shown, side_px: int = 352
) -> NDArray[np.uint8]:
    """Return a picture in which the object stands out, uint8 (height, width, 3).

    "crop", the best of the paper: the background blurred and at a tenth of its intensity, cut to the object's box and
    a tenth more on every side, in the middle of a square. "whole": the same without the cut. "cut-out": the whole
    image, of the background nothing. An empty mask makes all of it background, and nothing is cut. Intensity is
    distance from the mean colour of ImageNet, which also fills the square of "crop", `side_px` wide.

    Source: the paper's visual prompt engineering, and the modes "crop_blur_highlight352", "blur3_highlight01" and
    "overlay" of its code. There images are first shrunk to 352 x 352 pixels, and the cut is enlarged by its nearest
    pixels.
    """
    if shown == "cut-out":
        background = _MEAN_COLOUR
    else:
        background = _MEAN_COLOUR + _INTENSITY * (_blurred(image) - _MEAN_COLOUR)
    picture = np.rint(np.where(mask[:, :, None], image, background)).clip(0, 255).astype(np.uint8)
    return _in_square(picture[_with_context(mask)], side_px) if shown == "crop" else picture


def _blurred(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the image blurred by 3 pixels in 352; larger ones are shrunk to that first, as the blur hides it."""
    height, width = image.shape[:2]
    scale = min(1.0, _BLUR_SIDE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(image.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    blurred = cv2.GaussianBlur(small, (0, 0), _BLUR_PX / _BLUR_SIDE * max(size))
    full = cv2.resize(blurred, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(full, np.float32).reshape(image.shape)


def _with_context(mask: Mask) -> tuple[slice, slice]:
    if not mask.any():
        return slice(None), slice(None)
    rows, columns = (
        slice(
            max(0, int(s.start - _CONTEXT * (s.stop - s.start))),
            min(n, int(s.stop + _CONTEXT * (s.stop - s.start))),
        )
        for s, n in zip(bounding_window(mask), mask.shape, strict=True)
    )
    return rows, columns


def _in_square(picture: NDArray[np.uint8], side_px: int) -> NDArray[np.uint8]:
    """Return the picture, its longer side as long as the square, in the middle of a square of the mean colour."""
    scale = side_px / max(picture.shape[:2])
    height, width = (max(1, round(length * scale)) for length in picture.shape[:2])
    square = np.empty((side_px, side_px, 3), np.uint8)
    square[:] = np.rint(_MEAN_COLOUR)
    top = (side_px - height) // 2
    left = (side_px - width) // 2
    resized = Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR)
    square[top : top + height, left : left + width] = np.asarray(resized)
    return square
