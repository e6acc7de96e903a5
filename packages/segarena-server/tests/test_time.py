"""Charged time at a server: clock jumps, stalled networks, pauses, and what participants see of it."""

import json
import time
import uuid

import numpy as np
import pytest
from at_work import send_turn

from segarena.dialogue import Prediction
from segarena.protocol.replies import unpack_reply
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Turn as Row

HOUR_S = 3600.0


@pytest.fixture(scope="module")
def timed(working):
    """A server with a phase without limits and one with a minute per object."""
    about = {"runs_at_once": 1000, "samples_per_run": 1, "kind": "practice"}
    phases = Phase(name="long", **about), Phase(name="short", seconds_per_object=60.0, **about)
    told = ChallengeDescription(
        slug="timed", title="Timed", benchmark="clicks(rounds=3)", dataset="demo", phases=phases
    )
    make_challenge(working.site, told, lambda *_: None)
    return working


class Dialogue:
    """One dialogue of a separate run, turn by turn."""

    def __init__(self, served, phase):
        self.served = served
        self.token = served.token(str(uuid.uuid4())[:20])
        self.api = served.api(self.token)
        told = {"id": str(uuid.uuid4()), "name": "mine"}
        self.run = self.api.post(f"/challenges/timed/phases/{phase}/runs", json=told).json()
        (place,) = self.run["places"]
        self.path = f"/runs/{self.run['id']}/samples/{place['key']}"
        sample = self.api.get(self.path)
        size = int.from_bytes(sample.content[:4], "little")
        self.shape = tuple(json.loads(sample.content[12 : 12 + size])["arrays"][0]["shape"][:2])
        self.number = 0
        self.send(open=[0])

    def send(self, answers=None, **told):
        body = pack_turn(TurnHeader(id=f"turn-{self.number:04}", **told), answers or {})
        answer = send_turn(self.api, f"{self.path}/turns/{self.number}", body)
        assert answer.status_code == 200, answer.text
        self._wait_until_noted()
        self.number += 1
        return unpack_reply(answer.content, self.shape)[0]

    def _wait_until_noted(self):
        """Wait until the server has recorded when its reply was sent, which may be shortly after its arrival."""
        site, key = self.served.site, (self.run["id"], 0, self.number)
        until = time.monotonic() + 30
        while key not in site.sent and time.monotonic() < until:
            with site.database.reading() as session:
                if session.get_one(Row, key).sent:
                    return
            time.sleep(0.01)

    def answer(self, **told):
        mask = np.zeros(self.shape, bool)
        return self.send({0: Prediction(mask)}, **told)

    def last(self):
        with self.served.site.database.reading() as session:
            return session.get_one(Row, (self.run["id"], 0, self.number - 1))

    def page(self):
        """Return the page of the sample as its participant sees it."""
        return self.served.pages_of(self.run["id"]).get(f"/runs/{self.run['id']}/samples/1").text


@pytest.fixture
def clocks(monkeypatch):
    """Move the time of day, or the monotonic clock, for the whole server."""
    of_day, since_start = time.time, time.clock_gettime

    def move(day_s=0.0, start_s=0.0):
        monkeypatch.setattr(time, "time", lambda: of_day() + day_s)
        monkeypatch.setattr(time, "clock_gettime", lambda clock: since_start(clock) + start_s)

    return move


@pytest.mark.long
@pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S])
def test_a_clock_that_jumps_changes_no_charge(timed, clocks, jump_s):
    dialogue = Dialogue(timed, "short")
    clocks(day_s=jump_s)
    said = dialogue.answer(client_s=0.1)
    turn = dialogue.last()
    assert 0.0 <= turn.charged_s < 30.0
    assert turn.is_sure
    assert not said.late
    assert said.rounds


@pytest.mark.long
@pytest.mark.postgresql
def test_a_stall_is_charged_pointed_out_and_changes_no_score(timed, clocks):
    dialogue = Dialogue(timed, "long")
    clocks(start_s=2.0, day_s=2.0)
    said = dialogue.answer(client_s=0.1, round_trip_s=0.0123)
    turn = dialogue.last()
    assert 2.0 <= turn.charged_s < 30.0
    assert (turn.client_s, turn.round_trip_s) == (0.1, 0.0123)
    assert said.rounds
    assert not said.late
    page = dialogue.page()
    assert 'class="num alarm"' in page
    assert "12 ms" in page


@pytest.mark.long
def test_a_pause_beyond_the_time_ends_the_dialogue_and_says_so(timed, clocks):
    dialogue = Dialogue(timed, "short")
    clocks(start_s=HOUR_S, day_s=HOUR_S)
    said = dialogue.answer(client_s=0.1)
    assert dialogue.last().charged_s >= HOUR_S
    assert (said.late, said.over) == (True, True)
    assert "late" in dialogue.page()


def test_a_pause_where_there_is_no_limit_costs_nothing_but_is_seen(timed, clocks):
    dialogue = Dialogue(timed, "long")
    clocks(start_s=HOUR_S, day_s=HOUR_S)
    said = dialogue.answer(client_s=HOUR_S - 0.5)
    assert dialogue.last().charged_s >= HOUR_S
    assert said.rounds
