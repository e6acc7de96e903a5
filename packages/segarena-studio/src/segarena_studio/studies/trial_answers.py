"""Validation of answers to trials, which come from strangers' browsers and may contain anything."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, NamedTuple, TypeAlias

import cv2
import msgspec
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window
from segarena.errors import InvalidInput
from segarena.samples import Mask
from segarena.systems.clicks.crowd.click_filter import is_near
from segarena_people.prompts import DeviceKind, PointerKind, PromptKind

MOST_BYTES = 1024 * 1024
MOST_STROKES = 200
MOST_POINTS = 20_000
_DAY_MS = 86_400_000.0
# A pointer may be outside the picture by up to this many widths or heights of the picture.
_OUTSIDE = 1.0

_Number: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
_Ms: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=_DAY_MS)]
_Times: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_Scale: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1000)]
# x, y in the picture; x, y in the window; ms since the page allowed a prompt; pressure.
_Point: TypeAlias = tuple[
    _Number, _Number, _Number, _Number, _Ms, Annotated[float, msgspec.Meta(ge=0, le=1)]
]
_TIME_MS = 4


class Stroke(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pointer stroke from press to release.

    Attributes:
        pointer: mouse, touch, pen or keyboard.
        clicks: 2 for the second press of a double tap.
        points: every sample of the pointer.
    """

    pointer: PointerKind
    clicks: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    points: Annotated[tuple[_Point, ...], msgspec.Meta(min_length=1, max_length=MOST_POINTS)]


class ScreenState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Screen of the participant; see `segarena_people.prompts.PersonPrompt`."""

    device_pixel_ratio: _Scale
    page_scale: _Scale
    image_scale: _Scale
    window: tuple[_Number, _Number]
    scroll: tuple[_Number, _Number]


class TrialTimes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Duration of each phase, by the browser's clock."""

    free_ms: _Ms
    shown_ms: _Ms
    blocked_ms: _Ms
    answer_ms: _Ms


class TrialAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answer to a trial.

    Attributes:
        strokes: strokes in drawing order; the first click counts, or the last stroke of other
            kinds.
        screen: state of the screen.
        times: durations of the phases.
        scrolls, zooms, leaves, early_presses: see `segarena_people.prompts.PersonPrompt`.
        late_presses: number of presses after the prompt was complete.
    """

    strokes: Annotated[tuple[Stroke, ...], msgspec.Meta(min_length=1, max_length=MOST_STROKES)]
    screen: ScreenState
    times: TrialTimes
    scrolls: _Times = 0
    zooms: _Times = 0
    leaves: _Times = 0
    early_presses: _Times = 0
    late_presses: _Times = 0

    @property
    def decisive(self) -> Stroke:
        """The stroke that determines the kind of device."""
        return self.strokes[0]

    @property
    def device(self) -> DeviceKind:
        """Kind of device: mouse and keys mean a computer, a finger or pen a mobile device."""
        return "pc" if self.decisive.pointer in ("mouse", "keyboard") else "mobile"


class Judgement(NamedTuple):
    """Whether an answer is correct, and whether it is at least close."""

    is_inside: bool
    is_near: bool


def check_answer(
    answer: TrialAnswer,
    kind: PromptKind,
    size: tuple[int, int],
) -> None:
    """Raise `InvalidInput` unless an answer is possible for this kind on a picture of (height, width) `size`."""
    points = [point for stroke in answer.strokes for point in stroke.points]
    if len(points) > MOST_POINTS:
        raise InvalidInput(f"strokes: expected at most {MOST_POINTS} points, got {len(points)}")
    height, width = size
    for x, y, *_ in points:
        # A finger may leave the picture while it draws; farther out is no answer.
        is_in_width = -_OUTSIDE * width <= x <= (1 + _OUTSIDE) * width
        is_in_height = -_OUTSIDE * height <= y <= (1 + _OUTSIDE) * height
        if not (is_in_width and is_in_height):
            raise InvalidInput(
                f"strokes: expected points on or around the picture, got ({x:g}, {y:g})"
            )
    times = [point[_TIME_MS] for point in points]
    if any(later < earlier for earlier, later in pairwise(times)):
        raise InvalidInput("strokes: expected times that never decrease")
    last = answer.strokes[-1].points
    start = last[0]
    end = last[-1]
    has_no_area = start[0] == end[0] or start[1] == end[1]
    if kind == "box" and has_no_area:
        raise InvalidInput("strokes: expected a box with two sides, got a line or a point")
    # A lasso needs an area and a scribble a direction.
    least = {"lasso": 3, "scribble": 2}.get(kind, 1)
    if len({point[:2] for point in last}) < least:
        raise InvalidInput(f"strokes: expected at least {least} different points for a {kind}")


def judge_answer(
    answer: TrialAnswer,
    kind: PromptKind,
    mask: Mask,
    radius_share: float,
) -> Judgement:
    """Judge an answer.

    A click is correct on the mask, and close within a radius of it (RClicks, section 3.2). No rule
    was published for the other kinds. Here a scribble is correct when at least half of its points
    are on the mask, and close likewise within the radius; a box or a lasso is correct when its IoU
    with the mask's box, or with the mask, is at least 0.5, and close when it is at least 0.3.

    Args:
        answer: an answer of this kind.
        kind: kind of prompt.
        mask: bool (H, W), the target.
        radius_share: the radius as a share of the picture's diagonal.
    """
    radius_px = radius_share * math.hypot(*mask.shape)
    if kind == "click":
        pixel = _pixel(answer.strokes[0].points[0])
        return Judgement(is_near(mask, pixel, 0), is_near(mask, pixel, radius_px))
    points = answer.strokes[-1].points
    if kind == "scribble":
        distances = _distances(mask, np.array([_pixel(point) for point in points]))
        is_correct = np.mean(distances == 0) >= 0.5
        is_close = np.mean(distances <= radius_px) >= 0.5
        return Judgement(bool(is_correct), bool(is_close))
    iou = _iou_of_box(points, mask) if kind == "box" else _iou_of_lasso(points, mask)
    return Judgement(iou >= 0.5, iou >= 0.3)


def _distances(mask: Mask, pixels: NDArray[np.int_]) -> NDArray[np.float32]:
    """Return the distance of each (row, column) from the mask; infinite outside the picture.

    One distance transform serves all points: a stranger may send 20 000, and a search for each
    could take minutes.
    """
    distances = np.full(len(pixels), np.inf, dtype=np.float32)
    is_inside = np.all((pixels >= 0) & (pixels < mask.shape), axis=1)
    background = (~mask).astype(np.uint8)
    transform = cv2.distanceTransform(background, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    rows, columns = pixels[is_inside].T
    distances[is_inside] = transform[rows, columns]
    return distances


def _pixel(point: _Point) -> tuple[int, int]:
    """Return the (row, column) of the pixel that contains a point."""
    return math.floor(point[1]), math.floor(point[0])


def _iou_of_box(points: tuple[_Point, ...], mask: Mask) -> float:
    rows, columns = bounding_window(mask)
    x0, x1 = sorted((points[0][0], points[-1][0]))
    y0, y1 = sorted((points[0][1], points[-1][1]))
    # Negative where the boxes do not meet.
    width = max(0.0, min(x1, columns.stop) - max(x0, columns.start))
    height = max(0.0, min(y1, rows.stop) - max(y0, rows.start))
    intersection = width * height
    drawn_area = (x1 - x0) * (y1 - y0)
    target_area = (columns.stop - columns.start) * (rows.stop - rows.start)
    return intersection / (drawn_area + target_area - intersection)


def _iou_of_lasso(points: tuple[_Point, ...], mask: Mask) -> float:
    canvas = np.zeros(mask.shape, dtype=np.uint8)
    # `fillPoly` takes pixels, not positions.
    corners = np.floor([point[:2] for point in points]).astype(np.int32)
    cv2.fillPoly(canvas, [corners], 1)
    inside = canvas > 0
    intersection = np.count_nonzero(inside & mask)
    union = np.count_nonzero(inside | mask)
    return float(intersection / max(1, union))
