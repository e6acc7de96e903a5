"""Click habits: how strongly people prefer the centre, how steady they are, how far from earlier clicks they click.

A map gives the preference for each place. A person clicks in proportion to a power of it: 0 is
uniform, 1 follows the map, more concentrates on its maxima, which for a map of depths is the
middle. With a small probability they click anywhere in it. Places near earlier clicks are chosen
less often, or more often. The hand then displaces the click, sometimes to outside the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray


class PointerSteadiness(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Displacement of clicks from the intended place with one pointing device, in picture diagonals.

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
        avoid: repulsion by earlier clicks: a position next to one is chosen exp(-avoid) times as
            often; negative values attract.
        reach: distance over which earlier clicks repel, in diagonals.
        between_people: standard deviation of the logarithm of a person's factor, which multiplies
            their power and divides their unsteadiness.
        hands: steadiness by pointer: mouse, pen, touch.
    """

    source: str
    centredness: float
    anywhere: float
    avoid: float
    reach: float
    between_people: float
    hands: dict[str, PointerSteadiness]

    def of(self, person: np.random.Generator, pointer: str) -> ClickPerson:
        """Draw the habits of one person with a pointing device."""
        factor = math.exp(self.between_people * float(person.standard_normal()))
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
        places: NDArray[np.int64],
        earlier: Sequence[Sequence[float]],
        diagonal: float,
    ) -> NDArray[np.float64]:
        """Return the weight of each pixel in the choice of a click, unnormalized, (n,).

        Args:
            values: values of the map, 0 or more, (n,).
            places: row and column of each pixel, (n, 2).
            earlier: row and column of earlier clicks.
            diagonal: diagonal of the picture, px.
        """
        highest = float(values.max(initial=0))
        if not highest > 0:
            return np.zeros(len(values))
        scaled = values.astype(np.float64) / highest
        power = self.habits.centredness * self.factor
        weights = np.where(values > 0, scaled**power, 0.0)
        reach_px = self.habits.reach * diagonal
        for click in earlier:
            squared_distance = np.square(places - np.asarray(click)).sum(axis=1)
            nearness = np.exp(-(squared_distance / (2 * reach_px**2)))
            weights *= np.exp(-self.habits.avoid * nearness)
        return weights

    def slip(self, rng: np.random.Generator, diagonal: float) -> tuple[float, float]:
        """Draw the displacement of a click, down and to the right, px."""
        down, right = rng.normal(0.0, self.hand.unsteady / self.factor, 2).tolist()
        return (down + self.hand.down) * diagonal, (right + self.hand.right) * diagonal
