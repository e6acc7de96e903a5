"""Conversion of a volume's prompts to prompts on its slices, in kinds that an image segmenter accepts."""

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
from segarena.segmenters.drawing.prompt_pixel_marks import fill_outline

SlicePrompts = dict[int, tuple[Prompt, ...]]
"""Prompts by slice."""

DEFAULT_PROMPT_KINDS = frozenset({"click", "box"})
"""Prompt kinds assumed for an image segmenter that declares none."""


def kinds_in_volume(kinds: Collection[str]) -> frozenset[str]:
    """Return the prompt kinds of a volume that can be converted to these kinds of an image segmenter."""
    convertible = {"limits", "mask"} | (set(kinds) & {"box", "scribble", "lasso"})
    if "click" in kinds:
        # Scribbles and lassos can be converted to clicks.
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
    - A scribble within a slice stays a scribble if the segmenter accepts scribbles. Otherwise, and where
      it meets a slice in a single point, its points become clicks. Slices that a line crosses between
      two of its points get clicks too; with "published", only slices that contain points do.
    - A lasso within a slice stays a lasso if the segmenter accepts lassos. Otherwise, a positive one
      in the first round is the outline of the object: it becomes a mask if the segmenter accepts
      masks, or a bounding box if it accepts boxes. Any other lasso becomes a click in the middle of
      its region, on each of its slices.
    - If the segmenter accepts masks, the newest mask becomes a mask prompt on slices with other
      prompts, and nothing elsewhere.
    - Limits have no effect here. Duplicates count once, except with "published".

    Args:
        prompts: prompts of one round.
        kinds: prompt kinds of the image segmenter.
        shape: (D, H, W).
        is_opening: whether this is the first round.
        protocol: "careful" or "published".

    Raises:
        InvalidPrompt: a lasso is not planar.
    """
    by_plane: dict[int, list[Prompt]] = defaultdict(list)
    is_published = protocol == "published"
    for prompt in prompts:
        for plane, drawn in _convert(
            prompt, kinds, shape, is_opening=is_opening, is_published=is_published
        ):
            if is_published or drawn not in by_plane[plane]:
                by_plane[plane].append(drawn)
    masks = [prompt for prompt in prompts if isinstance(prompt, MaskPrompt)]
    if masks and "mask" in kinds:
        newest = masks[-1]
        for plane, on_plane in by_plane.items():
            if newest.mask[plane].any():
                on_plane.append(MaskPrompt(newest.mask[plane], newest.object_id))
    return {plane: tuple(on_plane) for plane, on_plane in sorted(by_plane.items())}


def _convert(
    prompt: Prompt,
    kinds: Collection[str],
    shape: Shape,
    *,
    is_opening: bool,
    is_published: bool,
) -> Iterator[tuple[int, Prompt]]:
    """Convert a prompt in a volume to prompts on slices; yield pairs of a slice and a prompt on it."""
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
    scribble: Scribble,
    kinds: Collection[str],
    *,
    is_published: bool,
) -> Iterator[tuple[int, Prompt]]:
    points = np.asarray(scribble.points, dtype=np.float64)
    # The published code prompts only those slices that contain a point.
    if not is_published:
        points = _with_crossings(points)
    for plane, piece in groupby(points.tolist(), key=lambda point: round(point[0])):
        pixels = [(row, column) for _, row, column in piece]
        # A scribble with a single point becomes a click, if the segmenter accepts clicks.
        is_line = len(pixels) > 1 or "click" not in kinds
        if "scribble" in kinds and is_line:
            yield plane, Scribble(tuple(pixels), scribble.is_positive, scribble.object_id)
            continue
        for row, column in pixels:
            pixel = (round(row), round(column))
            yield plane, Click(pixel, scribble.is_positive, scribble.object_id)


def _with_crossings(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points of a line, and the points where it crosses slices between them."""
    line = [points[:1]]
    for first, last in pairwise(points):
        start = round(first[0])
        end = round(last[0])
        direction = 1 if end > start else -1
        crossed = np.arange(start, end, direction)[1:]
        # Without this check, two points in the same slice would give a ratio of 0/0.
        if len(crossed):
            parts = (crossed - first[0]) / (last[0] - first[0])
            line.append(first + parts[:, None] * (last - first))
        line.append(last[None])
    return np.concatenate(line)


def _convert_lasso(
    lasso: Lasso,
    kinds: Collection[str],
    shape: Shape,
    *,
    is_opening: bool,
) -> Iterator[tuple[int, Prompt]]:
    axis, index, region = lasso_region(lasso, shape)
    sign = lasso.is_positive
    number = lasso.object_id
    if axis != 0:
        # A lasso that extends across slices gives each of them one click, in the middle of its
        # section.
        for plane in np.flatnonzero(region.any(axis=1)).tolist():
            section = np.flatnonzero(region[plane])
            middle = int(section[len(section) // 2])
            pixel = (index, middle) if axis == 1 else (middle, index)
            yield plane, Click(pixel, sign, number)
        return
    if "lasso" in kinds:
        outline = tuple(point[1:] for point in lasso.points)
        yield index, Lasso(outline, sign, number)
        return
    # In the first round, a positive lasso is the outline of the object; later lassos enclose
    # errors.
    is_outline = is_opening and sign
    if is_outline and "mask" in kinds:
        yield index, MaskPrompt(region, number)
        return
    corners = tight_box(region)
    if is_outline and "box" in kinds and corners:
        yield index, Box(*corners, number)
        return
    middle_pixel = snapped_mean(region)
    if middle_pixel is not None:
        yield index, Click(middle_pixel, sign, number)


def limits_window(prompts: Iterable[Prompt], shape: Shape) -> Window:
    """Return the window of the newest limits of each axis; an axis without limits is included as a whole."""
    window = [slice(0, length) for length in shape]
    for prompt in prompts:
        if isinstance(prompt, Limits):
            window[prompt.axis] = slice(prompt.first, prompt.last + 1)
    return tuple(window)


def lasso_region(lasso: Lasso, shape: Shape) -> tuple[int, int, Mask]:
    """Return the plane of a lasso as (axis, index), and its region in this plane, including the outline.

    Raises:
        InvalidPrompt: the points are not in one plane of the volume.
    """
    points = np.rint(np.asarray(lasso.points, dtype=np.float64)).astype(np.int32)
    flat_axes = np.flatnonzero(np.ptp(points, axis=0) == 0)
    if not len(flat_axes):
        raise InvalidPrompt(
            "a lasso must lie in one axial, coronal or sagittal plane of the volume; "
            "draw one per plane"
        )
    axis = int(flat_axes[0])
    plane_shape = (*shape[:axis], *shape[axis + 1 :])
    outline = np.delete(points, axis, axis=1)
    region = fill_outline(outline.tolist(), plane_shape)
    return axis, int(points[0, axis]), region
