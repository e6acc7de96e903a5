"""Crowd of simulated people, each of whom has the same habits in all of their dialogues."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from segarena.errors import InvalidInput
from segarena.roles import Turn
from segarena.samples import Sample, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Simulated people, each of whom has one dialogue about every target.

    Attributes:
        people: number of people. With 1, every dialogue has a new person, so that prompts about
            many targets vary like those of many people.
        seed: random seed of the crowd; another seed gives other people.

    Raises:
        InvalidInput: there is fewer than one person, or the seed is negative.
    """

    people: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.people < 1 or self.seed < 0:
            raise InvalidInput(
                f"expected people >= 1 and crowd >= 0, got people={self.people}, crowd={self.seed}"
            )

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return the number of dialogues about a target: one per person."""
        return self.people

    def person(self, turn: Turn) -> np.random.Generator:
        """Return the random generator for the habits of the person in a turn.

        It is the same in all rounds of a dialogue. With several people, it is also the same in all
        dialogues of a person.
        """
        if self.people > 1:
            person = turn.repeat % self.people
            return np.random.default_rng([self.seed, person])
        # CRC-32, because Python's own hash of a string differs between processes.
        sample_hash = crc32(turn.sample.id.encode())
        target_hash = crc32(turn.target.id.encode())
        return np.random.default_rng([self.seed, turn.repeat, sample_hash, target_hash])
