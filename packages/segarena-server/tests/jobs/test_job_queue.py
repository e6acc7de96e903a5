"""Jobs on request: at most one of each kind for each object, however many requests there are."""

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
        assert asked.wait(60)
        other.join(0.3)  # the second one waits until the first one's job is there, or not
        assert not found
    other.join(60)
    assert found == [first]
    with database.reading() as session:
        assert session.scalars(select(Job.told)).all() == ["first"]
