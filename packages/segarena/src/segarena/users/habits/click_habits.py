"""Where somebody clicks in an error: how drawn to its depth, how steady the hand, how far from earlier clicks.

A map says how likely places are. Somebody clicks by its power: 0 is anywhere, 1 as the map says, more is nearer to
what is likeliest, which for a map of depths is the middle. Now and then they click anywhere in it. Places near earlier
clicks are taken less often, or more often. The hand then puts the click somewhere about the place, sometimes outside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray


class PointerSteadiness(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a hand with some device misses the place that is meant, in diagonals of the picture.

    Attributes:
        unsteady: standard deviation along rows and columns.
        down, right: how far off it is on the average.
    """

    unsteady: float
    down: float = 0.0
    right: float = 0.0


class ClickHabits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How people click.

    Attributes:
        source: where the numbers come from.
        centredness: the power of the map.
        anywhere: share of the clicks that are anywhere in the error.
        avoid: how much less often places right beside an earlier click are taken: e to the minus this; negative for
            more often.
        reach: how far that reaches, in diagonals.
        between_people: standard deviation of the logarithm of a person's factor, by which they are more centred. Those
            who are less so are as much less steady.
        hands: by pointer: mouse, pen, touch.
    """

    source: str
    centredness: float
    anywhere: float
    avoid: float
    reach: float
    between_people: float
    hands: dict[str, PointerSteadiness]

    def of(self, person: np.random.Generator, pointer: str) -> ClickPerson:
        """Return the habits of somebody with a device."""
        factor = math.exp(self.between_people * float(person.standard_normal()))
        return ClickPerson(self, self.hands[pointer], factor)


@dataclass(frozen=True, slots=True)
class ClickPerson:
    """One person's habits."""

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
        """Return how likely somebody takes each pixel, up to a factor.

        Args:
            values: of the map, 0 or more, (n,).
            places: row and column of each pixel, (n, 2).
            earlier: row and column of earlier clicks.
            diagonal: of the picture, px.
        """
        highest = float(values.max(initial=0))
        if not highest > 0:
            return np.zeros(len(values))
        scaled = values.astype(np.float64) / highest
        weights = np.where(values > 0, scaled ** (self.habits.centredness * self.factor), 0.0)
        for place in earlier:
            away = np.square(places - np.asarray(place)).sum(axis=1) / (
                2 * (self.habits.reach * diagonal) ** 2
            )
            weights *= np.exp(-self.habits.avoid * np.exp(-away))
        return weights

    def slip(self, rng: np.random.Generator, diagonal: float) -> tuple[float, float]:
        """Return how far the hand puts a click from where it is meant, down and to the right, px."""
        down, right = rng.normal(0.0, self.hand.unsteady / self.factor, 2).tolist()
        return (down + self.hand.down) * diagonal, (right + self.hand.right) * diagonal
