"""Jobs that are asked for: about each thing there is one of a kind, however many ask."""

import threading

from sqlalchemy import select

from segarena_server.db.orm_models import Job
from segarena_server.jobs.job_queue import enqueue_job


def test_two_that_ask_at_the_same_moment_have_one_job(database):
    asked, found = threading.Event(), []

    def ask():
        asked.set()
        with database.writing() as session:
            found.append(enqueue_job(session, "some", "thing", 2.0, "second").id)

    other = threading.Thread(target=ask)
    with database.writing() as session:
        first = enqueue_job(session, "some", "thing", 1.0, "first").id
        other.start()
        asked.wait(10)
        other.join(0.3)  # the second one waits until the first one's job is there, or not
        assert not found
    other.join(20)
    assert found == [first]
    with database.reading() as session:
        assert session.scalars(select(Job.told)).all() == ["first"]
