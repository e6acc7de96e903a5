"""Scores against hand-computed values, anchors of the published scripts, and a slow reference."""

import math
from collections import defaultdict
from statistics import fmean

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.comparison import Comparison
from segarena.errors import InvalidInput
from segarena.systems.oneshot.pairs.pair_table import LEVELS, pairs_table
from segarena.systems.oneshot.scoring.pixel_counts import counts_table
from segarena.systems.oneshot.scoring.run_scores import scores_of_masks
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings
from segarena.systems.oneshot.scoring.tier_scores import (
    all_scores,
    class_miou,
    fb_iou,
    gs,
    lca_hca,
    lca_hca_of_miou,
    mean_and_spread,
    partition_weights,
    scs,
)

PLAIN = ScoreSettings(repeats=0)
WEIGHTS = {"easy_sal": 3, "hard_sal": 0.75, "easy_nsal": 0.75, "hard_nsal": 0.5}
REVERSED = {"easy_sal": 0.5, "hard_sal": 0.75, "easy_nsal": 0.75, "hard_nsal": 3}
GROUP = {
    "L0": "10",
    "L1": "5",
    "L2": "1",
    "L3": "1",
    "L2+L3": "1",
    "L4": "-1",
    "L5": "-1",
    "L6": "-1",
}


def overall(scores, name):
    (score,) = [score for score in scores if score.name == name and score.fold is None]
    return score.value


def slow_class_ious(rows, key):
    inter, union = defaultdict(float), defaultdict(float)
    for row in rows:
        inter[key(row)] += row["intersection"]
        union[key(row)] += row["union"]
    return {k: inter[k] / max(union[k], 1) for k in union}


def slow_lca(rows, weights):
    folds = []
    for fold in sorted({row["fold"] for row in rows}):
        total = 0.0
        for partition, weight in weights.items():
            own = [row for row in rows if row["fold"] == fold and row["partition"] == partition]
            total += weight * fmean(slow_class_ious(own, lambda row: row["class"]).values())
        folds.append(total / 5)
    return fmean(folds)


def slow_scs(rows, variant):
    folds = []
    for fold in sorted({row["fold"] for row in rows}):
        values = []
        own = [row for row in rows if row["fold"] == fold]
        for label in {row["class"] for row in own}:
            mine = [row for row in own if row["class"] == label]
            if variant == "published":
                ious = slow_class_ious(mine, lambda row: GROUP[row["level"]])
                parts = [4 * ious["10"], 3 * ious["5"], ious["1"], 1 - ious["-1"]]
                values.append(sum(parts) / 9)
            else:
                ious = slow_class_ious(mine, lambda row: row["level"])
                weights = dict(zip(LEVELS, (4, 2, 2, 1, 1, 1, 1), strict=True))
                right = {
                    level: 1 - iou if level in ("L4", "L5", "L6") else iou
                    for level, iou in ious.items()
                }
                values.append(sum(weight * right[level] for level, weight in weights.items()) / 12)
        folds.append(fmean(values))
    return fmean(folds)


@pytest.mark.parametrize("seed", range(3))
def test_lca_and_hca_equal_a_slow_reference(complexity, count, seed):
    counts = count(complexity, seed=seed)
    scores = lca_hca(counts, PLAIN)
    assert overall(scores, "LCA") == pytest.approx(slow_lca(counts.to_dicts(), WEIGHTS), abs=1e-12)
    assert overall(scores, "HCA") == pytest.approx(slow_lca(counts.to_dicts(), REVERSED), abs=1e-12)


@pytest.mark.parametrize("variant", ["published", "paper"])
@pytest.mark.parametrize("seed", range(3))
def test_scs_equals_a_slow_reference(cognizance, count, variant, seed):
    counts = count(cognizance, seed=seed)
    found = overall(scs(counts, ScoreSettings(variant=variant, repeats=0)), "SCS")
    assert found == pytest.approx(slow_scs(counts.to_dicts(), variant), abs=1e-12)


