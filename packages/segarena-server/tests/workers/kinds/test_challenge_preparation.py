"""Drafts of challenges: previewed, and deleted if nobody creates the challenge."""

import pytest
from sqlalchemy import select

from segarena_server.db.orm_models import Job
from segarena_server.jobs.job_queue import enqueue_job
from segarena_server.workers.kinds.challenge_preparation import (
    MakeChallenge,
    PreviewChallenge,
    delete_old_drafts,
)

DAY_S = 86400.0


@pytest.mark.long
def test_drafts_of_a_month_ago_are_forgotten_and_nothing_else(database):
    kept = {("new", "done"), ("old and under way", "leased"), ("old and made", "done")}
    with database.writing() as session:
        enqueue_job(session, PreviewChallenge.name, "new", 50 * DAY_S).state = "done"
        enqueue_job(session, PreviewChallenge.name, "old", 10 * DAY_S).state = "done"
        enqueue_job(session, PreviewChallenge.name, "old and wrong", 10 * DAY_S).state = "dead"
        enqueue_job(
            session, PreviewChallenge.name, "old and under way", 10 * DAY_S
        ).state = "leased"
        enqueue_job(session, MakeChallenge.name, "old and made", 10 * DAY_S).state = "done"
    with database.writing() as session:
        delete_old_drafts(session, 60 * DAY_S)
    with database.reading() as session:
        assert set(map(tuple, session.execute(select(Job.about, Job.state)))) == kept
