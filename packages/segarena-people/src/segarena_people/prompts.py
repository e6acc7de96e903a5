"""One prompt that a person gave, with what it was asked for, how it was drawn, and what the screen was like.

Positions are those of the wire: x from the left edge, y from the top, in pixels of the picture that was shown, and in
CSS pixels of the window. They may lie a little outside the picture, as hands do. `prompt_of` turns them into (row,
column).

What was collected elsewhere is known in part: what is not known is empty, or 0.
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
"""What was asked for: the object, a part of it that the previous mask misses, or what that mask has too much."""
TrialPurpose: TypeAlias = Literal["main", "training", "attention"]
DeviceKind: TypeAlias = Literal["pc", "mobile"]
PointerKind: TypeAlias = Literal["mouse", "touch", "pen", "keyboard"]
Exclusion: TypeAlias = Literal["", "batch", "far", "attention"]
"""Why a prompt does not count: too few of its batch were right, it is far off, its person failed checks; "" counts."""


class PointerSample(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of a pointer.

    Attributes:
        stroke: which stroke it is of, from 0.
        x, y: in the picture.
        screen_x, screen_y: in the window, CSS px.
        time_ms: since a prompt was allowed.
        pressure: 0 to 1; 0.5 where the device does not tell, 0 at the release of some.
    """

    stroke: int
    x: float
    y: float
    screen_x: float = 0.0
    screen_y: float = 0.0
    time_ms: float = 0.0
    pressure: float = 0.5


class PersonPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table of people's prompts.

    Attributes:
        id: of the prompt, unique.
        study: where it was collected.
        dataset, sample, target: what was shown, by the names of the dataset.
        object_id: which object of a target of several; 1 otherwise.
        plane: the slice of a volume or the frame of a video; None of an image.
        label: what the object is called; "" when nothing.
        width, height: of the picture, in px.
        goal: see `Goal`.
        goal_mask: name of the file with what was asked for; "" when that is the whole object of the dataset.
        previous_mask: name of the file with the mask that was to be corrected; "" in the first round.
        model: which segmenter made it; "" in the first round.
        person: a name that its study drew, which says nothing of when they came; "" where nobody knows who it was.
        batch: which of the person's batches, from 1; 0 of the training, and where there were none.
        place: in the batch, from 1.
        purpose: main, training, attention.
        round: from 1.
        kind: click, box, scribble, lasso.
        is_positive: whether it says "this belongs to it"; if not, it lies beside the goal where the goal is an object.
        display_mode: how the target was shown.
        device: by the pointer that was used; `declared_device` is what the person said.
        pointer: mouse, touch, pen, keyboard.
        points: every sample, in order; see `Point`.
        device_pixel_ratio: of the screen; not whole where the browser is zoomed.
        page_scale: above 1 where the page was pinched.
        image_scale: CSS px per pixel of the picture; below 1 where it was shown smaller than it is.
        window_width, window_height, scroll_x, scroll_y: of the window, CSS px.
        free_ms, shown_ms, blocked_ms: how long the picture, the target, and the picture again were to be seen before a
            prompt was allowed, by the browser's clock.
        answer_ms: from then to the end of the prompt.
        server_ms: from the beginning of the trial to the arrival of the prompt, by the server's clock.
        scrolls, zooms, leaves: how often the page was scrolled, zoomed, or left meanwhile.
        early_presses: presses before a prompt was allowed.
        extra_presses: presses beyond those that the prompt needs, such as the second one of a double tap.
        reloads: how often the page was loaded again after the target had been shown.
        fate: see `Fate`.
        group: what must not lie on both sides of a split, such as a patient or a video; "" is the sample.
        raster: name of the file with what was drawn, where its points are not known; "" where they are.
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
        """The points of each stroke."""
        return tuple(tuple(points) for _, points in groupby(self.points, attrgetter("stroke")))

    @property
    def meant(self) -> tuple[tuple[PointerSample, ...], ...]:
        """The strokes that count: those after the `extra_presses`, at least the last one.

        In a study that is the last stroke; where people were free to draw several lines, it is all of them.
        """
        strokes = self.strokes
        return strokes[-max(1, len(strokes) - self.extra_presses) :]


def convert_prompt(given: PersonPrompt) -> Click | Box | Scribble | Lasso:
    """Return what a person gave as simulated users give it, along the axes of the sample, inside the picture.

    A click is where the pointer was pressed; a box lies between the first and the last point of its stroke, both
    included, however it was drawn. A scribble or lasso is its last stroke. What lies outside the picture is moved to
    its edge.

    Raises:
        InvalidPrompt: it has no points, or one that is not finite.
    """
    return convert_prompts(given)[-1]


def convert_prompts(given: PersonPrompt) -> tuple[Click | Box | Scribble | Lasso, ...]:
    """Return all lines of a prompt that count, as `prompt_of` gives the last one; a click or box is always one.

    Raises:
        InvalidPrompt: as `prompt_of`.
    """
    if not given.points:
        has = f"only the raster {given.raster}" if given.raster else "none"
        raise InvalidPrompt(f"prompt {given.id}: expected at least one point, got {has}")
    if not all(math.isfinite(point.x) and math.isfinite(point.y) for point in given.points):
        raise InvalidPrompt(f"prompt {given.id}: expected points that are finite, got others")
    if given.kind == "click":
        row, column = _pixel(given, given.strokes[0][0])
        return (Click((*_plane(given), row, column), given.is_positive, given.object_id),)
    if given.kind == "box":
        stroke = given.strokes[-1]
        return (_box(given, _pixel(given, stroke[0]), _pixel(given, stroke[-1])),)
    return tuple(_line(given, stroke) for stroke in given.meant)


def _line(given: PersonPrompt, stroke: tuple[PointerSample, ...]) -> Scribble | Lasso:
    made = Scribble if given.kind == "scribble" else Lasso
    points = tuple((*map(float, _plane(given)), *_position(given, point)) for point in stroke)
    return made(points, given.is_positive, given.object_id)


def _box(given: PersonPrompt, first: tuple[int, int], last: tuple[int, int]) -> Box:
    start = tuple(min(pair) for pair in zip(first, last, strict=True))
    stop = tuple(max(pair) + 1 for pair in zip(first, last, strict=True))
    planes = _plane(given)
    return Box((*planes, *start), (*(plane + 1 for plane in planes), *stop), given.object_id)


def _plane(given: PersonPrompt) -> tuple[int, ...]:
    return () if given.plane is None else (given.plane,)


def _pixel(given: PersonPrompt, point: PointerSample) -> tuple[int, int]:
    """Return the (row, column) of the pixel that a point lies in: pixel 0 reaches from 0 to 1."""
    row = min(max(int(point.y // 1), 0), given.height - 1)
    column = min(max(int(point.x // 1), 0), given.width - 1)
    return row, column


def _position(given: PersonPrompt, point: PointerSample) -> tuple[float, float]:
    """Return the (row, column) of a point where the middle of pixel 0 is 0, as simulated users have it."""
    return min(max(point.y - 0.5, 0.0), given.height - 1.0), min(
        max(point.x - 0.5, 0.0), given.width - 1.0
    )
