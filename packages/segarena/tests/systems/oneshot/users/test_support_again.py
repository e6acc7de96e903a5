from __future__ import annotations

import numpy as np
import pytest

from segarena import evaluate
from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid
from segarena.roles import Turn
from segarena.samples import ImageSample, Support, Target
from segarena.systems.oneshot.users.support_users import SupportAgainUser

MASK = np.zeros((10, 10), bool)
MASK[:5] = True
SUPPORT = Support(ImageSample(id="s", image=np.zeros((10, 10, 3), np.uint8)), MASK)
TARGET = Target(id="t", mask=MASK)
SAMPLE = ImageSample(
    id="q", image=SUPPORT.sample.image, targets=(TARGET,), supports={"t": (SUPPORT,)}
)


def turn(dialogue, mask=None):
    answer = np.zeros_like(MASK) if mask is None else mask
    comparison = Comparison(answer, Reference.of(TARGET))
    return Turn(
        sample=SAMPLE, target=TARGET, dialogue=dialogue, comparison=comparison, rng=np.random.default_rng(0)
    )  # fmt: skip


def after(mask, user):
    dialogue = Dialogue().ask(tuple(user.next(turn(Dialogue())))).answer(Prediction(mask=mask))
    return dialogue, user.next(turn(dialogue, mask))


def test_a_miss_is_answered_with_the_same_example_and_a_hit_with_nothing():
    user = SupportAgainUser()
    dialogue, again = after(~MASK, user)
    assert again == dialogue.prompts == (SUPPORT,)
    last = dialogue.ask(again).answer(Prediction(mask=~MASK))
    assert user.next(turn(last, ~MASK)) is None
    assert after(MASK, user)[1] is None


@pytest.mark.parametrize(
    ("below", "rows", "is_again"), [(0.5, 2, True), (0.4, 2, False), (0.5, 3, False)]
)
def test_an_answer_at_the_threshold_is_no_miss(below, rows, is_again):
    mask = np.zeros_like(MASK)
    mask[:rows] = True  # IoU is rows / 5
    assert (after(mask, SupportAgainUser(iou_below=below))[1] is not None) == is_again


def test_options_out_of_range_are_refused():
    with pytest.raises(PluginInvalid, match="expected 0 to 1"):
        SupportAgainUser(iou_below=50)


def test_a_run_with_feedback_has_two_rounds_where_the_first_missed(tmp_path):
    run = evaluate(
        "clicks", segmenter="sssi(segmenter='saliency-only', mode='feedback')",
        dataset="oneshot-demo(lists='complexity', fold=0)", users=["support-again"], rounds=2, limit=4,
        out=tmp_path / "run",
    )  # fmt: skip
    records = run.records()
    assert records["failure"].drop_nulls().to_list() == []
    first = records.filter(records["round"] == 1)
    second = records.filter(records["round"] == 2)
    missed = first.filter(first["iou"] < 0.5)
    assert set(second["target"]) == set(missed["target"])
