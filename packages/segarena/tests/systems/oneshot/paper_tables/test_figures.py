"""TOSS' figures, compared with the means that the paper prints and with its text."""

import pytest

from segarena.published import find_table

CONTRADICTS = ("3", "RPMM", "SSSI")
"""The paper prints a mean of 50.52 here; its four folds have one of 50.775."""


def figures(number):
    found = {}
    for figure in find_table(f"toss:{number}").figures:
        found.setdefault((figure.model, figure.condition), {})[figure.measure] = figure
    return found


def rows(number):
    return {
        key: {name: figure.value for name, figure in row.items()}
        for key, row in figures(number).items()
    }


@pytest.mark.parametrize(
    ("number", "folds", "mean"),
    [("1", "fold-{}", "mean"), ("3", "fold-{}", "mean"), ("2a", "of-fold-{}", "of-kind")],
)
def test_the_mean_of_the_folds_follows_from_them(number, folds, mean):
    for key, row in figures(number).items():
        own = [row[folds.format(k)] for k in range(1, 5)]
        off = abs(row[mean].value - sum(figure.value for figure in own) / 4)
        rounded = (max(figure.step for figure in own) + row[mean].step) / 2 + 1e-9
        assert (off <= rounded) == ((number, *key) != CONTRADICTS), key


def test_what_two_tables_print_of_the_same_networks_agrees():
    first, third = rows("1"), rows("3")
    for model in ("Base", "RPMM", "PFENet"):
        assert first[model, ""] == pytest.approx(third[model, ""], abs=0.011)


def test_the_leaders_of_the_scores_are_different_ones():
    scores = rows("4")
    leaders = [
        max(scores, key=lambda key, name=name: scores[key][name])[0]
        for name in ("lca", "hca", "scs", "gs")
    ]
    assert leaders == ["PFENet", "HSNet", "Baseline", "HSNet"]


def test_the_weights_of_lca_are_those_that_scores_are_made_with():
    from segarena.systems.oneshot.scoring.score_settings import PUBLISHED_WEIGHTS

    assert [row["weight"] for row in rows("partitions").values()] == list(PUBLISHED_WEIGHTS)
