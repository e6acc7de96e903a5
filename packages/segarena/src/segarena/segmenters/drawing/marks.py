"""Marks of pixels from prompts: inside, outside or unknown."""

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
        SegmenterError: the sample is a volume or a video.
        InvalidImage: the image is not one.
    """
    if not isinstance(sample, ImageSample):
        raise SegmenterError(
            f"{segmenter} takes images only, got a {type(sample).__name__}; "
            "give it one slice or frame"
        )
    return as_image(sample.image, name=f"sample {sample.id}")


def draw_marks(
    dialogue: Dialogue, shape: tuple[int, ...], *, radius_px: int = 0, line_px: int | None = None
) -> NDArray[np.int8]:
    """Return the marks of all prompts so far: INSIDE, OUTSIDE or UNKNOWN, int8 (H, W).

    A click marks a disc, a scribble a line of that half width. Where two overlap, the nearer prompt
    wins, and on ties the later one. Pixels outside of all boxes are OUTSIDE, unless a click or line
    marks them. Pixels inside a box stay UNKNOWN, except a disc in its centre with a radius of an
    eighth of its shorter side, which is INSIDE as long as there is no positive click or scribble.

    Args:
        dialogue: the prompts.
        shape: (H, W).
        radius_px: of the discs; 0 marks only the clicked pixels.
        line_px: half width of lines, at most `radius_px`; None for `radius_px`.

    Raises:
        SegmenterError: a prompt of another kind, or about an object other than the first.
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
    """Return the region of a closed outline through (row, column), with the outline; bool (H, W)."""
    corners = np.rint([(column, row) for row, column in points]).astype(np.int32)
    enclosed = np.zeros(shape, np.uint8)
    cv2.fillPoly(enclosed, [corners], 1)
    return enclosed.astype(np.bool_)


def apply_marks(marks: NDArray[np.int8], mask: Mask) -> Mask:
    """Return `mask` with marked pixels set to their marks."""
    return (mask | (marks == INSIDE)) & (marks != OUTSIDE)


def check_prompt_kinds(prompts: Iterable[Prompt], kinds: Collection[str]) -> None:
    """Raise unless every prompt is of one of the `kinds`, and about the first object.

    Raises:
        SegmenterError: a prompt of another kind, or about an object other than the first.
    """
    for prompt in prompts:
        if prompt.kind not in kinds:
            raise SegmenterError(
                f"expected prompts of kind {', '.join(sorted(kinds))}, got {prompt.kind!r}"
            )
        if getattr(prompt, "object_id", 1) != 1:
            raise SegmenterError(
                f"expected prompts about one object, got {prompt}; ask about each object on its own"
            )


def _draw(marks: NDArray[np.int8], prompt: Prompt, radius: int) -> None:
    value = INSIDE if getattr(prompt, "is_positive", True) else OUTSIDE
    match prompt:
        case Click(position=(row, column)):
            cv2.circle(marks, (column, row), radius, value, -1)
        case Scribble(points=points):
            # OpenCV draws nothing for a single point, so the last one is repeated.
            corners = np.rint([(column, row) for row, column in (*points, points[-1])]).astype(
                np.int32
            )
            cv2.polylines(marks, [corners], isClosed=False, color=value, thickness=2 * radius + 1)
        case _:
            pass


def _draw_centre(marks: NDArray[np.int8], box: Box) -> None:
    height = box.stop[0] - box.start[0]
    width = box.stop[1] - box.start[1]
    centre = (box.start[1] + width // 2, box.start[0] + height // 2)
    cv2.circle(marks, centre, min(height, width) // 8, INSIDE, -1)
