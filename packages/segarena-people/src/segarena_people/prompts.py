"""One prompt by a person: its goal, its points, and the display conditions.

Positions are x from the left edge and y from the top, in pixels of the picture and again in CSS
pixels of the window. They may lie slightly outside the picture. `convert_prompt` converts them to
(row, column).

Fields that an imported collection cannot provide are empty or 0.
"""

from __future__ import annotations

import math
from itertools import groupby
from operator import attrgetter
from typing import Literal, TypeAlias

import msgspec

from segarena.errors import InvalidPrompt
from segarena.prompts import Box, Click, Lasso, Scribble

PromptKind: TypeAlias = Literal["click", "box", "scribble", "lasso"]
GoalKind: TypeAlias = Literal["object", "missing", "surplus"]
"""Region to mark: the object, a part of it that the previous mask misses, or a surplus part of that mask."""
TrialPurpose: TypeAlias = Literal["main", "training", "attention"]
DeviceKind: TypeAlias = Literal["pc", "mobile"]
PointerKind: TypeAlias = Literal["mouse", "touch", "pen", "keyboard"]
Exclusion: TypeAlias = Literal["", "batch", "far", "attention"]
"""Reason why a prompt is excluded: its batch had too few correct prompts, it is far from its goal,
or its person failed attention checks; "" for a prompt that counts.
"""


