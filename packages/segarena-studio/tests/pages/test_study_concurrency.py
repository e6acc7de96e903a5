"""Concurrent requests of one participant to a database with several writers: each takes effect once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from at_work import Served
from postgres import Postgres, programs
from sqlalchemy import func, select
from study_fixtures import ParticipantClient, answer, link_of, study_of

from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_studio.studies.orm_models import StudyCode, StudyTrial


@pytest.fixture
def at_postgres(tmp_path):
    """A server with a separate PostgreSQL database."""
    if programs() is None:
        pytest.skip("no PostgreSQL is installed here")
    postgres = Postgres()
    made = Served(
        open_site(
            tmp_path / "data",
            Settings(port=0, workers=0, db=postgres.new_database(with_tables=True)),
        )
    )
    yield made
    made.stop()
    postgres.stop()


@pytest.mark.long
def test_what_is_sent_several_times_at_once_counts_once(at_postgres):
    link = link_of(study_of(at_postgres.site, training=0, attention=0, batch=3, batches=1))
    with ThreadPoolExecutor(4) as threads:
        for _ in range(4):
            taker = ParticipantClient(at_postgres.client(), link)
            windows = [
                ParticipantClient(at_postgres.client(cookies=dict(taker.client.cookies)), link)
                for _ in range(4)
            ]
            for window in windows:
                window.client.headers.update(taker.client.headers)
            assert {
                came.status_code for came in threads.map(lambda one: one.post("batch"), windows)
            } == {200}
            for _ in range(3):
                trial = taker.next()["trial"]
                taker.post(f"trials/{trial}/begin")
                given = [
                    (one, f"trials/{trial}", answer((5 + number, 8)))
                    for number, one in enumerate(windows)
                ]
                came = threads.map(lambda each: each[0].post(*each[1:]), given)
                assert sorted(one.status_code for one in came) == [200, 409, 409, 409]
            assert {one["state"] for one in threads.map(ParticipantClient.next, windows)} == {
                "done"
            }
    with at_postgres.site.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(StudyTrial)) == 4 * 3
        assert session.scalar(select(func.count()).select_from(StudyCode)) == 4
