"""Milliseconds per click and per encoding of the segmenters without weights, at 481 x 321.

    python benches/segmenters.py [NAME ...]

Photographs of scikit-image, shrunk to 481 x 321, with three artificial targets (discs of the
photographs' middle third) in each, and twenty centre clicks per target. Figures are for one thread.
"""

from __future__ import annotations

import sys
import time

import cv2
import numpy as np
from skimage import data

from segarena import registry
from segarena.dialogue import Dialogue, as_prediction
from segarena.prompts import Click
from segarena.samples import ImageSample

SHAPE = (321, 481)
ROUNDS = 20


def photographs() -> list[ImageSample]:
    """Return the photographs that ship with scikit-image, in colour and shrunk."""
    images = {"astronaut": data.astronaut(), "coffee": data.coffee(), "chelsea": data.chelsea()}
    return [
        ImageSample(id=name, image=cv2.resize(image, SHAPE[::-1], interpolation=cv2.INTER_AREA))
        for name, image in images.items()
    ]


def targets() -> list[np.ndarray]:
    """Return three discs; their content does not affect the time."""
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    circles = [(160, 240, 90), (120, 150, 45), (200, 330, 25)]
    return [
        (rows - row) ** 2 + (columns - column) ** 2 < radius**2 for row, column, radius in circles
    ]


def next_click(prediction: np.ndarray, target: np.ndarray) -> Click | None:
    """Return the middle of the deepest error."""
    depths = [
        cv2.distanceTransform(np.pad(error, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
        for error in (target & ~prediction, prediction & ~target)
    ]
    deepest = 0 if depths[0].max() >= depths[1].max() else 1
    if depths[deepest].max() == 0:
        return None
    row, column = np.unravel_index(int(np.argmax(depths[deepest])), SHAPE)
    return Click((int(row), int(column)), is_positive=deepest == 0)


def measure(name: str) -> tuple[list[float], list[float]]:
    """Return seconds per encoding and seconds per click of one segmenter."""
    segmenter = registry.build("segmenter", name)
    encodings, clicks = [], []
    segmenter.encode(photographs()[0])  # imports and warm-up
    for sample in photographs():
        start = time.perf_counter()
        encoded = segmenter.encode(sample)
        encodings.append(time.perf_counter() - start)
        for target in targets():
            dialogue, mask = Dialogue(), np.zeros(SHAPE, bool)
            for _ in range(ROUNDS):
                if (click := next_click(mask, target)) is None:
                    break
                dialogue = dialogue.ask((click,))
                start = time.perf_counter()
                answer = segmenter.predict(encoded, [dialogue])[0]
                clicks.append(time.perf_counter() - start)
                prediction = as_prediction(answer, SHAPE)
                dialogue, mask = dialogue.answer(prediction), prediction.mask
    return encodings, clicks


def main() -> None:
    """Print one line per segmenter."""
    cv2.setNumThreads(1)
    print(f"{'segmenter':12} {'encode ms':>10} {'click ms median':>16} {'p95':>6} {'clicks':>7}")
    for name in sys.argv[1:] or ["graph", "grabcut", "watershed"]:
        encodings, clicks = (1000 * np.asarray(seconds) for seconds in measure(name))
        middle, slow = np.percentile(clicks, [50, 95])
        print(f"{name:12} {np.median(encodings):10.0f} {middle:16.1f} {slow:6.1f} {len(clicks):7d}")


if __name__ == "__main__":
    main()
