"""Seat assignment: new targets, those with the fewest people first; concurrent requests get different seats."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from segarena.engine.human_dialogue_files import (
    PersonPrompts,
    RoundFeedback,
    RunInfo,
    SeatInfo,
    Seats,
    seat_name,
)
from segarena_server.storage.data_folder import DataFolder
from segarena_studio.human_user.run_registry import list_runs, register_run
from segarena_studio.human_user.target_assignment import measure_progress, take_seat

OVER = RoundFeedback(is_over=True)


@pytest.fixture
def seats(tmp_path):
    """Three targets on two samples, each with two seats."""
    made = Seats(tmp_path)
    made.open(RunInfo(title="clicks", sample_kind="image", rounds=3, most_prompts=1))
    for place, number, target, repeat in (
        (0, 0, "a", 0),
        (0, 1, "a", 1),
        (0, 2, "b", 0),
        (0, 3, "b", 1),
        (1, 0, "a", 0),
        (1, 1, "a", 1),
    ):
        made.add(
            SeatInfo(
                seat=seat_name(place, number), place=place, sample=f"s{place}", target=target, label="", user="human",
                repeat=repeat, shape=(2, 2), kinds=("click",), shows={}, masks=(b"\x04",),
            )
        )  # fmt: skip
    return made


def finish(seats, name, person):
    seats.give(name, 1, PersonPrompts(id="x", prompts=None, person=person, user_s=1.0))
    seats.answer(name, 1, OVER)


def test_nobody_gets_a_target_twice_and_all_get_equally_many(seats):
    had = {person: [] for person in "pqr"}
    for _ in range(3):
        for person in had:
            name = take_seat(seats, person)
            if name is not None:
                told = seats.seat(name)
                had[person].append((told.sample, told.target))
                finish(seats, name, person)
    assert all(len(set(targets)) == len(targets) for targets in had.values())
    assert set(Counter(chain.from_iterable(had.values())).values()) == {2}
    assert [measure_progress(seats, person).mine for person in "pqr"] == [
        len(had[person]) for person in "pqr"
    ]
    assert measure_progress(seats, "p").over == 6
    assert take_seat(seats, "newcomer") is None


def test_who_comes_back_has_the_seat_that_they_left(seats):
    name = take_seat(seats, "p")
    assert seats.seat(take_seat(seats, "q")).target == "b"  # nobody has that one yet
    assert take_seat(seats, "p") == name
    seats.free(name)
    assert seats.person(name) == ""
    seats.claim(name, "q")
    seats.give(name, 1, PersonPrompts(id="x", prompts=None, person="q", user_s=1.0))
    seats.free(name)  # something was given there
    assert seats.person(name) == "q"


def test_of_many_who_come_at_once_each_has_a_seat_of_their_own(seats):
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda place: take_seat(seats, f"p{place}"), range(12)))
    assert sorted(filter(None, found)) == seats.names()


def test_what_was_given_for_a_round_stays(seats):
    first = PersonPrompts(id="one", prompts="[]", person="p", user_s=1.0)
    given = [
        seats.give("000000-0", 1, each)
        for each in (first, PersonPrompts(id="two", prompts=None, person="p", user_s=2.0))
    ]
    assert given == [first, first]


@pytest.mark.parametrize(
    "name", ["../000000-0", "000000-9", "about.json", "", "000000-0/../000000-1"]
)
def test_names_lead_to_seats_alone(seats, name):
    assert seats.seat(name) is None


def test_a_run_asks_until_the_last_of_its_processes_has_ended(seats, tmp_path):
    folder = DataFolder(tmp_path / "data")
    with register_run(folder, tmp_path):
        with register_run(folder, tmp_path):
            assert [run.id for run in list_runs(folder)] == [seats.info().id]
        assert [run.id for run in list_runs(folder)] == [seats.info().id]
    assert list_runs(folder) == []


def test_processes_that_open_the_seats_at_once_agree_on_their_id(tmp_path):
    told = RunInfo(title="clicks", sample_kind="image", rounds=3, most_prompts=1)

    def opened(_):
        made = Seats(tmp_path / "run")
        made.open(told)
        return made.info().id

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(opened, range(16)))) == 1
