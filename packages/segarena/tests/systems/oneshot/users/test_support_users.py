"""Users that show examples."""

import numpy as np
import pytest

import segarena
from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput
from segarena.roles import Benchmark, Statistic, Turn, User
from segarena.samples import ImageSample, Support, Target
from segarena.systems.oneshot.users.support_users import SupportUser

MASK = np.eye(4, dtype=bool)
EXAMPLE = Support(sample=ImageSample(id="s", image=np.zeros((4, 4, 3), np.uint8)), mask=MASK)


def turn(supports, dialogue=None):
    target = Target(id="list/0", mask=MASK)
    sample = ImageSample(
        id="q", image=np.zeros((4, 4, 3), np.uint8), targets=(target,), supports=supports
    )
    comparison = Comparison.empty(Reference.of(target))
    rng = np.random.default_rng(0)
    return Turn(
        sample=sample,
        target=target,
        dialogue=dialogue or Dialogue(),
        comparison=comparison,
        rng=rng,
    )


def test_all_examples_are_shown_at_once_and_never_again():
    user = SupportUser()
    assert isinstance(user, User)
    assert user.next(turn({"list/0": (EXAMPLE, EXAMPLE)})) == (EXAMPLE, EXAMPLE)
    later = Dialogue().ask((EXAMPLE,)).answer(Prediction(mask=MASK))
    assert user.next(turn({"list/0": (EXAMPLE,)}, later)) is None


def test_samples_without_example_are_named():
    with pytest.raises(InvalidInput, match="no supports for target list/0"):
        SupportUser().next(turn({}))


def test_datasets_without_examples_fail_pair_by_pair(tmp_path):
    rules = Benchmark(
        name="x", users=("support",), metrics=("iou",), rounds=1, dataset="demo",
        summary=(Statistic(name="IoU@1", kind="at_round"),),
    )  # fmt: skip
    run = segarena.evaluate(rules, segmenter="everything", limit=1, out=tmp_path / "r")
    failures = run.records()["failure"].to_list()
    assert all("expected a one-shot dataset" in failure for failure in failures)
