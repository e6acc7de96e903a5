"""Counts of void pixels."""

import numpy as np

from segarena.comparison import Comparison
from segarena.systems.oneshot.measures.void_pixels import VoidPixelCounts


def test_void_pixels_and_predictions_in_them_are_counted():
    prediction, target, void = (np.zeros((4, 5), bool) for _ in range(3))
    prediction[1], void[1:3, :3] = True, True
    found = VoidPixelCounts()(Comparison.of(prediction, target, void))
    assert found == {"frame_px": 20, "void_px": 6, "predicted_void_px": 3}


def test_without_void_there_is_none():
    found = VoidPixelCounts()(Comparison.of(np.ones((2, 2), bool), np.ones((2, 2), bool)))
    assert found == {"frame_px": 4, "void_px": 0, "predicted_void_px": 0}
