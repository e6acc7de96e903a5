"""`segarena check` of a run folder or a segmenter, depending on the argument."""

import re
from pathlib import Path

import pytest

from segarena.engine import segmenter_check

MOODY = Path(__file__).parents[1] / "engine" / "moody.py"


@pytest.fixture
def here(monkeypatch):
    """Run the check in this process."""
    monkeypatch.setattr(segmenter_check, "_in_another_process", lambda call, unit, plan: call(unit))


def test_a_sound_segmenter(segarena, here):
    answer = segarena("check", f"{MOODY}:Steady", "--samples", "1")
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines()[-1] == "answers depend on only the prompts, as far as tested"


def test_a_segmenter_that_depends_on_more_ends_with_1_and_a_table(segarena, here):
    answer = segarena("check", f"{MOODY}:OfBatch", "--samples", "1")
    assert answer.exit_code == 1, answer.output
    lines = answer.stdout.splitlines()
    assert lines[-1] == "answers depend on batches"
    (row,) = (line for line in lines if line.startswith("batches"))
    assert re.search(r"  8 +8 +0\.\d{3} ", row)
    assert "sample " in row


def test_a_run_folder_called_like_a_segmenter_is_a_run(segarena, make_run, make_ramps):
    make_run(make_ramps(), "graph")
    answer = segarena("check", "graph")
    assert answer.exit_code == 0, answer.output
    assert "all files and values agree" in answer.stdout


def test_what_is_neither_is_refused(refused, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "empty: expected a run folder with a run.json in it" in refused("check", "empty")
    assert (
        "grph: expected a run folder with a run.json in it, or a segmenter; did you mean 'graph'"
        in refused("check", "grph")
    )
    assert "segarena list segmenters" in refused("check", "runs/nowhere")
    assert "there is no file nowhere.py" in refused("check", "nowhere.py:Mine")


def test_two_segmenters_are_compared_on_the_same_prompts(segarena, here):
    answer = segarena("check", f"{MOODY}:Steady", "--against", f"{MOODY}:OfBatch", "--samples", "1")
    assert answer.exit_code == 0, answer.output
    row = next(line for line in answer.stdout.splitlines() if re.match(r" *8 ", line))
    asked, differed, lowest, mean, pixels, ratio = row.split()[:6]
    assert (asked, differed) == ("8", "8")
    assert 0 < float(lowest) <= float(mean) < 1
    assert 0 < float(pixels.removesuffix("%")) < 100
    assert float(ratio) > 0
    assert "sample " in row


def test_only_segmenters_are_compared(refused, make_run, make_ramps):
    make_run(make_ramps(), "mine")
    assert "--against: expected a segmenter, got a run" in refused(
        "check", "mine", "--against", "graph"
    )
