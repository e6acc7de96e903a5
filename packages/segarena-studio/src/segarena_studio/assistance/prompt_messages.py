"""What a page asks about a picture: prompts in (x, y), as they come in JSON, and as a segmenter takes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, TypeAlias

import msgspec

from segarena.errors import InvalidPrompt
from segarena.prompts import Box, Click, Prompt, Scribble, check_prompt
from segarena.samples import Shape

MOST_PROMPTS = 100
MOST_POINTS = 5000
"""Of one scribble."""

Point: TypeAlias = tuple[float, float]
"""(x, y) in pixels of the picture; (0, 0) is the corner of the first pixel."""


class ClickMessage(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="click"
):
    """A click."""

    at: Point
    is_positive: bool = True


class BoxMessage(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="box",
    rename={"start": "from"},
):
    """A box, from any corner to the opposite one."""

    start: Point
    to: Point


class ScribbleMessage(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="scribble"
):
    """A stroke."""

    points: Annotated[tuple[Point, ...], msgspec.Meta(min_length=1, max_length=MOST_POINTS)]
    is_positive: bool = True


PromptMessage: TypeAlias = ClickMessage | BoxMessage | ScribbleMessage
PromptMessages: TypeAlias = Annotated[
    tuple[PromptMessage, ...], msgspec.Meta(min_length=1, max_length=MOST_PROMPTS)
]
"""All that was said about one object so far, in order."""


def to_prompt(told: PromptMessage, shape: Shape) -> Prompt:
    """Return a prompt as segmenters take it; boxes and scribbles are cut at the frame, clicks must lie inside.

    Args:
        told: as it came.
        shape: (H, W) of the picture.

    Raises:
        InvalidPrompt: it has a coordinate that is no number, or nothing of it lies inside.
    """
    points = _points_of(told)
    if not all(math.isfinite(value) for point in points for value in point):
        raise InvalidPrompt("prompt: expected coordinates that are numbers, got infinity or NaN")
    match told:
        case ClickMessage(at=(x, y)):
            prompt: Prompt = Click((math.floor(y), math.floor(x)), is_positive=told.is_positive)
        case BoxMessage():
            prompt = _box_of(points, shape)
        case ScribbleMessage():
            _check_meets(points, shape)
            prompt = Scribble(
                tuple(_in_frame(point, shape) for point in points), is_positive=told.is_positive
            )
    check_prompt(prompt, shape)
    return prompt


def _points_of(told: PromptMessage) -> Sequence[Point]:
    match told:
        case ClickMessage():
            return (told.at,)
        case BoxMessage():
            return (told.start, told.to)
        case ScribbleMessage():
            return told.points


def _box_of(corners: Sequence[Point], shape: Shape) -> Box:
    (left, right), (top, bottom) = (sorted(sides) for sides in zip(*corners, strict=True))
    start = max(0, math.floor(top)), max(0, math.floor(left))
    return Box(start, (min(shape[0], math.ceil(bottom)), min(shape[1], math.ceil(right))))


def _check_meets(points: Sequence[Point], shape: Shape) -> None:
    if not any(0 <= x <= shape[1] and 0 <= y <= shape[0] for x, y in points):
        raise InvalidPrompt("scribble: expected a stroke in the picture, got one beside it")


def _in_frame(point: Point, shape: Shape) -> tuple[float, float]:
    """Return a place in pixel indices: the middle of the first pixel, (0.5, 0.5) here, is (0, 0) there."""
    x, y = point
    return min(max(y - 0.5, 0.0), shape[0] - 1.0), min(max(x - 0.5, 0.0), shape[1] - 1.0)
