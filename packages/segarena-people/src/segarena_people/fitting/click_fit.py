"""Habits of clicking, fitted to people's clicks by maximum likelihood, with a map of depths.

A click is explained by what was asked for: the place is drawn by the power of its depth, or now and then anywhere in
it, and the hand puts the click about it. Each is a density over the picture; how likely all clicks are together tells
the power, the share of clicks anywhere, and how steady the hand is. What lies between people is told likewise, each
having a power of their own. Pictures are looked at in a reduced size.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import msgspec
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window, is_empty
from segarena.arrays.distance import squared_distance
from segarena.errors import InvalidInput
from segarena.samples import Mask
from segarena.users.habits.click_habits import ClickHabits, PointerSteadiness
from segarena.users.habits.habit_files import SHIPPED_HABITS, read_habits

FEWEST_CLICKS = 20
"""Clicks that a fit needs."""

POWER_GRID = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0])
UNSTEADY_GRID = np.array([0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03])
"""In diagonals."""
ANYWHERE_GRID = np.array([0.001, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
BETWEEN_GRID = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0])
AVOID_GRID = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])

_LEAST_SIGMA = 0.3
"""Within a third of a pixel nothing is told."""

_WORK_PX = 96
"""The longer side of a reduced window."""
_LEAST = 1e-9
"""How likely a click is at least that nothing explains, per px of the reduced window: one must not decide all."""


@dataclass(frozen=True, slots=True, eq=False)
class PersonClick:
    """A click of somebody.

    Attributes:
        goal: what was to be clicked, bool (H, W).
        place: row and column.
        earlier: of clicks that they gave before on the same target.
        person: who; "" for nobody known.
        pointer: mouse, pen, touch; "" where nobody knows.
    """

    goal: Mask
    place: tuple[float, float]
    earlier: Sequence[tuple[float, float]] = ()
    person: str = ""
    pointer: str = ""


def fit_clicks(clicks: Iterable[PersonClick], source: str) -> ClickHabits:
    """Return the habits of those who clicked; the same clicks in the same order give the same habits.

    Steadiness is told by pointer where 20 clicks or more were given with one; of others it is that of all. How earlier
    clicks draw or repel is told where 20 clicks have some, else it stays as shipped.

    Raises:
        InvalidInput: fewer than 20 clicks on something.
    """
    views = [view for click in clicks if (view := _View.of(click)) is not None]
    if len(views) < FEWEST_CLICKS:
        raise InvalidInput(
            f"clicks: expected {FEWEST_CLICKS} at least to fit habits to, got {len(views)}"
        )
    start = read_habits(SHIPPED_HABITS / "clicks.toml", ClickHabits)
    by_power = np.stack([view.likely() for view in views])  # (clicks, steadiness, powers)
    evenly = by_power[:, :, 0]
    power, steady, share = _best(by_power, evenly)
    mixed = (1 - ANYWHERE_GRID[share]) * by_power[:, steady] + ANYWHERE_GRID[share] * evenly[
        :, steady, None
    ]
    later = [view for view in views if len(view.earlier)]
    at_power = (1 - ANYWHERE_GRID[share]) * by_power[:, :, power] + ANYWHERE_GRID[share] * evenly
    pointers = np.array([view.pointer for view in views])
    hands = {name: _hand(at_power[pointers == name], hand) for name, hand in start.hands.items()}
    overall = PointerSteadiness(unsteady=float(UNSTEADY_GRID[steady]))
    return msgspec.structs.replace(
        start,
        source=source,
        centredness=float(POWER_GRID[power]),
        anywhere=float(ANYWHERE_GRID[share]),
        between_people=_between(
            np.log(np.maximum(mixed, _LEAST)), power, [view.person for view in views]
        ),
        avoid=_avoid(later, power, start) if len(later) >= FEWEST_CLICKS else start.avoid,
        hands={name: hand or overall for name, hand in hands.items()},
    )


def _best(by_power: NDArray[np.float64], evenly: NDArray[np.float64]) -> tuple[int, int, int]:
    """Return the places of the power, steadiness and share that make all clicks likeliest."""
    found: dict[tuple[int, int, int], float] = {}
    for share, anywhere in enumerate(ANYWHERE_GRID):
        mixed = (1 - anywhere) * by_power + anywhere * evenly[:, :, None]
        summed = np.log(np.maximum(mixed, _LEAST)).sum(axis=0)
        steady, power = np.unravel_index(int(summed.argmax()), summed.shape)
        found[int(power), int(steady), share] = float(summed.max())
    return max(found, key=lambda one: found[one])


def _hand(likely: NDArray[np.float64], shipped: PointerSteadiness) -> PointerSteadiness | None:
    """Return how steady the hand is with one pointer, from how likely clicks with it are, (clicks, steadiness).

    None where too few were given with it.
    """
    if len(likely) < FEWEST_CLICKS:
        return None
    steady = int(np.log(np.maximum(likely, _LEAST)).sum(axis=0).argmax())
    return msgspec.structs.replace(shipped, unsteady=float(UNSTEADY_GRID[steady]))


def _between(logs: NDArray[np.float64], power: int, people: Sequence[str]) -> float:
    """Return the spread of people's factors that makes the clicks of each, (clicks, powers), likeliest together."""
    told: defaultdict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(people):
        told[name].append(place)
    of_each = [
        logs[places].sum(axis=0) for name, places in told.items() if name and len(places) > 1
    ]
    if len(of_each) < 2 or not POWER_GRID[power]:
        return 0.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    summed: list[float] = []
    for between in BETWEEN_GRID:
        powers = np.clip(POWER_GRID[power] * np.exp(between * nodes), POWER_GRID[0], POWER_GRID[-1])
        at = np.stack([np.interp(powers, POWER_GRID, each) for each in of_each])
        highest = at.max(axis=1, keepdims=True)
        summed.append(
            float((highest[:, 0] + np.log(np.exp(at - highest) @ (weights / weights.sum()))).sum())
        )
    return float(BETWEEN_GRID[int(np.argmax(summed))])


