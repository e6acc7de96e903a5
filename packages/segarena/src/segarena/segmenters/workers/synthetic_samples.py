"""Small synthetic samples and prompts of every kind, for checks of a worker."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Prompt, Scribble
from segarena.samples import ImageSample, Sample, Support, VideoSample, VolumeSample

SHAPES: dict[str, tuple[int, ...]] = {
    "image": (60, 80),
    "volume": (6, 30, 40),
    "video": (4, 30, 40),
}
ODD_SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "image": ((1, 1), (3, 200), (201, 5)),
    "volume": ((1, 1, 1), (2, 3, 90)),
    "video": ((1, 3, 90),),
}


def synthetic_sample(
    kind: str,
    shape: Sequence[int],
    seed: int,
) -> Sample:
    """Return a sample of noise that contains a bright box."""
    if kind == "image":
        return _noise_image(shape, seed)
    pixels = _noise_pixels(shape, seed)
    name = f"{kind} {seed}"
    if kind == "volume":
        # Like CT, in Hounsfield units from -1000 (air) upwards.
        voxels = pixels[..., 0].astype(np.int16) * 8 - 1000
        return VolumeSample(id=name, voxels=voxels, spacing_mm=(3.0, 1.0, 1.0))
    return VideoSample(id=name, frames=list(pixels), frame_shape=(int(shape[1]), int(shape[2])))


def synthetic_prompts(
    kind: str,
    shape: tuple[int, ...],
    number: int,
) -> Prompt:
    """Return a prompt of this kind on a sample of this shape; rounds count from 0.

    Clicks, scribbles and lassos of the second round are negative.
    """
    is_positive = number != 1
    window = _box(shape, number)
    start = tuple(int(side.start) for side in window)
    stop = tuple(int(side.stop) for side in window)
    match kind:
        case "click":
            share = 0.5 if number == 0 else 0.2 * number
            return Click(tuple(int((side - 1) * share) for side in shape), is_positive)
        case "box":
            return Box(start, stop)
        case "limits":
            return Limits(0, shape[0] - 1)
        case "scribble":
            return Scribble(_corner_points(start, stop), is_positive)
        case "lasso":
            return Lasso(_corner_points(start, stop), is_positive)
        case "mask":
            return MaskPrompt(_box_mask(shape, number))
        case "support":
            image = _noise_image(SHAPES["image"], 10 + number)
            return Support(image, _box_mask(SHAPES["image"], number))
        case _:
            raise KeyError(kind)


def _corner_points(start: tuple[int, ...], stop: tuple[int, ...]) -> tuple[tuple[float, ...], ...]:
    """Return three corners of a box along the last two axes."""
    top = float(start[-2])
    left = float(start[-1])
    bottom = float(stop[-2] - 1)
    right = float(stop[-1] - 1)
    # In a volume or video, the corners are in the first slice or frame of the box.
    first = tuple(float(index) for index in start[:-2])
    return (
        (*first, top, left),
        (*first, top, right),
        (*first, bottom, right),
    )


def _noise_pixels(shape: Sequence[int], seed: int) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    # Noise below 136 keeps the brighter box from wrapping around at 255.
    pixels = rng.integers(0, 100, (*shape, 3), dtype=np.uint8)
    pixels[_box(shape, seed)] += 120
    return pixels


def _noise_image(shape: Sequence[int], seed: int) -> ImageSample:
    return ImageSample(id=f"image {seed}", image=_noise_pixels(shape, seed))


def _box_mask(shape: Sequence[int], number: int) -> NDArray[np.bool_]:
    mask = np.zeros(tuple(shape), dtype=np.bool_)
    mask[_box(shape, number)] = True
    return mask


def _box(shape: Sequence[int], number: int) -> tuple[slice, ...]:
    """Return a box from pixel `number` to three quarters of each axis, with at least one pixel."""
    window: list[slice] = []
    for side in shape:
        start = min(number, side - 1)
        stop = max(start + 1, 3 * side // 4)
        window.append(slice(start, stop))
    return tuple(window)