@pytest.mark.parametrize(("variant", "empty"), [("published", 1 / 9), ("paper", 0.25)])
def test_always_empty_and_oracle_have_the_anchors_of_scs(cognizance, count, variant, empty):
    choice = ScoreSettings(variant=variant, repeats=0)
    assert overall(scs(count(cognizance, "empty"), choice), "SCS") == pytest.approx(
        empty, abs=1e-15
    )
    assert overall(scs(count(cognizance, "oracle"), choice), "SCS") == pytest.approx(1.0, abs=1e-15)


def test_oracle_has_all_scores_one_and_empty_none(complexity, count):
    assert {s.value for s in lca_hca(count(complexity, "oracle"), PLAIN)} == {1.0}
    assert {s.value for s in lca_hca(count(complexity, "empty"), PLAIN)} == {0.0}


def masks():
    """Two classes; class a: two pairs, class b: one. 4 x 4 frames, one row void in the last pair."""
    target = np.zeros((4, 4), bool)
    target[:2, :2] = True  # 4 pixels
    half, twice = np.zeros_like(target), np.zeros_like(target)
    half[:1, :2] = True  # 2 of the 4: IoU 2/4
    twice[:2] = True  # 4 of 8: IoU 4/8
    void = np.zeros_like(target)
    void[1] = True
    return [("a", half, target, None), ("a", twice, target, None), ("b", twice, target, void)]


def hand_counts():
    rows = []
    for number, (label, prediction, target, void) in enumerate(masks()):
        comparison = Comparison.of(prediction, target, void)
        rows.append({
            "row": number, "list": "x", "tier": "generalization", "dataset": "", "class": label, "query": f"q{number}",
            "intersection": comparison.intersection, "union": comparison.union, "frame_px": 16,
            "void_px": 0 if void is None else 4,
            "predicted_void_px": 0 if void is None else int((prediction & void).sum()),
        })  # fmt: skip
    return counts_table(pl.DataFrame(rows))


def test_scores_of_masks_in_memory_are_those_of_their_counts():
    predictions, targets, voids = ([row[place] for row in masks()] for place in (1, 2, 3))
    pairs = pairs_table([
        {"list": "x", "tier": "generalization", "class": row[0], "query": f"q{number}", "supports": ["s"]}
        for number, row in enumerate(masks())
    ])  # fmt: skip
    found = scores_of_masks(pairs, predictions, targets, voids, settings=PLAIN)
    # As text, because the scores have no interval, and NaN differs from itself.
    assert repr(found) == repr(all_scores(hand_counts(), PLAIN))
    with pytest.raises(InvalidInput, match="each of 3 pairs"):
        scores_of_masks(pairs, predictions[:2], targets)


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        ({}, (6 / 12 + 2 / 4) / 2),  # a: (2 + 4) / (4 + 8); b without row 1: 2 / 4
        ({"aggregate": "per_pair"}, ((2 / 4 + 4 / 8) / 2 + 2 / 4) / 2),
        ({"void": "background"}, (6 / 12 + 2 / 8) / 2),  # the 4 predicted void pixels are wrong
        ({"void": "script"}, (6 / 12 + 2 / 8) / 2),  # all 4 void pixels are in the union
        ({"empty_union": "toss"}, (6 / (12 + 1e-7) + 2 / (4 + 1e-7)) / 2),
    ],
)
def test_gs_of_masks_computed_by_hand(choice, value):
    assert gs(hand_counts(), ScoreSettings(repeats=0, **choice)).value == pytest.approx(
        value, abs=1e-15
    )


def test_fb_iou_of_masks_computed_by_hand():
    # foreground: (2 + 4 + 2) / (4 + 8 + 4). Background: frames of 16, 16 and 12 judged pixels; outside the union
    # 12 + 8 + 8, outside the intersection 14 + 12 + 10.
    assert fb_iou(hand_counts(), PLAIN)[0].value == pytest.approx((8 / 16 + 28 / 36) / 2, abs=1e-15)
    # void as background: union of the last pair 8, all 16 pixels judged
    background = (8 / 20 + (12 + 8 + 8) / (14 + 12 + 14)) / 2
    assert fb_iou(hand_counts(), ScoreSettings(repeats=0, void="background"))[
        0
    ].value == pytest.approx(background)


