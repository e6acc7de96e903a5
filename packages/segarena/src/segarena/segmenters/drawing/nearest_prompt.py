"""Labels from prompts alone: each pixel joins the nearest prompt, and the image border counts as background.

The pixels of a click, line or lasso have its label. A box labels the ellipse inscribed in it.
Pixels outside a box or mask are background. Slices beyond the limits are emptied at the end.
Support examples are ignored. In a video, each frame with prompts is filled separately, and every
other frame copies the nearest of them.

The grid has at most `MOST_POINTS` points: large samples use every second, third, ... pixel per
axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Prompt, Scribble
from segarena.samples import Labels, Shape, Support
from segarena.segmenters.drawing.prompt_pixel_marks import fill_outline

MOST_POINTS = 2**19
_UNKNOWN = -1


def blind_labels(
    prompts: Sequence[Prompt],
    shape: Shape,
    *,
    spacing: Sequence[float] | None = None,
    has_frames: bool = False,
) -> tuple[Labels, tuple[int, ...]]:
    """Compute labels from prompts alone on a coarse grid; return them with the grid step along each axis.

    Args:
        prompts: prompts about one target.
        shape: shape of the sample.
        spacing: edge lengths of a voxel; None for equal ones.
        has_frames: whether the first axis is time.
    """
    if has_frames:
        frames = sorted({frame for prompt in prompts for frame in frames_of(prompt)})
    else:
        frames = [0]
    planes = len(frames) if has_frames else 1
    steps = _steps(shape[1:] if has_frames else shape, MOST_POINTS // max(1, planes), spacing)
    steps = (1, *steps) if has_frames else steps
    marks = _Marks(shape, steps)
    # Areas are drawn first, so that clicks and scribbles inside them keep their labels.
    for prompt in sorted(prompts, key=lambda prompt: isinstance(prompt, Click | Scribble)):
        marks.mark(prompt)
    if has_frames:
        found = _frame_by_frame(marks.labels, frames)
    else:
        coarse_spacing = None
        if spacing:
            coarse_spacing = [edge * step for edge, step in zip(spacing, steps, strict=True)]
        found = _filled(marks.labels, coarse_spacing)
    for slices in marks.beyond:
        found[slices] = 0
    return found, steps


def marked_places(prompt: Click | Scribble | Lasso, shape: Shape) -> NDArray[np.intp]:
    """Return the pixel positions of a click, line or lasso, (n, axes)."""
    if isinstance(prompt, Click):
        return np.asarray([prompt.position], np.intp)
    marks = _Marks(shape, (1,) * len(shape))
    marks.mark(prompt)
    return np.argwhere(marks.labels != _UNKNOWN)


def _frame_by_frame(marks: NDArray[np.int16], frames: Sequence[int]) -> Labels:
    """Fill the prompted frames, and copy the nearest one to every other frame; ties go to the first."""
    found = np.zeros(marks.shape, np.uint8)
    if not frames:
        return found
    filled = {frame: _filled(marks[frame], None) for frame in frames}
    for frame in range(len(marks)):
        distances = [abs(prompted - frame) for prompted in frames]
        nearest = frames[distances.index(min(distances))]
        found[frame] = filled[nearest]
    return found


def _steps(
    shape: Shape,
    most: int,
    spacing: Sequence[float] | None,
) -> tuple[int, ...]:
    """Return the grid step along each axis; the axis with the finest spacing is thinned first."""
    steps = [1] * len(shape)
    edges = list(spacing or [1.0] * len(shape))
    while math.prod(_grid_shape(shape, steps)) > most:
        lengths: list[float] = []
        for side, step, edge in zip(shape, steps, edges, strict=True):
            can_grow = side > step
            lengths.append(edge * step if can_grow else math.inf)
        steps[lengths.index(min(lengths))] += 1
    return tuple(steps)


def _grid_shape(shape: Shape, steps: Sequence[int]) -> tuple[int, ...]:
    """Return the number of grid points along each axis; the last cell of an axis may be smaller."""
    return tuple(-(-side // step) for side, step in zip(shape, steps, strict=True))


class _Marks:
    """Labels of grid points with prompts, `_UNKNOWN` elsewhere, and the slices beyond the limits."""

    def __init__(self, shape: Shape, steps: tuple[int, ...]) -> None:
        self._shape = shape
        self._steps = np.asarray(steps)
        self._read = tuple(slice(None, None, step) for step in steps)
        self.beyond: list[tuple[Any, ...]] = []
        self.labels = np.full(_grid_shape(shape, steps), _UNKNOWN, np.int16)

    def mark(self, prompt: Prompt) -> None:
        """Mark the grid points of a prompt."""
        match prompt:
            case Click(position=position):
                self._points(np.asarray([position], np.float64), _label(prompt))
            case Scribble(points=points):
                corners = np.asarray(points, np.float64)
                self._points(_along(corners), _label(prompt))
            case Lasso(points=points):
                self._lasso(np.asarray(points, np.float64), _label(prompt))
            case Box():
                self._box(prompt)
            case Limits(first=first, last=last, axis=axis):
                positions = np.arange(self.labels.shape[axis]) * self._steps[axis]
                beyond = np.flatnonzero((positions < first) | (positions > last))
                before_axis = (slice(None),) * axis
                self.beyond.append((*before_axis, beyond))
            case MaskPrompt(mask=mask, object_id=number):
                coarse = mask[self._read]
                self.labels[coarse] = number
                self.labels[(self.labels == _UNKNOWN) & ~coarse] = 0
            case Support():
                pass

    def _points(self, points: NDArray[np.float64], label: int) -> None:
        nearest = np.rint(points / self._steps).astype(np.int64)
        last = np.asarray(self.labels.shape) - 1
        positions = np.minimum(nearest, last)
        self.labels[tuple(positions.T)] = label

    def _lasso(self, points: NDArray[np.float64], label: int) -> None:
        """Mark the region that an outline in one plane encloses."""
        corners = points / self._steps
        if corners.shape[1] == 2:
            region = fill_outline(corners.tolist(), self.labels.shape)
            self.labels[region] = label
            return
        # The outline's plane is perpendicular to the axis along which it extends least.
        axis = int(np.argmin(np.ptp(corners, axis=0)))
        last = self.labels.shape[axis] - 1
        index = min(round(float(corners[0, axis])), last)
        plane = np.moveaxis(self.labels, axis, 0)[index]
        flat_corners = np.delete(corners, axis, axis=1)
        plane[fill_outline(flat_corners.tolist(), plane.shape)] = label

    def _box(self, box: Box) -> None:
        """Mark the ellipse inscribed in a box, and everything outside the box as background."""
        start = np.asarray(box.start, np.float64)
        stop = np.asarray(box.stop, np.float64)
        centre = (start + stop - 1) / 2
        radii = (stop - start) / 2
        inside = np.ones((), np.bool_)
        squares = np.zeros(())
        for axis, step in enumerate(self._steps):
            positions = np.arange(self.labels.shape[axis]) * step
            is_within = (positions >= start[axis]) & (positions < stop[axis])
            distances = (positions - centre[axis]) / radii[axis]
            # Broadcast along the other axes.
            form = [1] * len(self._steps)
            form[axis] = -1
            inside = inside & is_within.reshape(form)
            squares = squares + (distances**2).reshape(form)
        self.labels[~inside] = 0
        self.labels[inside & (squares <= 1)] = box.object_id


def _label(prompt: Click | Scribble | Lasso) -> int:
    return prompt.object_id if prompt.is_positive else 0


def _along(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positions along a line through points, at most one pixel apart."""
    pieces = [points[:1]]
    for one, other in pairwise(points):
        step = other - one
        count = max(1, math.ceil(float(np.abs(step).max())))
        parts = np.arange(1, count + 1) / count
        pieces.append(one + step * parts[:, None])
    return np.concatenate(pieces)


def _filled(marks: NDArray[np.int16], spacing: Sequence[float] | None) -> Labels:
    """Label every point like the nearest marked point; the border has label 0. Without objects, all labels are 0."""
    if not (marks > 0).any():
        return np.zeros(marks.shape, np.uint8)
    # The border counts as background, so that an object without negative prompts is bounded.
    edged = np.pad(marks, 1)
    nearest: Any = ndimage.distance_transform_edt(
        edged == _UNKNOWN, sampling=spacing, return_distances=False, return_indices=True
    )
    inner = (slice(1, -1),) * marks.ndim
    return edged[tuple(nearest)][inner].astype(np.uint8)


def frames_of(prompt: Prompt) -> set[int]:
    """Return the frames of a prompt in a video; a mask has the frames in which it has pixels."""
    match prompt:
        case Click(position=position):
            return {int(position[0])}
        case Scribble(points=points) | Lasso(points=points):
            return {round(point[0]) for point in points}
        case Box(start=start, stop=stop):
            return set(range(start[0], stop[0]))
        case MaskPrompt(mask=mask):
            return set(np.flatnonzero(mask.reshape(len(mask), -1).any(axis=1)).tolist())
        case _:
            return set()
