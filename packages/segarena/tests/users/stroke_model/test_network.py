from __future__ import annotations

import numpy as np
import pytest

from segarena.users.stroke_model.network import Network, sample_categorical

MEAN = np.array([1.0, 0.0], np.float32)
SCALE = np.array([1.0, 0.5], np.float32)
FIRST = np.eye(2, dtype=np.float32), np.zeros(2, np.float32)
SECOND = np.array([[1.0], [2.0]], np.float32), np.ones(1, np.float32)
NETWORK = Network(MEAN, SCALE, [FIRST, SECOND])


def test_layers_by_hand():
    # (3 - 1) * 1 = 2 and (4 - 0) * .5 = 2; rectified; 1 * 2 + 2 * 2 + 1 = 7. A negative unit counts 0.
    assert NETWORK(np.array([[3.0, 4.0], [3.0, -4.0]], np.float32)).tolist() == [[7], [3]]


def test_inputs_far_from_all_seen_count_as_five_standard_deviations():
    assert NETWORK(np.array([[900.0, 0.0]], np.float32)).tolist() == [[6]]


def test_arrays_there_and_back():
    again = Network.of(NETWORK.arrays())
    inputs = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    assert np.array_equal(again(inputs), NETWORK(inputs))


def test_choices_come_as_often_as_their_weights_say():
    logits = np.log(np.tile(np.array([[0.5, 0.2, 0.3]], np.float32), (20_000, 1)))
    counts = np.bincount(sample_categorical(logits, np.random.default_rng(0)), minlength=3) / 20_000
    assert counts == pytest.approx([0.5, 0.2, 0.3], abs=0.015)
