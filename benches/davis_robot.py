"""The scribbling robot in one frame of 480 x 854, compared with a baseline.

    python benches/davis_robot.py [--repeats 5]

The baseline works on 64-bit labels and on the full frame: for every label it opens the error with
scikit-image's rank filters, with a radius smaller by a tenth each time until something is left,
then computes scikit-image's medial axis, which builds its table anew each time. Paths and curves
use our code in both, so only opening and skeleton are compared. The baseline skeleton breaks ties
in our order, and both must give the same lines before anything is timed. Both alternate in one
process, on one thread. The smallest CPU time and wall time count.

Scenes: star-shaped objects, whose prediction is shifted by 7 rows and 11 columns with half of each
missing; and the same objects without a prediction, as in a first round.

Limit: at most 1/25 with 1 and with 3 objects. Cases without a limit are measured once.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import cv2
import numpy as np
from skimage.filters import rank
from skimage.morphology import medial_axis

from segarena.systems.videos.robot.bezier_line import smooth_line
from segarena.systems.videos.robot.morphological_opening import opening_radius_px, published_disk
from segarena.systems.videos.robot.published_paths import published_longest_paths
from segarena.systems.videos.robot.scribble_lines import draw_lines
from segarena.systems.videos.robot.settings import robot_preset

SHAPE = (480, 854)
BAR, BARRED = 1 / 25, (1, 3)


class InRasterOrder(np.random.Generator):
    """Makes scikit-image process equal values in raster order."""

    def permutation(self, x, axis=0):
        """Return the numbers unchanged."""
        return np.arange(len(x))


def plain_opening(error, radius_px):
    """Return the error opened on the full frame; empty if every radius above 1 leaves nothing."""
    left = error if radius_px <= 1 else np.zeros_like(error)
    while radius_px > 1:
        disk = published_disk(radius_px)
        left = rank.maximum(rank.minimum(error.astype(np.uint8), disk), disk).astype(bool)
        if left.any():
            break
        radius_px *= 0.9
    return left


def plain_lines(prediction, target, settings, objects):
    """Return (label, points) of each line."""
    lines = []
    for label in range(objects + 1):
        error = (target == label) & (prediction != label)
        if not error.any():
            continue
        left = plain_opening(error, opening_radius_px(int(error.sum()), settings))
        if not left.any():
            continue
        skeleton = medial_axis(np.pad(left, 1), rng=InRasterOrder(np.random.PCG64(0)))[1:-1, 1:-1]
        paths = published_longest_paths(skeleton, settings.min_nodes)
        lines.extend((label, smooth_line(path, settings.max_points)) for path in paths)
    return lines


def star(centre, radius_px, points, turn):
    """Return a star-shaped mask."""
    rows, columns = np.indices(SHAPE)
    away = np.hypot(rows - centre[0], columns - centre[1])
    angle = np.arctan2(rows - centre[0], columns - centre[1])
    return away <= radius_px * (1 + 0.35 * np.sin(points * angle + turn))


def scene(objects):
    """Return predicted and true labels."""
    rng = np.random.default_rng(objects)
    target, halves = np.zeros(SHAPE, dtype=np.uint8), np.zeros(SHAPE, dtype=bool)
    for label in range(1, objects + 1):
        centre = rng.uniform(100, 380), SHAPE[1] * (label - 0.5) / objects
        mask = star(
            centre,
            rng.uniform(0.8, 1.0) * 130 / objects**0.4,
            rng.integers(4, 8),
            rng.uniform(0, 6),
        )
        target[mask] = label
        halves |= mask & (np.arange(SHAPE[1]) > centre[1])
    prediction = np.zeros_like(target)
    prediction[7:, 11:] = np.where(halves, 0, target)[:-7, :-11]
    return prediction, target


def measure(prediction, target, settings, objects, repeats):
    """Return the smallest CPU and wall ms of both, and the number of lines, which must be equal."""
    wide = prediction.astype(np.int64), target.astype(np.int64)
    plain, ours = (
        plain_lines(*wide, settings, objects),
        draw_lines(prediction, target, settings, objects=objects),
    )
    same = len(plain) == len(ours) and all(
        label == line.object_id and np.array_equal(points, line.points)
        for (label, points), line in zip(plain, ours, strict=True)
    )
    if not same:
        raise SystemExit("our lines differ from those of the baseline")
    plain_ms, our_ms = [], []
    for _ in range(repeats):
        plain_ms.append(timed(lambda: plain_lines(*wide, settings, objects)))
        our_ms += [
            timed(lambda: draw_lines(prediction, target, settings, objects=objects))
            for _ in range(5)
        ]
    return [
        min(column) for times in (plain_ms, our_ms) for column in zip(*times, strict=True)
    ], len(ours)


def timed(work):
    """Return the CPU and wall milliseconds that `work` took."""
    core, clock = time.thread_time(), time.perf_counter()
    work()
    return (time.thread_time() - core) * 1e3, (time.perf_counter() - clock) * 1e3


def main():
    """Print the table; exit with 1 if the limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    warnings.simplefilter("ignore", UserWarning)  # scikit-image: an opening on a bool-like image
    missed = 0
    print(
        f"{'':44}{'wrong px':>9}{'lines':>6}{'plain ms':>10}{'ours ms':>9}{'1 /':>6}{'clock 1 /':>11}"
    )
    for name in ("local-1.0.4", "server-2020"):
        settings = robot_preset(name, mode="published", ties="raster")
        for objects in (1, 3, 10):
            prediction, target = scene(objects)
            for what, predicted in (
                ("shifted, half of each object missing", prediction),
                ("nothing predicted", 0 * prediction),
            ):
                repeats = options.repeats if objects in BARRED else 1
                times, lines = measure(predicted, target, settings, objects, repeats)
                plain_ms, plain_clock_ms, ours_ms, ours_clock_ms = times
                is_missed = objects in BARRED and ours_ms > BAR * plain_ms
                missed += is_missed
                text = f"{name}, {objects} objects, {what}"
                wrong = np.count_nonzero(predicted != target)
                flag = "  MISSED" if is_missed else ""
                ratios = f"{plain_ms / ours_ms:6.0f}{plain_clock_ms / ours_clock_ms:11.0f}"
                print(f"{text:44}{wrong:9}{lines:6}{plain_ms:10.1f}{ours_ms:9.2f}{ratios}{flag}")
    print(f"\n{missed} missed" if missed else "\nthe limit is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
