"""Click habits: preference for the centre, steadiness, and distance from earlier clicks.

A map gives the preference for each pixel. A person clicks in proportion to a power of it: 0 is
uniform, 1 follows the map, and higher powers concentrate on its maxima, which for a map of depths
is the middle of the error. With a small probability the click is uniform over the error. Pixels
near earlier clicks are chosen less often, or more often. The hand then displaces the click,
sometimes to a pixel outside the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray


class PointerSteadiness(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Displacement of clicks from the intended pixel with one pointing device, in picture diagonals.

    Attributes:
        unsteady: standard deviation along rows and along columns.
        down, right: mean displacement.
    """

    unsteady: float
    down: float = 0.0
    right: float = 0.0


class ClickHabits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Click habits of a population.

    Attributes:
        source: origin of the numbers.
        centredness: power of the map.
        anywhere: share of clicks that are uniform over the error.
        avoid: repulsion by earlier clicks: a pixel next to one is chosen exp(-avoid) times as often;
            negative values attract.
        reach: distance over which earlier clicks repel, in diagonals.
        between_people: standard deviation of the logarithm of a person's factor, which multiplies
            their power and divides their unsteadiness.
        hands: steadiness by pointing device: mouse, pen, touch.
    """

    source: str
    centredness: float
    anywhere: float
    avoid: float
    reach: float
    between_people: float
    hands: dict[str, PointerSteadiness]

    def of(self, person: np.random.Generator, pointer: str) -> ClickPerson:
        """Sample the habits of one person with a pointing device."""
        deviation = float(person.standard_normal())
        factor = math.exp(self.between_people * deviation)
        return ClickPerson(self, self.hands[pointer], factor)


@dataclass(frozen=True, slots=True)
class ClickPerson:
    """Click habits of one person."""

    habits: ClickHabits
    hand: PointerSteadiness
    factor: float

    def weigh(
        self,
        values: NDArray[np.floating],
        positions: NDArray[np.int64],
        earlier: Sequence[Sequence[float]],
        diagonal: float,
    ) -> NDArray[np.float64]:
        """Return the unnormalized weight of each pixel in the choice of a click, (n,).

        Args:
            values: values of the map, 0 or more, (n,).
            positions: row and column of each pixel, (n, 2).
            earlier: row and column of earlier clicks.
            diagonal: diagonal of the picture in pixels.
        """
        highest = float(values.max(initial=0))
        if not highest > 0:
            return np.zeros(len(values))
        scaled = values.astype(np.float64) / highest
        power = self.habits.centredness * self.factor
        # With a power of 0, pixels of value 0 would get the weight 1.
        weights = np.where(values > 0, scaled**power, 0.0)
        reach_px = self.habits.reach * diagonal
        for click in earlier:
            offsets = positions - np.asarray(click)
            squared_distance = np.square(offsets).sum(axis=1)
            nearness = np.exp(-(squared_distance / (2 * reach_px**2)))
            weights *= np.exp(-self.habits.avoid * nearness)
        return weights

    def slip(self, rng: np.random.Generator, diagonal: float) -> tuple[float, float]:
        """Sample the displacement of a click, down and to the right, in pixels."""
        # A person with a larger factor is both more centred and steadier.
        deviation = self.hand.unsteady / self.factor
        random_down, random_right = rng.normal(0.0, deviation, 2).tolist()
        down = random_down + self.hand.down
        right = random_right + self.hand.right
        return down * diagonal, right * diagonal
