"""Turns in the tables: handed out once, given back when their holder dies, written once whoever comes later."""

import pytest

from segarena.challenges.clock import Charged
from segarena.server import turns
from segarena.server.refusals import Refusal
from segarena.server.tables import Challenge, Person, Place, Run, Turn

KEY = ("run", 0, 0)


@pytest.fixture
def run(database):
    with database.writing() as session:
        person = Person(name="a", folded="a", password="-", role="participant", state="confirmed", made_at=0.0)
        challenge = Challenge(slug="c", description="{}", made_at=0.0)
        session.add_all([person, challenge])
        session.flush()
        told = {"phase": "p", "name": "n", "segmenter": "", "note": "", "pool": "d", "made_at": 0.0}
        session.add(Run(id="run", challenge_id=challenge.id, person_id=person.id, **told))
        session.flush()
        for number in range(2):
            session.add(Place(run_id="run", number=number, key=f"k{number}", sample=f"s{number}", sha256="0", bytes=1))
    return database


def receive(database, number=0, place=0, body=b"body", at=1.0, charged_s=0.0):
    came = turns.Received(body=body, sha256=body.hex(), charged=Charged(seconds=charged_s), client_s=0.0)
    with database.writing() as session:
        return turns.receive(
            session, session.get_one(Run, "run"), session.get_one(Place, ("run", place)), number, came, at
        )


def lease(database, worker="w", name="lease", now=100.0):
    with database.writing() as session:
        found = turns.lease_next(session, worker, name, now)
        return None if found is None else (found.run_id, found.place, found.number)


def finish(database, name, key=KEY, **values):
    with database.writing() as session:
        return turns.finish_turn(session, key, name, **{"state": "done", "response": b"r", **values})


def state(database, key=KEY):
    with database.reading() as session:
        turn = session.get_one(Turn, key)
        return turn.state, turn.tries


def give_up(database, name="lease", most_tries=3):
    with database.writing() as session:
        return turns.release(session, KEY, name, most_tries=most_tries, why="it died")


def test_a_turn_is_handed_out_once(run):
    receive(run)
    assert lease(run) == KEY
    assert lease(run, "other", "another") is None


def test_whoever_lost_the_lease_writes_nothing(run):
    receive(run)
    lease(run, name="first")
    give_up(run, "first")
    lease(run, name="second")
    assert not finish(run, "first", response=b"late")
    assert finish(run, "second", response=b"right")
    assert not finish(run, "second", response=b"again")
    with run.reading() as session:
        assert session.get_one(Turn, KEY).response == b"right"


def test_after_three_tries_a_turn_is_dead_and_its_run_takes_nothing_of_the_quota(run):
    receive(run)
    found = []
    for number in range(3):
        lease(run, name=str(number))
        found.append(give_up(run, str(number)))
    assert found == ["waiting", "waiting", "dead"]
    assert lease(run) is None
    with run.reading() as session:
        one = session.get_one(Run, "run")
        assert (one.state, one.is_free) == ("closing", True)
        assert "it died" in one.fault


def test_giving_up_a_lease_that_is_another_ones_by_now_changes_nothing(run):
    receive(run)
    lease(run, name="mine")
    assert give_up(run, "other") == ""
    assert state(run) == ("leased", 1)


def test_a_server_that_ends_costs_the_turn_no_try(run):
    receive(run)
    for number in range(10):
        lease(run, name=str(number))
        with run.writing() as session:
            turns.hand_on(session, KEY, str(number))
            turns.hand_on(session, KEY, str(number))
        assert state(run) == ("waiting", 0)


def test_a_beat_is_counted_for_the_holder_alone(run):
    receive(run)
    lease(run, name="mine")
    with run.writing() as session:
        assert turns.beat(session, KEY, "mine")
        assert not turns.beat(session, KEY, "other")
    with run.reading() as session:
        assert turns.leased(session) == {KEY: ("mine", 1)}


def test_a_worker_gets_what_it_has_in_memory_before_what_is_older(run):
    receive(run, place=0, at=1.0)
    receive(run, place=1, at=2.0)
    with run.writing() as session:
        session.get_one(Place, ("run", 1)).worker = "w"
    assert lease(run, "w") == ("run", 1, 0)


def test_a_turn_is_left_to_who_has_it_in_memory_but_not_for_long(run):
    receive(run, at=100.0)
    with run.writing() as session:
        session.get_one(Place, ("run", 0)).worker = "other"
    assert lease(run, "w", now=100.1) is None
    assert lease(run, "w", now=101.0) == KEY


def test_a_turn_from_before_the_clock_was_set_back_is_not_left_to_somebody_else_for_an_hour(run):
    receive(run, at=3700.0)
    with run.writing() as session:
        session.get_one(Place, ("run", 0)).worker = "other"
    assert lease(run, "w", now=100.0) == KEY


def test_turns_come_in_order_and_each_with_one_content(run):
    with pytest.raises(Refusal, match="the next one is 0"):
        receive(run, number=1)
    receive(run)
    assert receive(run).state == "waiting"
    with pytest.raises(Refusal, match="other content"):
        receive(run, body=b"other")
    with pytest.raises(Refusal, match="cannot come now"):
        receive(run, number=1)
    lease(run)
    finish(run, "lease")
    assert receive(run, number=1, charged_s=2.0).charged_s == 2.0
    with pytest.raises(Refusal, match="the next one is 1"):
        receive(run, number=7)


def test_what_was_spent_before_is_that_of_the_run_without_the_turn_itself(run):
    receive(run, charged_s=1.0)
    lease(run)
    finish(run, "lease")
    assert receive(run, number=0, place=1, charged_s=2.0).spent_s == 1.0
    lease(run)
    finish(run, "lease", ("run", 1, 0), state="refused")
    again = receive(run, number=0, place=1, body=b"better", charged_s=3.0)
    assert (again.spent_s, again.charged_s, again.state) == (1.0, 3.0, "waiting")
