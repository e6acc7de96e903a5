"""Many hands that draw on one surface at once, step by step: where they are, what they see, what they have drawn."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.users.stroke_model.surface import (
    RIM_CELLS,
    SHAPE_FEATURES,
    ComplexPoints,
    DrawingSurface,
    FloatArray,
    as_xy,
)

Indices: TypeAlias = NDArray[np.intp]

START_DIRECTIONS = 24
"""Directions in which a line may begin."""
PLAN_FIELDS = ("ink", "pieces")
"""What a hand sets out with, as logarithms: the length of all its lines over the goal's size, and how many lines."""

_REACHES = np.array([[1.0], [2.5], [5.0]])
_LOOKS = np.radians([0, 25, -25, 60, -60, 100, -100, 150, -150])
_AHEAD = (_REACHES * np.exp(1j * _LOOKS)).ravel().astype(np.complex64)
"""Where a hand looks that draws, in strides along its course."""
_AROUND = (_REACHES * np.exp(1j * np.arange(12) * math.pi / 6)).ravel().astype(np.complex64)
"""Where a hand looks before it begins, in strides."""
_BESIDE = 3 * np.array([1, 1j, -1, -1j], np.complex64)
"""Where it looks whether something is drawn near a place, in cells."""

_TRAIL = 5
"""After so many steps a line counts as drawn for the hand that draws it."""
_FADES = np.array([0.5, 0.8, 0.93, 0.0], np.float32)
"""How much of what a hand turned before it remembers, over short and long."""
_SPREAD = np.arange(-2, 3)
_PEN = (
    np.exp(-0.5 * (np.square(_SPREAD)[:, None] + np.square(_SPREAD)) / 1.3**2)
    .astype(np.float32)
    .ravel()
)
_MANY = 6
_MOST_IN_PART = 3
_MOST_POINTS = 40
"""Of what a hand has drawn, where it looks for a place away from it."""


