"""Queue information for waiting clients: their position, and an estimate that clock changes do not distort."""

import pytest
from sqlalchemy import update

from segarena_server.api.queue_position import (
    job_queue_position,
    run_queue_position,
    turn_queue_position,
)
from segarena_server.db.orm_models import Challenge, Job, Person, Run, RunSample, Turn
from segarena_server.jobs.job_queue import END_RUN, find_job
from segarena_server.runs.run_repository import request_end


def begun(session):
    person = Person(
        name="a", folded="a", password="-", role="participant", state="confirmed", made_at=0.0
    )
    challenge = Challenge(slug="c", description="{}", made_at=0.0)
    session.add_all([person, challenge])
    session.flush()
    told = {"phase": "p", "name": "n", "segmenter": "", "note": "", "pool": "d", "made_at": 0.0}
    run = Run(id="run", challenge_id=challenge.id, person_id=person.id, **told)
    session.add(run)
    session.flush()
    return run


@pytest.mark.long
def test_a_turn_is_told_its_place_and_how_long_those_before_it_will_take(database):
    states = ["done", "done", "done", "leased", "leased", "waiting", "waiting", "waiting"]
    with database.writing() as session:
        begun(session)
        for number, state in enumerate(states):
            session.add(
                RunSample(
                    run_id="run", number=number, key=f"k{number}", sample="s", sha256="0", bytes=1
                )
            )
            session.flush()
            turn = Turn(
                run_id="run",
                place=number,
                number=0,
                sha256="",
                request=b"",
                state=state,
                evaluated_s=2.0,
            )
            turn.received_at, turn.done_at = (
                float(number),
                -3600.0,
            )  # the clock was set back meanwhile
            session.add(turn)
    with database.reading() as session:
        queues = [
            turn_queue_position(session, session.get_one(Turn, ("run", place, 0)))
            for place in range(3, 8)
        ]
    assert [queue["phase"] for queue in queues] == [
        "evaluating",
        "evaluating",
        "waiting",
        "waiting",
        "waiting",
    ]
    assert [queue["place"] for queue in queues] == [0, 0, 0, 1, 2]
    assert [queue["estimate_s"] for queue in queues] == [
        2.0,
        2.0,
        2.0,
        2.0,
        4.0,
    ]  # two are evaluated at once


def test_a_job_is_not_told_an_hour_that_the_clock_was_set(database):
    with database.writing() as session:
        for number, took_s in enumerate((5.0, 5.0, 5.0, 3605.0, -3595.0)):
            session.add(
                Job(
                    kind=END_RUN,
                    about=str(number),
                    state="done",
                    made_at=0.0,
                    begun_at=0.0,
                    done_at=took_s,
                )
            )
        session.add(Job(kind=END_RUN, about="mine", state="leased", made_at=1.0, begun_at=1.0))
    with database.reading() as session:
        job = session.query(Job).filter(Job.about == "mine").one()
        assert job_queue_position(session, job)["estimate_s"] == 5.0


def test_what_is_done_to_end_a_run_is_told_without_the_sample_that_it_is_done_to(database):
    with database.writing() as session:
        run = begun(session)
        assert request_end(session, run, 0.0)
        job = find_job(session, END_RUN, "run")
        job.state, job.doing = "leased", "loading hidden"
        assert run_queue_position(session, run)["phase"] == END_RUN


def test_a_run_that_somebody_else_just_ended_is_not_ended_again(database):
    with database.writing() as session:
        run = begun(session)
        session.connection().execute(update(Run).values(state="over"))
        assert run.state == "open"
        assert not request_end(session, run, 0.0)
        assert find_job(session, END_RUN, "run") is None
