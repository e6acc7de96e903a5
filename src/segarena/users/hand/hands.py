"""Many hands that draw on one surface at once, step by step: where they are, what they see, what they have drawn."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.users.hand.surface import RIM, SHAPE, Floats, Surface

Indices: TypeAlias = NDArray[np.intp]

_LOOKS = [0, 25, -25, 60, -60, 100, -100, 150, -150]
_REACHES = (1.0, 2.5, 5.0)
_AHEAD = np.array(
    [(r * math.cos(math.radians(a)), r * math.sin(math.radians(a))) for r in _REACHES for a in _LOOKS], np.float32
)
"""Where a hand looks: (along, across) its course, in strides."""

COURSES = 24
"""Directions in which a line may begin."""
_AROUND = np.array(
    [(r * math.sin(a * math.pi / 6), r * math.cos(a * math.pi / 6)) for r in _REACHES for a in range(12)], np.float32
)
"""Where a hand looks before it begins, (down, right), in strides."""

_TRAIL = 5
"""After so many steps a line counts as drawn for the hand that draws it."""
_FADES = np.array([0.5, 0.8, 0.93, 0.0], np.float32)
"""How much of what a hand turned before it remembers, over short and long."""
_REACH = 2
_SPREAD = np.arange(-_REACH, _REACH + 1)
_PEN = np.exp(-0.5 * (np.square(_SPREAD)[:, None] + np.square(_SPREAD)) / 1.3**2).astype(np.float32)
_COMPASS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)], np.float32)
_MANY = 6

PLAN = ("ink", "pieces")
"""What a hand sets out with, as logarithms: the length of all its lines over the goal's size, and how many lines."""


