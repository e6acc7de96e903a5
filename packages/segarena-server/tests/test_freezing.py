"""Dates of a challenge on boards and in the API, at times that tests set: freezing, late runs, closing, reopening."""

import time
import uuid
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from at_work import send_turn

from segarena.dialogue import Prediction
from segarena.protocol.replies import unpack_reply
from segarena.protocol.sample_serialization import unpack_sample
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.challenges.challenge_management import make_challenge, set_challenge_state
from segarena_server.challenges.description import ChallengeDescription, Phase

HOUR_S = 3600.0
LIMITS = {"rounds": 1, "samples_per_run": 1, "runs_at_once": 9, "shows": "board"}


class Event:
    """A challenge on a server whose clock is set."""

    def __init__(self, served):
        self.served = served
        self.began = datetime.now(UTC)
        self._shift_s = 0.0
        served.site.clock = lambda: time.time() + self._shift_s

    def hour(self, hours):
        """Set the clock to this number of hours after the beginning."""
        self._shift_s = hours * HOUR_S

    def at(self, hours):
        return self.began + timedelta(hours=hours)

    def make(self, *phases, **values):
        self.slug = f"c{uuid.uuid4().hex[:8]}"
        told = ChallengeDescription(
            slug=self.slug,
            title="C",
            benchmark="clicks",
            dataset="sample-squares(count=2)",
            phases=phases,
            **values,
        )
        make_challenge(self.served.site, told)

    def team(self, name):
        return self.served.api(self.served.token(f"{name} {self.slug}"))

    def begin(self, api, phase):
        told = {"id": str(uuid.uuid4()), "name": "mine"}
        return api.post(f"/challenges/{self.slug}/phases/{phase}/runs", json=told)

    def board(self, phase, role="viewer"):
        """Return the teams on the board of a phase."""
        organises = [self.slug] if role == "organiser" else []
        client = self.served.person(f"V {uuid.uuid4().hex[:8]}", role, organises)
        answer = client.get(f"/challenges/{self.slug}/{phase}/board.csv")
        return [name for name in ("ann", "ben", "cat") if f"{name} {self.slug}" in answer.text]


def turn(api, run, number, answers=None, opens=()):
    body = pack_turn(TurnHeader(id=str(uuid.uuid4()), open=list(opens)), answers or {})
    path = f"/runs/{run['id']}/samples/{run['places'][0]['key']}/turns/{number}"
    return send_turn(api, path, body)


def open_all(api, run):
    return turn(api, run, 0, opens=range(len(run["places"][0]["dialogues"])))


def answer_all(api, run, reply):
    """Answer every prompt with a full mask."""
    place = run["places"][0]
    sample = unpack_sample(
        api.get(f"/runs/{run['id']}/samples/{place['key']}").content, place["key"]
    )
    asked = [one.dialogue for one in unpack_reply(reply.content, sample.shape) if not one.over]
    return turn(api, run, 1, dict.fromkeys(asked, Prediction(np.ones(sample.shape, bool))))


def hold(api, run):
    assert answer_all(api, run, open_all(api, run)).status_code == 200
    return wait_until_over(api, run)


def wait_until_over(api, run):
    for _ in range(1200):
        told = api.get(f"/runs/{run['id']}").json()
        if told["state"] == "over":
            return told
        time.sleep(0.05)
    raise AssertionError(told)


@pytest.fixture
def event(working):
    made = Event(working)
    yield made
    working.site.clock = time.time


@pytest.mark.long
def test_a_frozen_board_stands_still_until_the_end_and_own_scores_go_on(event):
    event.make(Phase(name="final", closes=event.at(3), **LIMITS), frozen=event.at(1))
    ann, ben = event.team("ann"), event.team("ben")
    first = event.begin(ann, "final").json()
    hold(ann, first)
    assert event.board("final") == ["ann"]
    event.hour(2)
    late = event.begin(ben, "final").json()
    hold(ben, late)
    assert event.board("final") == ["ann"]
    assert event.board("final", "organiser") == ["ann", "ben"]
    told = ben.get(f"/runs/{late['id']}/scores").json()
    assert told["scores"]
    assert told["place"] is None
    assert ann.get(f"/runs/{first['id']}/scores").json()["of"] == 1
    event.hour(4)
    assert event.board("final") == ["ann", "ben"]
    assert ben.get(f"/runs/{late['id']}/scores").json()["of"] == 2


@pytest.mark.long
def test_a_run_that_is_late_ends_or_may_be_finished_as_its_phase_says(event):
    event.make(
        Phase(name="strict", closes=event.at(1), late="refuse", **LIMITS),
        Phase(name="kind", closes=event.at(1), late="finish", **LIMITS),
    )
    ann = event.team("ann")
    strict, kind = event.begin(ann, "strict").json(), event.begin(ann, "kind").json()
    asked = {run["id"]: open_all(ann, run) for run in (strict, kind)}
    event.hour(2)
    for phase in ("strict", "kind"):
        refused = event.begin(ann, phase)
        assert (refused.status_code, refused.json()["error"]) == (403, "closed")
    refused = answer_all(ann, strict, asked[strict["id"]])
    assert (refused.status_code, refused.json()["error"]) == (403, "closed")
    assert wait_until_over(ann, strict)["fault"] == ""
    assert answer_all(ann, kind, asked[kind["id"]]).status_code == 200
    wait_until_over(ann, kind)
    assert event.board("kind") == ["ann"]


@pytest.mark.long
def test_scores_and_boards_are_shown_when_the_phase_closes(event):
    event.make(Phase(name="blind", closes=event.at(1), **(LIMITS | {"shows": "prompts"})))
    ann = event.team("ann")
    run = event.begin(ann, "blind").json()
    hold(ann, run)
    assert event.board("blind") == []
    assert ann.get(f"/runs/{run['id']}/scores").json()["scores"] is None
    event.hour(1.01)
    assert event.board("blind") == ["ann"]
    assert ann.get(f"/runs/{run['id']}/scores").json()["scores"]


@pytest.mark.long
@pytest.mark.postgresql
def test_a_challenge_that_is_closed_ends_its_runs_keeps_its_board_and_can_be_opened_again(event):
    event.make(Phase(name="final", **LIMITS))
    ann, ben = event.team("ann"), event.team("ben")
    hold(ann, event.begin(ann, "final").json())
    going = event.begin(ben, "final").json()
    asked = open_all(ben, going)
    set_challenge_state(event.served.site, event.slug, "closed")
    assert answer_all(ben, going, asked).status_code == 403
    wait_until_over(ben, going)
    assert event.begin(ann, "final").json()["error"] == "closed"
    assert "ann" in event.board("final")
    set_challenge_state(event.served.site, event.slug, "open")
    assert event.begin(ann, "final").status_code == 201


def test_a_phase_that_is_not_open_yet_says_when_it_will_be(event):
    event.make(Phase(name="final", opens=event.at(2), **LIMITS))
    ann = event.team("ann")
    assert event.begin(ann, "final").json()["error"] == "closed"
    assert event.at(2).isoformat()[:16] in event.begin(ann, "final").json()["message"]
    event.hour(2.01)
    assert event.begin(ann, "final").status_code == 201
