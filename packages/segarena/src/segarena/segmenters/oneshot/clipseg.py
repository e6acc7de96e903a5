"""CLIPSeg: a decoder on top of CLIP, prompted by an image of the object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from segarena.segmenters.drawing.prompt_pixel_marks import require_image
from segarena.segmenters.learned.network_segmenter import BatchingSegmenter
from segarena.segmenters.learned.promptable.image_preparation import BILINEAR, prepare_image
from segarena.segmenters.learned.promptable.tensor_serialization import (
    check_finite,
    pack_tensor,
    unpack_tensor,
)
from segarena.segmenters.oneshot.support_segmenter import Supports, SupportSegmenter, support_key

if TYPE_CHECKING:
    from segarena.pytorch import Tensor

ObjectView: TypeAlias = Literal["crop", "whole", "cut-out"]
_MEAN_COLOUR = np.array([0.485, 0.456, 0.406], np.float32) * 255
_BACKGROUND_INTENSITY = 0.1
_CONTEXT = 0.1
"""Margin around the object's box, as a share of the box."""

# Blur of 3 pixels in an image of 352 x 352 pixels, as in the authors' code.
_BLUR_PX = 3
_BLUR_SIDE = 352


@dataclass(frozen=True, slots=True, eq=False)
class ClipLayers:
    """Hidden layers of CLIP's image encoder for one image.

    Attributes:
        shape: (H, W) of the image.
        layers: inputs of the decoder, (n, 1, patches + 1, channels), first layer first.
    """

    shape: Shape
    layers: Tensor


@segmenter("clipseg")
@dataclass(kw_only=True, eq=False)
class ClipSegSegmenter(SupportSegmenter, BatchingSegmenter):
    """CLIPSeg with a support image as its prompt; the logits of several supports are averaged.

    A support becomes one vector: CLIP's output for an image with the object highlighted (see
    `highlight_object`). The encoding of the original support image is not used. The query image is
    resized to a square without keeping its aspect ratio, and logits are upsampled bilinearly to its
    size. If the mask of a support is empty, its whole image counts as background.

    Args:
        shown: method of highlighting the object.
        side_px: side of the square, a multiple of the patch size; 352 is the published value.
        threshold: threshold of the upsampled logits; pixels above it belong to the object.

    Source: Lüddecke and Ecker, Image Segmentation Using Text and Image Prompts, CVPR 2022.
    """

    shown: ObjectView = "crop"
    side_px: int = 352
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.threshold):
            raise PluginInvalid(
                f"threshold={self.threshold!r}: expected a finite logit, 0.0 for a probability of one half"
            )
        self.load("clipseg")
        patch_px = self.model.config.vision_config.patch_size
        if self.side_px < patch_px or self.side_px % patch_px:
            raise PluginInvalid(
                f"side_px={self.side_px}: expected a multiple of the patch size, {patch_px}"
            )
        self.batches = self.create_batch_runner(self.side_px)

    def encode(self, sample: Sample) -> ClipLayers:
        """Return the inputs of the decoder from one pass of CLIP's image encoder.

        Raises:
            SegmenterError: the sample is not an image, or does not fit into memory.
        """
        from segarena.pytorch import torch

        image = require_image(sample, "clipseg")
        hidden = self._clip_features(image, output_hidden_states=True).hidden_states
        # Hidden state 0 is the input of the first layer, so the outputs start at 1.
        layers = [hidden[index + 1] for index in self.model.extract_layers]
        return ClipLayers(image.shape[:2], torch.stack(layers).to(self.torch_dtype))

    def compiled_parts(self) -> Iterable[Any]:
        """Return CLIP's image encoder and the decoder, because CLIP as a whole is not called."""
        return self.model.clip.vision_model, self.model.decoder

    def pack(self, encoded: ClipLayers) -> dict[str, NDArray[Any]]:
        """Convert an encoding to arrays for the cache."""
        return {
            "shape": np.array(encoded.shape),
            "layers": pack_tensor(encoded.layers),
        }

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> ClipLayers:
        """Restore an encoding from the arrays of `pack`."""
        layers = unpack_tensor(arrays["layers"], self.torch_dtype, self.torch_device)
        return ClipLayers(tuple(int(length) for length in arrays["shape"]), layers)

    def _answer(
        self,
        encoded: ClipLayers,
        requests: Sequence[Supports],
        memory: Memory,
    ) -> list[Prediction]:
        # Each support is decoded once, even if several dialogues contain it.
        distinct = {support_key(support): support for support in chain(*requests)}
        decoded = self.batches.map(
            lambda batch: self._decode(encoded, batch), list(distinct.values())
        )
        logits = dict(zip(distinct, decoded, strict=True))
        predictions: list[Prediction] = []
        for supports in requests:
            own = [logits[support_key(support)] for support in supports]
            predictions.append(self._finish(own, encoded.shape))
        return predictions

    def _clip_features(self, image: NDArray[np.uint8], **how: Any) -> Any:
        """Return the output of CLIP's image encoder for an image."""
        size = (self.side_px, self.side_px)
        pixels = prepare_image(image, size, BILINEAR)
        pixels = pixels.to(self.torch_device, self.torch_dtype)
        with self.precision.encoding():
            return self.model.clip.get_image_features(pixels, **how)

    def _decode(self, encoded: ClipLayers, supports: Sequence[Support]) -> list[Tensor]:
        """Return the logits of the image for each support, float32 (side, side)."""
        from segarena.pytorch import torch

        highlighted: list[NDArray[np.uint8]] = []
        for support in supports:
            image = require_image(support.sample, "clipseg")
            highlighted.append(highlight_object(image, support.mask, self.shown, self.side_px))
        vectors = torch.cat([self._clip_features(picture).pooler_output for picture in highlighted])
        layers = [layer.expand(len(supports), -1, -1) for layer in encoded.layers]
        with self.precision.inference():
            return list(self.model.decoder(layers, vectors).logits.float())

    def _finish(self, logits: Sequence[Tensor], shape: Shape) -> Prediction:
        """Average the supports' logits and return the mask at full size."""
        from segarena.pytorch import functional, torch

        mean = torch.stack(list(logits)).mean(0)
        check_finite(mean, f"as {self.torch_dtype}")
        full = functional.interpolate(
            mean[None, None], tuple(shape), mode="bilinear", align_corners=False
        )
        mask = full[0, 0] > self.threshold
        return Prediction(mask=mask.cpu().numpy())