class PointerSample(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of the pointer's position.

    Attributes:
        stroke: index of its stroke, from 0.
        x, y: position in the picture.
        screen_x, screen_y: position in the window, CSS px.
        time_ms: time since the page allowed a prompt.
        pressure: 0 to 1; 0.5 if the device does not report it, 0 at the release on some devices.
    """

    stroke: int
    x: float
    y: float
    screen_x: float = 0.0
    screen_y: float = 0.0
    time_ms: float = 0.0
    pressure: float = 0.5


class PersonPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table of people's prompts.

    Attributes:
        id: unique id of the prompt.
        study: study or collection from which the prompt comes.
        dataset, sample, target: names of the dataset, sample and target that were shown.
        object_id: number of the object in a target with several objects; 1 otherwise.
        plane: slice of a volume or frame of a video; None for an image.
        label: label of the object; "" if it has none.
        width, height: size of the picture, in px.
        goal: see `GoalKind`.
        goal_mask: name of the goal mask's file; "" if the goal is the whole object of the
            dataset.
        previous_mask: name of the corrected mask's file; "" in the first round.
        model: segmenter that made the corrected mask; "" in the first round.
        person: random name from the study, independent of the order of arrival; "" if unknown.
        batch: number of the person's batch, from 1; 0 during training, and if there are no batches.
        place: position of the prompt in its batch, from 1.
        purpose: part of the study: main, training, attention.
        round: round, counted from 1.
        kind: click, box, scribble, lasso.
        is_positive: whether the prompt marks the object; a negative prompt marks the background.
        display_mode: display mode of the target.
        device: device inferred from the pointer; `declared_device` is the person's statement.
        pointer: mouse, touch, pen, keyboard.
        points: all pointer samples, in order; see `PointerSample`.
        device_pixel_ratio: pixel ratio of the screen; not an integer if the browser is zoomed.
        page_scale: zoom of the page by pinching; above 1 if it was enlarged.
        image_scale: CSS px per pixel of the picture; below 1 if it was displayed downscaled.
        window_width, window_height, scroll_x, scroll_y: size and scroll position of the window, CSS
            px.
        free_ms, shown_ms, blocked_ms: durations for which the picture, the target, and the picture
            again were shown before a prompt was allowed, by the browser's clock.
        answer_ms: time from the moment a prompt was allowed to the end of the prompt.
        server_ms: time from the start of the trial to the arrival of the prompt, by the server's
            clock.
        scrolls, zooms, leaves: number of times the page was scrolled, zoomed, or left during the prompt.
        early_presses: number of presses before a prompt was allowed.
        extra_presses: number of presses that the prompt did not need, such as the second one of a
            double tap.
        reloads: number of page loads after the target had been shown.
        fate: reason why the prompt is excluded; see `Exclusion`.
        group: unit that a train-test split must not divide, such as a patient or a video; ""
            means the sample.
        raster: name of the rasterized stroke's file if the points are unknown; "" otherwise.
        stroke_px: width of the line, in px of the picture.
    """

    id: str
    study: str
    dataset: str
    sample: str
    target: str
    object_id: int = 1
    plane: int | None = None
    label: str = ""
    width: int
    height: int
    goal: GoalKind = "object"
    goal_mask: str = ""
    previous_mask: str = ""
    model: str = ""
    person: str = ""
    batch: int = 0
    place: int = 0
    purpose: TrialPurpose = "main"
    round: int = 1
    kind: PromptKind
    is_positive: bool = True
    display_mode: str = ""
    device: Literal[DeviceKind, ""] = ""
    declared_device: Literal[DeviceKind, ""] = ""
    pointer: Literal[PointerKind, ""] = ""
    points: tuple[PointerSample, ...] = ()
    device_pixel_ratio: float = 1.0
    page_scale: float = 1.0
    image_scale: float = 1.0
    window_width: float = 0.0
    window_height: float = 0.0
    scroll_x: float = 0.0
    scroll_y: float = 0.0
    free_ms: float = 0.0
    shown_ms: float = 0.0
    blocked_ms: float = 0.0
    answer_ms: float = 0.0
    server_ms: float = 0.0
    scrolls: int = 0
    zooms: int = 0
    leaves: int = 0
    early_presses: int = 0
    extra_presses: int = 0
    reloads: int = 0
    fate: Exclusion = ""
    group: str = ""
    raster: str = ""
    stroke_px: float = 0.0

    @property
    def strokes(self) -> tuple[tuple[PointerSample, ...], ...]:
        """Points of each stroke."""
        strokes: list[tuple[PointerSample, ...]] = []
        for _, points in groupby(self.points, attrgetter("stroke")):
            strokes.append(tuple(points))
        return tuple(strokes)

    @property
    def meant(self) -> tuple[tuple[PointerSample, ...], ...]:
        """Strokes that count: those after the first `extra_presses`, but at least the last one.

        In a study this is the last stroke; where people could draw several lines, all of them
        count.
        """
        strokes = self.strokes
        return strokes[-max(1, len(strokes) - self.extra_presses) :]


def convert_prompt(given: PersonPrompt) -> Click | Box | Scribble | Lasso:
    """Convert a person's prompt to the format of simulated users: (row, column), clipped to the picture.

    A click is the first point. A box extends from the first to the last point of its stroke, both
    included, whatever the path between them. A scribble or lasso is the last stroke of the prompt.
    Points outside the picture are moved to its edge.

    Raises:
        InvalidPrompt: the prompt has no points, or a point is not finite.
    """
    return convert_prompts(given)[-1]


def convert_prompts(given: PersonPrompt) -> tuple[Click | Box | Scribble | Lasso, ...]:
    """Convert the strokes that count in a prompt; a click or box always gives a single prompt.

    Raises:
        InvalidPrompt: as for `convert_prompt`.
    """
    if not given.points:
        has = f"only the raster {given.raster}" if given.raster else "none"
        raise InvalidPrompt(f"prompt {given.id}: expected at least one point, got {has}")
    for point in given.points:
        if not (math.isfinite(point.x) and math.isfinite(point.y)):
            raise InvalidPrompt(f"prompt {given.id}: expected points with finite coordinates")
    if given.kind == "click":
        row, column = _pixel(given, given.strokes[0][0])
        position = (*_plane(given), row, column)
        return (Click(position, given.is_positive, given.object_id),)
    if given.kind == "box":
        stroke = given.strokes[-1]
        first = _pixel(given, stroke[0])
        last = _pixel(given, stroke[-1])
        return (_box(given, first, last),)
    lines: list[Scribble | Lasso] = []
    for stroke in given.meant:
        lines.append(_line(given, stroke))
    return tuple(lines)


def _line(given: PersonPrompt, stroke: tuple[PointerSample, ...]) -> Scribble | Lasso:
    kind = Scribble if given.kind == "scribble" else Lasso
    plane = tuple(float(index) for index in _plane(given))
    points: list[tuple[float, ...]] = []
    for point in stroke:
        points.append((*plane, *_position(given, point)))
    return kind(tuple(points), given.is_positive, given.object_id)


def _box(
    given: PersonPrompt,
    first: tuple[int, int],
    last: tuple[int, int],
) -> Box:
    top, bottom = sorted((first[0], last[0]))
    left, right = sorted((first[1], last[1]))
    if given.plane is None:
        # The stop of a box is exclusive; add 1 so that the last pixel is inside.
        return Box((top, left), (bottom + 1, right + 1), given.object_id)
    start = (given.plane, top, left)
    stop = (given.plane + 1, bottom + 1, right + 1)
    return Box(start, stop, given.object_id)


def _plane(given: PersonPrompt) -> tuple[int, ...]:
    return () if given.plane is None else (given.plane,)


def _pixel(given: PersonPrompt, point: PointerSample) -> tuple[int, int]:
    """Return the pixel (row, column) that contains a point: pixel 0 extends from 0 to 1."""
    row = min(max(int(point.y // 1), 0), given.height - 1)
    column = min(max(int(point.x // 1), 0), given.width - 1)
    return row, column


def _position(given: PersonPrompt, point: PointerSample) -> tuple[float, float]:
    """Return the (row, column) of a point in the convention of simulated users, where the centre of pixel 0 is 0."""
    row = min(max(point.y - 0.5, 0.0), given.height - 1.0)
    column = min(max(point.x - 0.5, 0.0), given.width - 1.0)
    return row, column
