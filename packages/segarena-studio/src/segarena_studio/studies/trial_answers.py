"""What comes back from a trial, checked: it was sent by a stranger's browser, and may be anything."""

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
_OUTSIDE = 1.0
"""So many widths or heights of the picture a hand may be outside of it."""

_Number: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
_Ms: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=_DAY_MS)]
_Times: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_Scale: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1000)]
_Point: TypeAlias = tuple[
    _Number, _Number, _Number, _Number, _Ms, Annotated[float, msgspec.Meta(ge=0, le=1)]
]
"""x, y in the picture; x, y in the window; ms since a prompt was allowed; pressure."""


class Stroke(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From a press to its release.

    Attributes:
        pointer: mouse, touch, pen, keyboard.
        clicks: 2 for the second press of a double tap.
        points: every sample.
    """

    pointer: PointerKind
    clicks: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    points: Annotated[tuple[_Point, ...], msgspec.Meta(min_length=1, max_length=MOST_POINTS)]


class ScreenState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the screen was like; see `segarena_people.prompts.PersonPrompt`."""

    device_pixel_ratio: _Scale
    page_scale: _Scale
    image_scale: _Scale
    window: tuple[_Number, _Number]
    scroll: tuple[_Number, _Number]


class TrialTimes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long each part was, by the browser's clock."""

    free_ms: _Ms
    shown_ms: _Ms
    blocked_ms: _Ms
    answer_ms: _Ms


class TrialAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came back from a trial.

    Attributes:
        strokes: as they were drawn; the last one counts, of a click the first.
        screen, times: see there.
        scrolls, zooms, leaves, early_presses: see `segarena_people.prompts.PersonPrompt`.
        late_presses: after the prompt was given.
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
        """The stroke that a device is told by."""
        return self.strokes[0]

    @property
    def device(self) -> DeviceKind:
        """What it was given with: a mouse and keys belong to a computer, a finger or pen to what one holds."""
        return "pc" if self.decisive.pointer in ("mouse", "keyboard") else "mobile"


class Judgement(NamedTuple):
    """Whether an answer is right, and whether it is at least not far off."""

    is_inside: bool
    is_near: bool


def check_answer(answer: TrialAnswer, kind: PromptKind, size: tuple[int, int]) -> None:
    """Raise `InvalidInput` unless an answer can be of this kind, on a picture of (height, width) `size`."""
    points = [point for stroke in answer.strokes for point in stroke.points]
    if len(points) > MOST_POINTS:
        raise InvalidInput(f"strokes: expected at most {MOST_POINTS} points, got {len(points)}")
    height, width = size
    for x, y, *_ in points:
        if not (-_OUTSIDE * width <= x <= 2 * width and -_OUTSIDE * height <= y <= 2 * height):
            raise InvalidInput(
                f"strokes: expected points on or around the picture, got ({x:g}, {y:g})"
            )
    if any(later[4] < before[4] for before, later in pairwise(points)):
        raise InvalidInput("strokes: expected times that run forwards")
    last = answer.strokes[-1].points
    if kind == "box" and (last[0][0] == last[-1][0] or last[0][1] == last[-1][1]):
        raise InvalidInput("strokes: expected a box with two sides, got a line or a point")
    least = {"lasso": 3, "scribble": 2}.get(kind, 1)
    if len({point[:2] for point in last}) < least:
        raise InvalidInput(f"strokes: expected at least {least} different points for a {kind}")


def judge_answer(
    answer: TrialAnswer, kind: PromptKind, mask: Mask, radius_share: float
) -> Judgement:
    """Return whether an answer is right.

    A click is right on the mask, and near within a radius of it (RClicks, section 3.2). Nobody published a rule for the
    others. Here a scribble is right when at least half of its points are, and near likewise; a box or a lasso is right
    when its IoU with the mask's box, or with the mask, is at least 0.5, and near from 0.3 on.

    Args:
        answer: which fits the kind.
        kind: of prompt.
        mask: bool (H, W): what was asked for.
        radius_share: the radius as a share of the mask's diagonal.
    """
    radius_px = radius_share * math.hypot(*mask.shape)
    if kind == "click":
        pixel = _pixel(answer.strokes[0].points[0])
        return Judgement(is_near(mask, pixel, 0), is_near(mask, pixel, radius_px))
    points = answer.strokes[-1].points
    if kind == "scribble":
        away = _distances(mask, np.array([_pixel(point) for point in points]))
        return Judgement(bool(np.mean(away == 0) >= 0.5), bool(np.mean(away <= radius_px) >= 0.5))
    iou = _iou_of_box(points, mask) if kind == "box" else _iou_of_lasso(points, mask)
    return Judgement(iou >= 0.5, iou >= 0.3)


def _distances(mask: Mask, pixels: NDArray[np.int_]) -> NDArray[np.float32]:
    """Return how far each (row, column) is from the mask; what is not on the picture is infinitely far.

    All at once: a stranger may send 20 000 of them, and a search for each could take minutes.
    """
    away = np.full(len(pixels), np.inf, dtype=np.float32)
    is_on = np.all((pixels >= 0) & (pixels < mask.shape), axis=1)
    everywhere = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    away[is_on] = everywhere[tuple(pixels[is_on].T)]
    return away


def _pixel(point: _Point) -> tuple[int, int]:
    """Return the (row, column) of the pixel that a point lies in."""
    return math.floor(point[1]), math.floor(point[0])


def _iou_of_box(points: tuple[_Point, ...], mask: Mask) -> float:
    rows, columns = bounding_window(mask)
    (x0, x1), (y0, y1) = (sorted((points[0][i], points[-1][i])) for i in (0, 1))
    wide = max(0.0, min(x1, columns.stop) - max(x0, columns.start))
    high = max(0.0, min(y1, rows.stop) - max(y0, rows.start))
    whole = (x1 - x0) * (y1 - y0) + (columns.stop - columns.start) * (rows.stop - rows.start)
    return wide * high / (whole - wide * high)


def _iou_of_lasso(points: tuple[_Point, ...], mask: Mask) -> float:
    drawn = np.zeros(mask.shape, dtype=np.uint8)
    corners = np.floor([point[:2] for point in points]).astype(np.int32)
    cv2.fillPoly(drawn, [corners], 1)
    inside = drawn > 0
    return float(np.count_nonzero(inside & mask) / max(1, np.count_nonzero(inside | mask)))
