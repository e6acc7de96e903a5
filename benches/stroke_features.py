"""Features of strokes on a goal, compared with a baseline that processes the whole picture each time.

    python benches/stroke_features.py [--repeats 5]

The baseline thins with scikit-image, measures distances with SciPy on the whole picture, repeats
this in the goal for each stroke, and finds pieces with SciPy. Both must give the same numbers
before anything is timed. They alternate in one process, on one thread, and the smallest time
counts.

Strokes: five wavy lines of 5 px, each on the same round object, in pictures of 256 x 256.

Limit: at most 1/8 of the baseline's time.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import cv2
import numpy as np
from scipy import ndimage
from skimage.morphology import thin

from segarena_people.measures.goal_shape import GoalShape
from segarena_people.measures.stroke_features import stroke_feature_table

SHAPE = (256, 256)
BAR = 1 / 8
EVERYWHERE = np.ones((3, 3))


def strokes(count=5):
    """Return a goal, and wavy lines over it."""
    rng = np.random.default_rng(1)
    rows, columns = np.indices(SHAPE)
    angle = np.arctan2(rows - 128, columns - 120)
    goal = np.hypot(rows - 128, columns - 120) < 62 + 9 * np.sin(3 * angle) + 4 * np.sin(7 * angle)
    inks = []
    for _ in range(count):
        along = np.linspace(0, 1, 60)
        wave = (
            128
            + rng.normal(0, 10)
            + rng.uniform(8, 30) * np.sin(rng.uniform(3, 9) * along + rng.uniform(0, 6))
        )
        places = np.stack([70 + rng.normal(0, 9) + 110 * along, wave], axis=1)
        ink = np.zeros(SHAPE, np.uint8)
        cv2.polylines(ink, [np.rint(places).astype(np.int32).reshape(-1, 1, 2)], False, 1, 5)
        inks.append(ink.astype(bool))
    return goal, inks


def plain_features(ink, goal):
    """Return the fourteen features, each computed the straightforward way."""
    line, area = thin(ink), goal.sum()
    side, n = math.sqrt(area), line.sum()
    depth = ndimage.distance_transform_edt(np.pad(goal, 1))[1:-1, 1:-1]
    along = depth[line] / depth.max()
    rows, columns = np.nonzero(line)
    goal_rows, goal_columns = np.nonzero(goal)
    height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
    neighbours = (
        ndimage.convolve(line.astype(int), EVERYWHERE.astype(int), mode="constant")[line] - 1
    )
    reach = ndimage.distance_transform_edt(~line)[goal] / side
    offset = math.hypot(rows.mean() - goal_rows.mean(), columns.mean() - goal_columns.mean())
    return [
        math.log(n / side),
        ndimage.label(line, EVERYWHERE)[1],
        along.mean(),
        along.min(),
        along.std(),
        offset / side,
        height / (np.ptp(goal_rows) + 1),
        width / (np.ptp(goal_columns) + 1),
        n / math.hypot(height, width),
        (neighbours == 1).sum(),
        (neighbours > 2).mean(),
        (~goal[line]).mean(),
        reach.mean(),
        reach.max(),
    ]


def least_s(work, repeats):
    """Return the smallest time of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    """Return 0 if the limit is met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    cv2.setNumThreads(1)
    goal, inks = strokes()

    def ours():
        shape = GoalShape(goal)
        return stroke_feature_table((ink, shape) for ink in inks)

    def plain():
        return np.array([plain_features(ink, goal) for ink in inks])

    difference = float(np.abs(ours() - plain()).max())
    ours_s, plain_s = least_s(ours, 5 * repeats), least_s(plain, repeats)
    passed = difference < 1e-9 and ours_s <= BAR * plain_s
    ours_ms, plain_ms = (1e3 * seconds / len(inks) for seconds in (ours_s, plain_s))
    print(
        f"{ours_ms:.2f} ms per stroke, plain {plain_ms:.2f} ms: 1/{plain_s / ours_s:.0f} (limit 1/{1 / BAR:.0f}), "
        f"difference {difference:.0e}  {'ok' if passed else 'MISSED'}"
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