class DrawingAgents:
    """Hands on one surface.

    Args:
        surface: what they draw on.
        habits: whose hands they are, (hands, people).
        plans: see `PLAN`, (hands, 2).
        most: points that a hand may leave.
    """

    def __init__(
        self, surface: DrawingSurface, habits: FloatArray, plans: FloatArray, most: int
    ) -> None:
        count = len(habits)
        self.surface = surface
        self.lines = np.zeros(count, np.float32)
        self.trail: ComplexPoints = np.zeros((count, most), np.complex64)
        self.length = np.zeros(count, np.intp)
        self._starts: list[list[int]] = [[] for _ in range(count)]
        self._left = np.rint(np.exp(plans[:, 0]) * (surface.size / surface.stride)).astype(np.intp)
        self._steps = np.maximum(self._left, 1).astype(np.float32)
        self._pieces = np.exp(plans[:, 1]).astype(np.float32)
        shape = np.broadcast_to(surface.shape, (count, len(SHAPE_FEATURES)))
        self._known = np.concatenate([plans, shape, habits], axis=1, dtype=np.float32)
        self._at: ComplexPoints = np.zeros(count, np.complex64)
        self._course: ComplexPoints = np.zeros(count, np.complex64)
        self._begun: ComplexPoints = np.zeros(count, np.complex64)
        self._first = np.zeros(count, np.intp)
        self._turns = np.zeros((count, len(_FADES)), np.float32)
        self._sum: ComplexPoints = np.zeros(count, np.complex64)
        self._box = np.repeat(
            np.array([[np.inf, np.inf, -np.inf, -np.inf]], np.float32), count, axis=0
        )
        self._depths = surface.depths.ravel()
        self._width = surface.depths.shape[1]
        self._drawn = np.zeros(count * surface.depths.size, np.float32)
        self._per_cell = np.float32(1 / surface.cell)
        self._to_cells = np.complex64((RIM_CELLS + 0.5 / surface.cell) * (1 + 1j))
        self._pen = (_SPREAD[:, None] * self._width + _SPREAD).ravel()

    def is_used_up(self, who: Indices) -> NDArray[np.bool_]:
        """Tell which hands have drawn what they planned, or have left as many points as they may."""
        return (self._left[who] <= 0) | (self.length[who] >= self.trail.shape[1] - 1)

    def drawn_by(self, hand: int) -> list[ComplexPoints]:
        """Return the lines of a hand, (n,) each."""
        cuts = [*self._starts[hand], int(self.length[hand])]
        return [self.trail[hand, start:stop] for start, stop in pairwise(cuts)]

    def look_ahead(self, who: Indices) -> FloatArray:
        """Return what hands that draw know before a step, (n, inputs)."""
        surface = self.surface
        at = self._at[who]
        course = self._course[who]
        reach = _AHEAD * np.complex64(surface.stride / surface.cell)
        seen = self._cells(self._in_cells(at)[:, None] + course[:, None] * reach)
        length = self.length[who]
        drawn = (length - self._first[who]).astype(np.float32)
        back = course.conj()
        centre = np.complex64(surface.centre)
        seen_from = np.empty((len(who), 6), np.complex64)
        seen_from[:, 0] = course
        seen_from[:, 1] = course * course
        axis = np.complex64(surface.axis) * back
        seen_from[:, 2] = axis * axis * np.float32(surface.shape[3])
        seen_from[:, 3] = centre - at
        seen_from[:, 4] = self._begun[who] - at
        seen_from[:, 5] = self._sum[who] / np.maximum(length, 1).astype(np.float32) - centre
        seen_from[:, 3:] *= (back * np.float32(1 / surface.size))[:, None]
        found = np.empty((len(who), _AHEAD_INPUTS + self._known.shape[1]), np.float32)
        looks = len(_AHEAD)
        found[:, :looks] = self._depths[seen]
        found[:, looks : 2 * looks] = self._ink(who, seen)
        rest = found[:, 2 * looks :]
        rest[:, :4] = self._turns[who]
        rest[:, 4:8] = self._progress(who)
        rest[:, 8] = np.log1p(drawn)
        rest[:, 9] = drawn * np.float32(surface.stride / surface.size)
        rest[:, 10:22] = seen_from.view(np.float32)
        rest[:, 22:24] = as_xy(at)
        rest[:, 24:28] = self._box[who]
        boxes = rest[:, 22:28].reshape(-1, 3, 2)
        boxes -= surface.corner
        boxes /= surface.extent
        rest[:, 28:] = self._known[who]
        return found

    def look_around(self, who: Indices) -> FloatArray:
        """Return what hands know that were put down, before they choose a course, (n, inputs)."""
        surface = self.surface
        at = self._at[who]
        seen = self._cells(
            self._in_cells(at)[:, None] + _AROUND * np.complex64(surface.stride / surface.cell)
        )
        axis = np.full(len(who), surface.axis**2 * float(surface.shape[3]), np.complex64)
        offset = (at - np.complex64(surface.centre)) / np.float32(surface.size)
        places = [as_xy(offset), as_xy(axis), self._in_box(at)]
        return np.concatenate(
            [self._depths[seen], self._ink(who, seen), self._progress(who), *places, self._known[who]],
            axis=1, dtype=np.float32,
        )  # fmt: skip

    def look_for_start(self, who: Indices, places: ComplexPoints) -> FloatArray:
        """Return what speaks for beginning a line at `places` (n, m), (n, m, inputs)."""
        surface = self.surface
        size = self.surface.size
        cells = self._in_cells(places)
        seen = self._cells(cells)
        wide = np.maximum.reduce([self._ink(who, self._cells(cells + step)) for step in _BESIDE])
        is_later = (self.lines[who] > 0).astype(np.float32)[:, None]
        box = np.clip(self._in_box(places) * 2 - 1, -2, 2)
        from_centre = (places - surface.centre) / size
        along = from_centre * np.conj(surface.axis)
        from_end = (places - self._at[who][:, None]) / size * is_later
        bias = self._sum[who] / np.maximum(self.length[who], 1) - surface.centre
        balance = (from_centre * np.conj(bias / size)[:, None]).real * is_later
        part = self._parts_at(places)
        in_part, nearest = self._drawn_near(who, places, part)
        own = np.stack(
            [
                self._depths[seen], *np.moveaxis(box, -1, 0), *np.moveaxis(np.abs(box), -1, 0), np.abs(from_centre),
                np.abs(along.real), np.abs(along.imag), self._ink(who, seen), wide, np.abs(from_end), from_end.real,
                from_end.imag, balance, surface.shares[part] * (part > 0), in_part, (part > 0) * is_later,
                nearest,
            ], axis=-1,
        )  # fmt: skip
        common = np.concatenate(
            [self._progress(who), self.lines[who][:, None], self._known[who]], axis=1
        )
        every = np.broadcast_to(common[:, None], (*places.shape, common.shape[1]))
        return np.concatenate([own, every], axis=-1, dtype=np.float32)

    def put(self, who: Indices, places: ComplexPoints) -> None:
        """Put hands down at `places`, (n,), to begin a line."""
        self._at[who] = self._begun[who] = places
        self._turns[who] = 0
        self._first[who] = self.length[who]
        for hand in who.tolist():
            self._starts[hand].append(int(self.length[hand]))
        self._leave_points(who)

    def face(self, who: Indices, angles: FloatArray) -> None:
        """Set the course of hands, radians: 0 to the right, a quarter of a circle down."""
        self._course[who] = np.exp(1j * angles)

    def step(self, who: Indices, turns: FloatArray) -> None:
        """Turn hands by `turns`, radians, and move them by a stride; the window's edge holds them."""
        course = self._course[who] * np.exp(1j * turns)
        places = self.surface.within(self._at[who] + course * np.float32(self.surface.stride))
        self.move(who, places, course, turns)

    def move(
        self, who: Indices, places: ComplexPoints, course: ComplexPoints, turns: FloatArray
    ) -> None:
        """Move hands by a stride to `places`, (n,), on the course that they have after `turns`."""
        self._at[who] = places
        self._course[who] = course
        self._turns[who] = self._turns[who] * _FADES + turns[:, None] * (1 - _FADES)
        self._left[who] -= 1
        self._leave_points(who)

    def lift(self, who: Indices) -> None:
        """Lift hands: the line is at an end, and all of it counts as drawn."""
        for back in range(_TRAIL, 0, -1):
            at = self.length[who] - back
            mine = at >= self._first[who]
            self._ink_in(who[mine], self.trail[who[mine], at[mine]])
        self.lines[who] += 1

    def _drawn_near(
        self, who: Indices, places: ComplexPoints, part: NDArray[np.int32]
    ) -> tuple[FloatArray, FloatArray]:
        """Return how much hands have drawn in the parts of the goal that places (n, m) are in, and how near to them."""
        surface = self.surface
        in_part = np.zeros(places.shape, np.float32)
        nearest = np.zeros(places.shape, np.float32)
        for at, hand in enumerate(who.tolist()):
            trail = self.trail[hand, : self.length[hand]]
            if not len(trail):
                continue
            steps = np.bincount(self._parts_at(trail), minlength=len(surface.shares))
            in_part[at] = np.minimum(
                steps[part[at]] * (surface.stride / surface.size), _MOST_IN_PART
            )
            seen = trail[:: 1 + len(trail) // _MOST_POINTS]
            nearest[at] = np.abs(places[at][:, None] - seen).min(axis=1) / surface.size
        return in_part, nearest

    def _parts_at(self, places: ComplexPoints) -> NDArray[np.int32]:
        return self.surface.part_of[
            (places.imag + 0.5).astype(np.intp), (places.real + 0.5).astype(np.intp)
        ]

    def _progress(self, who: Indices) -> FloatArray:
        """Return how much is left of the plan: as a share and in steps, and of the lines."""
        left = self._left[who]
        lines = self.lines[who]
        pieces = self._pieces[who]
        found = np.empty((len(who), 4), np.float32)
        found[:, 0] = left / self._steps[who]
        found[:, 1] = np.log1p(np.maximum(left, 0))
        found[:, 2] = lines / pieces
        found[:, 3] = np.minimum(pieces - lines, _MANY)
        return found

    def _leave_points(self, who: Indices) -> None:
        at = self._at[who]
        length = self.length[who]
        self.trail[who, length] = at
        self.length[who] = length + 1
        self._sum[who] += at
        box = self._box[who]
        both = as_xy(at)
        np.minimum(box[:, :2], both, out=box[:, :2])
        np.maximum(box[:, 2:], both, out=box[:, 2:])
        self._box[who] = box
        old = length - _TRAIL >= self._first[who]
        if old.any():
            self._ink_in(who[old], self.trail[who[old], length[old] - _TRAIL])

    def _in_cells(self, places: ComplexPoints) -> ComplexPoints:
        return places * self._per_cell + self._to_cells

    def _in_box(self, places: ComplexPoints) -> FloatArray:
        """Return where places lie in the goal's box, (..., 2) as shares of width and height."""
        return (as_xy(places) - self.surface.corner) / self.surface.extent

    def _cells(self, places: ComplexPoints) -> Indices:
        """Return the flat cells at places in units of cells."""
        return places.imag.astype(np.intp) * self._width + places.real.astype(np.intp)

    def _ink(self, who: Indices, cells: Indices) -> FloatArray:
        return self._drawn[(who * len(self._depths)).reshape(-1, *[1] * (cells.ndim - 1)) + cells]

    def _ink_in(self, who: Indices, places: ComplexPoints) -> None:
        cells = who * len(self._depths) + self._cells(self._in_cells(places))
        index = cells[:, None] + self._pen
        self._drawn[index] = np.maximum(self._drawn[index], _PEN)


_AHEAD_INPUTS = 2 * len(_AHEAD) + 28
