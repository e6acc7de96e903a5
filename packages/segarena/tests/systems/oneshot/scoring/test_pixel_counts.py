"""Counts from tables, from masks and from runs; several runs; cells."""

import math

import cv2
import numpy as np
import polars as pl
import pytest

import segarena
from segarena.errors import DatasetError, DatasetMissing, InvalidInput
from segarena.roles import Benchmark, Statistic
from segarena.systems.oneshot.datasets.demo import OneShotDemoDataset
from segarena.systems.oneshot.pairs.image_sources import FileSource
from segarena.systems.oneshot.pairs.pair_dataset import PairDataset
from segarena.systems.oneshot.pairs.pair_table import pairs_table
from segarena.systems.oneshot.scoring.pixel_counts import (
    counts_from_csv,
    counts_from_mask_folder,
    counts_from_records,
    counts_table,
)
from segarena.systems.oneshot.scoring.run_scores import score_runs, score_table
from segarena.systems.oneshot.scoring.score_breakdown import class_table, level_table
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings
from segarena.systems.oneshot.scoring.tier_scores import gs

RULES = Benchmark(
    name="one-shot", users=("support",), metrics=("iou", "void"), rounds=1, dataset="oneshot-demo",
    summary=(Statistic(name="IoU@1", kind="at_round"),),
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    demo = OneShotDemoDataset(lists="generalization")
    return segarena.evaluate(
        RULES, segmenter="everything", dataset=demo, out=tmp_path_factory.mktemp("run") / "r"
    )


@pytest.mark.long
def test_counts_of_a_run_are_those_of_its_masks(run):
    found = counts_from_records(run.records())
    demo = OneShotDemoDataset(lists="generalization")
    assert found.left_out == {}
    assert found.counts.height == demo.pairs.height == 36
    for row in found.counts.head(5).iter_rows(named=True):
        mask = demo.source.mask(row["class"], row["query"]).mask
        assert (row["intersection"], row["union"], row["frame_px"]) == (
            mask.sum(),
            mask.size,
            mask.size,
        )
        assert (row["tier"], row["fold"], row["void_px"]) == ("generalization", None, 0)


def test_query_is_encoded_once_and_support_once_however_many_pairs(run):
    queries, supports = 18, 18
    assert run.config.counts.encodes == queries + supports
    assert run.config.counts.rounds == 36


def test_failed_pairs_are_left_out_and_named(run):
    records = run.records().with_columns(
        failure=pl.when(pl.col("target") == "generalization/3")
        .then(pl.lit("predict: no"))
        .otherwise("failure")
    )
    found = counts_from_records(records)
    assert found.left_out == {"generalization/3": "predict: no"}
    assert found.counts.height == 35


def test_records_that_are_not_of_pairs_are_refused(run):
    records = run.records()
    with pytest.raises(InvalidInput, match="contain no counts"):
        counts_from_records(records.drop("intersection"))
    with pytest.raises(InvalidInput, match="several"):
        counts_from_records(pl.concat([records, records.with_columns(repeat=pl.lit(1, pl.Int32))]))
    with pytest.raises(InvalidInput, match="is not a pair"):
        counts_from_records(records.with_columns(attributes=pl.lit("{}")))
    with pytest.raises(InvalidInput, match="no pair was answered"):
        counts_from_records(records.with_columns(failure=pl.lit("x")))


PAIRS = pairs_table(
    [
        {"class": "a", "query": f"q{n}", "supports": ["s"], "tier": "generalization"}
        for n in range(3)
    ]
)


def test_counts_of_a_table_made_elsewhere(tmp_path):
    (tmp_path / "c.csv").write_text("row,inter,union\n0,1,2\n2,3,6\n", encoding="utf-8")
    found = counts_from_csv(tmp_path / "c.csv", PAIRS)
    assert found.left_out == {"pairs/1": "no row in c.csv"}
    assert gs(found.counts, ScoreSettings(repeats=0)).value == 0.5


def test_counts_of_several_lists_need_their_names(tmp_path):
    both = pl.concat([PAIRS, PAIRS.with_columns(list=pl.lit("other"))])
    (tmp_path / "c.csv").write_text("row,inter,union\n0,1,2\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="missing: list"):
        counts_from_csv(tmp_path / "c.csv", both)
    (tmp_path / "c.csv").write_text("list,row,inter,union\nother,0,1,2\n", encoding="utf-8")
    assert counts_from_csv(tmp_path / "c.csv", both).counts["list"].to_list() == ["other"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row,inter,union\n7,1,2\n", "pairs/7 is not in any list"),
        ("row,inter,union\n0,1,2\n0,1,2\n", "twice"),
        ("row,inter,union\n0,3,2\n", "0 <= intersection <= union"),
        ("row,inter,union\n0,-1,2\n", "0 <= intersection <= union"),
        ("row,union\n0,2\n", "missing: intersection"),
    ],
)
def test_tables_that_cannot_be_are_refused(tmp_path, text, message):
    (tmp_path / "c.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        counts_from_csv(tmp_path / "c.csv", PAIRS)
    with pytest.raises(DatasetMissing):
        counts_from_csv(tmp_path / "none.csv", PAIRS)


def folder_dataset(tmp_path):
    """Three label maps with class 1 and a void row."""
    values = np.zeros((10, 12), np.uint8)
    values[:4, :6], values[9] = 1, 255
    for image in ("a", "b", "c"):
        cv2.imwrite(str(tmp_path / f"{image}.jpg"), np.full((10, 12, 3), 90, np.uint8))
        cv2.imwrite(str(tmp_path / f"{image}.png"), values)
    source = FileSource(
        image_file=lambda image: tmp_path / f"{image}.jpg", mask_file=lambda label, image: tmp_path / f"{image}.png",
        list_items=list, has_labels=True,
    )  # fmt: skip
    rows = [
        {"class": "1", "query": image, "supports": ["a"], "tier": "generalization", "list": "l"}
        for image in "abc"
    ]
    return PairDataset("x", source, pairs_table(rows))


def test_counts_of_a_folder_of_masks(tmp_path):
    dataset = folder_dataset(tmp_path)
    masks = tmp_path / "masks"
    (masks / "l").mkdir(parents=True)
    prediction = np.zeros((10, 12), np.uint8)
    prediction[:2], prediction[9, :3] = 255, 255
    cv2.imwrite(str(masks / "l" / "0.png"), prediction)
    cv2.imwrite(str(masks / "1.png"), prediction[:5])
    found = counts_from_mask_folder(masks, dataset)
    (row,) = found.counts.to_dicts()
    assert (row["intersection"], row["union"]) == (12, 24 + 24 - 12)
    assert (row["frame_px"], row["void_px"], row["predicted_void_px"]) == (120, 12, 3)
    assert set(found.left_out) == {"l/1", "l/2"}
    assert "expected a mask of shape (10, 12), got (5, 12)" in found.left_out["l/1"]
    assert gs(found.counts, ScoreSettings(repeats=0, void="background")).value == 12 / 39
    assert gs(found.counts, ScoreSettings(repeats=0, void="script")).value == 12 / 48
    with pytest.raises(DatasetMissing, match="none is usable"):
        counts_from_mask_folder(tmp_path / "none", dataset)


def test_masks_of_several_values_are_refused(tmp_path):
    dataset = folder_dataset(tmp_path)
    masks = tmp_path / "masks"
    masks.mkdir()
    odd = np.zeros((10, 12), np.uint8)
    odd[3, 3], odd[7, 7] = 1, 255  # two pixels are enough to be noticed
    cv2.imwrite(str(masks / "0.png"), odd)
    with pytest.raises(DatasetMissing, match="0 and one other value"):
        counts_from_mask_folder(masks, dataset)


def test_lists_that_all_runs_hold_are_scored_run_by_run(count, complexity):
    general = PAIRS.with_columns(list=pl.lit("g"))
    runs = [
        pl.concat([count(complexity.filter(pl.col("fold") == fold)), count(general, seed=fold)])
        for fold in (0, 1)
    ]
    scores, together = score_runs(runs, ScoreSettings(repeats=0))
    table = score_table(scores)
    assert together.height == complexity.height + 6
    row = table.filter(pl.col("name") == "GS").row(0, named=True)
    each = [gs(run, ScoreSettings(repeats=0)).value for run in runs]
    assert (row["value"], row["runs"]) == (pytest.approx(np.mean(each)), 2)
    assert row["spread"] == pytest.approx(np.std(each, ddof=1))
    assert table.filter(pl.col("name") == "LCA")["fold"].to_list() == [0, 1, None]
    assert math.isnan(row["low"])


def test_one_run_has_no_columns_of_runs(count, complexity):
    table = score_table(score_runs([count(complexity)], ScoreSettings(repeats=0))[0])
    assert "spread" not in table.columns


def test_runs_that_share_some_pairs_only_are_refused(count):
    runs = [count(PAIRS.head(2)), count(PAIRS.tail(2))]
    with pytest.raises(InvalidInput, match="share only some of their pairs"):
        score_runs([*runs, count(PAIRS.head(1))], ScoreSettings(repeats=0))
    with pytest.raises(InvalidInput, match="at least one run"):
        score_runs([], ScoreSettings())


def test_cells_with_few_images_are_marked(count, complexity):
    counts = count(complexity)
    assert class_table(counts)["is_tiny"].all()
    assert not class_table(counts, tiny=2)["is_tiny"].any()
    levels = level_table(counts, tiny=3)
    assert levels.filter(pl.col("fold").is_null()).height == 4
    fold = levels.filter((pl.col("fold") == 0) & (pl.col("partition") == "easy_sal")).row(
        0, named=True
    )
    rows = counts.filter((pl.col("fold") == 0) & (pl.col("partition") == "easy_sal")).to_dicts()
    sums = {
        c: [sum(r[n] for r in rows if r["class"] == c) for n in ("intersection", "union")]
        for c in "01"
    }
    ious = [inter / union for inter, union in sums.values()]
    assert fold["miou"] == pytest.approx(np.mean(ious))
    assert (fold["classes"], fold["pairs"], fold["queries"], fold["tiny_classes"]) == (2, 12, 6, 2)


def test_an_image_of_two_folds_is_one_query_image(count, complexity):
    counts = count(complexity).with_columns(query=pl.lit("the same"))
    assert set(level_table(counts)["queries"]) == {1}


def test_counts_need_intersection_and_union():
    with pytest.raises(DatasetError):
        counts_table(pl.DataFrame({"list": ["x"], "row": [0]}))
