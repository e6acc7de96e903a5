"""Verification repeats some answers of a run in another process and finds those that differ."""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from segarena import RunFolder, write_report
from segarena.arrays.rle import encode_rle
from segarena.engine.answer_verification import verify_answers
from segarena.engine.dialogue_replay import (
    ReplayRequest,
    agreement,
    answers_in,
    replay_cast,
    replay_dialogues,
)
from segarena.engine.lockstep_dialogues import run_sample
from segarena.engine.plan import make_plan
from segarena.engine.time_limit import TimeLimit
from segarena.errors import InvalidInput
from segarena.records.configuration import Agreement
from segarena.records.row_types import MaskRow
from segarena.reports import terminal_table
from segarena.work.executors import InlineExecutor

pytestmark = pytest.mark.usefixtures("quick_workers")

MOODY = Path(__file__).parent / "moody.py"


def moody(name):
    return f"{MOODY}:{name}"


@pytest.fixture
def asked_again(small_run, rules):
    """Verify a run of a plug-in in this process."""

    def ask(name, count=12, **options):
        run = small_run(moody(name), repeats=2, overwrite=True, **options)
        plan = make_plan(
            rules, segmenter=moody(name), dataset="sample-squares(count=4)", repeats=2, **options
        )
        return verify_answers(plan, run, count, InlineExecutor())

    return ask


def test_a_run_is_verified_in_another_process_and_remembers_it(small_run):
    run = small_run(moody("Steady"), verify=5)
    told = json.loads((run.path / "run.json").read_text())["verified"]
    assert told == {"asked": 5, "differed": 0, "worst_iou": 1.0, "worst": ""}
    assert RunFolder.open(run.path).config.verified == run.config.verified
    other = small_run(moody("OfProcess"), verify=5, out=run.path.parent / "other").config.verified
    assert other.differed == other.asked == 5
    assert 0 < other.worst_iou < 1
    assert other.worst.startswith("sample square-")


@pytest.mark.parametrize("name", ["Random", "OfBatch", "OfOrder", "Counting"])
def test_what_depends_on_more_than_the_question_differs(asked_again, name):
    found = asked_again(name)
    assert found.asked == 12
    assert found.differed > 0
    assert 0 < found.worst_iou < 1


def test_the_worst_iou_is_that_of_the_answers(asked_again):
    # Two dialogues together: squares of side 9; alone 7 wide, with its copy 9: within 24 pixels none is cut off.
    found = asked_again("OfBatch", rounds=1)
    assert found.worst_iou == pytest.approx(49 / 81)


def test_as_many_are_asked_as_there_are_and_the_seed_chooses_them(asked_again):
    assert asked_again("Steady", count=1000).asked == 4 * 2 * 3
    picked = asked_again("OfBatch", count=3)
    assert picked.asked == 3
    assert asked_again("OfBatch", count=3) == picked


def test_what_was_verified_before_samples_were_done_again_is_forgotten(small_run, plugin):
    at = plugin("At", how="raises")
    run = small_run(at, verify=2)
    assert run.config.verified.asked == 2
    assert small_run(at).config.verified == run.config.verified
    assert small_run(at, retry_failed=True).config.verified is None


def test_prompts_that_no_record_keeps_are_asked_of_the_user_again():
    """Toss shows an example, of which records store only the name."""
    written = "superpixel-prototypes"
    plan = make_plan("toss", segmenter=written, limit=1)
    cast = replay_cast(plan)
    rows = run_sample(cast, next(iter(cast.dataset.sample_ids)), TimeLimit(60))
    (record, *_) = rows.records
    question = ReplayRequest(
        sample=record.sample, rounds={(record.target, record.user, record.repeat): [None]}
    )
    (key, answer), *others = replay_dialogues(cast, TimeLimit(60), question).items()
    assert others == []
    assert answer == answers_in(rows)[key]
    assert isinstance(answer, list)


def test_an_answer_that_is_not_given_again_counts_as_none():
    key = ("a", "t", "u", 0, 1)
    mask = MaskRow(
        sample="a",
        target="t",
        user="u",
        repeat=0,
        round=1,
        rle=encode_rle(np.eye(3) > 0),
        shape=(3, 3),
    )
    assert agreement({key: [mask]}, [{key: [mask]}]) == Agreement(asked=1)
    assert agreement(
        {key: [mask]}, [{key: [mask]}, {key: "predict: RuntimeError: not here"}]
    ) == Agreement(
        asked=1,
        differed=1,
        worst_iou=0.0,
        worst="sample a, target t, user u, round 1: predict: RuntimeError: not here",
    )
    assert agreement({key: [mask]}, [{}]).worst_iou == 0


def test_what_cannot_be_sent_to_another_process_is_refused_before_the_run(small_run, tmp_path):
    class Here:
        def encode(self, sample):
            return None

        def predict(self, encoded, dialogues):
            raise AssertionError("asked")

    with pytest.raises(
        InvalidInput,
        match="verify repeats answers in another process, but an object of this run cannot be pickled",
    ):
        small_run(Here(), verify=3)
    with pytest.raises(InvalidInput, match="0 or more, got -1"):
        small_run(verify=-1)
    assert not (tmp_path / "run").exists()


def test_reports_say_whether_a_run_was_verified(make_run, make_ramps):
    def told(name, **changes):
        console = Console(width=200, record=True, file=StringIO())
        console.print(terminal_table([make_run(make_ramps(), name, **changes)]))
        return console.export_text()

    assert "not verified" in told("not")
    assert "20 answers recomputed in another process: all equal" in told(
        "equal", verified={"asked": 20}
    )
    found = {
        "asked": 20,
        "differed": 3,
        "worst_iou": 0.91234,
        "worst": "sample a, target t, user u, round 2",
    }
    line = (
        "20 answers recomputed in another process: 3 differed, worst IoU 0.912 (sample a, target t,"
    )
    assert line in told("other", verified=found)


def test_the_page_says_whether_a_run_was_verified(make_run, make_ramps, tmp_path):
    page = write_report(
        [make_run(make_ramps(), verified={"asked": 1})], tmp_path / "report"
    ).html.read_text()
    assert "1 answer recomputed in another process: all equal" in page
