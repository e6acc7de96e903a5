from __future__ import annotations

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena_people.measures.box_size_tests import run_size_tests

SIZES = ["8-16"] * 250 + ["16-32"] * 60 + ["32-64"] * 10


def boxes(seed, spread=0.05):
    return spread * np.random.default_rng(seed).standard_t(2, (len(SIZES), 4))


def test_boxes_of_one_distribution_pass_in_most_classes():
    found = [
        one.p_value > 0.05
        for seed in range(8)
        for one in run_size_tests(boxes(seed), boxes(100 + seed), SIZES)
    ]
    assert np.mean(found) > 0.7


def test_boxes_of_others_do_not_pass():
    wider = boxes(0)
    wider[250:] *= 3
    small, large = run_size_tests(wider, boxes(1), SIZES)
    assert (small.name, large.name) == ("8-16", "16-32")
    assert small.p_value > 0.05 > large.p_value
    assert large.far_ratio > 1.2


def test_uniform_noise_of_the_same_spread_is_told_from_heavy_tails():
    """Move edges by up to this number of pixels, uniformly, as benchmarks do."""
    even = np.random.default_rng(2).uniform(-1, 1, (len(SIZES), 4)) * np.abs(boxes(0)).mean() * 2
    (small, _) = run_size_tests(even, boxes(1), SIZES)
    assert small.p_value < 0.05
    assert small.far_ratio < 0.8


def test_percentiles_are_those_of_all_edges_of_the_class():
    ours = boxes(3)
    theirs = boxes(4)
    (small, _) = run_size_tests(ours, theirs, SIZES)
    assert small.far == np.quantile(np.abs(ours[:250]), 0.99)
    assert small.far_people == np.quantile(np.abs(theirs[:250]), 0.99)
    assert small.boxes == 250


def test_classes_of_few_boxes_are_left_out_and_many_are_drawn_from():
    many = np.random.default_rng(0).normal(size=(1000, 4))
    (found,) = run_size_tests(many, many, ["8-16"] * 1000)
    assert found.boxes == 400
    assert found.far_ratio == 1.0


def test_other_shapes_are_refused():
    with pytest.raises(InvalidInput, match="four features"):
        run_size_tests(np.zeros((3, 4)), np.zeros((2, 4)), ["a"] * 3)
