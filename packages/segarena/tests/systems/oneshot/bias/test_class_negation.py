from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from segarena.errors import DatasetError, DatasetMissing, InvalidInput
from segarena.systems.oneshot.bias.class_negation import (
    background_presence,
    leave_out_images,
    negation_correlations,
    negation_table,
    read_evidence,
)

ITEMS = [
    ("a", "1"),
    ("b", "1"),
    ("c", "1"),
    ("a", "2"),
    ("c", "3"),
    ("d", "3"),
    ("d", "4"),
    ("b", "5"),
    ("c", "5"),
]
FOLDS = {"a": 0, "b": 0, "c": 1, "d": 1}


def evidence(**columns):
    rows = {
        "class": ["a", "a", "b"], "image": ["1", "2", "1"], "supervised": [0.9, 0.7, 0.6], "one_shot": [0.5, 0.3, 0.6],
        "salience": [0.2, 0.4, 0.9],
    }  # fmt: skip
    return pl.DataFrame({**rows, **columns})


def test_drops_are_means_over_images_and_the_largest_is_first():
    table = negation_table(evidence(), {"a": 0.25})
    assert table["class"].to_list() == ["a", "b"]
    assert table["drop"].to_list() == pytest.approx([0.4, 0.0])
    assert table["salience"].to_list() == pytest.approx([0.3, 0.9])
    assert table["images"].to_list() == [2, 1]
    assert table["presence"].to_list() == [0.25, None]


def test_presence_is_the_share_of_training_images_that_hold_the_class():
    # Fold 0 trains on images with c or d: 1, 3, 4, 5; a is in 1 of them, b in 1 and 5.
    # Fold 1 trains on images with a or b: 1, 2, 5; c is in 1 and 5, d in none.
    assert background_presence(ITEMS, FOLDS.get) == {"a": 1 / 4, "b": 2 / 4, "c": 2 / 3, "d": 0}
    assert background_presence(ITEMS, FOLDS.get, images=["3", "4", "1"])["a"] == 1 / 3


def test_classes_that_are_never_tested_are_training_classes_everywhere():
    assert background_presence(ITEMS, {"a": 0}.get) == {"a": 1 / 4}  # of images 1, 3, 4, 5


def test_images_to_leave_out_hold_classes_of_both_sides():
    assert leave_out_images(ITEMS, FOLDS.get, 0) == ["1", "5"]
    assert leave_out_images(ITEMS, FOLDS.get, 1) == ["1", "5"]
    assert leave_out_images(ITEMS, FOLDS.get, 0, images=["2", "5"]) == ["5"]
    with pytest.raises(InvalidInput, match="fold 2 tests none of the classes"):
        leave_out_images(ITEMS, FOLDS.get, 2)


def test_correlations_are_those_of_scipy():
    rng = np.random.default_rng(0)
    drop, presence = rng.random(12), rng.random(12)
    salience = 1 - drop + 0.2 * rng.random(12)
    table = pl.DataFrame({"drop": drop, "presence": presence, "salience": salience})
    plain, other, given, _ = negation_correlations(table)
    assert plain.pearson == pytest.approx(stats.pearsonr(drop, presence).statistic)
    assert plain.spearman == pytest.approx(stats.spearmanr(drop, presence).statistic)
    assert other.pearson == pytest.approx(stats.pearsonr(drop, salience).statistic)
    r = np.corrcoef([drop, presence, salience])
    expected = (r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))
    assert given.pearson == pytest.approx(expected)
    assert (given.other, given.given, given.classes) == ("presence", "salience", 12)


def test_correlations_that_mean_nothing_are_nan():
    table = pl.DataFrame(
        {"drop": [0.1, 0.2, 0.3], "presence": [0.5, 0.5, 0.5], "salience": [0.1, None, 0.2]}
    )
    plain, other, *_ = negation_correlations(table)
    assert np.isnan(plain.pearson)
    assert np.isnan(other.pearson)
    assert other.classes == 2


def test_published_statistics_and_own_tables_are_read(tmp_path):
    published, own = tmp_path / "test_stats.csv", tmp_path / "own.csv"
    published.write_text(
        "filename,oss_perf,iou,area_ratio,offset_ratio,saliou,blob_count,distractor_weight\n"
        "7_2009_003977,0.5,0.75,0.6,0.7,0.8,2,0\n"
    )
    row = {
        "class": "7",
        "image": "2009_003977",
        "supervised": 0.75,
        "one_shot": 0.5,
        "salience": 0.8,
    }
    assert read_evidence(published).to_dicts() == [row]
    own.write_text("class,image,supervised,one_shot\n7,0012,1,0.5\n")
    assert read_evidence(own).to_dicts() == [
        {"class": "7", "image": "0012", "supervised": 1.0, "one_shot": 0.5, "salience": None}
    ]
    own.write_text("class,image,supervised\n7,1,1\n")
    with pytest.raises(DatasetError, match="missing \\['one_shot'\\]"):
        read_evidence(own)
    own.write_text("class,image,supervised,one_shot\n7,1,high,1\n")
    with pytest.raises(DatasetError, match="CSV of numbers"):
        read_evidence(own)
    with pytest.raises(DatasetMissing):
        read_evidence(tmp_path / "none.csv")