class Hands:
    """Hands on one surface.

    Args:
        surface: what they draw on.
        habits: whose hands they are, (hands, people).
        plans: see `PLAN`, (hands, 2).
        most: points that a hand may leave.
    """

    def __init__(self, surface: Surface, habits: Floats, plans: Floats, most: int) -> None:
        count = len(habits)
        self.surface = surface
        self.ink_px = (np.exp(plans[:, 0]) * surface.size).astype(np.float32)
        self.pieces = np.exp(plans[:, 1]).astype(np.float32)
        self.lines = np.zeros(count, np.float32)
        self.used_px = np.zeros(count, np.float32)
        self.length = np.zeros(count, np.intp)
        self.trail = np.zeros((count, most, 2), np.float32)
        self.starts: list[list[int]] = [[] for _ in range(count)]
        shape = np.broadcast_to(surface.shape, (count, len(SHAPE)))
        self._known = np.concatenate([plans, shape, habits], axis=1, dtype=np.float32)
        self._at = np.zeros((count, 2), np.float32)
        self._course = np.zeros((count, 2), np.float32)
        self._begun = np.zeros((count, 2), np.float32)
        self._turns = np.zeros((count, len(_FADES)), np.float32)
        self._first = np.zeros(count, np.intp)
        self._sum = np.zeros((count, 2), np.float32)
        self._low = np.full((count, 2), np.inf, np.float32)
        self._high = np.full((count, 2), -np.inf, np.float32)
        self._in_part = np.zeros((count, len(surface.shares)), np.float32)
        self._drawn = np.zeros((count, surface.depths.size), np.float32)
        self._depths = surface.depths.reshape(-1)
        self._width = surface.depths.shape[1]
        self._last = np.array(surface.sides, np.float32) - 1

    def is_used_up(self, who: Indices) -> NDArray[np.bool_]:
        """Tell which hands have drawn what they planned, or have left as many points as they may."""
        spent = self.used_px[who] >= self.ink_px[who] - self.surface.stride / 2
        return spent | (self.length[who] >= self.trail.shape[1] - 1)

    def drawn_by(self, hand: int) -> list[Floats]:
        """Return the lines of a hand, (n, 2) each."""
        cuts = [*self.starts[hand], int(self.length[hand])]
        return [self.trail[hand, start:stop] for start, stop in pairwise(cuts)]

    def look_ahead(self, who: Indices) -> Floats:
        """Return what hands that draw know before a step, (n, inputs)."""
        surface, at, course = self.surface, self._at[who], self._course[who]
        down, right = course[:, :1], course[:, 1:]
        reach = _AHEAD * np.float32(surface.stride / surface.cell)
        along, across = reach[:, 0], reach[:, 1]
        seen = self._cells(at, down * along + right * across, right * along - down * across)
        step = np.float32(surface.stride / surface.size)
        drawn = (self.length[who] - self._first[who]).astype(np.float32)
        left = 1 - self.used_px[who] / self.ink_px[who]
        lines, pieces = self.lines[who], self.pieces[who]
        along, across = _turned(surface.axis[None], course).T
        longer = surface.shape[3]
        numbers = np.stack(
            [
                left, np.log1p(np.maximum(left, 0) * self.ink_px[who] / np.float32(surface.stride)),
                np.log1p(drawn), drawn * step, lines / pieces, np.minimum(pieces - lines, _MANY),
                course[:, 0], course[:, 1], course[:, 0] * course[:, 1], course[:, 0] ** 2 - course[:, 1] ** 2,
                longer * (along**2 - across**2), longer * along * across,
            ], axis=1,
        )  # fmt: skip
        centre = surface.centre
        mean = self._sum[who] / np.maximum(self.length[who], 1)[:, None].astype(np.float32)
        offsets = (centre - at, self._begun[who] - at, mean - centre)
        ways = [_turned(offset / np.float32(surface.size), course) for offset in offsets]
        box = [(place - surface.corner) / surface.extent for place in (at, self._low[who], self._high[who])]
        return np.concatenate(
            [self._depths[seen], self._ink(who, seen), self._turns[who], numbers, *ways, *box, self._known[who]],
            axis=1, dtype=np.float32,
        )  # fmt: skip

    def look_around(self, who: Indices) -> Floats:
        """Return what hands know that were put down, before they choose a course, (n, inputs)."""
        surface, at = self.surface, self._at[who]
        reach = _AROUND * np.float32(surface.stride / surface.cell)
        seen = self._cells(at, reach[:, 0], reach[:, 1])
        axis = surface.axis
        axes = np.array([axis[0] * axis[1], axis[0] ** 2 - axis[1] ** 2], np.float32) * surface.shape[3]
        left = 1 - self.used_px[who] / self.ink_px[who]
        numbers = np.stack(
            [left, np.log1p(np.maximum(left, 0) * self.ink_px[who] / np.float32(surface.stride)),
             self.lines[who] / self.pieces[who]], axis=1,
        )  # fmt: skip
        place = [(at - surface.corner) / surface.extent, (at - surface.centre) / np.float32(surface.size)]
        return np.concatenate(
            [
                self._depths[seen], self._ink(who, seen), numbers, np.broadcast_to(axes, (len(who), 2)), *place,
                self._known[who],
            ],
            axis=1, dtype=np.float32,
        )  # fmt: skip

    def look_for_start(self, who: Indices, places: Floats) -> Floats:
        """Return what speaks for beginning a line at `places` (n, m, 2), (n, m, inputs)."""
        surface, size = self.surface, np.float32(self.surface.size)
        seen = self._cells(places, *np.zeros((2, 1), np.float32))[..., 0]
        wide = [self._cells(places, *(step[:, None] * 3))[..., 0] for step in _COMPASS]
        is_later = (self.lines[who] > 0).astype(np.float32)[:, None]
        box = np.clip((places - surface.corner) / surface.extent * 2 - 1, -2, 2)
        from_centre = (places - surface.centre) / size
        from_end = (places - self._at[who][:, None]) / size * is_later[..., None]
        mean = self._sum[who] / np.maximum(self.length[who], 1)[:, None].astype(np.float32)
        bias = (mean - surface.centre) / size * is_later
        pixels = places.astype(np.intp)
        part = surface.part_of[pixels[..., 0], pixels[..., 1]]
        own = np.stack(
            [
                self._depths[seen], box[..., 0], box[..., 1], np.abs(box[..., 0]), np.abs(box[..., 1]),
                np.hypot(from_centre[..., 0], from_centre[..., 1]), np.abs(from_centre @ surface.axis),
                np.abs(from_centre @ np.array([-surface.axis[1], surface.axis[0]])),
                self._ink(who, seen), np.maximum.reduce([self._ink(who, each) for each in wide]),
                np.hypot(from_end[..., 0], from_end[..., 1]), from_end[..., 0], from_end[..., 1],
                (from_centre * bias[:, None]).sum(axis=-1), surface.shares[part] * (part > 0),
                np.minimum(np.take_along_axis(self._in_part[who], part, axis=1), 3), (part > 0) * is_later,
            ], axis=-1,
        )  # fmt: skip
        left = 1 - self.used_px[who] / self.ink_px[who]
        lines, pieces = self.lines[who], self.pieces[who]
        common = np.stack([left, lines, lines / pieces, np.minimum(pieces - lines, _MANY)], axis=1)
        common = np.concatenate([common, self._known[who]], axis=1)
        every = np.broadcast_to(common[:, None], (*places.shape[:2], common.shape[1]))
        return np.concatenate([own, every], axis=-1, dtype=np.float32)

    def put(self, who: Indices, places: Floats) -> None:
        """Put hands down at `places`, (n, 2), to begin a line."""
        self._at[who] = self._begun[who] = places
        self._turns[who] = 0
        self._first[who] = self.length[who]
        for hand in who.tolist():
            self.starts[hand].append(int(self.length[hand]))
        self._leave_points(who)

    def face(self, who: Indices, angles: Floats) -> None:
        """Set the course of hands, radians: 0 to the right, a quarter of a circle down."""
        self._course[who] = np.stack([np.sin(angles), np.cos(angles)], axis=1)

    def step(self, who: Indices, turns: Floats) -> None:
        """Turn hands by `turns`, radians, and move them by a stride; the window's edge holds them."""
        down, right = self._course[who].T
        sin, cos = np.sin(turns), np.cos(turns)
        course = np.stack([down * cos + right * sin, right * cos - down * sin], axis=1)
        places = np.clip(self._at[who] + course * np.float32(self.surface.stride), 0, self._last)
        self.move(who, places, course, turns)

    def move(self, who: Indices, places: Floats, course: Floats, turns: Floats) -> None:
        """Move hands by a stride to `places`, (n, 2), on the course that they have after `turns`."""
        self._at[who] = places
        self._course[who] = course
        self._turns[who] = self._turns[who] * _FADES + turns[:, None] * (1 - _FADES)
        self.used_px[who] += np.float32(self.surface.stride)
        self._leave_points(who)

    def lift(self, who: Indices) -> None:
        """Lift hands: the line is at an end, and all of it counts as drawn."""
        for back in range(_TRAIL, 0, -1):
            at = self.length[who] - back
            mine = at >= self._first[who]
            self._ink_in(who[mine], self.trail[who[mine], at[mine]])
        self.lines[who] += 1

    def _leave_points(self, who: Indices) -> None:
        at, length = self._at[who], self.length[who]
        self.trail[who, length] = at
        self.length[who] = length + 1
        self._sum[who] += at
        self._low[who] = np.minimum(self._low[who], at)
        self._high[who] = np.maximum(self._high[who], at)
        pixels = (at + np.float32(0.5)).astype(np.intp)
        part = self.surface.part_of[pixels[:, 0], pixels[:, 1]]
        self._in_part[who, part] += np.float32(self.surface.stride / self.surface.size)
        old = length - _TRAIL >= self._first[who]
        if old.any():
            self._ink_in(who[old], self.trail[who[old], length[old] - _TRAIL])

    def _cells(self, places: Floats, down: Floats, right: Floats) -> Indices:
        """Return the flat cells at `places` (..., 2) moved by so many cells, (..., m)."""
        base = (places + np.float32(0.5)) / np.float32(self.surface.cell) + np.float32(RIM)
        rows, columns = (base[..., :1] + down).astype(np.intp), (base[..., 1:] + right).astype(np.intp)
        return rows * self._width + columns

    def _ink(self, who: Indices, cells: Indices) -> Floats:
        offset = who * self._drawn.shape[1]
        return self._drawn.reshape(-1)[offset.reshape(-1, *[1] * (cells.ndim - 1)) + cells]

    def _ink_in(self, who: Indices, places: Floats) -> None:
        cells = self._cells(places, *np.zeros((2, 1), np.float32))
        around = (_SPREAD[:, None] * self._width + _SPREAD).reshape(-1)
        index = who[:, None] * self._drawn.shape[1] + cells + around
        flat = self._drawn.reshape(-1)
        flat[index] = np.maximum(flat[index], _PEN.reshape(-1))


def _turned(vectors: Floats, course: Floats) -> Floats:
    """Return vectors (n, 2) as (along, across) courses."""
    along = (vectors * course).sum(axis=1)
    across = vectors[:, 0] * course[:, 1] - vectors[:, 1] * course[:, 0]
    return np.stack([along, across], axis=1)
