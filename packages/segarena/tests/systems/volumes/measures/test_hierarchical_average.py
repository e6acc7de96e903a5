from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import polars as pl
import pytest

from segarena.errors import InvalidInput
from segarena.statistics.intervals import bootstrap_mean
from segarena.systems.volumes.measures.hierarchical_average import (
    add_class_column,
    average,
    repeat_last_round,
)


def frame(lines, names=("user", "dataset", "class", "sample", "target", "dice")):
    return pl.DataFrame(lines, schema=list(names), orient="row", infer_schema_length=None)


def random_lines(rng, users=("a", "b")):
    """Cases with some of the classes, classes with some instances, instances tried once or twice."""
    lines = []
    for dataset, cases, classes in (("one", 5, 2), ("two", 3, 3)):
        for case, kind in product(range(cases), range(classes)):
            if rng.random() < 0.2 and case:
                continue
            for instance in range(int(rng.integers(1, 4))):
                for user, _ in product(users, range(int(rng.integers(1, 3)))):
                    target = f"{kind}-{instance}"
                    lines.append(
                        (
                            user,
                            dataset,
                            f"class {kind}",
                            f"case {case}",
                            target,
                            float(rng.random()),
                        )
                    )
    return lines


def slow_mean(values):
    values = list(values)
    return sum(values) / len(values)


def slow(lines):
    """Every level by plain loops: {(dataset, class): mean}, with "" above."""
    tree = {}
    for _, dataset, kind, case, target, value in lines:
        tree.setdefault(dataset, {}).setdefault(kind, {}).setdefault(case, {}).setdefault(
            target, []
        ).append(value)
    found = {}
    for dataset, classes in tree.items():
        for kind, cases in classes.items():
            found[dataset, kind] = slow_mean(
                slow_mean(slow_mean(repeats) for repeats in targets.values())
                for targets in cases.values()
            )
        found[dataset, ""] = slow_mean(found[dataset, kind] for kind in classes)
    found["", ""] = slow_mean(found[dataset, ""] for dataset in tree)
    return found


def means(table):
    return {(line["dataset"], line["class"]): line["mean"] for line in table.iter_rows(named=True)}


def close(one, other):
    return one.keys() == other.keys() and all(
        math.isclose(one[key], other[key], abs_tol=1e-12) for key in one
    )


@pytest.mark.parametrize("seed", range(5))
def test_every_level_equals_plain_loops(seed):
    lines = random_lines(np.random.default_rng(seed))
    found = average(frame(lines), "dice")
    assert not found.missing.height
    for user in ("a", "b"):
        own = found.table.filter(pl.col("user") == user)
        assert close(means(own), slow([line for line in lines if line[0] == user]))
        assert own["level"].to_list().count("all") == 1
        seen = own.filter(pl.col("low").is_not_nan())
        assert seen.height == own.filter(pl.col("cases") > 1).height
        assert ((seen["low"] <= seen["mean"]) & (seen["mean"] <= seen["high"])).all()


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_averaged_over_what_all_of_them_have(seed):
    rng = np.random.default_rng(seed)
    lines = random_lines(rng)
    lost = {line[:5] for line in lines if rng.random() < 0.2}
    failed = [(*line[:5], None if line[:5] in lost else line[5]) for line in lines]
    there = [line for line in failed if line[5] is not None]
    keys = [{line[1:5] for line in there if line[0] == user} for user in ("a", "b")]
    found, own = average(frame(failed), "dice"), average(frame(failed), "dice", over="own")
    for user in ("a", "b"):
        of_user = [line for line in there if line[0] == user]
        shared = [line for line in of_user if line[1:5] in keys[0] & keys[1]]
        assert close(means(found.table.filter(pl.col("user") == user)), slow(shared))
        assert close(means(own.table.filter(pl.col("user") == user)), slow(of_user))
    assert found.missing.equals(own.missing)


