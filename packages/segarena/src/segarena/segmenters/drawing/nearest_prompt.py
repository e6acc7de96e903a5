"""Labels from prompts alone: each pixel joins the nearest prompt, and the image border is background.

The pixels of a click, a line or a lasso have its label. A box labels its inscribed ellipse, and its
surroundings are background, as are those of a mask. Slices beyond limits are emptied in the end.
Support examples are ignored. In a video each frame with prompts is filled on its own, and the others
copy the nearest of these.

The grid has at most `MOST_POINTS`: large samples are read at every second, third, ... pixel per axis.
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
from segarena.segmenters.drawing.marks import fill_outline

MOST_POINTS = 2**19
_UNKNOWN = -1


def blind_labels(
    prompts: Sequence[Prompt],
    shape: Shape,
    *,
    spacing: Sequence[float] | None = None,
    has_frames: bool = False,
) -> tuple[Labels, tuple[int, ...]]:
    """Return labels from prompts alone on a coarse grid, and the grid's step along each axis.

    Args:
        prompts: about one target.
        shape: of the sample.
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
    # Areas first, so that clicks and scribbles in them keep their labels.
    for prompt in sorted(prompts, key=lambda prompt: isinstance(prompt, Click | Scribble)):
        marks.mark(prompt)
    if has_frames:
        found = _frame_by_frame(marks.labels, frames)
    else:
        found = _filled(
            marks.labels,
            spacing and [edge * step for edge, step in zip(spacing, steps, strict=True)],
        )
    for slices in marks.beyond:
        found[slices] = 0
    return found, steps


def marked_places(prompt: Click | Scribble | Lasso, shape: Shape) -> NDArray[np.intp]:
    """Return the pixels of a click, a line or a lasso, (n, axes)."""
    if isinstance(prompt, Click):
        return np.asarray([prompt.position], np.intp)
    marks = _Marks(shape, (1,) * len(shape))
    marks.mark(prompt)
    return np.argwhere(marks.labels != _UNKNOWN)


def _frame_by_frame(marks: NDArray[np.int16], frames: Sequence[int]) -> Labels:
    found = np.zeros(marks.shape, np.uint8)
    filled = {frame: _filled(marks[frame], None) for frame in frames}
    for frame in range(len(marks) if frames else 0):
        found[frame] = filled[min(frames, key=lambda known: abs(known - frame))]
    return found


def _steps(shape: Shape, most: int, spacing: Sequence[float] | None) -> tuple[int, ...]:
    """Return the grid's step along each axis; the axis with the finest spacing is thinned first."""
    steps = [1] * len(shape)
    edges = list(spacing or [1.0] * len(shape))
    while math.prod(-(-side // step) for side, step in zip(shape, steps, strict=True)) > most:
        lengths = [
            edge * step if side > step else math.inf
            for side, step, edge in zip(shape, steps, edges, strict=True)
        ]
        steps[lengths.index(min(lengths))] += 1
    return tuple(steps)


class _Marks:
    """Labels of grid points from prompts, `_UNKNOWN` elsewhere, and the slices beyond limits."""

    def __init__(self, shape: Shape, steps: tuple[int, ...]) -> None:
        self._shape = shape
        self._steps = np.asarray(steps)
        self._read = tuple(slice(None, None, step) for step in steps)
        self.beyond: list[tuple[Any, ...]] = []
        self.labels = np.full(
            tuple(-(-n // step) for n, step in zip(shape, steps, strict=True)), _UNKNOWN, np.int16
        )

    def mark(self, prompt: Prompt) -> None:
        """Mark the points of a prompt."""
        match prompt:
            case Click(position=position):
                self._points(np.asarray([position], np.float64), _label(prompt))
            case Scribble(points=points):
                self._points(_along(np.asarray(points, np.float64)), _label(prompt))
            case Lasso(points=points):
                self._lasso(np.asarray(points, np.float64), _label(prompt))
            case Box():
                self._box(prompt)
            case Limits(first=first, last=last, axis=axis):
                places = np.arange(self.labels.shape[axis]) * self._steps[axis]
                beyond = np.flatnonzero((places < first) | (places > last))
                self.beyond.append((*(slice(None),) * axis, beyond))
            case MaskPrompt(mask=mask, object_id=number):
                self.labels[mask[self._read]] = number
                self.labels[(self.labels == _UNKNOWN) & ~mask[self._read]] = 0
            case Support():
                pass

    def _points(self, points: NDArray[np.float64], label: int) -> None:
        places = np.minimum(
            np.rint(points / self._steps).astype(np.int64), np.asarray(self.labels.shape) - 1
        )
        self.labels[tuple(places.T)] = label

    def _lasso(self, points: NDArray[np.float64], label: int) -> None:
        """Mark the region of an outline in one plane."""
        points = points / self._steps
        if points.shape[1] == 2:
            self.labels[fill_outline(points.tolist(), self.labels.shape)] = label
            return
        axis = int(np.argmin(np.ptp(points, axis=0)))
        place = min(round(float(points[0, axis])), self.labels.shape[axis] - 1)
        plane = np.moveaxis(self.labels, axis, 0)[place]
        plane[fill_outline(np.delete(points, axis, axis=1).tolist(), plane.shape)] = label

    def _box(self, box: Box) -> None:
        """Mark the ellipse in a box, and the outside of the box as background."""
        start = np.asarray(box.start, np.float64)
        stop = np.asarray(box.stop, np.float64)
        centre = (start + stop - 1) / 2
        radii = (stop - start) / 2
        inside = np.ones((), np.bool_)
        squares = np.zeros(())
        for axis, step in enumerate(self._steps):
            places = np.arange(self.labels.shape[axis]) * step
            form = [-1 if other == axis else 1 for other in range(len(self._steps))]
            inside = inside & ((places >= start[axis]) & (places < stop[axis])).reshape(form)
            squares = squares + (((places - centre[axis]) / radii[axis]) ** 2).reshape(form)
        self.labels[~inside] = 0
        self.labels[inside & (squares <= 1)] = box.object_id


def _label(prompt: Click | Scribble | Lasso) -> int:
    return prompt.object_id if prompt.is_positive else 0


def _along(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positions on a line through points, at most one pixel apart."""
    pieces = [points[:1]]
    for one, other in pairwise(points):
        count = max(1, math.ceil(float(np.abs(other - one).max())))
        pieces.append(one + (other - one) * (np.arange(1, count + 1) / count)[:, None])
    return np.concatenate(pieces)


def _filled(marks: NDArray[np.int16], spacing: Sequence[float] | None) -> Labels:
    """Return the label of the nearest marked point, with a border of 0; all 0 without any object."""
    if not (marks > 0).any():
        return np.zeros(marks.shape, np.uint8)
    edged = np.pad(marks, 1)
    nearest: Any = ndimage.distance_transform_edt(
        edged == _UNKNOWN, sampling=spacing, return_distances=False, return_indices=True
    )
    inner = (slice(1, -1),) * marks.ndim
    return edged[tuple(nearest)][inner].astype(np.uint8)


def frames_of(prompt: Prompt) -> set[int]:
    """Return the frames of a prompt in a video; for a mask those with marked pixels."""
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
