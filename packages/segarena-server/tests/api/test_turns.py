"""A whole run over HTTP: samples, turns, prompts, and the resulting run folder."""

import base64
import hashlib
import multiprocessing
import os
import signal
import time
import uuid

import msgspec
import numpy as np
import pytest
from at_work import send_turn
from sqlalchemy import select

from segarena.dialogue import Prediction
from segarena.engine.run_folder import RunFolder
from segarena.protocol.replies import unpack_reply
from segarena.protocol.sample_serialization import unpack_sample
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import RunSample
from segarena_server.db.orm_models import Turn as Turns


@pytest.fixture(scope="module")
def challenge(working):
    described = ChallengeDescription(
        slug="photos",
        title="Photos",
        benchmark="clicks",
        dataset="demo",
        phases=(
            Phase(
                name="try",
                kind="practice",
                rounds=2,
                samples_per_run=1,
                runs_at_once=50,
                shows="own",
            ),
        ),
    )
    make_challenge(working.site, described, lambda *_: None)
    return described


@pytest.fixture(scope="module")
def api(working, challenge):
    return working.api(working.token("ada"))


@pytest.fixture
def run(api):
    told = {"id": str(uuid.uuid4()), "name": "mine", "segmenter": "all", "note": ""}
    answer = api.post("/challenges/photos/phases/try/runs", json=told)
    assert answer.status_code == 201, answer.text
    return answer.json()


def turn_of(answers=None, opens=()):
    return pack_turn(TurnHeader(id=str(uuid.uuid4()), open=list(opens)), answers or {})


def send(api, run, number, body, place=0, **headers):
    key = run["places"][place]["key"]
    return send_turn(api, f"/runs/{run['id']}/samples/{key}/turns/{number}", body, **headers)


def sample_of(api, run, place=0):
    told = run["places"][place]
    answer = api.get(f"/runs/{run['id']}/samples/{told['key']}")
    assert hashlib.sha256(answer.content).hexdigest() == told["sha256"]
    return unpack_sample(answer.content, told["key"])


def everything(sample, dialogues):
    return dict.fromkeys(dialogues, Prediction(np.ones(sample.shape, bool)))


def hold(api, run):
    """Answer a run with full masks until it is over; return the replies."""
    sample = sample_of(api, run)
    opens = range(len(run["places"][0]["dialogues"]))
    body, replies = turn_of(opens=opens), []
    while True:
        answer = send(api, run, len(replies), body)
        assert answer.status_code == 200, answer.text
        replies.append(unpack_reply(answer.content, sample.shape))
        going = [asked.dialogue for asked in replies[-1] if not asked.over]
        if not going:
            return replies
        body = turn_of(everything(sample, going))


def wait_until_over(api, run):
    for _ in range(1200):
        told = api.get(f"/runs/{run['id']}").json()
        if told["state"] == "over":
            return told
        time.sleep(0.05)
    raise AssertionError(told)


@pytest.mark.long
def test_a_run_is_held_to_its_end_and_leaves_a_run_folder(working, api, run):
    assert len(hold(api, run)) == 3
    told = wait_until_over(api, run)
    assert told["places_over"] == [place["key"] for place in run["places"]]
    assert told["spent_s"] > 0
    folder = RunFolder.open(working.site.folder.runs / run["id"])
    assert folder.is_complete
    assert folder.records().height == 2 * len(run["places"][0]["dialogues"])
    assert folder.config.counts.rounds == folder.records().height
    scores = api.get(f"/runs/{run['id']}/scores").json()["scores"]
    iou = {score["statistic"]: score["mean"] for score in scores}["IoU@1"]
    first = folder.records().filter(round=1)["iou"].mean()
    assert iou == pytest.approx(first, abs=0.005)


