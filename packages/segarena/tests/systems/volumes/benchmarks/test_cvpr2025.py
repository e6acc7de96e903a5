"""The CVPR 2025 protocol end to end: a box and limits, five clicks, values per case."""

import json

import pytest

import segarena
from segarena.systems.volumes.benchmarks.cvpr2025 import cvpr2025

SMALL = "phantom(cases=2, shape=(20, 48, 48))"


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    out = tmp_path_factory.mktemp("cvpr") / "run"
    folder = segarena.evaluate("cvpr2025", segmenter="watershed", dataset=SMALL, out=out)
    assert folder.config.counts.failures == 0
    return folder.records()


@pytest.mark.long
def test_a_box_and_limits_then_one_click_a_round(records):
    for row in records.iter_rows(named=True):
        kinds = [prompt["kind"] for prompt in json.loads(row["prompts"])]
        assert kinds == (["box", "limits"] if row["round"] == 1 else ["click"])
    assert records["round"].max() == 6


def test_the_box_is_spread_to_the_limits(records):
    opening = records.filter(round=1)
    liver = opening.filter(target="liver")
    assert (liver["dice"] > 0.1).all()  # the box lies on one slice of many
    assert (opening["effort"] == 4).all()


@pytest.mark.long
def test_without_boxes_there_are_clicks_alone(tmp_path):
    folder = segarena.evaluate(
        "cvpr2025(box=False)",
        segmenter="watershed",
        dataset="phantom(cases=1, shape=(20, 48, 48))",
        out=tmp_path / "r",
    )
    records = folder.records()
    assert records["round"].max() <= 5
    assert (records["effort"] == records["round"]).all()


def test_statistics_are_the_challenges():
    assert [(s.name, s.kind) for s in cvpr2025().summary] == [
        ("DSC AUC", "auc_last_five"),
        ("NSD AUC", "auc_last_five"),
        ("DSC final", "at_round"),
        ("NSD final", "at_round"),
    ]
    assert {s.round for s in cvpr2025(box=False).summary if s.kind == "at_round"} == {5}
