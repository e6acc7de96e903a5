import math

import pytest

from segarena.reports.recorded_run import read_runs
from segarena.reports.run_statistics import (
    curve_intervals,
    difference_direction,
    mean_over_users,
    noc_counts,
    paired_rows,
    summary_rows,
    target_values,
    timing_rows,
)


@pytest.fixture
def read(make_run):
    def one(dialogues, name="run", **changes):
        return read_runs([make_run(dialogues, name, **changes)])[0]

    return one


def statistic(run, name):
    return next(s for s in run.summary if s.name == name)


def test_the_summary_of_two_targets_is_as_computed_by_hand(read, make_dialogue):
    run = read(
        [
            make_dialogue("photo-0", "disc-0", "centre", [0.5, 0.9, 0.95, 0.95]),
            make_dialogue("photo-1", "disc-0", "centre", [0.2, 0.4, 0.6, 0.8]),
        ]
    )
    (row,) = summary_rows([run])
    assert row.cells["NoC@90"].mean == pytest.approx((2 + 4) / 2)
    assert row.cells["NoF@90"].mean == pytest.approx(1 / 2)
    assert row.cells["IoU@1"].mean == pytest.approx(0.35)
    assert row.cells["AuC"].mean == pytest.approx(
        ((0.725 + 0.9 + 0.95) / 3 + (0.5 + 0.4 + 0.6) / 3) / 2
    )
    assert (row.targets, row.dialogues, row.failures) == (2, 2, 0)
    # Two images: the bootstrap draws (a, a), (a, b), (b, a) or (b, b), so the interval ends at the two values.
    assert (row.cells["IoU@1"].low, row.cells["IoU@1"].high) == pytest.approx((0.2, 0.5))


def test_a_dialogue_that_ended_early_holds_its_last_value(read, make_dialogue):
    run = read([make_dialogue("photo-0", "disc-0", "centre", [0.5, 1.0])])
    (row,) = summary_rows([run])
    assert row.cells["AuC"].mean == pytest.approx((0.75 + 1.0 + 1.0) / 3)
    assert [interval.mean for interval in curve_intervals(run, "centre", "iou")] == [
        0.5,
        1.0,
        1.0,
        1.0,
    ]


def test_repeats_are_averaged_before_targets(read, make_dialogue):
    run = read(
        [
            *(
                make_dialogue("photo-0", "disc-0", "centre", [v], repeat=r)
                for r, v in enumerate((0.1, 0.3))
            ),
            make_dialogue("photo-1", "disc-0", "centre", [0.8]),
        ]
    )
    assert target_values(run, "centre", statistic(run, "IoU@1")) == pytest.approx(
        {("photo-0", "disc-0"): 0.2, ("photo-1", "disc-0"): 0.8}
    )
    (row,) = summary_rows([run])
    assert row.cells["IoU@1"].mean == pytest.approx(0.5)
    assert (row.targets, row.dialogues) == (2, 3)


def test_targets_of_one_image_are_drawn_together(read, make_dialogue):
    run = read(
        [
            make_dialogue(sample, target, "centre", [value])
            for sample, value in (("photo-0", 0.2), ("photo-1", 0.6))
            for target in ("disc-0", "disc-1", "disc-2", "disc-3")
        ]
    )
    (row,) = summary_rows([run])
    # Both images are the same one in half of the draws; eight targets drawn singly would all be 0.2 in 1 of 256 only.
    assert (row.cells["IoU@1"].low, row.cells["IoU@1"].high) == pytest.approx((0.2, 0.6))


def test_failures_are_counted_and_left_out_of_the_means(read, make_dialogue):
    run = read(
        [
            make_dialogue("photo-0", "disc-0", "centre", [0.4]),
            make_dialogue("photo-0", "disc-1", "centre", [0.9], failure="predict: gone"),
            make_dialogue("photo-1", "", "", [], failure="encode: no memory"),
        ]
    )
    (row,) = summary_rows([run])
    assert row.cells["IoU@1"].mean == pytest.approx(0.4)
    assert (row.targets, row.failures) == (1, 2)


def test_a_metric_that_is_not_defined_leaves_its_dialogue_out(read, make_dialogue):
    run = read(
        [
            make_dialogue("photo-0", "disc-0", "centre", [0.4]),
            make_dialogue("photo-1", "disc-0", "centre", [math.nan]),
        ]
    )
    (row,) = summary_rows([run])
    assert row.cells["IoU@1"].n == 1
    assert row.targets == 2


def test_a_run_minus_itself_is_zero_everywhere(make_run, make_ramps):
    path = make_run(make_ramps())
    runs = read_runs([path, path])
    rows = paired_rows(runs)
    assert [row.user for row in rows] == ["centre", "edge"]
    for row in rows:
        assert (row.matched, row.unmatched) == (8, 0)
        for cell in row.cells.values():
            assert (cell.difference, cell.p_value, cell.ties) == (0.0, 1.0, 1.0)
        assert {difference_direction(row.cells[s.name], s) for s in runs[0].summary} == {"unclear"}