def _avoid(views: Sequence[_View], power: int, habits: ClickHabits) -> float:
    """Return how much places beside earlier clicks are avoided that makes later clicks likeliest."""
    logs = [
        [view.avoiding(float(avoid), power, habits.reach) for avoid in AVOID_GRID] for view in views
    ]
    return float(AVOID_GRID[int(np.log(np.maximum(logs, _LEAST)).sum(axis=0).argmax())])


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """A click in the reduced window around what was to be clicked.

    Attributes:
        depths: of the goal, 1 at its deepest.
        place, earlier: in the window.
        diagonal: of the picture, in px of the window.
    """

    depths: NDArray[np.float64]
    place: NDArray[np.float64]
    earlier: NDArray[np.float64]
    diagonal: float
    person: str
    pointer: str

    @classmethod
    def of(cls, click: PersonClick) -> _View | None:
        """Return the view of a click; None where there was nothing to click."""
        tight = bounding_window(click.goal)
        if is_empty(tight):
            return None
        diagonal = math.hypot(*click.goal.shape)
        window = grow_window(tight, max(2, round(0.03 * diagonal)), click.goal.shape)
        goal = click.goal[window]
        scale = min(1.0, _WORK_PX / max(goal.shape))
        depths = np.sqrt(squared_distance(goal))
        if scale < 1:
            size = (max(1, round(goal.shape[1] * scale)), max(1, round(goal.shape[0] * scale)))
            depths = np.asarray(
                cv2.resize(depths, size, interpolation=cv2.INTER_AREA), dtype=np.float64
            )
        start = np.array([side.start for side in window], dtype=np.float64)
        return cls(
            depths=depths / depths.max(),
            place=(np.asarray(click.place) - start) * scale,
            earlier=(np.asarray(click.earlier, dtype=np.float64).reshape(-1, 2) - start) * scale,
            diagonal=diagonal * scale,
            person=click.person,
            pointer=click.pointer,
        )

    def likely(self) -> NDArray[np.float64]:
        """Return how likely the click is, (steadiness, powers), per px of the window."""
        maps = np.where(self.depths > 0, self.depths ** POWER_GRID[:, None, None], 0.0)
        return self._at(maps, UNSTEADY_GRID)

    def avoiding(self, avoid: float, power: int, reach: float) -> float:
        """Return how likely it is to somebody who keeps away from earlier clicks."""
        rows, columns = np.indices(self.depths.shape)
        weights = np.where(self.depths > 0, self.depths ** POWER_GRID[power], 0.0)
        for row, column in self.earlier.tolist():
            away = ((rows - row) ** 2 + (columns - column) ** 2) / (
                2 * (reach * self.diagonal) ** 2
            )
            weights *= np.exp(-avoid * np.exp(-away))
        return float(self._at(weights[None], UNSTEADY_GRID[2:3])[0, 0])

    def _at(self, maps: NDArray[np.float64], unsteady: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the densities of maps, (powers, h, w), about the place, as hands blur them: (steadiness, powers)."""
        sigmas = np.maximum(unsteady * self.diagonal, _LEAST_SIGMA)[:, None]
        rows, columns = (
            np.exp(-0.5 * ((np.arange(length) - middle) / sigmas) ** 2)
            for length, middle in zip(maps.shape[1:], self.place.tolist(), strict=True)
        )
        across = (maps @ columns.T).transpose(2, 0, 1)  # (steadiness, powers, h)
        found = (across * rows[:, None]).sum(axis=2)
        return found / (2 * math.pi * sigmas**2 * maps.sum(axis=(1, 2)))
