"""Assignment of seats: each person gets different targets, and each target the same number of people."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from segarena.engine.human_dialogue_files import SeatInfo, Seats


@dataclass(frozen=True, slots=True)
class SeatProgress:
    """Progress of a run's people.

    Attributes:
        mine: number of one person's finished dialogues.
        over: number of everybody's finished dialogues.
        seats: number of seats so far.
        is_free: whether there is a seat for that person.
    """

    mine: int
    over: int
    seats: int
    is_free: bool


def take_seat(seats: Seats, person: str) -> str | None:
    """Return the seat of a person: an unfinished one, else a free one; None if there is none.

    Free seats are about targets that the person has not had: targets with the fewest people first,
    then in the order of the run. Concurrent requests get different seats.
    """
    seat = _next(seats, person)
    while seat is not None and not seats.claim(seat, person):
        # Somebody else has claimed it in the meantime.
        seat = _next(seats, person)
    return seat


def measure_progress(seats: Seats, person: str) -> SeatProgress:
    """Measure the progress of a run's people, and of one person among them."""
    over = [name for name in seats.names() if seats.is_over(name)]
    mine = sum(seats.person(name) == person for name in over)
    return SeatProgress(
        mine=mine,
        over=len(over),
        seats=len(seats.names()),
        is_free=_next(seats, person) is not None,
    )


def _next(seats: Seats, person: str) -> str | None:
    infos: list[SeatInfo] = []
    person_at: dict[str, str] = {}
    for name in seats.names():
        info = seats.seat(name)
        if info is None:
            continue
        infos.append(info)
        occupant = seats.person(info.seat)
        if occupant:
            person_at[info.seat] = occupant
    own = [info for info in infos if person_at.get(info.seat) == person]
    # Prefer the dialogue that the person left, because its run waits for it.
    for info in own:
        if not seats.is_over(info.seat):
            return info.seat
    own_targets = {_target(info) for info in own}
    # Count taken seats, finished or not, because their targets already have a person.
    people_of = Counter(_target(info) for info in infos if info.seat in person_at)
    free: list[SeatInfo] = []
    for info in infos:
        is_new = info.seat not in person_at and _target(info) not in own_targets
        if is_new and not seats.is_over(info.seat):
            free.append(info)
    if not free:
        return None

    def rank(info: SeatInfo) -> tuple[int, int, str]:
        return people_of[_target(info)], info.place, info.seat

    return min(free, key=rank).seat


def _target(info: SeatInfo) -> tuple[str, str, str]:
    """Return the key of a person's task; each person gets a task only once.

    The simulated user is part of the key: two kinds of users, such as with and without visible
    errors, are different tasks.
    """
    return info.sample, info.target, info.user