def test_per_pair_fb_iou_is_the_mean_over_pairs():
    found = fb_iou(hand_counts(), ScoreSettings(repeats=0, aggregate="per_pair"))[0].value
    assert found == pytest.approx(fmean([0.5, 0.5, 0.5, 12 / 14, 8 / 12, 8 / 10]))


def test_order_matters_only_for_numbers_of_ones_own(complexity, count):
    counts = count(complexity)
    by_order = [
        overall(lca_hca(counts, ScoreSettings(repeats=0, order=order)), "LCA")
        for order in ("paper", "script")
    ]
    assert by_order[0] == by_order[1]
    paper = partition_weights(counts, ScoreSettings(weights=(4.0, 3.0, 2.0, 1.0)))
    script = partition_weights(counts, ScoreSettings(weights=(4.0, 3.0, 2.0, 1.0), order="script"))
    assert (paper["hard_sal"], paper["easy_nsal"]) == (3, 2)
    assert (script["hard_sal"], script["easy_nsal"]) == (2, 3)
    hca = [
        overall(
            lca_hca(counts, ScoreSettings(repeats=0, weights=(1.0, 0.0, 0.0, 0.0), order=order)),
            "HCA",
        )
        for order in ("paper", "script")
    ]
    assert hca[0] == hca[1]  # the whole weight on hard_nsal either way


def test_simplicity_weights_are_mean_salience_times_difficulty_scaled_to_five(complexity, count):
    weights = partition_weights(count(complexity), ScoreSettings(weights="simplicity"))
    simple = {"easy_sal": 0.72, "hard_sal": 0.4, "easy_nsal": 0.27, "hard_nsal": 0.15}
    assert weights == pytest.approx(
        {name: 5 * value / sum(simple.values()) for name, value in simple.items()}
    )


def test_simplicity_weights_need_salience_and_difficulty(complexity, count):
    counts = count(complexity).with_columns(salience=pl.lit(None, pl.Float64))
    with pytest.raises(InvalidInput, match="missing for easy_sal"):
        lca_hca(counts, ScoreSettings(weights="simplicity"))


def test_one_fold_is_averaged_alone_unless_strictly_published(complexity, count):
    counts = count(complexity).filter(pl.col("fold") == 0)
    alone = overall(lca_hca(counts, PLAIN), "LCA")
    strict = overall(lca_hca(counts, ScoreSettings(repeats=0, strict_published=True)), "LCA")
    assert strict == pytest.approx(alone / 4)


def test_documented_example_of_the_published_script():
    """One fold, LCA_0 0.4225, mean_lca 0.105625."""
    ious = {"easy_sal": 0.5, "hard_sal": 0.3, "easy_nsal": 0.35, "hard_nsal": 0.25}
    lca = (3 * 0.5 + 0.75 * 0.3 + 0.75 * 0.35 + 0.5 * 0.25) / 5
    scale = 0.4225 / lca
    rows = [
        {"row": n, "list": "q", "tier": "query-complexity", "dataset": "", "fold": 0, "partition": name, "class": "1",
         "query": name, "intersection": iou * scale, "union": 1.0}
        for n, (name, iou) in enumerate(ious.items())
    ]  # fmt: skip
    scores = lca_hca(
        counts_table(pl.DataFrame(rows)), ScoreSettings(repeats=0, strict_published=True)
    )
    assert overall(scores, "LCA") == pytest.approx(0.105625)


