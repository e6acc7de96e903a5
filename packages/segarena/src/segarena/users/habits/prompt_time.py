"""Predicted time that people take for prompts: looking, moving, pressing and drawing, summed over rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal, TypeAlias

from segarena.errors import InvalidInput
from segarena.prompts import Box, Click, Lasso, Limits, Position, Scribble
from segarena.users.habits.habit_files import SHIPPED_HABITS, read_habits
from segarena.users.habits.time_habits import (
    LogNormalSeconds,
    PointerSpeed,
    TimeHabits,
    sum_seconds,
)

BoxMethod: TypeAlias = Literal["extreme", "drag"]
"""How boxes are drawn: by clicks on the object's four outermost points, or from corner to corner."""

REST_DISTANCE = 0.25
"""Distance from the pointer to the first prompt, in diagonals: half the way from the centre to a corner."""

_SHIPPED_TIMES = SHIPPED_HABITS / "seconds.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTimeModel:
    """Predicts the time of prompts with one device.

    Attributes:
        habits: times of each act; by default the published times.
        pointer: pointing device, one of those in the habits.
        boxes: how boxes are drawn.

    Raises:
        InvalidInput: the habits have no such pointing device.
    """

    habits: TimeHabits = field(default_factory=lambda: read_habits(_SHIPPED_TIMES, TimeHabits))
    pointer: str = "mouse"
    boxes: BoxMethod = "extreme"

    def __post_init__(self) -> None:
        if self.pointer not in self.habits.pointers:
            known = ", ".join(self.habits.pointers)
            raise InvalidInput(f"pointer: expected one of {known}; got {self.pointer!r}")

    @classmethod
    def read(
        cls,
        path: str | Path | None = None,
        *,
        pointer: str = "mouse",
        boxes: BoxMethod = "extreme",
    ) -> PromptTimeModel:
        """Return the model in a habit file, or without a file the model of the published times.

        Raises:
            InvalidInput: the file cannot be read, or has no such pointing device.
        """
        habits = read_habits(path or _SHIPPED_TIMES, TimeHabits)
        return cls(habits=habits, pointer=pointer, boxes=boxes)

    def until(
        self, rounds: Sequence[Sequence[object]], diagonal_px: float
    ) -> list[LogNormalSeconds]:
        """Return the time of a dialogue up to the end of each round, including the variation between people.

        Args:
            rounds: prompts of each round, or their recorded form.
            diagonal_px: diagonal of the picture, or of a slice or frame.
        """
        by_round = self.of_rounds(rounds, diagonal_px)
        cumulative = accumulate(by_round, lambda before, more: sum_seconds([before, more]))
        # A person's factor is the same in all rounds, so it widens the distribution of the sum, not
        # of each round.
        return [time.wider(self.habits.between_people) for time in cumulative]

    def of_rounds(
        self, rounds: Sequence[Sequence[object]], diagonal_px: float
    ) -> list[LogNormalSeconds]:
        """Return the time of each round for an average person; 0 seconds for a round without prompts."""
        device = self.habits.pointers[self.pointer]
        tracker = _PointerTracker(self.habits, device, self.boxes, diagonal_px)
        times: list[LogNormalSeconds] = []
        for number, prompts in enumerate(rounds):
            acts = tracker.round_acts(prompts, is_first=number == 0)
            times.append(sum_seconds(acts))
        return times


@dataclass(slots=True)
class _PointerTracker:
    """Tracks the pointer from prompt to prompt and yields the times of the person's acts."""

    habits: TimeHabits
    pointer: PointerSpeed
    boxes: BoxMethod
    diagonal_px: float
    position: Position | tuple[float, ...] | None = None

    def round_acts(
        self, prompts: Sequence[object], *, is_first: bool
    ) -> Iterator[LogNormalSeconds]:
        """Yield the times of the acts of one round."""
        reason = "first" if is_first else "correction"
        for prompt in prompts:
            yield self.habits.look[reason].seconds
            yield from self._prompt_acts(prompt)
            reason = "another"

    def _prompt_acts(self, prompt: object) -> Iterator[LogNormalSeconds]:
        match prompt:
            case Click():
                yield from self._press_acts(prompt.position, self.habits.aim)
            case Box():
                yield from self._box_acts(prompt)
            case Limits():
                yield from self._limits_acts()
            case Scribble() | Lasso():
                yield from self._press_acts(prompt.points[0], self.habits.aim)
                length_px = sum(math.dist(one, two) for one, two in pairwise(prompt.points))
                diagonals = length_px / self.diagonal_px
                median_s = diagonals / self.habits.draw_per_s
                yield LogNormalSeconds(median_s, self.habits.draw_spread)
                self.position = prompt.points[-1]
            case _:  # a whole mask, for this picture or in an example
                yield self.habits.outline.seconds

    def _limits_acts(self) -> Iterator[LogNormalSeconds]:
        """Yield the times of marking the first and last slice of an object."""
        for _ in range(2):
            yield self.habits.scroll.seconds
            yield self.habits.press.seconds

    def _box_acts(self, box: Box) -> Iterator[LogNormalSeconds]:
        """Yield the times of drawing a box, and for several slices also of marking its first and last slice."""
        *plane, _, _ = box.start
        stop_row, stop_column = box.stop[-2:]
        last = (*plane, stop_row - 1, stop_column - 1)
        if plane and box.stop[0] - box.start[0] > 1:
            yield from self._limits_acts()
        if self.boxes == "drag":
            yield from self._press_acts(box.start, self.habits.aim_edge)
            width = self.habits.aim_edge * self.diagonal_px
            yield self.pointer.drag(math.dist(box.start, last), width)
            yield self.habits.adjust.seconds
            self.position = last
            return
        for number, point in enumerate(_side_centres(box.start, last)):
            if number:
                yield self.habits.look["another"].seconds
            yield from self._press_acts(point, self.habits.aim_edge)

    def _press_acts(self, position: Sequence[float], aim: float) -> Iterator[LogNormalSeconds]:
        """Yield the times of moving to a position, through slices if needed, and of pressing there."""
        before = self.position
        self.position = tuple(position)
        if before is None:
            distance_px = REST_DISTANCE * self.diagonal_px
        else:
            distance_px = math.dist(before[-2:], self.position[-2:])
            is_in_other_slice = before[:-2] != self.position[:-2]
            if is_in_other_slice:
                yield self.habits.scroll.seconds
        yield self.pointer.point(distance_px, aim * self.diagonal_px)
        yield self.habits.press.seconds


def _side_centres(first: Position, last: Position) -> list[tuple[float, ...]]:
    """Return the centres of a box's sides, where the outermost points of its object are on average."""
    *plane, top, left = first
    bottom, right = last[-2:]
    row = (top + bottom) / 2
    column = (left + right) / 2
    return [
        (*plane, top, column),
        (*plane, row, left),
        (*plane, bottom, column),
        (*plane, row, right),
    ]
