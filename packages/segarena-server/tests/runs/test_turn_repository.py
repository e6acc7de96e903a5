"""Turns in the database: ordered, each with one content, assigned to the worker that has their dialogues in memory."""

import pytest

from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.challenges.turn_time_accounting import TimeCharge
from segarena_server.db.orm_models import Challenge, Person, Run, RunSample, Turn
from segarena_server.http_errors import Refusal
from segarena_server.jobs import row_leases as leases
from segarena_server.runs import turn_repository

KEY = ("run", 0, 0)


@pytest.fixture
def run(database):
    with database.writing() as session:
        person = Person(
            name="a", folded="a", password="-", role="participant", state="confirmed", made_at=0.0
        )
        challenge = Challenge(slug="c", description="{}", made_at=0.0)
        session.add_all([person, challenge])
        session.flush()
        told = {"phase": "p", "name": "n", "segmenter": "", "note": "", "pool": "d", "made_at": 0.0}
        session.add(Run(id="run", challenge_id=challenge.id, person_id=person.id, **told))
        session.flush()
        for number in range(2):
            session.add(
                RunSample(
                    run_id="run",
                    number=number,
                    key=f"k{number}",
                    sample=f"s{number}",
                    sha256="0",
                    bytes=1,
                )
            )
    return database


def receive(database, number=0, place=0, turn_id="turn-one", at=1.0, charged_s=0.0):
    body = pack_turn(TurnHeader(id=turn_id))
    received = turn_repository.make_turn(body)
    charge = TimeCharge(seconds=charged_s)
    with database.writing() as session:
        there = session.get_one(RunSample, ("run", place))
        before = turn_repository.turns_by_number(session, there)
        return turn_repository.store_turn(
            session,
            session.get_one(Run, "run"),
            there,
            before,
            received,
            charge,
            number=number,
            now=at,
        )


def lease(database, worker="w", name="lease", now=100.0):
    with database.writing() as session:
        found = turn_repository.lease_next_turn(session, worker, name, now)
        return None if found is None else (found.run_id, found.place, found.number)


def finish(database, name, key=KEY, **values):
    with database.writing() as session:
        return leases.finish_row(
            session, Turn, key, name, **{"state": "done", "response": b"r", **values}
        )


def test_a_turn_is_handed_out_once(run):
    receive(run)
    assert lease(run) == KEY
    assert lease(run, "other", "another") is None


def test_a_worker_gets_what_it_has_in_memory_before_what_is_older(run):
    receive(run, place=0, at=1.0)
    receive(run, place=1, at=2.0)
    with run.writing() as session:
        session.get_one(RunSample, ("run", 1)).worker = "w"
    assert lease(run, "w") == ("run", 1, 0)


def test_a_turn_is_left_to_who_has_it_in_memory_but_not_for_long(run):
    receive(run, at=100.0)
    with run.writing() as session:
        session.get_one(RunSample, ("run", 0)).worker = "other"
    assert lease(run, "w", now=100.1) is None
    assert lease(run, "w", now=101.0) == KEY


def test_a_turn_from_before_the_clock_was_set_back_is_not_left_to_somebody_else_for_an_hour(run):
    receive(run, at=3700.0)
    with run.writing() as session:
        session.get_one(RunSample, ("run", 0)).worker = "other"
    assert lease(run, "w", now=100.0) == KEY


def test_turns_come_in_order_and_each_with_one_content(run):
    with pytest.raises(Refusal, match="expected turn 0 next"):
        receive(run, number=1)
    receive(run)
    assert receive(run).state == "waiting"
    with pytest.raises(Refusal, match="other content"):
        receive(run, turn_id="turn-other")
    with pytest.raises(Refusal, match="expected turn"):
        receive(run, number=1)
    lease(run)
    finish(run, "lease")
    assert receive(run, number=1, charged_s=2.0).charged_s == 2.0
    with pytest.raises(Refusal, match="expected turn 1 next"):
        receive(run, number=7)


@pytest.mark.long
def test_what_was_spent_before_is_that_of_the_run_without_the_turn_itself(run):
    receive(run, charged_s=1.0)
    lease(run)
    finish(run, "lease")
    assert receive(run, number=0, place=1, charged_s=2.0).spent_s == 1.0
    lease(run)
    finish(run, "lease", ("run", 1, 0), state="refused")
    again = receive(run, number=0, place=1, turn_id="turn-better", charged_s=3.0)
    assert (again.spent_s, again.charged_s, again.state) == (1.0, 3.0, "waiting")