def test_missing_partition_is_an_error_or_zero(complexity, count):
    counts = count(complexity, "oracle").filter(
        (pl.col("fold") != 0) | (pl.col("partition") != "easy_sal")
    )
    with pytest.raises(InvalidInput, match="fold 0: no pairs of easy_sal"):
        lca_hca(counts, PLAIN)
    scores = lca_hca(counts, ScoreSettings(repeats=0, strict_published=True))
    assert next(s.value for s in scores if s.name == "LCA" and s.fold == 0) == pytest.approx(0.4)


@pytest.mark.parametrize(("level", "share"), [("L0", 5 / 9), ("L1", 6 / 9)])
def test_missing_positive_level_is_an_error_or_zero(cognizance, count, level, share):
    counts = count(cognizance, "oracle").filter(pl.col("level") != level)
    with pytest.raises(InvalidInput, match="every class needs all"):
        scs(counts, PLAIN)
    assert overall(
        scs(counts, ScoreSettings(repeats=0, strict_published=True)), "SCS"
    ) == pytest.approx(share)


def test_missing_negative_levels_get_full_marks_in_the_published_script(cognizance, count):
    counts = count(cognizance, "empty").filter(~pl.col("level").is_in(["L4", "L5", "L6"]))
    assert overall(
        scs(counts, ScoreSettings(repeats=0, strict_published=True)), "SCS"
    ) == pytest.approx(1 / 9)


@pytest.fixture
def half():
    """Return counts of classes 1 and 2, all groups, and the list that also requests class 9."""
    ious = {"1": (0.9, 0.8, 0.6, 0.2), "2": (0.7, 0.5, 0.3, 0.1)}
    rows = [
        {"row": place, "list": "sc", "tier": "support-cognizance", "class": label, "query": f"q{label}", "level": level,
         "supports": ["s"]}
        for place, (label, level) in enumerate((label, level) for label in "129" for level in ("L0", "L1", "L2", "L4"))
    ]  # fmt: skip
    pairs = pairs_table(rows)
    values = [iou for label in "12" for iou in ious[label]]
    counts = counts_table(pairs.head(8).drop("supports", "support_classes").with_columns(
        intersection=pl.Series(values) * 1000, union=pl.lit(1000.0)
    ))  # fmt: skip
    by_hand = [(4 * a + 3 * b + c + (1 - d)) / 9 for a, b, c, d in ious.values()]
    return pairs, counts, by_hand


def test_class_without_any_row_is_an_error_or_has_the_published_zero(half):
    pairs, counts, (one, two) = half
    with pytest.raises(InvalidInput, match=r"^class 9: no pairs of L0"):
        scs(counts, PLAIN, pairs=pairs)
    (score,) = scs(counts, ScoreSettings(repeats=0, strict_published=True), pairs=pairs)
    assert score.value == pytest.approx(
        (one + two + 1 / 9) / 3
    )  # nothing found, where nothing should be
    assert overall(scs(counts, PLAIN), "SCS") == pytest.approx((one + two) / 2)


def test_folds_of_known_sets_have_all_their_classes_and_missing_folds_count(half):
    pairs, counts, (one, two) = half
    strict = ScoreSettings(repeats=0, strict_published=True)
    known = counts.with_columns(dataset=pl.lit("pascal5i"), fold=pl.lit(0, pl.Int64))
    with pytest.raises(InvalidInput, match="fold 0: class 3"):
        scs(known, PLAIN)
    assert overall(scs(known, strict), "SCS") == pytest.approx((one + two + 3 / 9) / 5)
    parted = pairs.with_columns(fold=pl.when(pl.col("class") == "9").then(1).otherwise(0))
    scores = scs(known, strict, pairs=parted)
    assert [score.value for score in scores] == pytest.approx(
        [(one + two) / 2, 1 / 9, (one + two + 2 / 9) / 4]
    )
    assert [score.pairs for score in scores] == [8, 0, 8]


