"""A crowd of simulated people: each has habits of their own, the same in every dialogue with them."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from segarena.errors import InvalidInput
from segarena.roles import Turn
from segarena.samples import Sample, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """So many simulated people, each of whom holds one dialogue about every target.

    Attributes:
        people: how many. One is anybody: somebody else in each dialogue, so that prompts about many targets vary as
            those of many people do.
        seed: another one is another crowd.

    Raises:
        InvalidInput: fewer than one person, or a negative seed.
    """

    people: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.people < 1 or self.seed < 0:
            raise InvalidInput(
                f"expected people >= 1 and crowd >= 0, got people={self.people}, crowd={self.seed}"
            )

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return how many dialogues there are about a target: one with each person."""
        return self.people

    def person(self, turn: Turn) -> np.random.Generator:
        """Return the generator that the habits of the person are drawn from whom a turn is with.

        It is the same in all rounds of a dialogue, and of several people the same in all dialogues of one of them.
        """
        if self.people > 1:
            return np.random.default_rng([self.seed, turn.repeat % self.people])
        names = (crc32(turn.sample.id.encode()), crc32(turn.target.id.encode()))
        return np.random.default_rng([self.seed, turn.repeat, *names])
