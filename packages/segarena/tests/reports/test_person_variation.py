"""Variation between the people of a crowd, in a run with made-up values."""

from __future__ import annotations

import numpy as np
import pytest

import segarena
from segarena.reports.person_variation import (
    crowd_sizes,
    person_variation_parts,
    person_variation_sheet,
)
from segarena.reports.recorded_run import read_runs
from segarena.reports.report_files import write_report
from segarena.statistics.variance_components import unit_variation


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return segarena.evaluate(
        "clicks",
        segmenter="image-blind",
        dataset="demo",
        users=["crowd=clicker(people=3)", "centre"],
        limit=2,
        rounds=2,
        out=tmp_path_factory.mktemp("between") / "run",
    )


@pytest.mark.long
def test_users_whose_repeats_are_people_are_found(folder):
    (run,) = read_runs([folder.path])
    assert crowd_sizes(run) == {"crowd": 3}


def test_between_people_is_that_of_the_means_of_each(folder):
    (run,) = read_runs([folder.path])
    (row,) = person_variation_sheet([run]).rows
    assert row[:4] == ("crowd", "demo", "image-blind", 3)
    rounds = [
        folder.records().filter(user="crowd", round=k).sort("sample", "target", "repeat")["iou"]
        for k in (1, 2)
    ]
    areas = sum(one.to_numpy().reshape(-1, 3) for one in rounds) / 2
    place = [statistic.name for statistic in run.summary].index("AuC")
    assert row[4 + place].mean == pytest.approx(unit_variation(areas).deviation)
    assert np.ptp(areas.mean(axis=0)) > 0


@pytest.mark.long
def test_the_report_has_the_table_on_the_page_and_as_csv(folder, tmp_path):
    files = write_report([folder.path], tmp_path / "report")
    assert "Between people" in files.html.read_text(encoding="utf-8")
    written = (tmp_path / "report" / "between-people.csv").read_text(encoding="utf-8")
    assert written.splitlines()[1].startswith("crowd,")


def test_runs_without_a_crowd_have_no_such_table(make_run, make_ramps):
    assert person_variation_parts(read_runs([make_run(make_ramps())])) == []
