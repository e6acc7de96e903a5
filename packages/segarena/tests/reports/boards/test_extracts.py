"""Extracts of run folders, compared with loops over the records."""

import json
import math

import numpy as np
import pytest

from segarena.errors import RunMissing, StoreError
from segarena.reports.boards.extracts import extract_of, extract_text, read_extract


@pytest.fixture(scope="module")
def path(write_run, make_dialogue, tmp_path_factory):
    """Two photographs, two targets each, two repeats of one dialogue, one that failed, one that ended early."""
    dialogues = [
        make_dialogue(
            "photo-0", "disc-0", "centre", [0.2, 0.92, 0.95, 0.96], attributes={"size": "small"}
        ),
        make_dialogue(
            "photo-0",
            "disc-0",
            "centre",
            [0.4, 0.5, 0.6, 0.7],
            repeat=1,
            attributes={"size": "small"},
        ),
        make_dialogue("photo-0", "disc-1", "centre", [0.3, 0.91], attributes={"size": "large"}),
        make_dialogue(
            "photo-1",
            "disc-0",
            "centre",
            [0.1, 0.2, 0.3, 0.4],
            attributes={"size": "small", "list": [1]},
        ),
        make_dialogue("photo-1", "disc-1", "centre", [0.9], failure="out of memory"),
    ]
    return write_run(
        tmp_path_factory.mktemp("runs") / "run", dialogues, segmenter={"name": "<b>disc</b>"}
    )


def test_values_are_means_over_repeats_of_the_targets_that_finished(path):
    found = extract_of(path)
    keys = list(zip(found.targets.sample, found.targets.target, strict=True))
    assert keys == [("photo-0", "disc-0"), ("photo-0", "disc-1"), ("photo-1", "disc-0")]
    assert found.values["centre"]["NoC@90"] == (
        3.0,
        2.0,
        4.0,
    )  # (2 + 4) / 2; 4 rounds where it never is
    assert found.values["centre"]["IoU@1"] == pytest.approx((0.3, 0.3, 0.1))
    assert found.failures == {"centre": 1}
    assert (found.samples, found.done) == (2, 2)


def test_curves_hold_the_last_value_of_dialogues_that_ended(path):
    curve = extract_of(path).curves["centre"]["iou"]
    targets = [[0.3, 0.71, 0.775, 0.83], [0.3, 0.91, 0.91, 0.91], [0.1, 0.2, 0.3, 0.4]]
    assert curve.mean == pytest.approx(
        [math.fsum(column) / 3 for column in zip(*targets, strict=True)]
    )
    assert all(
        low <= mean <= high
        for low, mean, high in zip(curve.low, curve.mean, curve.high, strict=True)
    )


def test_only_words_and_numbers_are_kept_of_attributes(path):
    assert [dict(told) for told in extract_of(path).targets.attributes] == [
        {"size": "small"},
        {"size": "large"},
        {"size": "small"},
    ]


def test_equal_runs_have_equal_text_which_reads_back(path):
    text = extract_text(extract_of(path))
    assert extract_text(extract_of(path)) == text
    assert extract_text(read_extract(text)) == text
    assert json.loads(text)["decides"] == "NoC@90"


def test_a_value_that_is_not_there_stays_none(write_run, make_dialogue, tmp_path):
    run = write_run(
        tmp_path / "run", [make_dialogue("photo-0", "disc-0", "centre", [np.nan, 0.5, 0.6, 0.7])]
    )
    assert extract_of(run).values["centre"] == dict.fromkeys(
        ("NoC@90", "NoF@90", "IoU@1", "AuC"), ()
    )


@pytest.mark.parametrize("text", ["", "{}", "[" * 10_000, '{"format": 9}', b"\xff"])
def test_another_text_is_refused(text):
    with pytest.raises(StoreError, match="extract of a run"):
        read_extract(text)


def test_an_extract_of_another_version_is_refused(path):
    told = json.loads(extract_text(extract_of(path))) | {"format": 99}
    with pytest.raises(StoreError, match="expected format 1, got 99"):
        read_extract(json.dumps(told))


def test_no_run_no_extract(tmp_path):
    with pytest.raises(RunMissing):
        extract_of(tmp_path)
