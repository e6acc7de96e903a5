"""Jobs on request: at most one of each kind for each object, however many requests there are."""

import threading

from sqlalchemy import select

from segarena_server.db.orm_models import Job
from segarena_server.jobs.job_queue import cancel_job, enqueue_job, find_job
from segarena_server.jobs.row_leases import finish_row, lease_row


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


def test_a_cancelled_job_has_no_result_and_can_be_asked_for_again(database):
    with database.writing() as session:
        assert not cancel_job(session, "some", "thing", 1.0)
        job = enqueue_job(session, "some", "thing", 1.0, "first")
        lease_row(job, "mine")
        number = job.id
    with database.writing() as session:
        assert cancel_job(session, "some", "thing", 2.0)
        assert not cancel_job(session, "some", "thing", 3.0)
        assert not finish_row(session, Job, (number,), "mine", state="done", said="late")
    with database.writing() as session:
        job = find_job(session, "some", "thing")
        assert (job.state, job.said, job.done_at, job.lease) == ("done", "", 2.0, "")
        assert enqueue_job(session, "some", "thing", 4.0, "second").state == "waiting"
