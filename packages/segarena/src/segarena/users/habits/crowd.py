"""Crowd of simulated people, each with the same habits in all of their dialogues."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from segarena.errors import InvalidInput
from segarena.roles import Turn
from segarena.samples import Sample, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Simulated people that each have one dialogue about every target.

    Attributes:
        people: how many. With 1, every dialogue has a new person, so that prompts about many
            targets vary as those of many people do.
        seed: seed of the crowd; another one gives other people.

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
        """Return the number of dialogues about a target: one with each person."""
        return self.people

    def person(self, turn: Turn) -> np.random.Generator:
        """Return the generator for the habits of the person in a turn.

        It is the same in all rounds of a dialogue and, with several people, in all dialogues of one
        person.
        """
        if self.people > 1:
            return np.random.default_rng([self.seed, turn.repeat % self.people])
        sample_hash = crc32(turn.sample.id.encode())
        target_hash = crc32(turn.target.id.encode())
        return np.random.default_rng([self.seed, turn.repeat, sample_hash, target_hash])
