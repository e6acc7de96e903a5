"""Small samples and prompts of every kind, made up: what a worker is tried on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def synthetic_sample(kind: str, shape: Sequence[int], seed: int) -> Sample:
    """Return a sample of noise with a bright box in it."""
    pixels = np.random.default_rng(seed).integers(0, 100, (*shape, 3), dtype=np.uint8)
    pixels[_box(shape, seed)] += 120
    name = f"{kind} {seed}"
    if kind == "image":
        return ImageSample(id=name, image=pixels)
    if kind == "volume":
        return VolumeSample(
            id=name, voxels=pixels[..., 0].astype(np.int16) * 8 - 1000, spacing_mm=(3.0, 1.0, 1.0)
        )
    return VideoSample(id=name, frames=list(pixels), frame_shape=(int(shape[1]), int(shape[2])))


def synthetic_prompts(kind: str, shape: tuple[int, ...], number: int) -> tuple[Prompt, ...]:
    """Return what is said in a round, counted from 0, about a sample of a shape: prompts of one kind."""
    place = tuple(int((side - 1) * (0.5 if number == 0 else 0.2 * number)) for side in shape)
    area = _box(shape, number)
    start = tuple(int(one.start) for one in area)
    stop = tuple(int(one.stop) for one in area)
    is_positive = number != 1
    corners = [start, (*start[:-1], stop[-1] - 1), (*start[:-2], *(end - 1 for end in stop[-2:]))]
    points = tuple(tuple(map(float, corner)) for corner in corners)
    made: dict[str, Prompt] = {
        "click": Click(place, is_positive),
        "box": Box(start, stop),
        "limits": Limits(0, shape[0] - 1),
        "scribble": Scribble(points, is_positive),
        "lasso": Lasso(points, is_positive),
        "mask": MaskPrompt(_drawn(shape, number)),
        "support": Support(_photograph(number), _drawn(SHAPES["image"], number)),
    }
    return (made[kind],)


def _photograph(number: int) -> ImageSample:
    sample = synthetic_sample("image", SHAPES["image"], 10 + number)
    if not isinstance(sample, ImageSample):
        raise TypeError(sample)
    return sample


def _drawn(shape: Sequence[int], number: int) -> NDArray[np.bool_]:
    mask: NDArray[Any] = np.zeros(tuple(shape), dtype=np.bool_)
    mask[_box(shape, number)] = True
    return mask


def _box(shape: Sequence[int], number: int) -> tuple[slice, ...]:
    return tuple(
        slice(min(number, side - 1), max(min(number, side - 1) + 1, 3 * side // 4))
        for side in shape
    )