def test_own_weights_of_scs(half):
    _, counts, _ = half
    (score,) = scs(counts, ScoreSettings(repeats=0, scs_weights=(1, 0, 2, 1)))
    assert score.value == pytest.approx(
        fmean([(0.9 + 2 * 0.6 + 0.8) / 4, (0.7 + 2 * 0.3 + 0.9) / 4])
    )
    assert "SCS published 1 0 2 1" in ScoreSettings(scs_weights=(1, 0, 2, 1)).mode
    with pytest.raises(InvalidInput, match="expected 7 numbers"):
        ScoreSettings(variant="paper", scs_weights=(1, 0, 2, 1))


def test_lca_and_hca_of_a_table_are_those_of_counts(complexity, count):
    counts = count(complexity)
    means = {name: [
        fmean(slow_class_ious(
            [row for row in counts.to_dicts() if (row["fold"], row["partition"]) == (fold, name)],
            lambda row: row["class"],
        ).values())
        for fold in range(2)
    ] for name in WEIGHTS}  # fmt: skip
    scores = lca_hca(counts, PLAIN)
    assert lca_hca_of_miou(means) == pytest.approx((overall(scores, "LCA"), overall(scores, "HCA")))
    alone = {"easy_sal": 0.5, "hard_sal": 0.3, "easy_nsal": 0.35}
    with pytest.raises(InvalidInput, match="hard_nsal"):
        lca_hca_of_miou(alone)
    expected = (3 * 0.5 + 0.75 * 0.3 + 0.75 * 0.35) / 5 / 4
    assert lca_hca_of_miou(alone, strict_published=True).lca == pytest.approx(expected)
    with pytest.raises(InvalidInput, match="one number per fold"):
        lca_hca_of_miou({**alone, "hard_nsal": [0.1, 0.2], "easy_sal": [0.1, 0.2, 0.3]})


def test_paper_variant_refuses_lists_that_pool_levels(cognizance, count):
    pooled = count(cognizance).with_columns(pl.col("level").replace({"L2": "L2+L3", "L3": "L2+L3"}))
    assert overall(scs(pooled, PLAIN), "SCS") == overall(scs(count(cognizance), PLAIN), "SCS")
    with pytest.raises(InvalidInput, match="does not separate L2 from L3"):
        scs(pooled, ScoreSettings(variant="paper"))


def test_tiers_that_are_not_there_are_named(complexity, count):
    with pytest.raises(InvalidInput, match="expected pairs of the tier generalization"):
        gs(count(complexity))


@pytest.mark.parametrize(
    "choice",
    [{"aggregate": "x"}, {"void": "x"}, {"empty_union": "x"}, {"variant": "x"}, {"order": "x"}, {"weights": "x"},
     {"weights": (1.0, 2.0)}, {"weights": (0.0, 0.0, 0.0, 0.0)}, {"weights": (-1.0, 2.0, 1.0, 1.0)}],
)  # fmt: skip
def test_options_of_another_value_are_refused(complexity, count, choice):
    with pytest.raises(InvalidInput):
        all_scores(count(complexity), ScoreSettings(**choice))


def test_void_modes_and_fb_iou_say_which_column_they_lack():
    bare = hand_counts().with_columns(
        pl.lit(None, pl.Float64).alias(n) for n in ("frame_px", "void_px", "predicted_void_px")
    )
    with pytest.raises(InvalidInput, match="predicted_void_px"):
        gs(bare, ScoreSettings(void="background"))
    with pytest.raises(InvalidInput, match="frame_px"):
        fb_iou(bare)
    assert {score.name for score in all_scores(bare, PLAIN)} == {"GS", "mIoU"}


def test_class_miou_is_averaged_over_folds_and_apart_for_each_data_set(complexity, count):
    counts = count(complexity)
    scores = class_miou(counts, PLAIN)
    ious = slow_class_ious(counts.to_dicts(), lambda row: (row["fold"], row["class"]))
    folds = [
        fmean(value for (fold, _), value in ious.items() if fold == wanted) for wanted in (0, 1)
    ]
    assert [score.value for score in scores] == pytest.approx([*folds, fmean(folds)])
    twice = pl.concat([counts, counts.with_columns(dataset=pl.lit("other"))])
    assert [score.dataset for score in class_miou(twice, PLAIN)] == [""] * 3 + ["other"] * 3


