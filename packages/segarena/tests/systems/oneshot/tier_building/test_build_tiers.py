from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from segarena.errors import DatasetError, InvalidInput
from segarena.systems.oneshot.list_analysis.list_audit import audit_lists
from segarena.systems.oneshot.pairs.pair_table import LEVELS, PARTITIONS, read_pairs
from segarena.systems.oneshot.pairs.query_transforms import parse_transform
from segarena.systems.oneshot.pairs.toss_lists import read_toss_list
from segarena.systems.oneshot.tier_building.build_tiers import build_tiers
from segarena.systems.oneshot.tier_building.pair_sampling import PairQuotas
from segarena.systems.oneshot.tier_building.score_availability import (
    impossible_scores,
    missing_scores,
)
from segarena.systems.oneshot.tier_building.support_cognizance_tier import TransformRange
from segarena.systems.oneshot.tier_building.tier_build_options import BuildPlan

pytestmark = pytest.mark.usefixtures("quick_workers")

QUICK = "superpixel-prototypes(superpixels=60)"
QUOTAS = PairQuotas(partition=12, level=4, general=10)


def plan(**options):
    return BuildPlan(**{"difficulty": QUICK, "quotas": QUOTAS, **options})


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    from_here = {}

    def once(source, **options):
        key = json.dumps(options, sort_keys=True, default=str)
        if key not in from_here:
            from_here[key] = build_tiers(source, tmp_path_factory.mktemp("tiers"), plan(**options))
        return from_here[key]

    return once


@pytest.mark.long
def test_every_cell_and_level_is_filled_up_to_its_quota(squares, built):
    pairs = built(squares()).pairs
    complexity = pairs.filter(pl.col("tier") == "query-complexity")
    sizes = complexity.group_by("class", "partition").len()
    assert set(complexity["partition"]) <= set(PARTITIONS)
    assert sizes["len"].max() == QUOTAS.partition
    levels = pairs.filter(pl.col("tier") == "support-cognizance").group_by("class", "level").len()
    assert set(levels["level"]) == set(LEVELS)
    assert set(levels["len"]) == {QUOTAS.level}


def test_what_is_asked_for_is_what_the_levels_say(squares, built):
    found = built(squares())
    pairs = found.pairs.filter(pl.col("tier") == "support-cognizance")
    cut = found.manifest["thresholds"]["similar_from"]
    for row in pairs.iter_rows(named=True):
        (support,), (shown,), level = row["supports"], row["support_classes"], row["level"]
        assert (support == row["query"]) == (level in ("L0", "L1")), row
        assert (shown != row["class"]) == (level == "L4"), row
        assert bool(row["transform"]) == (level == "L1"), row
        assert row["support_kind"] == {"L5": "null-mask", "L6": "empty"}.get(level, "shown"), row
        if level in ("L2", "L3"):
            assert (row["similarity"] >= cut[row["class"]]) == (level == "L2"), row


def test_partitions_are_those_of_the_measures(squares, built):
    found = built(squares())
    easy, salient = (found.manifest["thresholds"][name] for name in ("easy_from", "salient_from"))
    assert easy == np.median(found.items["difficulty"])
    assert salient == 0.5
    for row in found.items.iter_rows(named=True):
        name = ("easy" if row["difficulty"] >= easy else "hard") + (
            "_sal" if row["salience"] >= salient else "_nsal"
        )
        assert row["partition"] == name
    strong = found.items.filter(pl.col("image").str.contains("[02468]$"))
    assert set(strong["partition"]) <= {"easy_sal", "hard_sal"}


def test_lists_have_nothing_that_an_audit_finds_wrong(squares, built):
    kinds = {finding.kind for finding in audit_lists(built(squares()).pairs, tiny=0)}
    assert not kinds & {
        "cross-class",
        "self-pairs",
        "duplicates",
        "uneven-levels",
        "levels-not-told",
        "transforms-not-told",
    }


