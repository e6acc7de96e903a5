"""The amodal paper's figures, checked for consistency: F of precision and recall, and possible shapes."""

import pytest

from segarena.published import find_table


def rows(number):
    found = {}
    for figure in find_table(f"amodal:{number}").figures:
        found.setdefault((figure.dataset, figure.model), {})[figure.measure] = figure
    return found


def test_f_follows_from_precision_and_recall():
    for row in rows(3).values():
        p, r = row["precision"].value, row["recall"].value
        low, high = (2 * (p + d) * (r + d) / (p + r + 2 * d) for d in (-0.005, 0.005))
        assert low - 0.005 <= row["f"].value <= high + 0.005


def test_read_as_meant_no_shape_is_simpler_than_its_convexity_allows():
    for row in rows(1).values():
        assert row["simplicity"].value ** 2 <= row["convexity"].value


def test_as_printed_they_would_be():
    row = rows(1)["amodal BSDS", "amodal"]
    assert row["convexity"].value ** 2 > row["simplicity"].value


@pytest.mark.parametrize(("measure", "values"), [("density", [1.57, 1.97, 1.80])])
def test_densities_are_per_cent(measure, values):
    assert [row[measure].value for row in rows(1).values()] == values
