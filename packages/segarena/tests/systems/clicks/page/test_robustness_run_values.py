"""Values of clicking groups and first clicks, from made-up runs with answers computed by hand."""

import math

import numpy as np
import polars as pl
import pytest
from separate_files import write_separately

from segarena.arrays.rle import encode_rle
from segarena.engine.run_folder import RunFolder
from segarena.errors import InvalidInput
from segarena.reports.recorded_run import read_runs
from segarena.systems.clicks.page.robustness_run_values import (
    base_user_run,
    first_click_positions,
    first_click_values,
    group_values,
    is_robustness_run,
    mean_first_mask,
    user_roles,
    without_first_click_users,
)
from segarena.systems.clicks.page.robustness_statistics import (
    dataset_hardness,
    first_click_rows,
    group_rows,
    measure_correlations,
)

ROUNDS = 4
NEVER = 5


@pytest.fixture
def asked(make_dialogue):
    """Return a function that makes one dialogue per user which needs the given number of clicks to
    0.95.
    """

    def make(target, needed, sample="photo-0"):
        return [
            make_dialogue(sample, target, user, curve(clicks)) for user, clicks in needed.items()
        ]

    return make


def curve(clicks):
    return [0.5 if number < clicks else 0.95 for number in range(1, ROUNDS + 1)]


FIRST = {"centre": 2, "G1": NEVER, "G2": 4, "G3": 2, "G4": 2}
SECOND = {"centre": 1, "G1": 2, "G2": 1, "G3": 1, "G4": 2}


@pytest.fixture
def two_targets(asked):
    return asked("disc-0", FIRST) + asked("disc-1", SECOND, "photo-1")


def row_of(path, name):
    return next(row for row in group_rows(read_runs([path])) if row.statistic.name == name)


def test_noc_over_groups(rclicks, two_targets):
    row = row_of(rclicks(two_targets), "NoC@90")
    # disc-0: base 2, groups 4 4 2 2; disc-1: base 1, groups 2 1 1 2.
    assert row.groups.base.mean == 1.5
    assert row.groups.sample.mean == (3 + 1.5) / 2
    assert row.groups.sample_std.mean == (1 + 0.5) / 2
    assert row.groups.asb.mean == (1 / 2 + 0.5 / 1) / 2
    assert row.groups.agr.mean == (2 / 2 + 0) / 2
    assert row.groups.ahh.mean == (2 / 2 + 0) / 2
    assert row.nsr is None
    assert (row.targets, row.left_out) == (2, 0)


def test_published_ahh_is_taken_group_by_group(rclicks, two_targets):
    row = row_of(rclicks(two_targets, protocol="published"), "NoC@90")
    # disc-1: G1 from G3 (2 - 1) / 1, G2 from G4 (1 - 2) / 2.
    assert row.groups.ahh.mean == (1 + (1 - 0.5) / 2) / 2


def test_nof_counts_targets(rclicks, two_targets):
    row = row_of(rclicks(two_targets), "NoF@90")
    assert row.groups.base.mean == 0
    assert row.groups.sample.mean == 1 / 4
    assert row.groups.sample_std.mean == pytest.approx(math.sqrt(3) / 4)
    assert math.isnan(row.groups.sample_std.low)
    assert (row.groups.asb.mean, row.groups.agr.mean, row.groups.ahh.mean) == (1 / 4, 1, 1 / 2)


def test_published_nof_counts_what_is_solved_at_the_last_click(rclicks, two_targets):
    row = row_of(rclicks(two_targets, protocol="published"), "NoF@90")
    assert row.groups.sample.mean == 2 / 4
    assert (row.groups.agr.mean, row.groups.ahh.mean) == (1, 1)


def test_auc_differences_and_noise_to_signal(rclicks, two_targets):
    row = row_of(rclicks(two_targets), "AuC")
    areas = np.array(
        [
            [np.trapezoid(curve(needed[user])) / 3 for user in ("centre", "G1", "G2", "G3", "G4")]
            for needed in (FIRST, SECOND)
        ]
    )
    base = areas[:, 0]
    groups = areas[:, 1:]
    assert row.groups.sample.mean == pytest.approx(groups.mean())
    assert row.groups.asb.mean == pytest.approx((groups.mean(axis=1) - base).mean())
    assert row.groups.agr.mean == pytest.approx((groups[:, 0] - groups[:, 3]).mean())
    assert row.groups.ahh.mean == pytest.approx(
        (groups[:, :2].mean(axis=1) - groups[:, 2:].mean(axis=1)).mean()
    )
    assert row.nsr.mean == pytest.approx((groups.std(axis=1) / groups.mean(axis=1)).mean())


