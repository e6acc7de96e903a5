"""Side channels of replies: they reveal nothing of the ground truth. Each test fails if its channel is open."""

from dataclasses import replace

import cv2
import msgspec
import numpy as np
import pytest

from segarena.dialogue import Prediction
from segarena.errors import InvalidInput, StoreError
from segarena.protocol.replies import unpack_reply
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.challenges.evaluation_request import ChargedTurn, EvaluationRequest, RunInfo
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.turn_time_accounting import FIRST_TICK_S, reply_delay_s

RUN = RunInfo(id="a", phase="final", name="a", samples=("p3",))
SIDES = (48, 64)


class Asker:
    """Completes the only dialogue of a sample with an evaluator, turn by turn."""

    def __init__(self, challenge, run=RUN, past=()):
        self.evaluator = Evaluator(challenge)
        self.job = EvaluationRequest(run=run, place=0, turns=(), past=tuple(past))
        self.given = []

    def send(self, header, answers=None, charged_s=0.0):
        given = ChargedTurn(body=pack_turn(header, answers or {}), charged_s=charged_s)
        self.job = replace(self.job, turns=(*self.job.turns, given))
        done = self.evaluator.evaluate(self.job)
        self.given += [done.given] if done.given else []
        return done

    def open(self):
        return self.send(TurnHeader(id="turn-open", open=[0]))

    def answer(self, mask, **more):
        return self.send(TurnHeader(id="turn-answer"), {0: Prediction(mask)}, **more)


@pytest.fixture
def truth(pool):
    folder = pool.removeprefix("folder(path='").removesuffix("')")
    return cv2.imread(f"{folder}/masks/p3.png", cv2.IMREAD_GRAYSCALE) > 0


@pytest.fixture
def event(challenge):
    return challenge("clicks(rounds=6, stop_at_iou=0.9)", seconds_per_object=1000.0, seed=4)


def first_run(event, rounds):
    """Return the prompts of a team that gave this number of empty answers."""
    asker = Asker(event)
    asker.open()
    for _ in range(rounds):
        asker.answer(np.zeros(SIDES, bool))
    return asker.given


def what_pages_show(done):
    """Return the information about a dialogue on participants' pages."""
    (judged,) = done.judged
    return judged.heard, judged.repeated, judged.is_over, judged.is_late, judged.is_given_up


@pytest.mark.parametrize("last", [{}, {"charged_s": 5000.0}])
def test_the_end_of_a_dialogue_is_told_for_rounds_that_were_not_held_before_alone(
    event, truth, last
):
    """Otherwise each further run could query the ground truth once per round."""
    past = first_run(event, 3)
    right, wrong = Asker(event, past=past), Asker(event, past=past)
    for asker in (right, wrong):
        asker.open()
    first, same = right.answer(truth), wrong.answer(~truth)
    assert first.reply == same.reply
    assert what_pages_show(first) == what_pages_show(same)
    second, same = right.answer(~truth, **last), wrong.answer(~truth, **last)
    assert second.reply == same.reply
    assert what_pages_show(second) == what_pages_show(same)
    assert (second.judged[0].rounds, same.judged[0].rounds) == (1, 1 if last else 2)
    if not last:
        assert right.answer(truth).reply == wrong.answer(~truth).reply
        there, elsewhere = (
            unpack_reply(asker.answer(~truth).reply, SIDES)[0] for asker in (right, wrong)
        )
        assert (there.over, elsewhere.over) == (
            True,
            False,
        )  # of the fourth round nobody knew before
        assert right.given == []


def test_to_give_up_after_the_end_sounds_like_giving_up_before_it(event, truth):
    past = first_run(event, 3)
    right, wrong = Asker(event, past=past), Asker(event, past=past)
    for asker, mask in ((right, truth), (wrong, ~truth)):
        asker.open()
        asker.answer(mask)
    none = TurnHeader(id="turn-none"), {0: "no"}
    first, same = right.send(*none), wrong.send(*none)
    assert first.reply == same.reply
    assert what_pages_show(first) == what_pages_show(same)


def test_a_dialogue_that_ended_by_the_rules_is_judged_by_what_came_until_then(event, truth):
    asker = Asker(event, past=first_run(event, 3))
    asker.open()
    asker.answer(truth)
    while not (done := asker.answer(~truth)).is_over:
        pass
    assert [row.round for row in done.rows.records] == [1]
    assert not done.rows.records[0].failure


def test_a_reply_depends_on_prompts_alone(challenge, tmp_path):
    """Two truths with the same first click in their middle: the same bytes and the same sample."""
    bodies, replies = set(), set()
    for side in (7, 11):
        folder = tmp_path / str(side)
        mask = np.zeros(SIDES, np.uint8)
        mask[24 - side : 25 + side, 32 - side : 33 + side] = 255
        for kind, picture in (("images", np.zeros((*SIDES, 3), np.uint8)), ("masks", mask)):
            (folder / kind).mkdir(parents=True)
            cv2.imwrite(str(folder / kind / "p3.png"), picture)
        asker = Asker(msgspec.structs.replace(challenge(), dataset=f"folder(path={str(folder)!r})"))
        bodies.add(asker.evaluator.sample("final", "p3").body)
        replies |= {asker.open().reply, asker.answer(np.zeros(SIDES, bool)).reply}
    assert (len(bodies), len(replies)) == (1, 2)


def test_faults_of_data_and_users_are_not_told_as_the_participants(challenge, monkeypatch):
    """The sender of a turn sees its errors; errors of a sample may name it, so participants do not see them."""
    asker = Asker(challenge())
    with pytest.raises(InvalidInput, match="turn"):
        asker.send(TurnHeader(id="turn-wrong", open=[7]))

    def load(_, name):
        raise InvalidInput(f"/secret/{name} cannot be used")

    monkeypatch.setattr("segarena_server.challenges.evaluator.load_sample", load)
    with pytest.raises(StoreError, match="secret"):
        Asker(challenge()).open()


@pytest.mark.parametrize(
    ("taken_s", "leaves_s"), [(0.0, 0.25), (0.25, 0.25), (0.26, 0.5), (0.6, 1.0), (3.1, 4.0)]
)
def test_replies_leave_at_few_moments(taken_s, leaves_s):
    assert taken_s + reply_delay_s(taken_s) == pytest.approx(leaves_s)
    assert FIRST_TICK_S == 0.25