def highlight_object(
    image: NDArray[np.uint8],
    mask: Mask,
    shown: ObjectView,
    side_px: int = 352,
) -> NDArray[np.uint8]:
    """Return an image with the object highlighted, uint8 (height, width, 3).

    With an empty mask the whole image is background and is not cropped. Intensity is measured from
    the mean colour of ImageNet, which also fills the square of "crop".

    Args:
        image: uint8 (H, W, 3).
        mask: mask of the object.
        shown: "crop", the best method in the paper: the background is blurred, at a tenth of its
            intensity, and the image is cropped to the object's box with a margin of a tenth and
            centred in a square. "whole": the same without the crop. "cut-out": the whole image
            without its background.
        side_px: side of the square of "crop".

    Source: visual prompt engineering in the paper, and the modes "crop_blur_highlight352",
    "blur3_highlight01" and "overlay" of its code. The code first shrinks images to 352 x 352
    pixels, and enlarges the crop by nearest neighbours.
    """
    if shown == "cut-out":
        background = _MEAN_COLOUR
    else:
        background = _MEAN_COLOUR + _BACKGROUND_INTENSITY * (_blur(image) - _MEAN_COLOUR)
    combined = np.where(mask[:, :, None], image, background)
    highlighted = np.rint(combined).clip(0, 255).astype(np.uint8)
    if shown != "crop":
        return highlighted
    return _centre_in_square(highlighted[_context_window(mask)], side_px)


def _blur(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Blur an image by 3 pixels per 352 of its longer side; large images are shrunk first, which the blur hides."""
    height, width = image.shape[:2]
    scale = min(1.0, _BLUR_SIDE / max(height, width))
    small_width = max(1, round(width * scale))
    small_height = max(1, round(height * scale))
    small = cv2.resize(
        image.astype(np.float32), (small_width, small_height), interpolation=cv2.INTER_AREA
    )
    sigma = _BLUR_PX / _BLUR_SIDE * max(small_width, small_height)
    blurred = cv2.GaussianBlur(small, (0, 0), sigma)
    full = cv2.resize(blurred, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(full, np.float32).reshape(image.shape)


def _context_window(mask: Mask) -> tuple[slice, slice]:
    if not mask.any():
        return slice(None), slice(None)
    rows, columns = bounding_window(mask)
    return _with_margin(rows, mask.shape[0]), _with_margin(columns, mask.shape[1])


def _with_margin(extent: slice, length: int) -> slice:
    """Extend a range by a margin on both sides, clipped to the image."""
    margin = _CONTEXT * (extent.stop - extent.start)
    first = int(extent.start - margin)
    stop = int(extent.stop + margin)
    return slice(max(0, first), min(length, stop))


def _centre_in_square(picture: NDArray[np.uint8], side_px: int) -> NDArray[np.uint8]:
    """Resize an image to fit a square, and centre it there on the mean colour."""
    longest = max(picture.shape[:2])
    scale = side_px / longest
    height = max(1, round(picture.shape[0] * scale))
    width = max(1, round(picture.shape[1] * scale))
    resized = Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR)
    square = np.empty((side_px, side_px, 3), np.uint8)
    # The mean colour is near 0 after normalization.
    square[:] = np.rint(_MEAN_COLOUR)
    top = (side_px - height) // 2
    left = (side_px - width) // 2
    square[top : top + height, left : left + width] = np.asarray(resized)
    return square