def test_targets_of_one_image_share_an_interval(rclicks, asked):
    same_image = asked("disc-0", FIRST) + asked("disc-1", SECOND)
    row = row_of(rclicks(same_image), "NoC@90")
    assert row.groups.asb.mean == 0.5
    assert math.isnan(row.groups.asb.low)


def test_interval_holds_the_mean_of_two_images(rclicks, two_targets):
    row = row_of(rclicks(two_targets), "NoC@90")
    assert (row.groups.agr.low, row.groups.agr.high) == (0, 1)


def test_repeats_are_averaged_before_ratios(rclicks, make_dialogue, asked):
    needed = {"G1": 4, "G2": 2, "G3": 2, "G4": 2}
    repeated = [
        make_dialogue("photo-0", "disc-0", "centre", curve(k), repeat=i)
        for i, k in enumerate((1, 3))
    ]
    row = row_of(rclicks(repeated + asked("disc-0", needed)), "NoC@90")
    # Base (1 + 3) / 2 = 2, so 2.5 is a quarter more; the mean of ratios of single repeats would be another.
    assert row.groups.base.mean == 2
    assert row.groups.asb.mean == 1 / 4


def test_target_that_a_group_failed_on_is_left_out(rclicks, make_dialogue, two_targets):
    failed = make_dialogue("photo-2", "disc-0", "G2", [0.5], failure="predict: no")
    others = [
        make_dialogue("photo-2", "disc-0", user, curve(1)) for user in ("centre", "G1", "G3", "G4")
    ]
    row = row_of(rclicks([*two_targets, failed, *others]), "NoC@90")
    assert (row.targets, row.left_out) == (2, 1)
    assert row.groups.sample.mean == 2.25


def test_run_without_a_group_has_no_group_statistics(rclicks, asked):
    path = rclicks(asked("disc-0", {"centre": 1, "G1": 2, "G4": 1}))
    (run,) = read_runs([path])
    assert user_roles(run).groups == ()
    assert user_roles(run).missing == ("G2", "G3")
    row = row_of(path, "NoC@90")
    assert row.targets == 0
    assert math.isnan(row.groups.asb.mean)
    assert math.isnan(row_of(path, "NoF@90").groups.sample_std.mean)


def test_group_values_are_from_least_to_most_likely(rclicks, two_targets):
    (run,) = read_runs([rclicks(two_targets)])
    noc = next(s for s in run.summary if s.kind == "noc")
    values = group_values(run, noc)
    assert values.groups.tolist() == [[4, 4, 2, 2], [2, 1, 1, 2]]
    assert values.base.tolist() == [2, 1]


@pytest.fixture
def clicked(rclicks, make_dialogue, two_targets):
    """A run with real clicks on two of three targets, sampled ones on as many."""
    real = {("photo-0", "disc-0"): [0.2, 0.4, 0.6, 0.8], ("photo-1", "disc-1"): [0.5, 0.5]}
    sampled = {("photo-0", "disc-0"): [0.4, 0.4, 0.8, 0.8], ("photo-1", "disc-1"): [0.3, 0.9]}
    more = [
        make_dialogue(*key, user, [iou], repeat=i)
        for user, table in (("real", real), ("sampled", sampled))
        for key, ious in table.items()
        for i, iou in enumerate(ious)
    ]
    third = [make_dialogue("photo-2", "disc-0", user, curve(1)) for user in FIRST]
    return rclicks([*two_targets, *third, *more], real="real", sampled="sampled")


def test_first_clicks_of_real_people(clicked):
    rows = {row.user_kind: row for row in first_click_rows(read_runs([clicked]))}
    real = rows["real"]
    assert real.mean.mean == pytest.approx(0.5)
    assert real.std.mean == pytest.approx(math.sqrt(0.05) / 2)
    assert real.nsr.mean == pytest.approx(math.sqrt(0.05) / 0.5 / 2)
    assert (real.targets, real.clicks, real.without) == (2, 6, 1)


