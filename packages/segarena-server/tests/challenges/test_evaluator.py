"""Turns give the same results from memory and by replay; rejected turns change nothing."""

import uuid
from dataclasses import replace

import numpy as np
import pytest
from blobs import SIDES

from segarena.dialogue import Prediction
from segarena.engine.rows import Rows
from segarena.errors import EarlierStateMissing, InvalidInput, StoreError
from segarena.protocol.replies import unpack_reply
from segarena.protocol.sample_serialization import unpack_sample
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.challenges.evaluation_request import ChargedTurn, EvaluationRequest, RunInfo
from segarena_server.challenges.evaluator import Evaluator

RUN = RunInfo(id="r", phase="final", name="mine", samples=("p2", "p0"))


def turn(*answers, opens=(), charged_s=1.0, spent_s=0.0, failed=""):
    """Return a turn; answers are (dialogue, mask or why there is none)."""
    made = {number: said if isinstance(said, str) else Prediction(said) for number, said in answers}
    header = TurnHeader(id=str(uuid.UUID(int=len(made))), open=list(opens), failed=failed)
    body = pack_turn(header, made)
    return ChargedTurn(body=body, charged_s=charged_s, spent_s=spent_s)


def job(*turns, **more):
    return EvaluationRequest(run=RUN, place=0, turns=tuple(turns), **more)


def asked(done):
    return {one.dialogue: one for one in unpack_reply(done.reply, SIDES)}


EMPTY, FULL = np.zeros(SIDES, bool), np.ones(SIDES, bool)
HALF = np.indices(SIDES)[1] < SIDES[1] // 2
BEGIN = turn(opens=[0], charged_s=0.0)


def test_a_dialogue_goes_from_its_first_prompt_to_its_rows(challenge):
    evaluator = Evaluator(challenge())
    turns = [BEGIN]
    masks = [EMPTY, FULL, HALF, EMPTY]
    for mask in masks:
        done = evaluator.evaluate(job(*turns))
        said = asked(done)[0]
        assert not said.over
        assert len(said.rounds) == 1
        assert said.values is None
        assert not done.is_over
        turns.append(turn((0, mask)))
    done = evaluator.evaluate(job(*turns))
    assert asked(done)[0].over
    assert done.is_over
    assert [row.round for row in done.rows.records] == [1, 2, 3, 4]
    assert [row.predict_s for row in done.rows.timings] == [1.0] * 4
    assert done.judged[0].rounds == 4


def test_a_place_that_is_not_at_hand_gives_the_same_bytes(challenge):
    described = challenge("rclicks(groups=2, rounds=3)")
    warm, turns, steps = Evaluator(described), [turn(opens=[0, 1, 2])], []
    while not steps or not steps[-1].is_over:
        steps.append(warm.evaluate(job(*turns)))
        waiting = [number for number, one in asked(steps[-1]).items() if not one.over]
        turns.append(turn(*((number, HALF) for number in waiting), charged_s=0.7))
    assert len(steps) == 4
    for count in range(1, len(steps) + 1):
        cold = Evaluator(described).evaluate(job(*turns[:count]))
        assert cold.reply == steps[count - 1].reply
        assert cold == steps[count - 1]
    alone = Evaluator(described, max_cached_samples=1)
    other = EvaluationRequest(run=replace(RUN, id="s"), place=1, turns=(turn(opens=[0, 1, 2]),))
    for count in range(1, len(steps) + 1):
        alone.evaluate(other)  # takes the only seat
        assert alone.evaluate(job(*turns[:count])) == steps[count - 1]


def test_the_last_turn_alone_is_enough_while_the_place_is_at_hand(challenge):
    evaluator = Evaluator(challenge())
    first = evaluator.evaluate(job(BEGIN))
    second = job(turn((0, HALF)), before=first.digest)
    expected = Evaluator(challenge()).evaluate(job(BEGIN, turn((0, HALF))))
    with pytest.raises(EarlierStateMissing):
        Evaluator(challenge()).evaluate(second)
    assert evaluator.evaluate(second) == expected
    with pytest.raises(EarlierStateMissing):  # that was taken already
        evaluator.evaluate(second)