@pytest.mark.parametrize(
    ("photographs", "p_value", "says"), [(5, 2 / 32, "unclear"), (6, 2 / 64, "better")]
)
def test_a_constant_lift_is_better_where_the_photographs_are_enough(
    make_run, make_dialogue, photographs, p_value, says
):
    def run(name, lift):
        values = {(f"photo-{i}", "disc-0"): 0.1 * i for i in range(photographs)}
        values["photo-0", "disc-1"] = 0.5
        return make_run(
            [make_dialogue(*key, "centre", [v + lift]) for key, v in values.items()], name
        )

    runs = read_runs([run("first", 0.0), run("second", 0.125)])
    (row,) = paired_rows(runs)
    cell = row.cells["IoU@1"]
    ends = (0.125, 0.125) if says == "better" else (math.nan, math.nan)
    assert (cell.difference, cell.low, cell.high) == pytest.approx((0.125, *ends), nan_ok=True)
    assert (cell.p_value, cell.n, cell.clusters) == (p_value, photographs + 1, photographs)
    assert difference_direction(cell, statistic(runs[0], "IoU@1")) == says
    assert (row.label, row.baseline) == ("disc #2", "disc #1")


def test_targets_of_one_run_only_are_counted_and_not_compared(make_run, make_ramps):
    everything = make_ramps(("centre",))
    runs = read_runs([make_run(everything, "all"), make_run(everything[1:5], "some")])
    (row,) = paired_rows(runs)
    assert (row.matched, row.unmatched) == (4, 4)
    assert {cell.n for cell in row.cells.values()} == {4}
    assert {cell.difference for cell in row.cells.values()} == {0.0}


def test_equal_names_in_different_datasets_are_not_the_same_target(make_run, make_ramps):
    runs = read_runs(
        [make_run(make_ramps(), "a"), make_run(make_ramps(), "b", dataset={"name": "another"})]
    )
    assert paired_rows(runs) == ()


def test_runs_are_compared_with_the_first_one_on_their_dataset(make_run, make_ramps):
    other = {"dataset": {"name": "another"}}
    paths = [
        make_run(make_ramps(lift=0.1 * i), f"run-{i}", **(other if i % 2 else {})) for i in range(4)
    ]
    rows = paired_rows(read_runs(paths))
    assert [(row.run, row.matched, row.unmatched) for row in rows] == [(2, 8, 0), (3, 8, 0)] * 2
    assert all(row.cells["IoU@1"].difference > 0 for row in rows)


def test_noc_counts_tell_the_last_round_from_never(read, make_dialogue):
    curves = ([0.9, 0.9, 0.9, 0.9], [0.1, 0.1, 0.1, 0.9], [0.1, 0.1, 0.1, 0.1], [0.1, 0.95])
    run = read(
        [
            make_dialogue("photo-0", f"disc-{i}", "centre", list(values))
            for i, values in enumerate(curves)
        ]
    )
    counts, never = noc_counts(run, "centre", statistic(run, "NoC@90"))
    assert counts.tolist() == [1, 1, 0, 1]
    assert never == 1


def test_a_target_solved_in_the_last_round_is_a_failure_only_as_published(read, make_dialogue):
    dialogues = [make_dialogue("photo-0", "disc-0", "centre", [0.1, 0.1, 0.1, 0.95])]
    careful = read(dialogues, "careful")
    published = read(dialogues, "published", benchmark={"options": {"solved_at_last": "failure"}})
    assert [summary_rows([run])[0].cells["NoF@90"].mean for run in (careful, published)] == [
        0.0,
        1.0,
    ]


def test_users_are_averaged_per_target(read, make_dialogue):
    run = read(
        [
            make_dialogue("photo-0", "disc-0", user, [value])
            for user, value in (("a", 0.2), ("b", 0.6))
        ]
    )
    assert mean_over_users(run, statistic(run, "IoU@1")) == pytest.approx(
        {("photo-0", "disc-0"): 0.4}
    )


def test_seconds_are_medians_and_encoder_passes_are_counted(read, make_ramps):
    rows = timing_rows([read(make_ramps(), predict_s=0.125)])
    assert [(row.user, row.rounds, row.median_s, row.p95_s) for row in rows] == [
        ("centre", 32, 0.125, 0.125),
        ("edge", 32, 0.125, 0.125),
    ]
    assert {(row.encodes, row.encode_median_s) for row in rows} == {(4, 1.0)}


def test_a_run_in_which_nothing_was_finished_has_empty_cells(read, make_dialogue):
    run = read([make_dialogue("photo-0", "disc-0", "centre", [], failure="encode: out of memory")])
    (row,) = summary_rows([run])
    assert (row.targets, row.failures) == (0, 1)
    assert all(math.isnan(cell.mean) for cell in row.cells.values())
