"""Prompts: clicks, boxes, limits, scribbles, lassos, masks and support examples, with their effort.

Positions follow the sample's axes: (row, column) in an image, (plane, row, column) in a volume,
(frame, row, column) in a video. `effort` counts interactions by the convention of the field: a
click 1, a box 2 (two corners; 3 in a volume), the limits of an object along an axis 2 (one per
end), a scribble or lasso 3 (RadioActive, Table 1), a whole mask or support example 1 per mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from segarena.errors import InvalidPrompt
from segarena.samples import Mask, Shape, Support

Position: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Click:
    """One point, on the object (`is_positive`) or outside it.

    Attributes:
        position: integer pixel indices along the sample's axes.
        is_positive: True for a point on the object.
        object_id: label of the object in a multi-object target; 1 otherwise.
    """

    position: Position
    is_positive: bool = True
    object_id: int = 1

    kind: ClassVar[str] = "click"
    effort: ClassVar[float] = 1.0


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned box from `start` (inclusive) to `stop` (exclusive), along the sample's axes."""

    start: Position
    stop: Position
    object_id: int = 1

    kind: ClassVar[str] = "box"

    @property
    def effort(self) -> float:
        """2 interactions if drawn in a plane (an image, one slice of a volume), 3 in a volume."""
        extents = [stop - start for start, stop in zip(self.start, self.stop, strict=True)]
        is_in_plane = len(extents) == 2 or 1 in extents
        return 2.0 if is_in_plane else 3.0


@dataclass(frozen=True, slots=True)
class Limits:
    """First and last slice (both inclusive) of the object along `axis`."""

    first: int
    last: int
    axis: int = 0
    object_id: int = 1

    kind: ClassVar[str] = "limits"
    effort: ClassVar[float] = 2.0


@dataclass(frozen=True, slots=True)
class Scribble:
    """A drawn line through `points`, in order; sub-pixel positions allowed."""

    points: tuple[tuple[float, ...], ...]
    is_positive: bool = True
    object_id: int = 1

    kind: ClassVar[str] = "scribble"
    effort: ClassVar[float] = 3.0


@dataclass(frozen=True, slots=True)
class Lasso:
    """A closed outline through `points`, in order, in one plane; sub-pixel positions allowed."""

    points: tuple[tuple[float, ...], ...]
    is_positive: bool = True
    object_id: int = 1

    kind: ClassVar[str] = "lasso"
    effort: ClassVar[float] = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class MaskPrompt:
    """A mask drawn by the user: bool, shape of the sample."""

    mask: Mask
    object_id: int = 1

    kind: ClassVar[str] = "mask"
    effort: ClassVar[float] = 1.0


DrawnPrompt: TypeAlias = Click | Box | Limits | Scribble | Lasso
"""Prompts that are drawn in the sample and can be restored from a record."""

Prompt: TypeAlias = DrawnPrompt | MaskPrompt | Support


def check_prompt(prompt: Prompt, shape: Shape) -> None:
    """Raise an error unless `prompt` lies inside a sample of `shape`.

    Points of scribbles and lassos may lie anywhere in the closed interval [0, n - 1] along each
    axis.

    Raises:
        InvalidPrompt: `prompt` is no prompt, has a wrong number of axes or mask shape, is not finite, is an
            empty box, or lies outside the sample.
    """
    if isinstance(prompt, Click) and _is_pixel(prompt.position, shape):  # most prompts
        return
    if isinstance(prompt, Support):
        if prompt.mask.shape != prompt.sample.shape:
            raise InvalidPrompt(
                f"support mask: expected the shape of its image, {prompt.sample.shape}, got {prompt.mask.shape}"
            )
        return
    if isinstance(prompt, MaskPrompt):
        if prompt.mask.shape != shape:
            raise InvalidPrompt(
                f"mask prompt: expected the shape of the sample, {shape}, got {prompt.mask.shape}"
            )
        return
    if isinstance(prompt, Limits):
        _check_limits(prompt, shape)
        return
    _check_points(prompt, shape)
    if isinstance(prompt, Box) and _is_empty(prompt):
        raise InvalidPrompt(f"box from {prompt.start} to {prompt.stop} is empty; stop is exclusive")


def _check_points(prompt: Any, shape: Shape) -> None:
    if not isinstance(prompt, Click | Box | Scribble | Lasso):
        raise InvalidPrompt(f"expected a prompt, such as Click or Box, got {type(prompt).__name__}")
    corners = _corners(prompt)
    try:
        points = np.asarray(corners, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidPrompt(
            f"{prompt.kind}: expected positions of numbers, got {corners}"
        ) from error
    if points.ndim != 2 or points.shape[1] != len(shape) or not len(points):
        raise InvalidPrompt(
            f"{prompt.kind}: expected positions with {len(shape)} coordinates, got {corners}"
        )
    last_pixel = np.asarray(shape) - 1
    is_in_frame = (points >= 0) & (points <= last_pixel)
    if not np.isfinite(points).all() or not is_in_frame.all():
        raise InvalidPrompt(f"{prompt.kind} at {corners} lies outside a sample of shape {shape}")


def _is_empty(box: Box) -> bool:
    sides = zip(box.start, box.stop, strict=True)
    return any(start >= stop for start, stop in sides)


def _is_pixel(position: Any, shape: Shape) -> bool:
    if not isinstance(position, tuple | list) or len(position) != len(shape):
        return False
    for index, side in zip(position, shape, strict=True):
        # Compare exact types, so that bools and NumPy numbers go through the full check.
        if type(index) is not int or not 0 <= index < side:
            return False
    return True


def _check_limits(limits: Limits, shape: Shape) -> None:
    has_axis = 0 <= limits.axis < len(shape)
    if not has_axis or not 0 <= limits.first <= limits.last < shape[limits.axis]:
        raise InvalidPrompt(
            f"limits {limits.first} to {limits.last} on axis {limits.axis} do not fit a sample of shape {shape}"
        )


def _corners(prompt: Click | Box | Scribble | Lasso) -> tuple[tuple[float, ...], ...]:
    if isinstance(prompt, Click):
        return (prompt.position,)
    if isinstance(prompt, Box):
        return (prompt.start, tuple(i - 1 for i in prompt.stop))
    return prompt.points
