"""Prompts about a picture: their JSON form with (x, y), and conversion to prompts for segmenters."""

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
"""Limit of one scribble."""

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
"""All prompts about one object so far, in order."""


def to_prompt(message: PromptMessage, shape: Shape) -> Prompt:
    """Convert a message to a prompt: boxes and scribbles are clipped to the frame, clicks must lie inside it.

    Args:
        message: the prompt as it arrived.
        shape: (H, W) of the picture.

    Raises:
        InvalidPrompt: a coordinate is not finite, or the prompt lies entirely outside the frame.
    """
    points = _points_of(message)
    for point in points:
        if not all(math.isfinite(value) for value in point):
            raise InvalidPrompt("prompt: expected finite coordinates, got infinity or NaN")
    match message:
        case ClickMessage(at=(x, y)):
            # A pixel extends from its index to the next one.
            position = (math.floor(y), math.floor(x))
            prompt: Prompt = Click(position, is_positive=message.is_positive)
        case BoxMessage():
            prompt = _box_of(points, shape)
        case ScribbleMessage():
            _check_meets(points, shape)
            clipped = tuple(_in_frame(point, shape) for point in points)
            prompt = Scribble(clipped, is_positive=message.is_positive)
    check_prompt(prompt, shape)
    return prompt


def _points_of(message: PromptMessage) -> Sequence[Point]:
    match message:
        case ClickMessage():
            return (message.at,)
        case BoxMessage():
            return (message.start, message.to)
        case ScribbleMessage():
            return message.points


def _box_of(corners: Sequence[Point], shape: Shape) -> Box:
    """Return the box of whole pixels around two corners, clipped to the frame."""
    (x0, y0), (x1, y1) = corners
    top = max(0, math.floor(min(y0, y1)))
    left = max(0, math.floor(min(x0, x1)))
    bottom = min(shape[0], math.ceil(max(y0, y1)))
    right = min(shape[1], math.ceil(max(x0, x1)))
    return Box((top, left), (bottom, right))


def _check_meets(points: Sequence[Point], shape: Shape) -> None:
    height, width = shape
    if not any(0 <= x <= width and 0 <= y <= height for x, y in points):
        raise InvalidPrompt("scribble: expected a stroke inside the picture, got one outside")


def _in_frame(point: Point, shape: Shape) -> tuple[float, float]:
    """Return a point as (row, column) pixel indices inside the frame.

    The centre of the first pixel is (0.5, 0.5) on the page and (0, 0) as an index.
    """
    x, y = point
    height, width = shape
    row = min(max(y - 0.5, 0.0), height - 1.0)
    column = min(max(x - 0.5, 0.0), width - 1.0)
    return row, column
