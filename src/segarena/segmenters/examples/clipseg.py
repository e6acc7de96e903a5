"""CLIPSeg: a decoder on CLIP that is told what to look for by a picture of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.arrays.boxes import bounding_window
from segarena.comparison import Memory
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid, PredictionInvalid
from segarena.registry import segmenter
from segarena.samples import Mask, Sample, Shape, Support
from segarena.segmenters.drawing.marks import image_of
from segarena.segmenters.examples.support.examples import PROMPT_KINDS, identity, supports_of

if TYPE_CHECKING:
    from segarena.pytorch import Tensor

SHOWN = ("crop", "whole", "cut-out")
_MEAN_COLOUR = np.array([0.485, 0.456, 0.406], np.float32) * 255
_INTENSITY = 0.1
_CONTEXT = 0.1
_BLUR_PX, _BLUR_SIDE = 3, 352


@dataclass(frozen=True, slots=True, eq=False)
class EncodedImage:
    """What CLIP's image encoder made of an image.

    Attributes:
        shape: (H, W) of the image.
        layers: what the decoder reads, (n, 1, patches + 1, channels), from the first layer to the last.
    """

    shape: Shape
    layers: Tensor


@segmenter("clipseg")
class ClipSegSegmenter:
    """CLIPSeg with a support image as its prompt; the logits of several supports are averaged.

    A support is one vector, CLIP's of a picture in which the object stands out (see `show_object`). The image fills a
    square whatever its ratio; logits are upsampled bilinearly to the image. What was encoded of a support image is not
    used, since CLIP must see that picture instead. An empty mask makes all of it background.

    Args:
        weights: a folder or a name on the hub (see `segarena.segmenters.weights.loading`).
        shown: how the object is shown: "crop", "whole" or "cut-out".
        side_px: of the square, a multiple of the patch size; 352 is the published one.
        device: "auto", "cpu", "cuda" or "cuda:1".
        dtype: "float32", "bfloat16" or "float16".
        batch_size: supports answered at once on a GPU; "auto" asks for its free memory. The CPU does one by one.
        threshold: of the upsampled logits; a pixel above it is in.
        allow_download: whether a name on the hub may be fetched.

    Raises:
        PluginInvalid: an option that does not exist, or a device that is not there.
        InvalidInput: the weights cannot be used.
        MissingExtra: torch or transformers is not installed.

    Source: Lüddecke and Ecker, Image Segmentation Using Text and Image Prompts, CVPR 2022.
    """

    prompt_kinds = PROMPT_KINDS

    def __init__(
        self,
        *,
        weights: str,
        shown: str = "crop",
        side_px: int = 352,
        device: str = "auto",
        dtype: str = "float32",
        batch_size: int | str = "auto",
        threshold: float = 0.0,
        allow_download: bool = False,
    ) -> None:
        # torch is an extra, and every listing of plug-ins imports this file.
        from segarena.segmenters.learned.promptable import devices
        from segarena.segmenters.weights.loading import load_model

        if shown not in SHOWN:
            raise PluginInvalid(f"shown={shown!r}: expected one of {', '.join(map(repr, SHOWN))}")
        if not np.isfinite(threshold):
            raise PluginInvalid(f"threshold={threshold!r}: expected a finite logit, 0.0 for one half")
        self.place, self.numbers = devices.choose_device(device), devices.choose_dtype(dtype)
        devices.check_batch_size(batch_size)
        self.device = str(self.place)
        self.model: Any = load_model(
            weights, family="clipseg", device=self.device, dtype=dtype, allow_download=allow_download
        )
        patch_px = self.model.config.vision_config.patch_size
        if side_px < patch_px or side_px % patch_px:
            raise PluginInvalid(f"side_px={side_px}: expected a multiple of the patch size, {patch_px}")
        self.shown, self.side_px, self.threshold = shown, side_px, threshold
        size = devices.choose_batch_size(
            batch_size, self.place, side_px=side_px, bytes_per_number=self.numbers.itemsize
        )
        self.batches = devices.Batches(size)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all weights and of the configuration."""
        from segarena.segmenters.learned.promptable import tensors

        return tensors.fingerprint(self.model)

    def encode(self, sample: Sample) -> EncodedImage:
        """Return what the decoder reads of the image: one pass of CLIP's image encoder.

        Raises:
            SegmenterError: the sample is not an image, or does not fit into memory.
        """
        from segarena.pytorch import torch

        image = image_of(sample, "clipseg")
        hidden = self._look(image, output_hidden_states=True).hidden_states
        return EncodedImage(image.shape[:2], torch.stack([hidden[index + 1] for index in self.model.extract_layers]))

    def pack(self, encoded: EncodedImage) -> dict[str, NDArray[Any]]:
        """Return an encoding as arrays, so that other runs can have it."""
        from segarena.segmenters.learned.promptable import tensors

        return {"shape": np.array(encoded.shape), "layers": tensors.pack(encoded.layers)}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> EncodedImage:
        """Return the encoding that `pack` was given."""
        from segarena.segmenters.learned.promptable import tensors

        layers = tensors.unpack(arrays["layers"], self.numbers, self.place)
        return EncodedImage(tuple(int(length) for length in arrays["shape"]), layers)

    def predict(self, encoded: EncodedImage, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue from all its supports, each of which is looked at once.

        Raises:
            SegmenterError, InvalidPrompt, InvalidMask: see `supports_of`; out of memory.
            PredictionInvalid: the network gave NaN or infinity.
        """
        asked = [supports_of(dialogue) for dialogue in dialogues]
        distinct = {identity(support): support for supports in asked for support in supports}
        answers = self.batches.map(lambda batch: self._decode(encoded, batch), list(distinct.values()))
        logits = dict(zip(distinct, answers, strict=True))
        memory = Memory()
        return [
            memory.remember(keys, lambda keys=keys: self._finish([logits[key] for key in keys], encoded.shape))
            for keys in (tuple(map(identity, supports)) for supports in asked)
        ]

    def _look(self, image: NDArray[np.uint8], **how: Any) -> Any:
        """Return what CLIP's image encoder says of an image."""
        from segarena.pytorch import torch
        from segarena.segmenters.learned.promptable.devices import out_of_memory
        from segarena.segmenters.learned.promptable.preparation import BILINEAR, prepare

        pixels = prepare(image, (self.side_px, self.side_px), BILINEAR).to(self.place, self.numbers)
        try:
            with torch.inference_mode():
                return self.model.clip.get_image_features(pixels, **how)
        except torch.OutOfMemoryError as error:
            raise out_of_memory("encoding one image", error) from error

    def _decode(self, encoded: EncodedImage, supports: Sequence[Support]) -> list[Tensor]:
        """Return the logits of one image for each support, float32 (side, side)."""
        from segarena.pytorch import torch

        pictures = [
            show_object(image_of(support.sample, "clipseg"), support.mask, self.shown, self.side_px)
            for support in supports
        ]
        vectors = torch.cat([self._look(picture).pooler_output for picture in pictures])
        layers = [layer.expand(len(supports), -1, -1) for layer in encoded.layers]
        with torch.inference_mode():
            return list(self.model.decoder(layers, vectors).logits.float())

    def _finish(self, logits: Sequence[Tensor], shape: Shape) -> Prediction:
        from segarena.pytorch import functional, torch

        mean = torch.stack(list(logits)).mean(0)
        if not bool(torch.isfinite(mean).all()):
            raise PredictionInvalid(
                f"the network gave NaN or infinity as {self.numbers}; take dtype='float32' or other weights"
            )
        full = functional.interpolate(mean[None, None], tuple(shape), mode="bilinear", align_corners=False)[0, 0]
        return Prediction(mask=(full > self.threshold).cpu().numpy())


def show_object(image: NDArray[np.uint8], mask: Mask, shown: str, side_px: int = 352) -> NDArray[np.uint8]:
    """Return a picture in which the object stands out, uint8 (height, width, 3).

    "crop", the best of the paper: the background blurred and at a tenth of its intensity, cut to the object's box and
    a tenth more on every side, in the middle of a square. "whole": the same without the cut. "cut-out": the whole
    image, of the background nothing. An empty mask makes all of it background, and nothing is cut. Intensity is
    distance from the mean colour of ImageNet, which also fills the square.

    Args:
        image: uint8 (H, W, 3), RGB.
        mask: bool (H, W).
        shown: one of `SHOWN`.
        side_px: of the square of "crop".

    Source: the paper's visual prompt engineering, and the modes "crop_blur_highlight352", "blur3_highlight01" and
    "overlay" of its code. There images are first shrunk to 352 x 352 pixels, and the cut is enlarged by its nearest
    pixels.
    """
    background = _MEAN_COLOUR if shown == "cut-out" else _MEAN_COLOUR + _INTENSITY * (_blurred(image) - _MEAN_COLOUR)
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
        slice(max(0, int(s.start - _CONTEXT * (s.stop - s.start))), min(n, int(s.stop + _CONTEXT * (s.stop - s.start))))
        for s, n in zip(bounding_window(mask), mask.shape, strict=True)
    )
    return rows, columns


def _in_square(picture: NDArray[np.uint8], side_px: int) -> NDArray[np.uint8]:
    """Return the picture, its longer side as long as the square, in the middle of a square of the mean colour."""
    scale = side_px / max(picture.shape[:2])
    height, width = (max(1, round(length * scale)) for length in picture.shape[:2])
    square = np.empty((side_px, side_px, 3), np.uint8)
    square[:] = np.rint(_MEAN_COLOUR)
    top, left = (side_px - height) // 2, (side_px - width) // 2
    resized = Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR)
    square[top : top + height, left : left + width] = np.asarray(resized)
    return square
