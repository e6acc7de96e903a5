"""Prediction of the seconds that people take for prompts: looking, moving, pressing and drawing, summed over rounds."""

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
"""Distance of the pointer from the first prompt, in diagonals: half-way from the picture's centre to its corner."""

_SHIPPED_TIMES = SHIPPED_HABITS / "seconds.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTimeModel:
    """Predicts the time of prompts with one device.

    Attributes:
        habits: times of each act; by default the published ones.
        pointer: device, one of the habits' pointers.
        boxes: how boxes are drawn.

    Raises:
        InvalidInput: the habits have no such pointer.
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
        cls, path: str | Path | None = None, *, pointer: str = "mouse", boxes: BoxMethod = "extreme"
    ) -> PromptTimeModel:
        """Return the model of a habit file; without a file, that of the published times.

        Raises:
            InvalidInput: the file cannot be read, or has no such pointer.
        """
        habits = read_habits(path or _SHIPPED_TIMES, TimeHabits)
        return cls(habits=habits, pointer=pointer, boxes=boxes)

    def until(
        self, rounds: Sequence[Sequence[object]], diagonal_px: float
    ) -> list[LogNormalSeconds]:
        """Return the time of a dialogue up to the end of each round, including how people differ.

        Args:
            rounds: prompts of each round, or their recorded form.
            diagonal_px: diagonal of the picture, or of a slice or frame.
        """
        each = self.of_rounds(rounds, diagonal_px)
        so_far = accumulate(each, lambda before, more: sum_seconds([before, more]))
        return [time.wider(self.habits.between_people) for time in so_far]

    def of_rounds(
        self, rounds: Sequence[Sequence[object]], diagonal_px: float
    ) -> list[LogNormalSeconds]:
        """Return the time of each round for an average person; 0 seconds without a prompt."""
        device = self.habits.pointers[self.pointer]
        hand = _PointerTracker(self.habits, device, self.boxes, diagonal_px)
        return [
            sum_seconds(hand.round_acts(prompts, is_first=number == 0))
            for number, prompts in enumerate(rounds)
        ]


@dataclass(slots=True)
class _PointerTracker:
    """Follows the pointer from prompt to prompt and yields the times of its acts."""

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
                length = sum(math.dist(one, two) for one, two in pairwise(prompt.points))
                median = length / self.diagonal_px / self.habits.draw_per_s
                yield LogNormalSeconds(median, self.habits.draw_spread)
                self.position = prompt.points[-1]
            case _:  # a whole mask, for this picture or in an example
                yield self.habits.outline.seconds

    def _limits_acts(self) -> Iterator[LogNormalSeconds]:
        """Yield the times of marking the first and the last slice of an object."""
        for _ in range(2):
            yield self.habits.scroll.seconds
            yield self.habits.press.seconds

    def _box_acts(self, box: Box) -> Iterator[LogNormalSeconds]:
        """Yield the times of a box; one over several slices also needs its first and last slice marked."""
        last = (*box.start[:-2], box.stop[-2] - 1, box.stop[-1] - 1)
        if len(box.start) == 3 and box.stop[0] - box.start[0] > 1:
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
        """Yield the times of moving to a position, through slices where needed, and of pressing there."""
        before = self.position
        self.position = tuple(position)
        if before is not None and before[:-2] != self.position[:-2]:
            yield self.habits.scroll.seconds
        if before is None:
            way = REST_DISTANCE * self.diagonal_px
        else:
            way = math.dist(before[-2:], self.position[-2:])
        yield self.pointer.point(way, aim * self.diagonal_px)
        yield self.habits.press.seconds


def _side_centres(first: Position, last: Position) -> list[tuple[float, ...]]:
    """Return the centres of a box's sides, where its object's outermost points lie on average."""
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
