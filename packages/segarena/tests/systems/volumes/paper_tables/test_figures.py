"""RadioActive's figures, compared with other statements of the paper: means over datasets, and repeated rows."""

import math

import pytest

from segarena.plugin_spec import PluginSpec
from segarena.published import find_table
from segarena.registry import build

# The paper averages before it rounds: ten figures and their mean are each off by at most 0.005.
ROUNDED_TWICE = 0.0101


def rows(number):
    """Return {(model, condition, iteration): {dataset: figure}}."""
    found = {}
    for figure in find_table(f"radioactive:{number}").figures:
        key = (figure.model, figure.condition, figure.words.get("iteration", ""))
        found.setdefault(key, {})[figure.dataset] = figure.value
    return found


@pytest.mark.parametrize("number", [2, 3, 4, 5, 6, 7, 9])
def test_every_mean_follows_from_its_row(number):
    table = find_table(f"radioactive:{number}")
    means = [name for name in table.datasets if table.data[name].mean_of and name != "D8"]
    assert means
    for key, row in rows(number).items():
        with_liver = {name: value for name, value in row.items() if name not in means}
        for name in means:
            parts = [with_liver.get(part, math.nan) for part in table.data[name].mean_of]
            known = [value for value in parts if not math.isnan(value)]
            assert row[name] == pytest.approx(sum(known) / len(known), abs=ROUNDED_TWICE), (
                key,
                name,
            )


def test_the_means_over_mri_and_ct_follow_from_the_tables_before():
    shown = rows(3) | rows(4)
    table = find_table("radioactive:8")
    for key, row in rows(8).items():
        for name in ("MRI", "CT"):
            parts = [shown[key][part] for part in table.data[name].mean_of]
            assert row[name] == pytest.approx(sum(parts) / len(parts), abs=ROUNDED_TWICE), (
                key,
                name,
            )
        assert row["Average"] == shown[key]["Average"]


def test_liver_and_tumours_together_are_d8():
    shown = rows(3) | rows(4)
    for key, row in rows(7).items():
        assert (row["D8a"] + row["D8b"]) / 2 == pytest.approx(
            shown[key]["D8"], abs=ROUNDED_TWICE
        ), key
        for name in ("D1", "D2", "D3", "D4", "D5", "D6", "D7", "D9", "D10"):
            assert row[name] == shown[key][name], (key, name)


def test_boxes_that_are_not_moved_are_those_of_table_3():
    assert rows(9)["SAM2", "3B Inter", ""] == rows(3)["SAM2", "3B Inter", ""]


def test_refinement_starts_where_one_point_per_slice_ends():
    first = rows(2)
    for (model, condition, iteration), row in rows(5).items():
        if (
            condition.startswith("1PPS") and iteration == "Round 1" and model != "SAM"
        ):  # SAM has NaN there
            for name, value in row.items():
                assert value == pytest.approx(first[model, "1PPS", ""][name], abs=0.011), (
                    model,
                    condition,
                    name,
                )


@pytest.mark.parametrize("number", range(2, 10))
def test_every_condition_is_a_user_of_the_benchmark(number):
    table = find_table(f"radioactive:{number}")
    for condition in {row.condition for row in table.rows}:
        told = table.conditions[condition]
        made = build("benchmark", PluginSpec(table.benchmark, {**table.options, **told.options}))
        assert told.user in [user.own_name for user in made.users], condition
