"""Who is shown what: the same seed and the same people give the same assignment. Pure.

Each person has one arm (what they give and how targets are shown): the one that fewest people with such a device have.
A batch has the images with the fewest answers in that arm on such devices; nobody is shown an image twice. Ties are
decided by a hash of seed and person, so that no two people have the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from segarena.files.hashes import sha256
from segarena_studio.studies.description import Arm

Named = TypeVar("Named", bound=Hashable)


class CandidateItem(NamedTuple):
    """An item that may be shown: its number, its image, and how many answers it has in an arm on a kind of device."""

    number: int
    image: str
    answers: int


def choose_arm(arms: Sequence[Arm], people: Mapping[Arm, int], seed: int, person: str) -> Arm:
    """Return the arm of a new person.

    Args:
        arms: of the study, at least one.
        people: how many have each already.
        seed: of the study.
        person: their name.
    """
    return min(arms, key=lambda arm: (people.get(arm, 0), _lot(seed, person, *arm)))


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
    """Return the numbers of a batch's items as they are shown; fewer than `size` where no more are left.

    Args:
        candidates: all that may be shown in the person's arm.
        seen: images that the person was shown.
        size: of a batch.
        wanted: answers that an item needs; one that has them is not shown.
        seed: of the study.
        person: their name.
        batch: its number.
    """

    def rank(candidate: CandidateItem) -> tuple[int, str]:
        return candidate.answers, _lot(seed, person, batch, candidate.number)

    best: dict[str, CandidateItem] = {}
    for candidate in candidates:
        if candidate.image in seen or candidate.answers >= wanted:
            continue
        known = best.get(candidate.image)
        if known is None or rank(candidate) < rank(known):
            best[candidate.image] = candidate
    chosen = sorted(best.values(), key=rank)[:size]
    # Those with the fewest answers would come first, and with them a person's first, least practised answers.
    return [
        one.number
        for one in sorted(chosen, key=lambda one: _lot(seed, "order", person, batch, one.number))
    ]


def choose_check_positions(count: int, size: int, seed: int, person: str, batch: int) -> list[int]:
    """Return where in a batch of `size` so many checks of attention stand, counted from 0: never first."""
    places = sorted(
        range(1, size + count), key=lambda place: _lot(seed, "check", person, batch, place)
    )
    return sorted(places[:count])


def _lot(*what: object) -> str:
    return sha256("/".join(map(str, what)))