def test_first_clicks_sampled_and_of_the_base_user_are_of_the_same_targets(clicked):
    rows = {row.user_kind: row for row in first_click_rows(read_runs([clicked]))}
    sampled = rows["sampled"]
    base = rows["base"]
    assert sampled.mean.mean == pytest.approx(0.6)
    assert sampled.std.mean == pytest.approx((0.2 + 0.3) / 2)
    assert sampled.nsr.mean == pytest.approx((0.2 / 0.6 + 0.3 / 0.6) / 2)
    assert sampled.to_real.difference == pytest.approx(0.1)
    # The third target, whose first click gives 0.95, has no real clicks.
    assert base.mean.mean == pytest.approx((0.5 + 0.95) / 2)
    assert (base.targets, base.std, base.nsr) == (2, None, None)


def test_first_clicks_of_groups_are_one_each(clicked):
    groups = next(
        row for row in first_click_rows(read_runs([clicked])) if row.user_kind == "groups"
    )
    # disc-0: all 0.5; disc-1: 0.5 0.95 0.95 0.5.
    assert groups.mean.mean == pytest.approx((0.5 + 0.725) / 2)
    assert groups.std.mean == pytest.approx(0.225 / 2)
    assert groups.clicks == 8


def test_without_real_clicks_the_groups_stand_for_people(rclicks, two_targets):
    runs = read_runs([rclicks(two_targets)])
    assert [row.user_kind for row in first_click_rows(runs)] == ["base", "groups"]
    assert first_click_rows(runs)[0].to_real is None
    (hard,) = dataset_hardness(runs)
    assert hard.user_kind == "groups"
    assert hard.nsr.tolist() == pytest.approx([0, 0.225 / 0.725])
    assert hard.ranking == [1, 0]


def test_hardness_averages_segmenters_before_the_ratio(rclicks, make_dialogue):
    def run(name, ious):
        said = [make_dialogue("photo-0", "disc-0", user, curve(1)) for user in FIRST]
        said += [
            make_dialogue("photo-0", "disc-0", "real", [iou], repeat=i)
            for i, iou in enumerate(ious)
        ]
        return rclicks(said, name, real="real", segmenter=name)

    (hard,) = dataset_hardness(read_runs([run("one", [0.2, 0.4]), run("two", [0.9, 0.9])]))
    assert hard.means.tolist() == pytest.approx([0.6])
    assert hard.stds.tolist() == pytest.approx([0.05])
    assert hard.nsr.tolist() == pytest.approx([0.05 / 0.6])


def test_repeats_of_a_group_are_averaged_and_those_of_people_are_people(rclicks, make_dialogue):
    said = [
        make_dialogue("photo-0", "disc-0", user, [iou] * ROUNDS, repeat=repeat)
        for user in FIRST
        for repeat, iou in enumerate((0.2, 0.6))
    ]
    (run,) = read_runs([rclicks(said)])
    key = ("photo-0", "disc-0")
    assert first_click_values(run, ["G1", "G2"])[key].tolist() == pytest.approx([0.4, 0.4])
    assert first_click_values(run, ["G1"])[key].tolist() == pytest.approx([0.2, 0.6])


def test_first_positions_are_of_the_first_round_only(clicked):
    (run,) = read_runs([clicked])
    assert first_click_positions(run, "G1", ("photo-0", "disc-0")) == [(11.0, 20.0)]
    assert len(first_click_positions(run, "real", ("photo-0", "disc-0"))) == 4
    assert first_click_positions(run, "real", ("photo-2", "disc-0")) == []


