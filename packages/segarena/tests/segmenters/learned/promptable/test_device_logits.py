"""The CPU plays the device here: copies to main memory are counted, and values compared."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from segarena.dialogue import Dialogue, Prediction  # noqa: E402
from segarena.segmenters.learned.promptable.device_logits import LogitsPool  # noqa: E402
from segarena.serialization import encode_dialogue  # noqa: E402
from segarena.worker import tell_prediction  # noqa: E402

CPU = torch.device("cpu")
BYTES = 4 * 4 * 4


def tensor(value):
    return torch.full((4, 4), float(value))


def test_logits_stay_on_the_device_until_the_limit_is_exceeded():
    pool = LogitsPool(limit_bytes=2 * BYTES)
    kept = [pool.keep(tensor(value)) for value in range(3)]
    assert [logits.is_on_device for logits in kept] == [False, True, True]
    assert pool.used_bytes == 2 * BYTES
    assert [float(logits.on(CPU)[0, 0]) for logits in kept] == [0.0, 1.0, 2.0]


def test_logits_that_nobody_needs_are_freed_without_a_copy():
    pool = LogitsPool(limit_bytes=BYTES)
    first = pool.keep(tensor(1))
    del first
    gc.collect()
    assert pool.used_bytes == 0
    second = pool.keep(tensor(2))
    assert second.is_on_device


@pytest.mark.parametrize("is_spilled", [False, True])
def test_numpy_and_pickle_read_logits_wherever_they_are(is_spilled):
    logits = LogitsPool().keep(tensor(3))
    if is_spilled:
        logits.spill()
    assert logits.shape == (4, 4)
    np.testing.assert_array_equal(np.asarray(logits), np.full((4, 4), 3, np.float32))
    assert np.asarray(logits, np.float64).dtype == np.float64
    restored = pickle.loads(pickle.dumps(logits))
    assert isinstance(restored, np.ndarray)
    np.testing.assert_array_equal(restored, np.full((4, 4), 3, np.float32))


@pytest.mark.parametrize("is_nested", [False, True])
def test_logits_on_a_device_travel_between_processes_as_arrays(is_nested):
    logits = LogitsPool().keep(tensor(3))
    answer = Prediction(np.ones((2, 2), bool), {"0": (logits,)} if is_nested else logits)
    given, sent = [], []
    tell_prediction(answer, given)
    encode_dialogue(Dialogue().answer(answer), sent, handle=lambda encoded: 0)
    for _, body in (given, sent):
        assert body.description == {"shape": [4, 4], "dtype": "<f4"}
        assert b"".join(body.parts()) == np.full((4, 4), 3, np.float32).tobytes()
