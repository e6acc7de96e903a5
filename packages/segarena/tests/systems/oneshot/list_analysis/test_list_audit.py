"""The audit finds the errors of lists, and nothing in clean ones."""

import polars as pl
import pytest

from segarena.systems.oneshot.list_analysis.list_audit import (
    audit_lists,
    findings_table,
    list_count_table,
)
from segarena.systems.oneshot.pairs.folds import fold_classes
from segarena.systems.oneshot.pairs.pair_table import pairs_table

CLEAN = [
    {"class": label, "query": f"{label}{n}", "supports": [f"{label}{n + 1}"]}
    for label in ("cat", "dog") for n in range(6)
]  # fmt: skip


def kinds(rows, **options):
    return {finding.kind: finding for finding in audit_lists(pairs_table(rows), **options)}


def test_clean_list_has_no_findings():
    assert kinds(CLEAN) == {}


def test_rows_of_another_class_are_counted_with_their_couples():
    found = kinds([*CLEAN, CLEAN[0] | {"support_classes": ["catfish"], "supports": ["x"]}])
    assert set(found) == {"cross-class"}
    assert found["cross-class"].count == 1
    assert "cat/catfish" in found["cross-class"].message
    assert "7.7 %" in found["cross-class"].message


def test_self_pairs_and_duplicates_are_counted():
    found = kinds([*CLEAN, CLEAN[0] | {"supports": ["cat0"]}, CLEAN[1], CLEAN[1], CLEAN[2]])
    assert set(found) == {"self-pairs", "duplicates", "uneven-classes"}
    assert found["self-pairs"].count == 1
    assert found["duplicates"].count == 3
    assert "2 pairs occur more than once" in found["duplicates"].message


def test_cells_with_few_query_images_are_named_with_their_rows():
    rows = [*CLEAN, *({"class": "cow", "query": "c", "supports": [f"s{n}"]} for n in range(6))]
    found = audit_lists(pairs_table(rows))
    assert [(f.kind, f.count, f.message) for f in found] == [
        ("tiny-cell", 1, "class cow: 6 pairs of ONE query image")
    ]
    assert audit_lists(pairs_table(rows), tiny=0) == []


def test_classes_with_far_fewer_rows_are_named():
    sizes = {"a": 20, "b": 20, "c": 15}
    rows = [
        {"class": c, "query": f"{c}{n}", "supports": ["s"]}
        for c, size in sizes.items()
        for n in range(size)
    ]
    found = kinds(rows)
    assert set(found) == {"uneven-classes"}
    assert "c (15)" in found["uneven-classes"].message


@pytest.mark.parametrize("rule", ["interleaved", "blocks"])
def test_convention_of_folds_is_told_and_foreign_classes_are_leaks(rule):
    own = fold_classes(1, rule)
    rows = [
        {"class": str(label), "query": f"{label}{n}", "supports": ["s"], "fold": 1, "dataset": "coco20i"}
        for label in own for n in range(6)
    ]  # fmt: skip
    assert f"fit the convention {rule!r}" in kinds(rows)["fold-convention"].message
    foreign = next(label for label in range(1, 81) if label not in own)
    leak = [row | {"class": str(foreign)} for row in rows[:6]]
    found = kinds([*rows, *leak])
    assert found["train-class-leak"].count == 6


def test_classes_of_ones_own_training_are_leaks():
    found = kinds(CLEAN, train_classes=["dog", "wolf"])
    assert found["train-class-leak"].count == 6
    assert "1 of 2 classes" in found["train-class-leak"].message


def test_class_list_is_compared_both_ways_with_the_nearest_name():
    found = [f.message for f in audit_lists(pairs_table(CLEAN), class_list=["cats", "dog", "dog"])]
    assert found == [
        "names of the class list that are not in any pair (1): cats (cat?)",
        "classes of pairs that are not in the class list (1): cat",
        "the class list repeats names: 3 lines, 2 names",
    ]


def test_names_with_replaced_characters_are_odd():
    rows = [row | {"class": row["class"].replace("dog", "abe0s_dog")} for row in CLEAN]
    assert "abe0s_dog" in kinds(rows)["odd-names"].message


