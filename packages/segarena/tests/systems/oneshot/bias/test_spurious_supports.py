from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from segarena.errors import InvalidInput
from segarena.registry import build
from segarena.systems.oneshot.bias.spurious_supports import (
    SUPPORT_KINDS,
    grouped_miou,
    salience_table,
    spurious_pairs,
    spurious_table,
)
from segarena.systems.oneshot.pairs.pair_table import pairs_table
from segarena.systems.oneshot.scoring.pixel_counts import counts_table
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings

QUICK = ScoreSettings(repeats=50)


def pairs(folds=(0, 0, 1, 1), shots=1):
    rows = [
        {
            "list": "mine", "class": f"c{number}", "fold": fold, "query": f"q{number}{query}",
            "supports": [f"s{number}{query}{shot}" for shot in range(shots)],
        }
        for number, fold in enumerate(folds) for query in range(5)
    ]  # fmt: skip
    return pairs_table([{**row, "row": place} for place, row in enumerate(rows)])


def test_each_pair_is_there_once_for_each_kind_and_asks_for_the_same():
    given, made = pairs(), spurious_pairs(pairs())
    assert made.height == len(SUPPORT_KINDS) * given.height
    for kind in SUPPORT_KINDS:
        part = made.filter(pl.col("list") == f"mine/{kind}")
        assert part.select("row", "class", "query", "fold").equals(
            given.select("row", "class", "query", "fold")
        )


def test_what_is_shown_is_what_the_kind_says():
    given = pairs()
    for (name,), part in spurious_pairs(given).group_by(["list"], maintain_order=True):
        kind = name.split("/")[1]
        is_other = kind.startswith("other")
        assert part["cross_class"].to_list() == [is_other] * part.height
        if not is_other:
            assert part["supports"].equals(given["supports"])
        for row in part.iter_rows(named=True):
            own, shown = int(row["class"][1]), int(row["support_classes"][0][1])
            assert own // 2 == shown // 2  # classes of one fold
            assert row["supports"][0].startswith(f"s{shown}")
        kinds = {
            "null-mask": "null-mask",
            "no-image": "no-image",
            "other-class-null-mask": "null-mask",
        }
        assert set(part["support_kind"]) == {kinds.get(kind, "shown")}


def test_the_seed_decides_and_several_examples_are_of_one_class():
    one, same, other = (
        spurious_pairs(pairs((0, 0, 0), shots=3), ["other-class"], seed=seed) for seed in (1, 1, 2)
    )
    assert one.equals(same)
    assert not one.equals(other)
    assert all(len(set(row)) == 1 for row in one["support_classes"])
    assert all(len(set(row)) == 3 for row in one["supports"])


def test_other_classes_are_drawn_about_evenly():
    made = spurious_pairs(
        pl.concat([pairs((0,) * 5).with_columns(list=pl.lit(str(n))) for n in range(60)]),
        ["other-class"],
    )
    shares = (
        made.filter(pl.col("class") == "c0")
        .select(pl.col("support_classes").list.first())
        .to_series()
        .value_counts()
    )
    assert shares["count"].min() > 40  # of 300, four classes; 75 expected


def test_pairs_that_show_something_else_already_or_the_query_are_left_out():
    given = pairs().with_columns(
        query=pl.when(pl.col("row") == 1).then(pl.col("supports").list.first()).otherwise("query")
    )
    given = given.with_columns(
        transform=pl.when(pl.col("row") == 0).then(pl.lit("xf1")).otherwise(pl.lit(""))
    )
    assert spurious_pairs(given, ["normal"])["row"].to_list() == list(range(2, given.height))


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(InvalidInput, match="only class of its fold"):
        spurious_pairs(pairs((0, 1)))
    with pytest.raises(InvalidInput, match="'blurred': expected one of normal"):
        spurious_pairs(pairs(), ["blurred"])
    with pytest.raises(InvalidInput, match="got none"):
        spurious_pairs(pairs().with_columns(support_kind=pl.lit("empty")))


def test_a_dataset_shows_the_supports_of_every_kind(tmp_path):
    from segarena.systems.oneshot.pairs.pair_dataset import PairDataset

    demo = build("dataset", "oneshot-demo(lists='complexity', fold=0)")
    made = PairDataset("demo", demo.source, spurious_pairs(demo.pairs.gather_every(7)))
    usual = {
        row["row"]: made.supports_of(row)[0]
        for row in made.pairs.filter(pl.col("list").str.ends_with("normal")).to_dicts()
    }
    for row in made.pairs.to_dicts():
        (shown,), kind = made.supports_of(row), row["list"].split("/")[1]
        assert shown.mask.any() == (kind in ("normal", "other-class", "no-image"))
        assert shown.sample.image.any() == (kind != "no-image")
        if kind == "no-image":
            assert np.array_equal(shown.mask, usual[row["row"]].mask)


def counts(**columns):
    rows = {
        "row": range(4), "list": ["mine/normal"] * 2 + ["mine/null-mask"] * 2, "tier": ["pairs"] * 4,
        "fold": [0, 1, 0, 1], "class": ["a", "b", "a", "b"], "query": ["1", "2", "1", "2"],
        "intersection": [6, 4, 1, 0], "union": [10, 5, 10, 5],
        "salience": [0.5, 0.49, 0.5, 0.49],
    }  # fmt: skip
    return counts_table(pl.DataFrame({**rows, **columns}))


def test_miou_of_each_kind_in_the_papers_order():
    table = spurious_table(counts(), QUICK)
    assert table["kind"].to_list() == ["normal", "null-mask"]
    assert table["miou"].to_list() == pytest.approx([(0.6 + 0.8) / 2, 0.05])
    assert table["pairs"].to_list() == [2, 2]
    with pytest.raises(InvalidInput, match="LIST/KIND"):
        spurious_table(counts(list=["mine"] * 4), QUICK)


def test_salient_targets_and_others():
    table = salience_table(counts().head(2), QUICK)
    assert table["group"].to_list() == ["salient", "not salient"]
    assert table["miou"].to_list() == pytest.approx([0.6, 0.8])
    with pytest.raises(InvalidInput, match="with salience, got none"):
        salience_table(counts(salience=[None] * 4), QUICK)


def test_groups_are_means_over_folds_of_means_over_classes_of_sums():
    rng = np.random.default_rng(0)
    size = 300
    union = rng.integers(1, 100, size)
    table = pl.DataFrame(
        {
            "row": range(size), "list": "l", "tier": "pairs", "fold": rng.integers(0, 3, size),
            "class": rng.integers(0, 4, size).astype(str), "query": rng.integers(0, 50, size).astype(str),
            "intersection": rng.integers(0, union + 1), "union": union,
        }
    )  # fmt: skip
    full = counts_table(table).with_columns(group=pl.Series(rng.choice(["x", "y"], size)))
    found = grouped_miou(full, "group", QUICK)
    for row in found.to_dicts():
        folds = []
        for _, fold in full.filter(pl.col("group") == row["group"]).group_by("fold"):
            folds.append(
                np.mean(
                    [c["intersection"].sum() / c["union"].sum() for _, c in fold.group_by("class")]
                )
            )
        assert row["miou"] == pytest.approx(np.mean(folds))
        assert row["low"] < row["miou"] < row["high"]
