"""Time of J and F on a video of 70 frames of 480 x 854 with 3 objects, compared with a baseline.

    python benches/davis_metrics.py [--repeats 5]

The baseline works on 64-bit labels and full frames: for every object and frame it computes the
contours of both masks and dilates each by a disk. Both alternate in one process, on one thread, and
CPU time is measured. "First" is the first prediction about a video, which includes
finding the contours of its target; "later" is any other.

Peak memory is that of an evaluation, including half of the target, for each pixel of the stack.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most, no_bar, paired_time
from skimage.morphology import disk

from segarena.arrays.contours import contour_radius_px
from segarena.multi_object import ObjectsComparison, ObjectsReference
from segarena.systems.videos.measures.jaccard_contour import JaccardContourMetric

SHAPE, OBJECTS = (70, 480, 854), 3
SIZES_PX = {"usual": (60, 110), "large": (150, 230)}
"""Radii of the objects of each kind of video."""
BARS = {
    "usual objects, later predictions, ratio": at_most(1 / 14),
    "large objects, later predictions, ratio": at_most(1 / 11),
    "usual objects, the first prediction, ratio": at_most(1 / 7),
    "large objects, the first prediction, ratio": at_most(1 / 6),
    "usual objects, peak memory of a pixel": at_most(0.3, "bytes"),
    "large objects, peak memory of a pixel": at_most(0.85, "bytes"),
    "largest difference of J or F": at_most(0),
    "usual objects, seconds of a later prediction": no_bar("s"),
}


def video(radius_px: tuple[float, float], seed: int = 0) -> Any:
    """Return labels of star-shaped objects that move and change, later ones in front."""
    rng = np.random.default_rng(seed)
    labels = np.zeros(SHAPE, dtype=np.uint8)
    angle = np.linspace(0, 2 * np.pi, 200)
    for number in range(1, OBJECTS + 1):
        row, column, size = rng.uniform(120, 360), rng.uniform(150, 700), rng.uniform(*radius_px)
        phases = rng.uniform(0, 6, 5)
        for frame in range(SHAPE[0]):
            waves = sum(np.sin(k * angle + phases[k] + frame / 10) / (k + 1) for k in range(1, 5))
            radius = size * (1 + 0.2 * waves)
            points = np.stack(
                [column + frame + radius * np.cos(angle), row + radius * np.sin(angle)], axis=1
            )
            cv2.fillPoly(labels[frame], [points.astype(np.int32)], number)
    return labels


def plain_contour(mask: Any) -> Any:
    """Return the contour of a full frame by the published rule."""
    east, south, both = np.zeros_like(mask), np.zeros_like(mask), np.zeros_like(mask)
    east[:, :-1], south[:-1], both[:-1, :-1] = mask[:, 1:], mask[1:], mask[1:, 1:]
    found = (mask ^ east) | (mask ^ south) | (mask ^ both)
    found[-1], found[:, -1] = mask[-1] ^ east[-1], mask[:, -1] ^ south[:, -1]
    found[-1, -1] = False
    return found


def plain_f(prediction: Any, target: Any, around: Any) -> float:
    """Return F of one object in one frame."""
    ours, theirs = plain_contour(prediction), plain_contour(target)
    count, wanted = int(ours.sum()), int(theirs.sum())
    if not (count and wanted):
        return float(count == wanted)
    near_ours, near_theirs = (cv2.dilate(one.astype(np.uint8), around) for one in (ours, theirs))
    precision, recall = (
        int((ours * near_theirs).sum()) / count,
        int((theirs * near_ours).sum()) / wanted,
    )
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def plain(prediction: Any, target: Any) -> tuple[Any, Any]:
    """Return J and F, arrays (objects, frames)."""
    prediction, target = prediction.astype(np.int64), target.astype(np.int64)
    around = disk(contour_radius_px(SHAPE[1:], 0.008)).astype(np.uint8)
    jaccard, contours = (np.ones((OBJECTS, SHAPE[0])) for _ in range(2))
    for number in range(OBJECTS):
        ours, theirs = prediction == number + 1, target == number + 1
        for frame in range(SHAPE[0]):
            union = int((ours[frame] | theirs[frame]).sum())
            if union:
                jaccard[number, frame] = int((ours[frame] & theirs[frame]).sum()) / union
            contours[number, frame] = plain_f(ours[frame], theirs[frame], around)
    return jaccard, contours


def peak_bytes(prediction: Any, target: Any) -> float:
    """Return the peak memory of the evaluation per pixel of the stack."""
    tracemalloc.start()
    JaccardContourMetric().of(ObjectsComparison(prediction, ObjectsReference(target, OBJECTS)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / target.size


def measure(name: str, figures: Figures, pairs: int) -> float:
    """Report the figures of one kind of video; return the largest difference from the baseline."""
    target = video(SIZES_PX[name])
    prediction = np.roll(target, (7, 11), axis=(1, 2))
    prediction[:, :, 300:340] = 0
    metric = JaccardContourMetric()
    reference = ObjectsReference(target, OBJECTS)
    ours = metric.of(ObjectsComparison(prediction, reference))
    jaccard, contour = plain(prediction, target)
    difference = max(
        float(np.abs(ours.jaccard - jaccard).max()), float(np.abs(ours.contour - contour).max())
    )
    later = paired_time(
        lambda: metric.of(ObjectsComparison(prediction, reference)),
        lambda: plain(prediction, target),
        pairs,
        calls=2,
    )
    first = paired_time(
        lambda: metric.of(ObjectsComparison(prediction, ObjectsReference(target, OBJECTS))),
        lambda: plain(prediction, target),
        max(1, pairs // 2),
    )
    print(f"{name} objects cover {np.count_nonzero(target) / target.size:.0%} of the pixels")
    figures.report(f"{name} objects, later predictions, ratio", later.ratio)
    figures.report(f"{name} objects, the first prediction, ratio", first.ratio)
    if name == "usual":
        figures.report("usual objects, seconds of a later prediction", later.ours_s)
    figures.report(f"{name} objects, peak memory of a pixel", peak_bytes(prediction, target))
    return difference


def main() -> None:
    """Report both kinds of video; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    figures = Figures(BARS, has_bars=not options.quick)
    pairs = options.repeats
    if options.quick:
        pairs = 1
    names = list(SIZES_PX)
    if options.quick:
        names = names[:1]
    differences = [measure(name, figures, pairs) for name in names]
    figures.report("largest difference of J or F", max(differences))
    figures.finish()


if __name__ == "__main__":
    main()