def test_the_same_seed_gives_the_same_bytes_and_another_one_other_pairs(squares, tmp_path, built):
    for name in ("one", "two"):
        build_tiers(squares(), tmp_path / name, plan())
    for file in ("pairs.parquet", "pairs.jsonl", "items.parquet", "manifest.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert not built(squares(), seed=1).pairs.equals(built(squares()).pairs)


@pytest.mark.long
def test_a_build_that_was_interrupted_gives_the_same_bytes(squares, tmp_path):
    build_tiers(squares(), tmp_path / "whole", plan())

    def stop(state):
        if state.stage == "difficulty" and state.done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_tiers(squares(), tmp_path / "cut", plan(), on_progress=stop)
    again = []
    build_tiers(
        squares(),
        tmp_path / "cut",
        plan(),
        on_progress=lambda state: again.append((state.stage, state.resumed)),
    )
    assert again[:3] == [("index", 24), ("salience", 24), ("difficulty", 7)]
    assert (tmp_path / "whole" / "manifest.json").read_bytes() == (
        tmp_path / "cut" / "manifest.json"
    ).read_bytes()


@pytest.mark.long
def test_another_class_changes_no_draw_of_the_others(squares, built):
    few = built(squares(("red", "green")), easy_from=0.5, salient_from=0.5).pairs
    more = built(squares(), easy_from=0.5, salient_from=0.5, seed=0).pairs
    chosen = [
        table.filter(pl.col("class") == "red", pl.col("tier") == "query-complexity").select(
            "query", "supports", "partition"
        )
        for table in (few, more)
    ]
    assert chosen[0].equals(chosen[1])


@pytest.mark.long
def test_folds_test_their_classes_and_show_others_of_theirs_alone(squares, built):
    pairs = built(
        squares(("red", "green", "blue", "grey")), folds=(("red", "green"), ("blue", "grey"))
    ).pairs
    fold_of = {"red": 0, "green": 0, "blue": 1, "grey": 1}
    assert all(fold_of[row["class"]] == row["fold"] for row in pairs.iter_rows(named=True))
    assert all(
        fold_of[row["support_classes"][0]] == row["fold"] for row in pairs.iter_rows(named=True)
    )
    assert {"split0_tier2", "split1_tier2"} <= set(pairs["list"])


def test_most_of_a_transformed_target_stays_in_view(squares, built):
    source, motion = squares(), TransformRange(rotation_deg=180, shift=0.6, flip=True, scale=1.5)
    pairs = built(source, motion=motion).pairs.filter(pl.col("level") == "L1")
    assert pairs.height
    for row in pairs.iter_rows(named=True):
        mask, transform = (
            source.mask(row["class"], row["query"]).mask,
            parse_transform(row["transform"]),
        )
        assert transform.mask(mask).sum() / transform.scale**2 >= 0.5 * mask.sum()


def test_the_generalization_tier_is_of_classes_unlike_those_of_training(squares, built):
    found = built(squares(), training=("greens",), drop=("blue",))
    general = found.pairs.filter(pl.col("tier") == "generalization")
    assert set(general["class"]) == {"red"}
    assert general.height == QUOTAS.general
    salience = general.unique("query")["salience"].sort()
    assert salience[0] < 0.5 < salience[-1]
    reasons = {row["label"]: row["reason"] for row in found.manifest["classes_of_generalization"]}
    assert reasons["blue"] == "in the drop list"


def test_what_falls_short_and_what_is_left_out_is_told(squares, tmp_path):
    source = squares(count=3)
    source.broken = {"red2"}
    found = build_tiers(source, tmp_path, plan())
    assert found.manifest["left_out"] == {"red in red2": "mask of red2 is broken"}
    assert found.manifest["inputs"]["items"] == 9
    assert found.manifest["inputs"]["used"] == 8
    short = {
        (row["class"], row["cell"]): (row["wanted"], row["found"])
        for row in found.manifest["shortfalls"]
    }
    complexity = found.pairs.filter(pl.col("tier") == "query-complexity", pl.col("class") == "red")
    assert complexity.height == 2  # each of two images with the other
    assert (
        sum(
            count
            for (label, cell), (_, count) in short.items()
            if label == "red" and cell in PARTITIONS
        )
        == 2
    )


@pytest.mark.parametrize(
    ("classes", "count", "options", "hopeless"),
    [
        (("red", "green"), 8, {"training": ("sky",)}, set()),
        (("red", "green"), 8, {}, {"GS"}),
        (("red",), 8, {}, {"SCS", "GS"}),
        (("red", "green"), 2, {}, {"SCS", "GS"}),
        (("red", "green"), 1, {}, {"LCA and HCA", "SCS", "GS"}),
        (("red", "green", "blue"), 8, {"folds": (("red", "green"), ("blue",))}, {"SCS", "GS"}),
    ],
)
def test_scores_that_cannot_be_had_are_known_before_measuring(
    squares, tmp_path, classes, count, options, hopeless
):
    source, asked = squares(classes=classes, count=count), plan(**options)
    assert set(impossible_scores(source.items(), asked)) == hopeless
    if count > 1 and "folds" not in options:
        assert hopeless <= set(build_tiers(source, tmp_path, asked).manifest["missing_scores"])


def test_scores_that_the_tiers_have_are_known_after(squares, built):
    tiers = built(squares())
    assert set(tiers.pairs["partition"].drop_nulls()) == {"easy_sal", "hard_nsal"}
    assert tiers.manifest["missing_scores"] == {
        "LCA and HCA": "no pairs of hard_sal, easy_nsal", "GS": "no pairs of the tier generalization",
    }  # fmt: skip
    without = tiers.pairs.filter(pl.col("level").ne_missing("L2"))
    assert "SCS" not in missing_scores(without)  # L2 and L3 are one group
    assert missing_scores(without.filter(pl.col("level").ne_missing("L0")))["SCS"].startswith(
        "class blue: no pairs of L0"
    )


def test_a_class_that_lacks_a_level_is_in_none(squares, tmp_path):
    pairs = build_tiers(squares(("red",)), tmp_path, plan()).pairs
    assert set(pairs["tier"]) == {"query-complexity"}  # no other class to show


@pytest.mark.long
def test_the_manifest_knows_all_files_and_the_tables_read_back(squares, tmp_path):
    found = build_tiers(squares(), tmp_path, plan())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert set(manifest["files"]) == {"items.parquet", "pairs.parquet", "pairs.jsonl"}
    assert manifest["plan"]["seed"] == 0
    assert read_pairs(tmp_path / "pairs.jsonl").equals(found.pairs)
    assert read_pairs(tmp_path / "pairs.parquet").equals(found.pairs)


def test_familiar_names_get_lists_in_the_published_formats(squares, tmp_path):
    classes = ("1", "2", "3")

    class Pascal(squares):
        def __init__(self):
            super().__init__(classes, name="{}")
            self._items = [
                (label, f"2007_{int(label):03d}{number:03d}")
                for label in classes
                for number in range(8)
            ]
            self._place = {image: number for number, (_, image) in enumerate(self._items)}

    found = build_tiers(Pascal(), tmp_path, plan(name="pascal5i", folds=(classes,)))
    lists = sorted((tmp_path / "published").iterdir())
    assert "split0_tier2.txt" in {file.name for file in lists}
    for file in lists:
        again, ours = read_toss_list(file), found.pairs.filter(pl.col("list") == file.stem)
        same = [
            "class",
            "query",
            "supports",
            "support_classes",
            "support_kind",
            "partition",
            "fold",
        ]
        assert again.select(same).equals(ours.select(same))
        assert set(again["level"].drop_nulls()) <= {"L0", "L1", "L2+L3", "L4", "L5", "L6"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"easy_from": 75.0}, InvalidInput, "expected 0 to 1, or auto or median"),
        ({"salient_from": "auto"}, InvalidInput, "expected 0 to 1, or median"),
        ({"similar_per": "image"}, InvalidInput, "expected fold or class"),
        ({"motion": TransformRange(keep=0)}, InvalidInput, "expected keep above 0"),
        ({"folds": (("pink",),)}, DatasetError, "classes without images: pink"),
        ({"folds": (("red",), ("red",))}, InvalidInput, "in two folds"),
        ({"min_area_px": 10_000}, DatasetError, "no item can be used"),
    ],
)
def test_what_cannot_be_built_is_refused(squares, tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        build_tiers(squares(), tmp_path, plan(**options))
