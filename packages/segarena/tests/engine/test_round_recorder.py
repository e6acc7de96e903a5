"""Rows of one dialogue: the masks of several objects, in little memory."""

import tracemalloc
from types import SimpleNamespace

import numpy as np

from segarena.arrays.rle import decode_rle
from segarena.engine.round_recorder import RecordedDialogue, RoundRecorder

KEY = {"sample": "s", "target": "t", "user": "u", "repeat": 0}


def recorded_masks(mask, objects):
    about = RecordedDialogue(benchmark="b", dataset="d", key=KEY, objects=objects)
    recorder = RoundRecorder(about)
    recorder.answered = 1
    return recorder.rows(SimpleNamespace(previous=SimpleNamespace(mask=mask))).masks


def test_a_label_mask_has_a_row_for_each_object_and_a_bool_mask_one():
    labels = np.array([[0, 1, 3], [3, 1, 0]], dtype=np.uint8)
    rows = recorded_masks(labels, objects=3)
    assert [row.object for row in rows] == [1, 2, 3]
    for row in rows:
        assert np.array_equal(decode_rle(row.rle, row.shape), labels == row.object)
    (row,) = recorded_masks(labels > 0, objects=1)
    assert np.array_equal(decode_rle(row.rle, row.shape), labels > 0)


def test_objects_of_a_video_are_encoded_one_after_the_other():
    labels = np.zeros((40, 200, 200), dtype=np.uint8)
    for number in range(10):
        labels[:, 18 * number : 18 * number + 15, 20:180] = number + 1
    tracemalloc.start()
    recorded_masks(labels, objects=10)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 4 * labels.nbytes
