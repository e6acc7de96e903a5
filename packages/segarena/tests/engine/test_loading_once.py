"""Each sample is loaded once in a run, with any executor and with users that choose their targets."""

import pytest

import segarena
from segarena.engine.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("quick_workers")

PLUGINS = '''
from pathlib import Path

import numpy as np
from segarena import Click, ImageSample, Target


class CountedLoads:
    """Three images with two targets each; a line in loads.txt for each load."""

    name = "counted"
    sample_ids = ("a", "b", "c")

    fingerprint = "counted-1"

    def load(self, sample_id):
        with Path(__file__).with_name("loads.txt").open("a") as log:
            print(sample_id, file=log)
        targets = []
        for number in range(2):
            mask = np.zeros((16, 16), bool)
            mask[2 : 6, 2 + 7 * number : 7 + 7 * number] = True
            targets.append(Target(id=str(number), mask=mask))
        return ImageSample(id=sample_id, image=np.zeros((16, 16, 3), np.uint8), targets=targets)


class ChoosesTargets:
    """Clicks on the first target of sample `a` alone."""

    def repeats(self, sample, target):
        return int(sample.id == "a" and target.id == "0")

    def next(self, turn):
        return (Click((3, 3), is_positive=True),)
'''


def _run(tmp_path, **options):
    plugins = tmp_path / "plugins.py"
    plugins.write_text(PLUGINS)
    run = segarena.evaluate(
        "clicks",
        segmenter="watershed",
        dataset=f"{plugins}:CountedLoads",
        rounds=2,
        out=tmp_path / "run",
        **options,
    )
    return run, (tmp_path / "loads.txt").read_text().split()


def test_loads_are_as_many_as_samples_where_users_choose_targets(tmp_path):
    chooser = f"{tmp_path / 'plugins.py'}:ChoosesTargets"
    run, loads = _run(tmp_path, users=[chooser])
    assert sorted(loads) == ["a", "b", "c"]
    assert run.config.counts.targets == 6
    (lacking,) = run.config.counts.targets_without.values()
    assert lacking == 5


def test_loads_are_as_many_as_samples_in_worker_processes(tmp_path):
    chooser = f"{tmp_path / 'plugins.py'}:ChoosesTargets"
    run, loads = _run(tmp_path, users=[chooser], workers=2)
    assert sorted(loads) == ["a", "b", "c"]
    assert run.config.counts.targets == 6


def test_a_resumed_run_counts_targets_of_samples_done_before(tmp_path):
    chooser = f"{tmp_path / 'plugins.py'}:ChoosesTargets"
    run, _ = _run(tmp_path, users=[chooser])
    expected = run.config.counts
    with run.lock():
        run.discard([1])
    resumed, loads = _run(tmp_path, users=[chooser])
    assert loads == ["a", "b", "c", "b"]
    assert resumed.config.counts == expected


def test_runs_whose_users_take_every_target_have_no_such_table(tmp_path):
    run, loads = _run(tmp_path)
    assert sorted(loads) == ["a", "b", "c"]
    assert not (run.path / "without_dialogue").exists()
    assert RunFolder.open(run.path).read("without_dialogue").is_empty()
