"""What prompts take somebody: each as looking, moving, pressing and drawing, summed over rounds and dialogues."""

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
"""How far the pointer is from the first prompt, in diagonals: half-way from the middle of the picture to its corner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTimeModel:
    """How quickly somebody prompts.

    Attributes:
        habits: what each act takes; by default what is published.
        pointer: with which device, one of the habits' pointers.
        boxes: how boxes are drawn.

    Raises:
        InvalidInput: the habits say nothing of the pointer.
    """

    habits: TimeHabits = field(
        default_factory=lambda: read_habits(SHIPPED_HABITS / "seconds.toml", TimeHabits)
    )
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
        """Return the pace that a file of habits tells of; without one, what is published.

        Raises:
            InvalidInput: the file cannot be read, or says nothing of the pointer.
        """
        habits = read_habits(path or SHIPPED_HABITS / "seconds.toml", TimeHabits)
        return cls(habits=habits, pointer=pointer, boxes=boxes)

    def until(
        self, rounds: Sequence[Sequence[object]], diagonal_px: float
    ) -> list[LogNormalSeconds]:
        """Return what a dialogue takes up to each round, for people as they differ.

        Args:
            rounds: the prompts of each, or what a record keeps of them.
            diagonal_px: of the picture, or of a slice or frame.
        """
        each = self.of_rounds(rounds, diagonal_px)
        so_far = accumulate(each, lambda before, more: sum_seconds([before, more]))
        return [one.wider(self.habits.between_people) for one in so_far]

    def of_rounds(
        self, rounds: Sequence[Sequence[object]], diagonal_px: float
    ) -> list[LogNormalSeconds]:
        """Return what each round takes a person of average pace; nothing where no prompt was given."""
        hand = _Hand(self.habits, self._device, self.boxes, diagonal_px)
        return [
            sum_seconds(hand.give(prompts, is_first=not place))
            for place, prompts in enumerate(rounds)
        ]

    @property
    def _device(self) -> PointerSpeed:
        return self.habits.pointers[self.pointer]


@dataclass(slots=True)
class _Hand:
    """Where somebody's pointer is, from prompt to prompt."""

    habits: TimeHabits
    pointer: PointerSpeed
    boxes: BoxMethod
    diagonal_px: float
    place: Position | tuple[float, ...] | None = None

    def give(self, prompts: Sequence[object], *, is_first: bool) -> Iterator[LogNormalSeconds]:
        """Yield the acts of one round."""
        why = "first" if is_first else "correction"
        for prompt in prompts:
            yield self.habits.look[why].seconds
            yield from self._draw(prompt)
            why = "another"

    def _draw(self, prompt: object) -> Iterator[LogNormalSeconds]:
        match prompt:
            case Click():
                yield from self._press(prompt.position, self.habits.aim)
            case Box():
                yield from self._box(prompt)
            case Limits():
                yield from [self.habits.scroll.seconds, self.habits.press.seconds] * 2
            case Scribble() | Lasso():
                yield from self._press(prompt.points[0], self.habits.aim)
                length = sum(math.dist(one, two) for one, two in pairwise(prompt.points))
                share = length / self.diagonal_px
                yield LogNormalSeconds(share / self.habits.draw_per_s, self.habits.draw_spread)
                self.place = prompt.points[-1]
            case _:  # a whole mask, for this picture or in an example
                yield self.habits.outline.seconds

    def _box(self, box: Box) -> Iterator[LogNormalSeconds]:
        """Yield what a box takes; one of several slices needs two more, where the object begins and where it ends."""
        last = (*box.start[:-2], box.stop[-2] - 1, box.stop[-1] - 1)
        if len(box.start) == 3 and box.stop[0] - box.start[0] > 1:
            yield from [self.habits.scroll.seconds, self.habits.press.seconds] * 2
        if self.boxes == "drag":
            yield from self._press(box.start, self.habits.aim_edge)
            yield self.pointer.drag(math.dist(box.start, last), self._width(self.habits.aim_edge))
            yield self.habits.adjust.seconds
            self.place = last
            return
        for number, point in enumerate(_outermost(box.start, last)):
            if number:
                yield self.habits.look["another"].seconds
            yield from self._press(point, self.habits.aim_edge)

    def _press(self, place: Sequence[float], aim: float) -> Iterator[LogNormalSeconds]:
        """Yield moving to a place, through slices where it is in another one, and pressing there."""
        before = self.place
        self.place = tuple(place)
        if before is not None and before[:-2] != self.place[:-2]:
            yield self.habits.scroll.seconds
        if before is None:
            way = REST_DISTANCE * self.diagonal_px
        else:
            way = math.dist(before[-2:], self.place[-2:])
        yield self.pointer.point(way, self._width(aim))
        yield self.habits.press.seconds

    def _width(self, aim: float) -> float:
        return aim * self.diagonal_px


def _outermost(first: Position, last: Position) -> list[tuple[float, ...]]:
    """Return the middles of a box's sides, where its object's outermost points lie on the average."""
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