@pytest.mark.long
def test_the_same_turn_again_gets_the_same_bytes_and_counts_once(working, api, run):
    sample, everyone = sample_of(api, run), range(len(run["places"][0]["dialogues"]))
    opening = turn_of(opens=everyone)
    first = send(api, run, 0, opening)
    answers = turn_of(everything(sample, everyone))
    replies = [send(api, run, 1, answers), send(api, run, 0, opening), send(api, run, 1, answers)]
    assert replies[1].content == first.content
    assert replies[0].content == replies[2].content
    key = run["places"][0]["key"]
    assert api.get(f"/runs/{run['id']}/samples/{key}/turns/1").content == replies[0].content
    with working.site.database.reading() as session:
        assert len(session.scalars(select(Turns).where(Turns.run_id == run["id"])).all()) == 2


@pytest.mark.long
@pytest.mark.postgresql
def test_a_turn_with_other_content_or_too_early_is_refused(api, run):
    opening = turn_of(opens=[0])
    assert send(api, run, 1, opening).status_code == 409
    assert send(api, run, 0, opening).status_code == 200
    assert send(api, run, 0, turn_of(opens=[1])).status_code == 409
    assert send(api, run, 2, opening).status_code == 409
    key = run["places"][0]["key"]
    assert api.get(f"/runs/{run['id']}/samples/{key}/turns/1").status_code == 404


@pytest.mark.long
def test_what_cannot_be_read_is_refused_and_another_may_come_in_its_place(api, run):
    sample = sample_of(api, run)
    assert send(api, run, 0, b"no frame at all").status_code == 422
    send(api, run, 0, turn_of(opens=[0]))
    wrong = turn_of({0: Prediction(np.ones((3, 3), bool))})
    refused = send(api, run, 1, wrong)
    assert refused.status_code == 422
    assert "mask" in refused.json()["message"]
    assert send(api, run, 1, wrong).status_code == 422
    assert send(api, run, 1, turn_of(everything(sample, [0]))).status_code == 200


@pytest.mark.long
def test_nothing_comes_in_the_place_of_what_was_refused_when_the_run_is_over(api, run):
    sample = sample_of(api, run)
    send(api, run, 0, turn_of(opens=[0]))
    wrong = turn_of({0: Prediction(np.ones((3, 3), bool))})
    assert send(api, run, 1, wrong).status_code == 422
    api.post(f"/runs/{run['id']}/finish")
    wait_until_over(api, run)
    assert send(api, run, 1, turn_of(everything(sample, [0]))).status_code == 403


def test_a_body_that_is_not_what_its_digest_says_is_refused(api, run):
    body = turn_of(opens=[0])
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    assert (
        send(api, run, 0, body + b"x", **{"content-digest": f"sha-256=:{digest}:"}).status_code
        == 400
    )
    assert send(api, run, 0, body, **{"content-digest": f"sha-256=:{digest}:"}).status_code == 200


def wait_until_noted(site, key):
    """Wait until the server has recorded when a reply was sent, which may be after its arrival on a busy machine."""
    for _ in range(1200):
        with site.database.reading() as session:
            if key in site.sent or session.get_one(Turns, key).sent:
                return
        time.sleep(0.05)
    raise AssertionError(key)


@pytest.mark.long
def test_time_runs_from_the_prompts_sent_to_the_answer(working, api, run):
    sample = sample_of(api, run)
    send(api, run, 0, turn_of(opens=[0]))
    wait_until_noted(working.site, (run["id"], 0, 0))
    time.sleep(0.3)
    send(api, run, 1, turn_of(everything(sample, [0])))
    with working.site.database.reading() as session:
        first, second = session.scalars(
            select(Turns).where(Turns.run_id == run["id"]).order_by(Turns.number)
        )
    assert (first.charged_s, second.is_sure) == (0.0, True)
    assert 0.3 <= second.charged_s < 30.0


