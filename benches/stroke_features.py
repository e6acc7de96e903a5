"""Time of the features of strokes on a goal, compared with a baseline that processes the whole picture each time.

    python benches/stroke_features.py [--repeats 5]

The baseline thins with scikit-image, measures distances with SciPy on the whole picture, repeats
this in the goal for each stroke, and finds pieces with SciPy. Both must give the same numbers
before anything is timed. They alternate in one process, on one thread, in
processor time.

Strokes: five wavy lines of 5 px, each on the same round object, in pictures of 256 x 256.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most, paired_time
from scipy import ndimage
from skimage.morphology import thin

from segarena_people.measures.goal_mask_geometry import GoalShape
from segarena_people.measures.stroke_features import stroke_feature_table

SHAPE = (256, 256)
BARS = {
    "fourteen features of a stroke, ratio": at_most(1 / 10),
    "largest difference of a feature": at_most(1e-9),
}
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


def main() -> None:
    """Report the ratio; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=11)
    options = parser.parse_args()
    repeats = options.repeats
    if options.quick:
        repeats = 1
    cv2.setNumThreads(1)
    goal, inks = strokes()

    def ours():
        shape = GoalShape(goal)
        return stroke_feature_table((ink, shape) for ink in inks)

    def plain():
        return np.array([plain_features(ink, goal) for ink in inks])

    difference = float(np.abs(ours() - plain()).max())
    times = paired_time(ours, plain, repeats, calls=5)
    print(f"{1e3 * times.ours_s / len(inks):.2f} ms per stroke")
    figures = Figures(BARS, has_bars=not options.quick)
    figures.report("fourteen features of a stroke, ratio", times.ratio)
    figures.report("largest difference of a feature", difference)
    figures.finish()


if __name__ == "__main__":
    main()