def test_class_without_any_union_counts_as_zero():
    same = {"list": "x", "tier": "generalization"}
    rows = [{**same, "row": 0, "class": "a", "query": "q", "intersection": 0, "union": 0},
            {**same, "row": 1, "class": "b", "query": "r", "intersection": 3, "union": 3}]  # fmt: skip
    assert gs(counts_table(pl.DataFrame(rows)), PLAIN).value == 0.5


def test_intervals_cover_the_value_shrink_with_more_queries_and_repeat_with_the_seed(
    complexity, count
):
    scores = lca_hca(count(complexity), ScoreSettings(repeats=300))
    assert all(score.low < score.value < score.high for score in scores)
    assert scores == lca_hca(count(complexity), ScoreSettings(repeats=300))
    means = [score for score in scores if score.fold is None]
    assert all(
        mean.high - mean.low < max(s.high - s.low for s in scores if s.name == mean.name)
        for mean in means
    )


def test_interval_of_one_query_image_is_not_known():
    rows = [{"row": n, "list": "x", "tier": "generalization", "class": "a", "query": "q", "intersection": n, "union": 9}
            for n in range(5)]  # fmt: skip
    score = gs(counts_table(pl.DataFrame(rows)))
    assert math.isnan(score.low)
    assert math.isnan(score.high)
    assert (score.pairs, score.queries, score.classes) == (5, 1, 1)


def test_interval_equals_a_slow_bootstrap_over_query_images(count):
    pairs = pairs_table([
        {"row": n, "tier": "generalization", "class": "a" if n % 3 else "b", "query": f"q{n % 7}", "supports": ["s"]}
        for n in range(40)
    ])  # fmt: skip
    counts = count(pairs)
    score = gs(counts, ScoreSettings(repeats=2000, seed=1))
    rows, rng = counts.to_dicts(), np.random.default_rng(5)
    by_query = [[row for row in rows if row["query"] == f"q{n}"] for n in range(7)]
    slow = []
    for _ in range(2000):
        drawn = [row for place in rng.integers(7, size=7) for row in by_query[place]]
        slow.append(fmean(slow_class_ious(drawn, lambda row: row["class"]).values()))
    assert [score.low, score.high] == pytest.approx(np.quantile(slow, [0.025, 0.975]), abs=0.01)


@pytest.mark.long
@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 50), st.sampled_from("abc")),
        min_size=1,
        max_size=20,
    )
)
def test_scores_lie_between_zero_and_one_and_do_not_depend_on_the_order_of_rows(rows):
    table = counts_table(pl.DataFrame([
        {"row": n, "list": "x", "tier": "generalization", "class": label, "query": f"q{n % 4}", "intersection": inter,
         "union": inter + rest, "frame_px": 200, "void_px": 0, "predicted_void_px": 0}
        for n, (inter, rest, label) in enumerate(rows)
    ]))  # fmt: skip
    for aggregate in ("accumulate", "per_pair"):
        choice = ScoreSettings(repeats=5, aggregate=aggregate)
        scores = all_scores(table, choice)
        assert all(0 <= score.value <= 1 for score in scores)
        again = all_scores(table.reverse(), choice)
        assert [score.value for score in again] == pytest.approx([score.value for score in scores])


def test_mode_says_every_choice():
    mode = ScoreSettings(
        aggregate="per_pair", void="script", weights=(1.0, 1.0, 1.0, 2.0), strict_published=True
    ).mode
    assert all(
        word in mode
        for word in ("per_pair", "script", "1 1 1 2", "strict_published", "SCS published", "clamp")
    )


def test_mean_and_spread_of_runs():
    assert mean_and_spread([0.2, 0.4]) == (pytest.approx(0.3), pytest.approx(0.1 * math.sqrt(2)))
    assert math.isnan(mean_and_spread([0.2])[1])
    with pytest.raises(InvalidInput):
        mean_and_spread([])