def test_what_is_missing_is_said_for_each_row():
    lines = [
        (user, dataset, kind, case, "1", 0.5)
        for user, dataset, kind, case in product(
            "ab", ("one", "two"), ("liver", "lesion"), ("x", "y")
        )
    ]
    kept = [
        line
        for line in lines
        if line[:2] != ("a", "two") and line[:4] != ("b", "one", "lesion", "x")
    ]
    kept.append(("b", "one", "lesion", "x", "1", math.nan))
    found = average(frame(kept), "dice").missing
    assert found.rows() == [
        ("a", "two", "lesion", 2, 2, 2, 2),
        ("a", "two", "liver", 2, 2, 2, 2),
        ("b", "one", "lesion", 1, 1, 2, 2),
    ]
    assert found.columns == [
        "user",
        "dataset",
        "class",
        "cases",
        "targets",
        "cases_of",
        "targets_of",
    ]
    with pytest.raises(InvalidInput, match="user a has no dice for 2 of 2 targets of two, lesion"):
        average(frame(kept), "dice", over="same")


def test_row_without_any_value_does_not_take_the_others_with_it():
    lines = [
        ("a", "d", "c", "x", "1", 0.5),
        ("a", "d", "c", "y", "1", 0.7),
        ("b", "d", "c", "x", "1", None),
    ]
    found = average(frame(lines), "dice")
    overall = found.table.filter(pl.col("level") == "all")
    assert overall["mean"].to_list()[0] == 0.6
    assert math.isnan(overall["mean"].to_list()[1])
    assert overall["cases"].to_list() == [2, 0]


def test_splits_are_never_compared_with_each_other():
    lines = [
        ("a", "CT", "d", "c", "x", "1", 0.2),
        ("b", "CT", "d", "c", "x", "1", 0.4),
        ("a", "MR", "d", "c", "y", "1", 0.6),
        ("a", "MR", "d", "c", "z", "1", 0.8),
        ("b", "MR", "d", "c", "z", "1", 1.0),
    ]
    names = ("user", "modality", "dataset", "class", "sample", "target", "dice")
    found = average(frame(lines, names), "dice", split=["modality"])
    overall = found.table.filter(pl.col("level") == "all").select("modality", "user", "mean")
    assert overall.rows() == [
        ("CT", "a", 0.2),
        ("CT", "b", 0.4),
        ("MR", "a", 0.8),
        ("MR", "b", 1.0),
    ]
    assert found.missing.select("modality", "user", "targets").rows() == [("MR", "b", 1)]
    assert (
        average(frame(lines, names), "dice", rows=[])
        .table.filter(pl.col("level") == "all")["cases"]
        .item()
        == 3
    )


def test_classes_and_datasets_weigh_the_same_whatever_their_size():
    lines = [("a", "large", "c", f"x{n}", "1", 1.0) for n in range(9)]
    lines += [("a", "large", "e", "x0", str(n), 0.0) for n in range(5)]
    lines.append(("a", "small", "c", "y", "1", 0.0))
    assert means(average(frame(lines), "dice").table) == {
        ("large", "c"): 1.0,
        ("large", "e"): 0.0,
        ("large", ""): 0.5,
        ("small", "c"): 0.0,
        ("small", ""): 0.0,
        ("", ""): 0.25,
    }


def test_intervals_are_those_of_drawing_whole_cases():
    rng = np.random.default_rng(3)
    of_case = {"one": rng.random((12, 2)), "two": rng.random((6, 1))}
    of_case["one"][4:, 1] = math.nan
    lines = [
        ("a", dataset, f"c{kind}", f"x{case}", "1", float(values[case, kind]))
        for dataset, values in of_case.items()
        for case, kind in np.ndindex(values.shape)
        if not math.isnan(values[case, kind])
    ]
    found = average(frame(lines), "dice", repeats=4000).table.rows_by_key(
        ["dataset", "class"], named=True, unique=True
    )

    def slow_draw(values):
        drawn = values[rng.integers(len(values), size=len(values))]
        return slow_mean(
            column[~np.isnan(column)].mean() for column in drawn.T if not np.isnan(column).all()
        )

    draws = {
        dataset: [slow_draw(values) for _ in range(4000)] for dataset, values in of_case.items()
    }
    expected = {
        ("one", ""): draws["one"],
        ("two", ""): draws["two"],
        ("", ""): np.mean(list(draws.values()), axis=0),
    }
    for key, drawn in expected.items():
        assert np.allclose(
            (found[key]["low"], found[key]["high"]), np.quantile(drawn, (0.025, 0.975)), atol=0.025
        )
    alone = bootstrap_mean(of_case["two"][:, 0], repeats=4000)
    assert np.allclose(
        (found["two", "c0"]["low"], found["two", "c0"]["high"]), (alone.low, alone.high), atol=0.025
    )


