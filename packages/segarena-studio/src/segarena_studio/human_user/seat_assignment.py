"""Who sits where: everybody gets another target, and all targets are asked about equally often."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from segarena.engine.human_queue import SeatInfo, Seats


@dataclass(frozen=True, slots=True)
class SeatProgress:
    """How far a run's people are.

    Attributes:
        mine: seats at which one person's dialogue is over.
        over: the same of everybody.
        seats: all that were made so far.
        is_free: whether there is one for that person.
    """

    mine: int
    over: int
    seats: int
    is_free: bool


def take_seat(seats: Seats, person: str) -> str | None:
    """Return the seat of a person: the one that they left, else a free one; None when there is none for them.

    Free ones are taken about targets that the person has not had, first about those with the fewest people, then in
    the order of the run. Two who come at once get different ones.
    """
    while (found := _next(seats, person)) is not None:
        if seats.claim(found, person):
            return found
    return None


def measure_progress(seats: Seats, person: str) -> SeatProgress:
    """Return how far people are, and this person among them."""
    over = [name for name in seats.names() if seats.is_over(name)]
    mine = sum(seats.person(name) == person for name in over)
    return SeatProgress(
        mine=mine,
        over=len(over),
        seats=len(seats.names()),
        is_free=_next(seats, person) is not None,
    )


def _next(seats: Seats, person: str) -> str | None:
    told = [told for name in seats.names() if (told := seats.seat(name)) is not None]
    sitting = {one.seat: who for one in told if (who := seats.person(one.seat))}
    mine = [one for one in told if sitting.get(one.seat) == person]
    for one in mine:
        if not seats.is_over(one.seat):
            return one.seat
    had = {_target(one) for one in mine}
    taken = Counter(_target(one) for one in told if one.seat in sitting)
    free = [
        one
        for one in told
        if one.seat not in sitting and _target(one) not in had and not seats.is_over(one.seat)
    ]
    if free:
        return min(free, key=lambda one: (taken[_target(one)], one.place, one.seat)).seat
    return None


def _target(told: SeatInfo) -> tuple[str, str, str]:
    """Return what is had once: users of two kinds, such as with errors shown and without, are different things."""
    return told.sample, told.target, told.user
