import math

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.systems.scenes.edges.edge_counts import EdgeCounts
from segarena.systems.scenes.edges.edge_summary import (
    f_measure,
    recall_at_precision,
    summarise_edges,
)


def counts(table, thresholds=None):
    columns = np.array(table, float).T
    names = ("target_matched", "target", "prediction_matched", "prediction")
    thresholds = (
        np.arange(1, len(table) + 1) / (len(table) + 1) if thresholds is None else thresholds
    )
    return EdgeCounts(
        thresholds=np.asarray(thresholds, float), **dict(zip(names, columns, strict=True))
    )


def test_one_threshold_is_its_own_best():
    summary = summarise_edges([counts([(60, 100, 40, 50)])])
    assert (summary.ods.recall, summary.ods.precision) == (0.6, 0.8)
    assert summary.ods.f == pytest.approx(2 * 0.6 * 0.8 / 1.4)
    assert summary.ap == 0.0


def test_counts_are_pooled_over_images_before_rates():
    summary = summarise_edges([counts([(10, 10, 10, 10)]), counts([(0, 90, 0, 90)])])
    assert summary.ods.recall == pytest.approx(0.1)
    assert summary.ods.precision == pytest.approx(0.1)


def test_between_thresholds_recall_and_precision_are_straight():
    # R 1 to 0 and P 0 to 1: halfway both are 0.5, F 0.5, while F is 0 at both ends.
    summary = summarise_edges([counts([(10, 10, 0, 10), (0, 10, 10, 10)], [0.0, 1.0])])
    assert summary.ods.f == pytest.approx(0.5, abs=1e-3)
    assert summary.ods.threshold == pytest.approx(0.5, abs=0.01)
    assert [score.f for score in summary.curve] == [0.0, 0.0]


def test_the_best_threshold_of_each_image_is_at_least_as_good():
    one, two = counts([(9, 10, 9, 10), (1, 10, 1, 10)]), counts([(1, 10, 1, 10), (9, 10, 9, 10)])
    summary = summarise_edges([one, two])
    assert summary.ois.f == pytest.approx(0.9)
    assert summary.ods.f == pytest.approx(0.5)
    assert [score.f for score in summary.images] == [pytest.approx(0.9)] * 2


def test_average_precision_of_a_flat_curve_is_its_height_over_its_range():
    # P 0.5 for R from 0.2 to 0.6: 41 of the 101 samples.
    summary = summarise_edges([counts([(60, 100, 50, 100), (20, 100, 50, 100)])])
    assert summary.ap == pytest.approx(41 * 0.5 * 0.01)


def test_of_equal_recalls_the_first_or_the_last_stays():
    table = [(60, 100, 20, 100), (60, 100, 40, 100), (0, 100, 80, 100)]
    first = summarise_edges([counts(table)], occurrence="first").ap
    last = summarise_edges([counts(table)], occurrence="last").ap
    samples = np.arange(61) / 60
    assert first == pytest.approx(0.01 * (0.8 + samples * (0.2 - 0.8)).sum())
    assert last == pytest.approx(0.01 * (0.8 + samples * (0.4 - 0.8)).sum())


def test_recall_at_half_precision_lies_where_the_curve_crosses():
    recall, precision = np.array([0.8, 0.6, 0.2]), np.array([0.4, 0.6, 0.9])
    assert recall_at_precision(recall, precision, 0.5) == pytest.approx(0.7)
    assert recall_at_precision(recall, precision, 0.6) == pytest.approx(0.6)
    assert math.isnan(recall_at_precision(recall, precision, 0.95))
    assert math.isnan(recall_at_precision(recall, precision, 0.3))


def test_f_of_nothing_is_zero():
    assert f_measure(0.0, 0.0) == 0.0


def test_images_at_other_thresholds_are_refused():
    for given in ([], [counts([(1, 1, 1, 1)]), counts([(1, 1, 1, 1)] * 2)]):
        with pytest.raises(InvalidInput, match="edge counts"):
            summarise_edges(given)
