"""Shutdown of a server: pending requests are answered, others are told to retry, and then it ends."""

import threading
import time
import uuid

import pytest

from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Turn as Turns
from segarena_server.jobs import row_leases as leases
from segarena_server.storage.compression import compress_body


@pytest.fixture(scope="module")
def run(served):
    phase = Phase(name="try", kind="practice", rounds=1, samples_per_run=2)
    told = ChallengeDescription(
        slug="photos", title="Photos", benchmark="clicks", dataset="demo", phases=(phase,)
    )
    make_challenge(served.site, told, lambda *_: None)
    api = served.api(served.token("ada"))
    return api, api.post(
        "/challenges/photos/phases/try/runs", json={"id": str(uuid.uuid4()), "name": "x"}
    ).json()


@pytest.mark.long
def test_what_waits_is_answered_and_what_comes_is_told_to_come_again(served, run):
    api, told = run
    body, answers = pack_turn(TurnHeader(id=str(uuid.uuid4()), open=[0])), []
    places = [f"/runs/{told['id']}/samples/{place['key']}/turns/0" for place in told["places"]]
    waiting = threading.Thread(target=lambda: answers.append(api.post(places[0], content=body)))
    waiting.start()
    until(lambda: not served.site.news.is_quiet)
    served.serving.stop()
    refused = api.post(places[1], content=body)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert api.get("/ready").status_code == 503
    assert not answers
    key = (told["id"], 0, 0)
    with served.site.database.writing() as session:
        assert leases.finish_row(
            session, Turns, key, "", state="done", response=compress_body(b"the reply"), done_at=1.0
        )
        assert session.get(Turns, (told["id"], 1, 0)) is None
    served.site.news.notify(key)
    waiting.join(60)
    assert [(answer.status_code, answer.content) for answer in answers] == [(200, b"the reply")]
    until(lambda: not served.is_alive)


def until(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