REFUSED = {
    "nothing": turn(),
    "a dialogue that does not wait": turn((1, HALF)),
    "a dialogue that is open": turn((0, HALF), opens=[0]),
    "a dialogue that there is not": turn(opens=[7]),
    "a mask of another shape": turn((0, HALF.T)),
    "no frame": ChargedTurn(body=b"PK\x03\x04"),
    "labels in place of a mask": turn((0, 3 * HALF.astype(np.uint8))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_and_the_round_stays_open(challenge, name):
    evaluator = Evaluator(challenge())
    evaluator.evaluate(job(BEGIN))
    with pytest.raises(InvalidInput):
        evaluator.evaluate(job(BEGIN, REFUSED[name]))
    again = evaluator.evaluate(job(BEGIN, turn((0, HALF))))
    assert again == Evaluator(challenge()).evaluate(job(BEGIN, turn((0, HALF))))


def test_broken_turns_are_refused_and_nothing_else_happens(challenge):
    described, rng = challenge(), np.random.default_rng(1)
    good = turn((0, HALF))
    size = 12 + int.from_bytes(good.body[:4], "little")
    evaluator, refused = Evaluator(described), 0
    evaluator.evaluate(job(BEGIN))
    for _ in range(300):
        broken = bytearray(good.body)
        for place in rng.integers(0, size, 2):
            broken[place] ^= 1 << int(rng.integers(0, 8))
        try:
            evaluator.evaluate(job(BEGIN, replace(good, body=bytes(broken))))
            evaluator = Evaluator(described)  # what is still a turn is taken
        except InvalidInput:
            refused += 1
    assert refused > 200
    assert evaluator.evaluate(job(BEGIN, good)) == Evaluator(described).evaluate(job(BEGIN, good))


def test_turns_that_were_taken_before_are_not_the_participants_fault(challenge):
    with pytest.raises(StoreError, match="cannot be replayed"):
        Evaluator(challenge()).evaluate(job(turn(opens=[7]), turn((0, HALF))))


def test_a_dialogue_without_an_answer_has_failed_alone(challenge):
    described = challenge("rclicks(groups=2, rounds=2)")
    turns = [turn(opens=[0, 1, 2]), turn((0, "predict: out of memory"), (1, HALF), (2, HALF))]
    done = Evaluator(described).evaluate(job(*turns))
    assert [(one.over, one.failed) for one in asked(done).values()] == [
        (True, "the participant had no answer"),
        (False, ""),
        (False, ""),
    ]
    assert done.judged[0].failure == "predict: out of memory"
    assert not done.is_over


def test_a_sample_about_which_nothing_can_be_said_is_over(challenge):
    done = Evaluator(challenge("rclicks(groups=2)")).evaluate(job(turn(failed="encode: no memory")))
    assert done.is_over
    assert {row.failure for row in done.rows.records} == {"encode: no memory"}
    assert all(one.over and not one.rounds for one in asked(done).values())


def test_dialogues_are_held_one_after_the_other_too(challenge):
    described = challenge("rclicks(groups=2, rounds=2)")
    together = [
        turn(opens=[0, 1, 2]),
        turn(*((n, HALF) for n in range(3))),
        turn(*((n, FULL) for n in range(3))),
    ]
    in_turn = [
        step for n in range(3) for step in (turn(opens=[n]), turn((n, HALF)), turn((n, FULL)))
    ]
    found = []
    for turns in (together, in_turn):
        evaluator = Evaluator(described)
        for count in range(1, len(turns) + 1):
            done = evaluator.evaluate(job(*turns[:count]))
        assert done.is_over
        found.append(done.rows.records)
    assert found[0] == found[1]


def test_waiting_dialogues_share_what_is_charged(challenge):
    evaluator = Evaluator(challenge("rclicks(groups=2, rounds=1)"))
    turns = [
        turn(opens=[0, 1], charged_s=0.0),
        turn((1, HALF), charged_s=4.0),
        turn((0, HALF), charged_s=1.0),
    ]
    seconds = [evaluator.evaluate(job(*turns[: count + 1])).judged[0].seconds for count in range(3)]
    assert seconds == [0.0, 2.0, 3.0]


def test_nobody_wins_time_by_turns_that_answer_nothing(challenge):
    turns = [
        turn(opens=[0]),
        turn(opens=[1], charged_s=60.0),
        turn((0, HALF), (1, HALF), charged_s=0.0),
    ]
    evaluator = Evaluator(challenge("rclicks(groups=2, rounds=1)"))
    done = [evaluator.evaluate(job(*turns[: count + 1])) for count in range(3)][-1]
    assert [judged.seconds for judged in done.judged] == [60.0, 0.0]


def held(described, *charged):
    """Complete one dialogue with these charged seconds; return the evaluated answers."""
    evaluator, turns = Evaluator(described), [BEGIN]
    evaluator.evaluate(job(*turns))
    for seconds in charged:
        turns.append(turn((0, HALF), charged_s=seconds, spent_s=sum(charged[: len(turns) - 1])))
        done = evaluator.evaluate(job(*turns))
    return done


@pytest.mark.parametrize(
    "phase",
    [
        {"seconds_per_object": 5.0},
        {"seconds_per_answer": 2.0, "bank_s": 1.5},
        {"seconds_per_run": 5.0},
    ],
    ids=str,
)
def test_a_late_answer_is_dropped_and_ends_the_dialogue(challenge, phase):
    described = challenge(**phase)
    assert held(described, 2.0, 3.0).judged[0].is_over is False
    done = held(described, 2.0, 3.0, 3.0)
    assert done.judged[0].is_late
    assert done.judged[0].is_over
    assert not done.judged[0].failure
    assert [row.round for row in done.rows.records] == [1, 2]
    assert [row.predict_s for row in done.rows.timings] == [2.0, 3.0, 3.0]
    assert asked(done)[0].over


def test_a_practice_shows_rounded_values(challenge):
    done = held(challenge(kind="practice", shows="own", decimals=1), 1.0)
    values = asked(done)[0].values
    assert 0 < values["iou"] < 1
    assert values["iou"] == round(done.judged[0].values["iou"], 1)


def test_a_place_that_is_left_says_so(challenge):
    evaluator = Evaluator(challenge())
    rows = evaluator.leave(job(BEGIN, turn((0, HALF))), "abandoned by the participant")
    assert [row.failure for row in rows.records] == [
        None,
        "abandoned by the participant; answered rounds: 1",
    ]
    untouched = evaluator.leave(job(), "closed")
    assert [row.failure for row in untouched.records] == ["closed; answered rounds: 0"]
    assert isinstance(untouched, Rows)


def test_what_a_participant_gets_has_no_name_in_it(challenge):
    evaluator = Evaluator(challenge("rclicks(groups=2)", seed=5))
    assert evaluator.samples("final") == tuple(f"p{n}" for n in range(8))
    pooled = evaluator.sample("final", "p2")
    assert b"p2" not in pooled.body[: pooled.body.index(b"}")]
    assert unpack_sample(pooled.body, "k").shape == SIDES
    assert [
        (one["target"], one["user"], one["repeat"], one["objects"]) for one in pooled.dialogues
    ] == [
        ("1", "centre", 0, 1),
        ("1", "G1", 0, 1),
        ("1", "G2", 0, 1),
    ]
