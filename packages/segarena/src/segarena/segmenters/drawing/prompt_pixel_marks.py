"""Pixel marks drawn from prompts: inside, outside or unknown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue
from segarena.errors import SegmenterError
from segarena.prompts import Box, Click, Prompt, Scribble
from segarena.samples import ImageSample, Mask, as_image

PROMPT_KINDS = frozenset({"click", "box", "scribble"})
"""Prompt kinds that `draw_marks` can draw."""

INSIDE = 1
UNKNOWN = 0
OUTSIDE = -1


def require_image(sample: Any, segmenter: str) -> NDArray[np.uint8]:
    """Return the sample's image, uint8 (H, W, 3), RGB.

    Raises:
        SegmenterError: the sample is not an image.
        InvalidImage: the array is not an 8-bit image.
    """
    if not isinstance(sample, ImageSample):
        raise SegmenterError(
            f"{segmenter} accepts only images, got a {type(sample).__name__}; "
            "give it one slice or frame"
        )
    return as_image(sample.image, name=f"sample {sample.id}")


def draw_marks(
    dialogue: Dialogue,
    shape: tuple[int, ...],
    *,
    radius_px: int = 0,
    line_px: int | None = None,
) -> NDArray[np.int8]:
    """Draw the marks of all prompts so far: INSIDE, OUTSIDE or UNKNOWN, int8 (H, W).

    A click marks a disc, and a scribble a line. Where marks overlap, the nearer prompt wins, and on
    ties the later one. Pixels outside all boxes are OUTSIDE unless a click or line marks them.
    Pixels inside a box stay UNKNOWN, with one exception: as long as there is no positive click or
    scribble, a disc at the centre of the box is INSIDE, whose radius is an eighth of the box's
    shorter side.

    Args:
        dialogue: the prompts.
        shape: (H, W).
        radius_px: radius of the discs; 0 marks only the clicked pixels.
        line_px: half the width of lines, at most `radius_px`; None for `radius_px`.

    Raises:
        SegmenterError: a prompt has an unsupported kind, or refers to an object other than the first.
    """
    prompts = dialogue.prompts
    check_prompt_kinds(prompts, PROMPT_KINDS)
    marks = np.full(shape, UNKNOWN, np.int8)
    boxes = [prompt for prompt in prompts if isinstance(prompt, Box)]
    if boxes:
        marks[:] = OUTSIDE
        for box in boxes:
            marks[box.start[0] : box.stop[0], box.start[1] : box.stop[1]] = UNKNOWN
        if not any(
            isinstance(prompt, Click | Scribble) and prompt.is_positive for prompt in prompts
        ):
            for box in boxes:
                _draw_centre(marks, box)
    for radius in range(radius_px, -1, -1):
        for prompt in prompts:
            is_wider = isinstance(prompt, Scribble) and line_px is not None and radius > line_px
            if not isinstance(prompt, Box) and not is_wider:
                _draw(marks, prompt, radius)
    return marks


def fill_outline(points: Sequence[Sequence[float]], shape: tuple[int, ...]) -> Mask:
    """Return the region enclosed by an outline of (row, column) points, including the outline; bool (H, W)."""
    enclosed = np.zeros(shape, np.uint8)
    cv2.fillPoly(enclosed, [_to_corners(points)], 1)
    return enclosed.astype(np.bool_)


def apply_marks(marks: NDArray[np.int8], mask: Mask) -> Mask:
    """Return a copy of `mask` in which marked pixels have the value of their marks."""
    return (mask | (marks == INSIDE)) & (marks != OUTSIDE)


def check_prompt_kinds(prompts: Iterable[Prompt], kinds: Collection[str]) -> None:
    """Check that every prompt has one of the `kinds` and refers to the first object.

    Raises:
        SegmenterError: a prompt has an unsupported kind, or refers to an object other than the first.
    """
    for prompt in prompts:
        if prompt.kind not in kinds:
            raise SegmenterError(
                f"expected prompts of kind {', '.join(sorted(kinds))}, got {prompt.kind!r}"
            )
        if getattr(prompt, "object_id", 1) != 1:
            raise SegmenterError(
                f"expected prompts about one object, got {prompt}; use one dialogue per object"
            )


def _draw(
    marks: NDArray[np.int8],
    prompt: Prompt,
    radius: int,
) -> None:
    value = INSIDE if getattr(prompt, "is_positive", True) else OUTSIDE
    match prompt:
        case Click(position=(row, column)):
            cv2.circle(marks, (column, row), radius, value, -1)
        case Scribble(points=points):
            # OpenCV draws nothing for a line with a single point, so the point is repeated.
            corners = _to_corners((*points, points[-1]))
            thickness = 2 * radius + 1
            cv2.polylines(marks, [corners], isClosed=False, color=value, thickness=thickness)
        case _:
            pass


def _to_corners(points: Sequence[Sequence[float]]) -> NDArray[np.int32]:
    """Convert (row, column) positions to OpenCV's (x, y), rounded half to even; int32 (n, 2)."""
    corners = [(column, row) for row, column in points]
    return np.rint(corners).astype(np.int32)


def _draw_centre(marks: NDArray[np.int8], box: Box) -> None:
    top, left = box.start
    height = box.stop[0] - top
    width = box.stop[1] - left
    centre = (left + width // 2, top + height // 2)
    radius = min(height, width) // 8
    cv2.circle(marks, centre, radius, INSIDE, -1)