def test_equal_cases_have_no_spread_and_one_case_no_interval():
    lines = [("a", "d", kind, case, "1", 0.5) for kind, case in product("ce", "xyz")]
    assert all(
        line["low"] == line["high"] == 0.5
        for line in average(frame(lines), "dice").table.iter_rows(named=True)
    )
    lines.append(("a", "single", "c", "x", "1", 0.5))
    overall = average(frame(lines), "dice").table.rows_by_key(
        ["dataset", "class"], named=True, unique=True
    )
    assert math.isnan(overall["single", ""]["low"])
    assert math.isnan(overall["", ""]["high"])
    assert overall["d", ""]["low"] == 0.5


def test_same_cases_are_drawn_for_every_row():
    rng = np.random.default_rng(4)
    values = rng.random(20)
    lines = [
        (user, "d", "c", f"x{n:02d}", "1", float(value + shift))
        for user, shift in (("a", 0), ("b", 1))
        for n, value in enumerate(values)
    ]
    table = average(frame(lines), "dice").table
    first, second = (
        table.filter(pl.col("user") == user).select("mean", "low", "high").to_numpy()
        for user in "ab"
    )
    assert np.allclose(first + 1, second)


def test_records_get_class_and_attributes():
    records = pl.DataFrame(
        {
            "target": ["1", "2", ""],
            "label": ["liver lesion", "liver", ""],
            "attributes": [
                json.dumps({"modality": "CT", "kind": "pathology", "class": "lesion"}),
                json.dumps({"modality": "MR"}),
                "{}",
            ],
        }
    )
    found = add_class_column(records)
    assert found.select("class", "modality", "kind").rows() == [
        ("lesion", "CT", "pathology"),
        ("liver", "MR", ""),
    ]


def test_dialogues_that_ended_early_hold_their_last_value_and_failed_ones_do_not():
    names = (
        "benchmark",
        "dataset",
        "sample",
        "target",
        "user",
        "repeat",
        "round",
        "dice",
        "prompts",
        "failure",
    )
    lines = [
        ("b", "d", "x", "1", "a", 0, 1, 0.5, "[1]", None),
        ("b", "d", "x", "1", "a", 0, 2, 1.0, "[2]", None),
        ("b", "d", "y", "1", "a", 0, 1, 0.4, "[1]", None),
        ("b", "d", "y", "1", "a", 0, 2, None, "[2]", "out of memory"),
        *(("b", "d", "z", "1", "a", 0, k, 0.1 * k, "[1]", None) for k in range(1, 6)),
        ("b", "d", "broken", "", "", 0, 0, None, "[]", "unreadable"),
    ]
    records = pl.DataFrame(
        lines, schema=list(names), orient="row", schema_overrides={"round": pl.Int32}
    )
    held = repeat_last_round(records, 4)
    assert held.schema == records.schema
    values = {
        sample: held.filter(pl.col("sample") == sample).sort("round")["dice"].to_list()
        for sample in "xyz"
    }
    assert values["x"] == [0.5, 1.0, 1.0, 1.0]
    assert values["y"] == [0.4, None]
    assert np.allclose(values["z"], [0.1, 0.2, 0.3, 0.4])
    assert held.filter(pl.col("round") > 2, pl.col("sample") == "x")["prompts"].to_list() == [
        "[]",
        "[]",
    ]
    assert "broken" not in held["sample"]
    with pytest.raises(InvalidInput, match="at least 1"):
        repeat_last_round(records, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"column": "iou"}, "missing: iou"),
        ({"rows": ["user", "segmenter"]}, "missing: segmenter"),
        ({"rows": ["user", "dataset"]}, "one column is named twice"),
        ({"over": "all"}, "expected one of common, own, same"),
        ({"repeats": 0}, "repeats of at least 1"),
    ],
)
def test_what_cannot_be_averaged_is_refused(change, message):
    given = {"column": "dice"} | change
    with pytest.raises(InvalidInput, match=message):
        average(frame([("a", "d", "c", "x", "1", 0.5)]), given.pop("column"), **given)


def test_nothing_and_lines_without_a_key_are_refused():
    with pytest.raises(InvalidInput, match="at least one row"):
        average(frame([]), "dice")
    with pytest.raises(InvalidInput, match="expected a class in every row"):
        average(frame([("a", "d", None, "x", "1", 0.5)]), "dice")