def test_support_cognizance_lists_say_what_they_do_not_tell():
    level = {"tier": "support-cognizance", "code": 1}
    rows = [
        *(row | level | {"level": "L2+L3"} for row in CLEAN),
        *(row | level | {"level": "L0", "supports": [row["query"]]} for row in CLEAN[:3]),
        *(row | level | {"level": "L1", "transform": "xf1"} for row in CLEAN[3:9]),
        *(row | level | {"level": "L6", "support_kind": "empty"} for row in CLEAN),
    ]
    found = [f.kind for f in audit_lists(pairs_table(rows), tiny=0)]
    assert found == [
        "uneven-levels",
        "levels-not-told",
        "levels-not-told",
        "transforms-not-told",
        "levels-of-other-images",
    ]


def test_levels_about_queries_of_one_kind_are_named(complexity):
    easy = complexity.filter(pl.col("partition") == "easy_sal")
    levels = [
        {"list": "sc", "tier": "support-cognizance", "level": "L4", "class": label, "query": query, "supports": ["s"],
         "support_classes": ["other"]}
        for label, query in easy.select("class", "query").iter_rows()
    ]  # fmt: skip
    sc = pairs_table([row | {"row": n} for n, row in enumerate(levels)])
    found = [
        f.message
        for f in audit_lists(pl.concat([complexity, sc]), tiny=0)
        if f.kind == "level-of-one-kind"
    ]
    assert found == ["all queries of L4 are easy_sal"]


def test_query_images_in_several_partitions_are_counted(complexity):
    moved = complexity.with_columns(query=pl.lit("same"))
    (found,) = [f for f in audit_lists(moved, tiny=0) if f.kind == "shared-queries"]
    assert found.count == 4  # one per class


def test_missing_files_are_looked_for_once_each(tmp_path):
    asked = []

    class Files:
        def missing(self, label, image):
            asked.append((label, image))
            return [tmp_path / image] if image == "cat3" else []

    found = kinds(CLEAN, files=Files())
    assert found["missing-files"].count == 1
    assert str(tmp_path / "cat3") in found["missing-files"].message
    assert len(asked) == len(set(asked)) == 14


def test_class_list_is_held_against_its_own_data_set_as_a_whole():
    other = [
        {**row, "class": f"9{row['class']}", "dataset": "coco20i", "list": "other"} for row in CLEAN
    ]
    parted = [{**row, "list": row["class"], "dataset": "fss1000"} for row in CLEAN]
    pairs = pl.concat([pairs_table(rows) for rows in (parted, other)])
    assert audit_lists(pairs, class_list=["cat", "dog"]) == []
    (found,) = audit_lists(pairs, class_list=["cat", "dog", "newt"])
    assert (found.kind, found.list, found.message) == (
        "class-list",
        "",
        "names of the class list that are not in any pair (1): newt",
    )


def test_files_are_looked_for_in_lists_of_their_own_data_set():
    class Nothing:
        def missing(self, label, image):
            return [f"{label}/{image}"]

    for dataset, count in (("coco20i", 14), ("fss1000", 0), ("mine", 14), ("", 14)):
        found = kinds(
            [{**row, "dataset": "coco20i"} for row in CLEAN], files=Nothing(), dataset=dataset
        )
        assert (found["missing-files"].count if found else 0) == count


def test_images_and_targets_are_counted_apart():
    rows = [
        {**row, "query": row["query"][3:]} for row in CLEAN
    ]  # the same six images are asked about cats and dogs
    table = list_count_table(pairs_table(rows))
    assert table.select("pairs", "queries", "targets").row(0) == (12, 6, 12)


def test_counts_of_levels(cognizance):
    table = list_count_table(cognizance)
    assert table["level"].to_list() == [
        level for level in ("L0", "L1", "L2", "L3", "L4", "L5", "L6") for _ in range(2)
    ]
    assert set(table["pairs"]) == {4}
    assert set(table["fewest_queries"]) == {2}


def test_findings_as_a_table():
    table = findings_table(audit_lists(pairs_table(CLEAN), train_classes=["dog"]))
    assert table.columns == ["kind", "list", "count", "message"]
    assert findings_table([]).height == 0
