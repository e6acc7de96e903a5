"""Rankings from run folders in which one simulated user is relabelled as people."""

import numpy as np
import pytest

import segarena
from segarena.errors import InvalidInput
from segarena.records.parquet_tables import table_frame
from segarena.records.row_types import PersonRound
from segarena.reports.recorded_run import read_runs
from segarena.reports.run_statistics import target_values
from segarena_people.comparison.segmenter_comparison import rank_loaded_runs, rank_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    found = []
    for name in ("image-blind", "target-box"):
        folder = segarena.evaluate(
            "clicks", segmenter=name, dataset="demo", users=["human=centre", "uniform"], limit=3, rounds=2,
            out=root / name,
        )  # fmt: skip
        rows = [
            PersonRound(
                **{key: row[key] for key in ("sample", "target", "user", "repeat", "round")},
                person="aa", user_s=1.0, away_s=0.0, pointer="mouse", note="",
            )
            for row in folder.records().filter(user="human").iter_rows(named=True)
        ]  # fmt: skip
        found.append((folder.path, table_frame("people", rows)))
    read = read_runs([path for path, _ in found])
    for run, (_, frame) in zip(read, found, strict=True):
        run.folder.people = lambda frame=frame: frame
    return read


@pytest.mark.long
def test_each_statistic_of_the_summary_is_ranked_for_each_simulated_user(runs):
    found = rank_loaded_runs(runs)
    assert [(one.user, one.statistic) for one in found] == [
        ("uniform", one.name) for one in runs[0].summary
    ]
    for one, statistic in zip(found, runs[0].summary, strict=True):
        means = [np.mean(list(target_values(run, "uniform", statistic).values())) for run in runs]
        assert [value.value for value in one.simulated] == pytest.approx(means)
        assert one.higher_is_better == statistic.higher_is_better
        assert one.dialogues == len(target_values(runs[0], "human", statistic))


def test_runs_without_people_are_refused_with_how_to_make_one(tmp_path):
    lonely = segarena.evaluate(
        "clicks", segmenter="image-blind", dataset="demo", limit=1, rounds=2, out=tmp_path / "run"
    )
    with pytest.raises(
        InvalidInput, match=r"human users, got 1; runs without people: .*-u human -u centre"
    ):
        rank_runs([lonely.path])