def test_mean_mask_weighs_users_alike_however_often_they_repeat(rclicks, make_dialogue):
    said = [
        make_dialogue("photo-0", "disc-0", "G1", curve(1), repeat=repeat) for repeat in range(3)
    ]
    said += [
        make_dialogue("photo-0", "disc-0", user, curve(1)) for user in ("centre", "G2", "G3", "G4")
    ]
    path = rclicks(said)
    write_separately(RunFolder.open(path), 0)
    file = path / "masks" / "000000.parquet"
    nothing = encode_rle(np.zeros((90, 120), dtype=bool))
    is_g1 = (pl.col("user") == "G1") & (pl.col("repeat") < 2)
    table = pl.read_parquet(file)
    table.with_columns(
        rle=pl.when(is_g1).then(pl.lit(nothing)).otherwise(pl.col("rle"))
    ).write_parquet(file)
    (run,) = read_runs([path])
    mean = mean_first_mask(run, ["G1", "G2"], ("photo-0", "disc-0"))
    assert mean.shape == (90, 120)
    assert np.unique(mean).tolist() == pytest.approx([0, (1 / 3 + 1) / 2])
    assert mean_first_mask(run, ["real"], ("photo-0", "disc-0")) is None


def test_other_benchmarks_have_no_base_user_and_groups(make_run, make_ramps):
    (run,) = read_runs([make_run(make_ramps())])
    assert not is_robustness_run(run)


def test_first_click_users_are_no_whole_dialogues(clicked):
    (run,) = read_runs([clicked])
    assert without_first_click_users(run).users == ("centre", "G1", "G2", "G3", "G4")
    assert base_user_run(run).users == ("centre",)
    assert {d.user for d in base_user_run(run).dialogues} == {"centre"}


def three_runs(rclicks, asked, names=("a", "b", "c"), **changes):
    needs = [(2, 1), (1, 1), (3, 2)]
    return [
        rclicks(
            asked("disc-0", {"centre": first, "G1": first + 1, "G2": first, "G3": second, "G4": 1}),
            f"{name}-{changes.get('dataset', {}).get('name', 'one')}",
            segmenter=name,
            **changes,
        )
        for name, (first, second) in zip(names, needs, strict=True)
    ]


def test_correlations_need_three_segmenters(rclicks, asked):
    paths = three_runs(rclicks, asked)
    matrix, why = measure_correlations(read_runs(paths[:2]))
    assert matrix is None
    assert "at least three segmenters" in why
    matrix, _ = measure_correlations(read_runs(paths))
    at = {name: place for place, name in enumerate(matrix.names)}
    # NoC 2 1 3 of the base user, IoU@1 0.5 0.95 0.5: ranks 2 1 3 against 1.5 3 1.5.
    pair = (at["base IoU@1"], at["base NoC@90"])
    assert matrix.values[pair] == pytest.approx(math.sqrt(3) / 2)
    assert matrix.values[pair[::-1]] == pytest.approx(
        abs(np.corrcoef([2, 1, 3], [0.5, 0.95, 0.5])[0, 1])
    )


def test_correlations_are_over_segmenters_that_every_dataset_has(rclicks, asked):
    other = {"name": "elsewhere", "fingerprint": "other"}
    paths = three_runs(rclicks, asked) + three_runs(rclicks, asked, dataset=other)
    matrix, about = measure_correlations(read_runs(paths))
    assert about == "3 segmenters on 2 datasets"
    assert matrix is not None
    assert measure_correlations(read_runs(paths[:4]))[0] is None


def test_runs_on_other_data_may_have_other_clicks(rclicks, asked):
    one = rclicks(asked("disc-0", FIRST), "one", clicks={"dataset": None, "sha256": "1"})
    other = {"name": "elsewhere", "fingerprint": "other"}
    two = rclicks(
        asked("disc-0", SECOND), "two", clicks={"dataset": None, "sha256": "2"}, dataset=other
    )
    runs = read_runs([one, two])
    assert [run.label for run in runs] == ["disc on Photographs", "disc on elsewhere"]
    noc = [row for row in group_rows(runs) if row.statistic.name == "NoC@90"]
    assert [(runs[row.run].data, row.groups.sample.mean) for row in noc] == [
        ("Photographs", 3),
        ("elsewhere", 1.5),
    ]


def test_further_thresholds(rclicks, two_targets):
    path = rclicks(two_targets)
    rows = group_rows(read_runs([path], thresholds=[0.5, 0.9]))
    assert [row.statistic.name for row in rows] == ["NoC@50", "NoC@90", "NoF@50", "NoF@90", "AuC"]
    assert rows[0].groups.sample.mean == 1
    with pytest.raises(InvalidInput, match="threshold"):
        read_runs([path], thresholds=[1.5])
