"""Dialogues whose users and metrics belong to another process run like any others."""

import sys
from pathlib import Path

import pytest

import segarena
from segarena.errors import PluginInvalid, WorkStopped

sys.path.insert(0, str(Path(__file__).parent))
from elsewhere import elsewhere

pytestmark = pytest.mark.usefixtures("quick_workers")


def run(rules, plugin, out, dataset, **options):
    return segarena.evaluate(rules, segmenter=plugin("Good"), dataset=dataset, out=out, **options)


def test_records_and_masks_are_those_of_a_run_that_has_the_truth(rules, plugin, tmp_path):
    here = run(rules, plugin, tmp_path / "here", "sample-squares(count=4)")
    there = run(rules, plugin, tmp_path / "there", elsewhere(rules))
    assert there.records().equals(here.records())
    assert there.masks().equals(here.masks())
    assert there.config.counts == here.config.counts
    assert there.records().height == 12


def test_a_script_that_holds_the_loop_leaves_the_same(rules, plugin, tmp_path):
    for out, dataset in (("here", "sample-squares(count=4)"), ("there", elsewhere(rules))):
        for session in segarena.sessions(rules, dataset=dataset, out=tmp_path / out):
            while (dialogue := session.next()) is not None:
                session.submit(dialogue.previous_mask(session.sample.shape))
    here, there = (segarena.RunFolder.open(tmp_path / out).records() for out in ("here", "there"))
    assert there.equals(here)


@pytest.mark.long
@pytest.mark.parametrize("workers", [0, 1])
def test_what_stops_all_is_no_failure_and_the_run_goes_on_later(rules, plugin, tmp_path, workers):
    cut = tmp_path / "cut"
    cut.touch()
    dataset = elsewhere(rules, cut_at="square-2", cut=cut)
    with pytest.raises(WorkStopped, match="the line is cut"):
        run(rules, plugin, tmp_path / "run", dataset, workers=workers)
    folder = segarena.RunFolder.open(tmp_path / "run")
    assert folder.pending() == [2, 3]
    assert not folder.failed()
    cut.unlink()
    whole = run(rules, plugin, tmp_path / "run", dataset)
    assert whole.records().equals(
        run(rules, plugin, tmp_path / "here", "sample-squares(count=4)").records()
    )


def test_a_segmenter_that_does_not_understand_the_prompts_is_refused(rules, plugin, tmp_path):
    dataset = elsewhere(rules)
    dataset.prompt_kinds = {"people": {"lasso"}}
    with pytest.raises(PluginInvalid, match="user people of small gives lassos"):
        segarena.evaluate(rules, segmenter="graph", dataset=dataset, out=tmp_path / "run")


def test_the_dataset_may_keep_files_of_its_own_in_the_folder(rules, plugin, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "told.json").write_text("{}")
    assert run(rules, plugin, tmp_path / "run", elsewhere(rules)).is_complete