@pytest.mark.long
@pytest.mark.postgresql
def test_a_run_can_be_ended_early_and_what_was_begun_ends_with_it(working, api, run):
    sample = sample_of(api, run)
    send(api, run, 0, turn_of(opens=[0]))
    send(api, run, 1, turn_of(everything(sample, [0])))
    api.post(f"/runs/{run['id']}/finish")
    wait_until_over(api, run)
    assert send(api, run, 2, turn_of(everything(sample, [0]))).status_code == 403
    records = RunFolder.open(working.site.folder.runs / run["id"]).records()
    assert records["failure"].drop_nulls().str.contains("ended before").any()


@pytest.mark.long
def test_a_run_that_is_ended_before_a_sample_was_begun_says_so_of_that_sample(
    working, api, challenge
):
    two = msgspec.structs.replace(challenge.phases[0], name="two", samples_per_run=2)
    make_challenge(
        working.site, msgspec.structs.replace(challenge, slug="two", phases=(two,)), lambda *_: None
    )
    told = {"id": str(uuid.uuid4()), "name": "half"}
    run = api.post("/challenges/two/phases/two/runs", json=told).json()
    send(api, run, 0, turn_of(opens=[0]))
    api.post(f"/runs/{run['id']}/finish")
    wait_until_over(api, run)
    assert api.get(f"/runs/{run['id']}").json()["fault"] == ""
    records = RunFolder.open(working.site.folder.runs / run["id"]).records()
    why = records.filter(records["target"] == "")["failure"].to_list()
    assert why == ["the run ended before this sample was started"]
    assert records["sample"].n_unique() == 2


def test_the_same_run_asked_for_again_is_the_same(api, run):
    told = {"id": run["id"], "name": "mine", "segmenter": "all", "note": ""}
    assert api.post("/challenges/photos/phases/try/runs", json=told).json() == run
    other = api.post("/challenges/photos/phases/try/runs", json={**told, "name": "another"})
    assert other.status_code == 409


UPPER_CASE = "77DB597E-C82F-4670-8DC2-55060B939C97"
ODD = [
    {"id": "x"},
    {"id": UPPER_CASE},
    {"name": "a\nb"},
    {"name": "x" * 81},
    {"more": 1},
    {"name": 3},
]


@pytest.mark.parametrize("change", ODD, ids=str)
def test_odd_runs_are_refused(api, change):
    told = {"id": str(uuid.uuid4()), "name": "mine", "segmenter": "all", "note": "", **change}
    assert api.post("/challenges/photos/phases/try/runs", json=told).status_code == 422


def test_a_sample_is_not_sent_to_who_has_it(api, run):
    told = run["places"][0]
    again = api.get(
        f"/runs/{run['id']}/samples/{told['key']}", headers={"if-none-match": f'"{told["sha256"]}"'}
    )
    assert (again.status_code, again.content) == (304, b"")


def test_nothing_that_participants_get_names_a_sample_or_the_truth(working, api, run):
    with working.site.database.reading() as session:
        name = session.scalars(select(RunSample.sample).where(RunSample.run_id == run["id"])).one()
    places = ("/challenges", "/challenges/photos", f"/runs/{run['id']}")
    told = [
        api.get(place).text.replace('"seed":null', "") for place in places
    ]  # one is told where runs are sent
    body = api.get(f"/runs/{run['id']}/samples/{run['places'][0]['key']}").content
    assert not [text for text in told if name in text or "seed" in text or "demo" in text]
    assert name.encode() not in body


@pytest.mark.postgresql
def test_a_worker_that_is_killed_is_replaced_and_the_run_goes_on(working, api, run):
    sample, everyone = sample_of(api, run), range(len(run["places"][0]["dialogues"]))
    send(api, run, 0, turn_of(opens=everyone))
    for child in multiprocessing.active_children():
        os.kill(child.pid, signal.SIGKILL)
    for number in (1, 2):
        assert send(api, run, number, turn_of(everything(sample, everyone))).status_code == 200
    wait_until_over(api, run)
    records = RunFolder.open(working.site.folder.runs / run["id"]).records()
    assert records.height == 2 * len(everyone)
    assert records["failure"].is_null().all()
