"""Time of the scribbling robot in one frame of 480 x 854, compared with a baseline.

    python benches/davis_robot.py [--repeats 5]

The baseline works on 64-bit labels and on the full frame: for every label it opens the error with
scikit-image's rank filters, with a radius smaller by a tenth each time until something is left,
then computes scikit-image's medial axis, which builds its table anew each time. Paths and curves
use our code in both, so only opening and skeleton are compared. The baseline skeleton breaks ties
in our order, and both must give the same lines before anything is timed. Both alternate in one
process, on one thread, in thread CPU time.

Scenes: star-shaped objects, whose prediction is shifted by 7 rows and 11 columns with half of each
missing; and the same objects without a prediction, as in a first round.
Scenes of 10 objects are measured once.
"""

from __future__ import annotations

import time
import warnings

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most, paired_time
from skimage.filters import rank
from skimage.morphology import medial_axis

from segarena.systems.videos.robot.bezier_line import smooth_line
from segarena.systems.videos.robot.morphological_opening import opening_radius_px, published_disk
from segarena.systems.videos.robot.published_skeleton_paths import published_longest_paths
from segarena.systems.videos.robot.scribble_lines import draw_lines
from segarena.systems.videos.robot.settings import robot_preset

SHAPE = (480, 854)
OBJECTS = (1, 3, 10)
BARS = {
    "largest ratio, 1 object": at_most(1 / 15),
    "largest ratio, 3 objects": at_most(1 / 15),
    "largest ratio, 10 objects": at_most(1 / 10),
}


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


def measure(prediction, target, settings, objects, pairs):
    """Return the times of both robots, whose lines must be equal, and the number of lines."""
    wide = prediction.astype(np.int64), target.astype(np.int64)
    plain = plain_lines(*wide, settings, objects)
    ours = draw_lines(prediction, target, settings, objects=objects)
    same = len(plain) == len(ours) and all(
        label == line.object_id and np.array_equal(points, line.points)
        for (label, points), line in zip(plain, ours, strict=True)
    )
    if not same:
        raise SystemExit("our lines differ from those of the baseline")
    times = paired_time(
        lambda: draw_lines(prediction, target, settings, objects=objects),
        lambda: plain_lines(*wide, settings, objects),
        pairs,
        clock=time.thread_time,
        calls=3,
    )
    return times, len(ours)


def main():
    """Print the ratio of each case; exit with 1 if the largest ratio for a number of objects misses its limit."""
    parser = argument_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    warnings.simplefilter("ignore", UserWarning)  # scikit-image: an opening on a bool-like image
    counts = OBJECTS
    if options.quick:
        counts = OBJECTS[:1]
    largest = dict.fromkeys(counts, 0.0)
    print(f"{'':68}{'wrong px':>9}{'lines':>6}{'plain ms':>10}{'ours ms':>9}{'1 /':>6}")
    for name in ("local-1.0.4", "server-2020"):
        settings = robot_preset(name, mode="published", ties="raster")
        for objects in counts:
            prediction, target = scene(objects)
            pairs = options.repeats
            if objects == 10 or options.quick:
                pairs = 1
            for case, predicted in (
                ("shifted, half of each object missing", prediction),
                ("nothing predicted", 0 * prediction),
            ):
                times, lines = measure(predicted, target, settings, objects, pairs)
                largest[objects] = max(largest[objects], times.ratio)
                text = f"{name}, {objects} objects, {case}"
                wrong = np.count_nonzero(predicted != target)
                print(
                    f"{text:68}{wrong:9}{lines:6}{1e3 * times.baseline_s:10.1f}"
                    f"{1e3 * times.ours_s:9.2f}{1 / times.ratio:6.0f}",
                    flush=True,
                )
    figures = Figures(BARS, has_bars=not options.quick)
    for objects, ratio in largest.items():
        figures.report(f"largest ratio, {objects} object{'s' if objects > 1 else ''}", ratio)
    figures.finish()


if __name__ == "__main__":
    main()
