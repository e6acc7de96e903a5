"""Assignment of arms and items by pure functions; seed and participant determine the result.

Each participant has one arm (prompt kind and display mode): the arm with the fewest participants on
the same kind of device. A batch consists of the images with the fewest answers in that arm on such
devices; nobody sees an image twice. A hash of seed and participant breaks ties, so that no two
participants have the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from segarena.files.hashes import sha256
from segarena_studio.studies.description import Arm


class CandidateItem(NamedTuple):
    """An item that may be shown: its number, its image, and its number of answers in an arm on a kind of device."""

    number: int
    image: str
    answers: int


def choose_arm(
    arms: Sequence[Arm],
    people: Mapping[Arm, int],
    seed: int,
    person: str,
) -> Arm:
    """Return the arm of a new participant.

    Args:
        arms: arms of the study, at least one.
        people: participants of each arm so far.
        seed: seed of the study.
        person: name of the participant.
    """

    def rank(arm: Arm) -> tuple[int, str]:
        return people.get(arm, 0), _lot(seed, person, *arm)

    return min(arms, key=rank)


def choose_items(
    candidates: Sequence[CandidateItem],
    seen: Collection[str],
    *,
    size: int,
    wanted: int,
    seed: int,
    person: str,
    batch: int,
) -> list[int]:
    """Return the numbers of a batch's items in display order; fewer than `size` when too few are left.

    Args:
        candidates: all items that fit the participant's arm.
        seen: images that the participant has seen.
        size: number of items in a batch.
        wanted: number of answers that an item needs; items with that many are excluded.
        seed: seed of the study.
        person: name of the participant.
        batch: number of the batch.
    """

    def rank(candidate: CandidateItem) -> tuple[int, str]:
        return candidate.answers, _lot(seed, person, batch, candidate.number)

    best: dict[str, CandidateItem] = {}
    for candidate in candidates:
        if candidate.image in seen or candidate.answers >= wanted:
            continue
        # One item per image, because nobody sees an image twice.
        known = best.get(candidate.image)
        if known is None or rank(candidate) < rank(known):
            best[candidate.image] = candidate
    chosen = sorted(best.values(), key=rank)[:size]
    # Shuffle: in rank order, the least practised answers would go to the items with the fewest
    # answers.
    chosen.sort(key=lambda candidate: _lot(seed, "order", person, batch, candidate.number))
    return [candidate.number for candidate in chosen]


def choose_check_positions(
    count: int,
    size: int,
    seed: int,
    person: str,
    batch: int,
) -> list[int]:
    """Return the positions of `count` attention checks among `size` other trials, from 0; never the first."""
    positions = list(range(1, size + count))
    positions.sort(key=lambda position: _lot(seed, "check", person, batch, position))
    return sorted(positions[:count])


def _lot(*parts: object) -> str:
    """Return a pseudorandom text that these values determine."""
    return sha256("/".join(str(part) for part in parts))
