"""Replay of a dialogue for rounds without stored masks."""

import numpy as np
import pytest

import segarena
from segarena.arrays.rle import decode_rle
from segarena.engine.run_folder import RunFolder
from segarena.errors import UntrustedPlugin
from segarena_studio.viewer.dialogue_replay import replay_dialogue


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of four rounds with stored masks of the first and the last."""
    out = tmp_path_factory.mktemp("run")
    how = {"limit": 1, "rounds": 4, "keep_rounds": (1,), "stop_at_iou": None}
    segarena.evaluate("clicks", segmenter="watershed", dataset="demo", out=out / "short", **how)
    return RunFolder.open(out / "short")


@pytest.mark.long
def test_all_rounds_come_out_and_the_kept_ones_as_they_were(run):
    kept = run.masks()
    sample, target, user = kept.select("sample", "target", "user").row(0)
    masks, told = replay_dialogue(run, (sample, target, user, 0), trust=False)
    own = kept.filter(sample=sample, target=target, user=user)
    assert sorted(masks) == [1, 2, 3, 4]
    for round_, data, shape in own.select("round", "rle", "shape").rows():
        (again,) = masks[round_]
        np.testing.assert_array_equal(
            decode_rle(again.rle, again.shape), decode_rle(data, tuple(shape))
        )
    assert f"all {own.height} stored answers are reproduced" in told


def test_code_that_a_run_names_is_not_run_untold(make_run, make_ramps):
    folder = RunFolder.open(make_run(make_ramps()))
    with pytest.raises(UntrustedPlugin, match="photographs"):
        replay_dialogue(folder, ("photo-0", "t0", "centre", 0), trust=False)
