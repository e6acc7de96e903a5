"""Leased rows of either table: handed out once, written once, passed on, and given up."""

import pytest

from segarena_server.db.orm_models import Challenge, Job, Person, Run, RunSample, Turn
from segarena_server.jobs import row_leases as leases
from segarena_server.jobs.job_queue import enqueue_job, find_job


@pytest.fixture(params=["turn", "job"])
def row(request, database):
    """A database with one waiting row, its table and its key."""
    with database.writing() as session:
        if request.param == "job":
            return database, Job, (enqueue_job(session, "some", "thing", 1.0).id,)
        person = Person(
            name="a", folded="a", password="-", role="participant", state="confirmed", made_at=0.0
        )
        challenge = Challenge(slug="c", description="{}", made_at=0.0)
        session.add_all([person, challenge])
        session.flush()
        told = {"phase": "p", "name": "n", "segmenter": "", "note": "", "pool": "d", "made_at": 0.0}
        session.add(Run(id="run", challenge_id=challenge.id, person_id=person.id, **told))
        session.flush()
        session.add(RunSample(run_id="run", number=0, key="k", sample="s", sha256="0", bytes=1))
        session.flush()
        session.add(
            Turn(
                run_id="run",
                place=0,
                number=0,
                sha256="0",
                request=b"",
                state="waiting",
                received_at=1.0,
            )
        )
    return database, Turn, ("run", 0, 0)


def lease(row, name):
    database, table, key = row
    with database.writing() as session:
        leases.lease_row(session.get_one(table, key), name)


def change(row, function, *words, **values):
    database, table, key = row
    with database.writing() as session:
        return function(session, table, key, *words, **values)


def state(row):
    database, table, key = row
    with database.reading() as session:
        found = session.get_one(table, key)
        return found.state, found.tries, found.failure


def test_whoever_lost_the_lease_writes_nothing(row):
    lease(row, "first")
    assert change(row, leases.fail_attempt, "first", most_tries=3, why="it died") == "waiting"
    lease(row, "second")
    assert not change(row, leases.finish_row, "first", state="done", failure="late")
    assert change(row, leases.finish_row, "second", state="done", failure="")
    assert not change(row, leases.finish_row, "second", state="done", failure="again")
    assert state(row) == ("done", 2, "")


def test_after_so_many_tries_it_is_dead(row):
    found = []
    for number in range(3):
        lease(row, str(number))
        found.append(change(row, leases.fail_attempt, str(number), most_tries=3, why="it died"))
    assert found == ["waiting", "waiting", "dead"]
    assert state(row) == ("dead", 3, "it died")


def test_giving_up_a_lease_that_is_another_ones_by_now_changes_nothing(row):
    lease(row, "mine")
    assert change(row, leases.fail_attempt, "other", most_tries=3, why="") == ""
    assert state(row)[:2] == ("leased", 1)


def test_handing_on_is_no_try(row):
    for number in range(10):
        lease(row, str(number))
        change(row, leases.release_row, str(number))
        change(row, leases.release_row, str(number))
        assert state(row)[:2] == ("waiting", 0)


def test_a_beat_is_counted_for_the_holder_alone(row):
    database, table, key = row
    lease(row, "mine")
    assert change(row, leases.renew_lease, "mine")
    assert not change(row, leases.renew_lease, "other")
    with database.reading() as session:
        assert leases.active_leases(session, table) == {key: ("mine", 1)}


def test_a_job_about_a_thing_is_asked_for_once_until_it_is_done_or_dead(database):
    with database.writing() as session:
        first = enqueue_job(session, "some", "thing", 1.0, "a")
        assert enqueue_job(session, "some", "thing", 2.0, "b").id == first.id
        assert (first.told, first.made_at) == ("a", 1.0)
        assert enqueue_job(session, "other", "thing", 2.0).id != first.id
        first.state, first.tries, first.failure = "dead", 3, "it died"
        again = enqueue_job(session, "some", "thing", 3.0, "c")
        assert (again.id, again.state, again.tries, again.failure, again.told) == (
            first.id,
            "waiting",
            0,
            "",
            "c",
        )
        assert find_job(session, "none", "thing") is None
