"""Convert prompts of a volume to prompts of its slices, in kinds that an image segmenter takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window
from segarena.arrays.slices import snapped_mean, tight_box
from segarena.errors import InvalidPrompt
from segarena.options import Protocol
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Prompt, Scribble
from segarena.samples import Mask, Shape
from segarena.segmenters.drawing.marks import fill_outline

SlicePrompts = dict[int, tuple[Prompt, ...]]
"""Prompts by slice."""

DEFAULT_PROMPT_KINDS = frozenset({"click", "box"})
"""Assumed prompt kinds of an image segmenter that declares none."""


def kinds_in_volume(kinds: Collection[str]) -> frozenset[str]:
    """Return the prompt kinds of a volume that convert to these kinds of an image segmenter."""
    convertible = {"limits", "mask"} | (set(kinds) & {"box", "scribble", "lasso"})
    if "click" in kinds:
        # Scribbles and lassos can become clicks.
        convertible |= {"click", "scribble", "lasso"}
    return frozenset(convertible)


def draw_on_slices(
    prompts: Sequence[Prompt],
    kinds: Collection[str],
    shape: Shape,
    *,
    is_opening: bool,
    protocol: Protocol = "careful",
) -> SlicePrompts:
    """Return the prompts of one round by slice, in the order given.

    - A click belongs to its slice. A box becomes the same box on each of its slices.
    - A scribble in a slice stays a scribble if the segmenter takes scribbles; otherwise, and where it
      meets a slice in a single point, its points become clicks. Slices that a line crosses between
      two of its points get clicks too; under "published" only those with points.
    - A lasso stays a lasso if the segmenter takes lassos. Otherwise, a positive one in the first round
      is the outline of the object: a mask, or else its bounding box. Any other one is a click in the
      middle of its region, on each of its slices.
    - A mask becomes a mask prompt on slices with other prompts, and nothing elsewhere.
    - Limits have no effect here. Duplicates count once, except under "published".

    Args:
        prompts: of one round.
        kinds: prompt kinds of the image segmenter.
        shape: (D, H, W).
        is_opening: whether it is the first round.
        protocol: "careful" or "published".

    Raises:
        InvalidPrompt: a lasso that does not lie in a plane.
    """
    said: dict[int, list[Prompt]] = defaultdict(list)
    is_published = protocol == "published"
    for prompt in prompts:
        for plane, drawn in _convert(
            prompt, kinds, shape, is_opening=is_opening, is_published=is_published
        ):
            if is_published or drawn not in said[plane]:
                said[plane].append(drawn)
    masks = [prompt for prompt in prompts if isinstance(prompt, MaskPrompt)]
    if masks and "mask" in kinds:
        for plane, there in said.items():
            if masks[-1].mask[plane].any():
                there.append(MaskPrompt(masks[-1].mask[plane], masks[-1].object_id))
    return {plane: tuple(there) for plane, there in sorted(said.items())}


def _convert(
    prompt: Prompt, kinds: Collection[str], shape: Shape, *, is_opening: bool, is_published: bool
) -> Iterator[tuple[int, Prompt]]:
    """Yield (slice, prompt on it)."""
    match prompt:
        case Click(position=(plane, *pixel)):
            yield plane, Click(tuple(pixel), prompt.is_positive, prompt.object_id)
        case Box():
            for plane in range(prompt.start[0], prompt.stop[0]):
                yield plane, Box(prompt.start[1:], prompt.stop[1:], prompt.object_id)
        case Scribble():
            yield from _convert_scribble(prompt, kinds, is_published=is_published)
        case Lasso():
            yield from _convert_lasso(prompt, kinds, shape, is_opening=is_opening)
        case _:
            pass


def _convert_scribble(
    scribble: Scribble, kinds: Collection[str], *, is_published: bool
) -> Iterator[tuple[int, Prompt]]:
    points = np.asarray(scribble.points, dtype=np.float64)
    points = points if is_published else _with_crossings(points)
    for plane, piece in groupby(points.tolist(), key=lambda point: round(point[0])):
        pixels = [(row, column) for _, row, column in piece]
        if "scribble" in kinds and (len(pixels) > 1 or "click" not in kinds):
            yield plane, Scribble(tuple(pixels), scribble.is_positive, scribble.object_id)
        else:
            for row, column in pixels:
                pixel = (round(row), round(column))
                yield plane, Click(pixel, scribble.is_positive, scribble.object_id)


def _with_crossings(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points of a line, and its crossings of slices between them."""
    line = [points[:1]]
    for first, last in pairwise(points):
        here = round(first[0])
        there = round(last[0])
        planes = np.arange(here, there, 1 if there > here else -1)[1:]
        if len(planes):
            parts = (planes - first[0]) / (last[0] - first[0])
        else:
            parts = planes.astype(np.float64)
        line += [first + parts[:, None] * (last - first), last[None]]
    return np.concatenate(line)


def _convert_lasso(
    lasso: Lasso, kinds: Collection[str], shape: Shape, *, is_opening: bool
) -> Iterator[tuple[int, Prompt]]:
    axis, index, region = lasso_region(lasso, shape)
    if axis != 0:
        for plane in np.flatnonzero(region.any(axis=1)).tolist():
            there = np.flatnonzero(region[plane])
            middle = int(there[len(there) // 2])
            pixel = (index, middle) if axis == 1 else (middle, index)
            yield plane, Click(pixel, lasso.is_positive, lasso.object_id)
    elif "lasso" in kinds:
        yield (
            index,
            Lasso(tuple(point[1:] for point in lasso.points), lasso.is_positive, lasso.object_id),
        )
    elif is_opening and lasso.is_positive and "mask" in kinds:
        yield index, MaskPrompt(region, lasso.object_id)
    elif is_opening and lasso.is_positive and "box" in kinds and (corners := tight_box(region)):
        yield index, Box(*corners, lasso.object_id)
    elif (middle := snapped_mean(region)) is not None:
        yield index, Click(middle, lasso.is_positive, lasso.object_id)


def limits_window(prompts: Iterable[Prompt], shape: Shape) -> Window:
    """Return the window of the newest limits of each axis; the whole volume without any."""
    window = [slice(0, length) for length in shape]
    for prompt in prompts:
        if isinstance(prompt, Limits):
            window[prompt.axis] = slice(prompt.first, prompt.last + 1)
    return tuple(window)


def lasso_region(lasso: Lasso, shape: Shape) -> tuple[int, int, Mask]:
    """Return (axis, index, region): the plane of a lasso and its region there, including the outline.

    Raises:
        InvalidPrompt: its points lie in no plane of the volume.
    """
    points = np.rint(np.asarray(lasso.points, dtype=np.float64)).astype(np.int32)
    flat = [axis for axis in range(3) if np.ptp(points[:, axis]) == 0]
    if not flat:
        raise InvalidPrompt(
            "a lasso must lie in one axial, coronal or sagittal plane of the volume; "
            "draw one per plane"
        )
    axis = flat[0]
    plane = tuple(n for other, n in enumerate(shape) if other != axis)
    return axis, int(points[0, axis]), fill_outline(np.delete(points, axis, axis=1).tolist(), plane)
