"""The table of pairs: completed, checked, written and read."""

import polars as pl
import pytest

from segarena.errors import DatasetError, DatasetMissing, InvalidInput
from segarena.systems.oneshot.pairs.folds import (
    COCO_CLASSES,
    PASCAL_CLASSES,
    fold_checksum,
    fold_classes,
    fold_of,
)
from segarena.systems.oneshot.pairs.pair_table import (
    PAIR_COLUMNS,
    pairs_table,
    read_pairs,
    write_pairs,
)
from segarena.systems.oneshot.pairs.toss_lists import read_pair_lists

ROW = {"class": "cat", "query": "a", "supports": ["b", "c"]}


def test_three_columns_are_enough():
    (row,) = pairs_table([ROW]).to_dicts()
    assert list(row) == list(PAIR_COLUMNS)
    assert (row["list"], row["row"], row["tier"], row["support_classes"]) == (
        "pairs",
        0,
        "pairs",
        ["cat", "cat"],
    )
    assert (row["support_kind"], row["transform"], row["cross_class"], row["fold"]) == (
        "shown",
        "",
        False,
        None,
    )


def test_any_support_of_another_class_makes_a_pair_cross_class():
    rows = [
        ROW | {"support_classes": classes}
        for classes in (["cat", "cat"], ["cat", "dog"], ["dog", "dog"])
    ]
    assert pairs_table(rows)["cross_class"].to_list() == [False, True, True]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_tables_survive_files(tmp_path, lists, suffix):
    pairs = read_pair_lists([lists])
    write_pairs(pairs, tmp_path / f"pairs{suffix}")
    assert read_pairs(tmp_path / f"pairs{suffix}").equals(pairs)


def test_a_csv_of_ones_own_is_read(tmp_path):
    (tmp_path / "mine.csv").write_text(
        "class,query,supports\ncat,a,b c\ndog,d,e\n", encoding="utf-8"
    )
    assert read_pairs(tmp_path / "mine.csv")["supports"].to_list() == [["b", "c"], ["e"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tier": "x"}, "tier 'x' is unknown"),
        ({"level": "L7"}, "level 'L7' is unknown"),
        ({"partition": "easy"}, "partition 'easy' is unknown"),
        ({"support_kind": "x"}, "support_kind 'x' is unknown"),
        ({"query": None}, "row 0 has no query"),
        ({"supports": []}, "at least one support"),
        ({"support_classes": ["cat"]}, "a class for each"),
        ({"colour": "red"}, "unknown: colour"),
        ({"fold": "one"}, "values of another type"),
    ],
)
def test_rows_that_cannot_be_are_refused(change, message):
    with pytest.raises(DatasetError, match=message):
        pairs_table([ROW | change])


def test_rows_of_one_name_are_refused():
    with pytest.raises(DatasetError, match="two rows are called pairs/3"):
        pairs_table([ROW | {"row": 3}, ROW | {"row": 3}])


def test_no_rows_make_an_empty_table():
    assert pairs_table([]).columns == list(PAIR_COLUMNS)


@pytest.mark.long
def test_files_that_are_no_tables_are_named(tmp_path):
    with pytest.raises(DatasetMissing, match="expected a table of pairs"):
        read_pairs(tmp_path / "none.csv")
    (tmp_path / "bad.parquet").write_bytes(b"x")
    with pytest.raises(DatasetError, match=r"bad\.parquet"):
        read_pairs(tmp_path / "bad.parquet")
    (tmp_path / "bad.jsonl").write_text('{"class": a}\n')
    with pytest.raises(DatasetError, match=r"bad\.jsonl: expected one JSON object per line"):
        read_pairs(tmp_path / "bad.jsonl")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="missing: class, query, supports"):
        read_pairs(tmp_path / "bad.csv")
    with pytest.raises(InvalidInput, match="expected a name ending in"):
        write_pairs(pairs_table([ROW]), tmp_path / "x.txt")
    with pytest.raises(DatasetError, match="contain spaces"):
        write_pairs(pairs_table([ROW | {"supports": ["b c"]}]), tmp_path / "x.csv")


def test_folds_are_those_of_the_papers():
    assert fold_classes(0, "pascal") == (1, 2, 3, 4, 5)
    assert fold_classes(3, "pascal") == (16, 17, 18, 19, 20)
    assert fold_classes(1, "interleaved")[:3] == (2, 6, 10)
    assert fold_classes(3, "interleaved")[-1] == 80
    assert fold_classes(1, "blocks") == tuple(range(21, 41))
    assert (PASCAL_CLASSES[14], COCO_CLASSES[0], COCO_CLASSES[79], len(COCO_CLASSES)) == (
        "person",
        "person",
        "toothbrush",
        80,
    )


@pytest.mark.parametrize(("rule", "classes"), [("pascal", 20), ("interleaved", 80), ("blocks", 80)])
def test_folds_part_the_classes(rule, classes):
    folds = [fold_classes(fold, rule) for fold in range(4)]
    assert sorted(label for fold in folds for label in fold) == list(range(1, classes + 1))
    assert all(fold_of(label, rule) == place for place, fold in enumerate(folds) for label in fold)


def test_checksums_tell_the_conventions_apart():
    assert len({fold_checksum(rule) for rule in ("pascal", "interleaved", "blocks")}) == 3


def test_folds_that_are_not_there_are_refused():
    for bad in (
        lambda: fold_classes(4, "pascal"),
        lambda: fold_classes(0, "x"),
        lambda: fold_of(21, "pascal"),
    ):
        with pytest.raises(InvalidInput):
            bad()


def test_column_types_are_kept_when_all_values_are_missing():
    assert dict(pairs_table([ROW]).schema)["salience"] == pl.Float64
