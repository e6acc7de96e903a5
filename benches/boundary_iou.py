"""Time of the boundary IoU of large objects, compared with the published code: `python benches/boundary_iou.py`.

The published implementation erodes both masks on the full frame in every call. Our code gets a new `Comparison` in
every repetition; the target's band is kept in its `Reference`, as over the rounds of a dialogue, and is not timed.
Both alternate in one process, on one thread, and thread CPU time is measured, so that the ratios are valid on a
busy machine too. A value that differs is an error.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import cv2
import numpy as np
from click_round import disc, smooth
from measurement import Figures, argument_parser, at_most, paired_time
from numpy.typing import NDArray

from segarena.comparison import Comparison, Reference
from segarena.metrics.boundary import BoundaryIou

# At 480 x 854 the fixed costs of both sides weigh more.
BARS = {
    "ratio, 480 x 854": at_most(1 / 5),
    "ratio, 1080 x 1920": at_most(1 / 6),
    "ratio, 2048 x 2048": at_most(1 / 6),
}
SHAPES = ((480, 854), (1080, 1920), (2048, 2048))
REPEATS = 25

Bools = NDArray[np.bool_]


def main() -> None:
    """Print the ratio for each object; exit with 1 if the largest ratio of a size misses its limit."""
    options = argument_parser(__doc__).parse_args()
    cv2.setNumThreads(1)
    figures = Figures(BARS, has_bars=not options.quick)
    shapes = SHAPES
    repeats = REPEATS
    if options.quick:
        shapes = SHAPES[:1]
        repeats = 2
    for shape in shapes:
        size = f"{shape[0]} x {shape[1]}"
        ratios: list[float] = []
        for name, prediction, target in objects(shape):
            ratio = measure(prediction, target, repeats)
            ratios.append(ratio)
            print(f"{size:12} {name:28} 1/{1 / ratio:.1f}")
        figures.report(f"ratio, {size}", max(ratios))
    figures.finish()


def objects(shape: tuple[int, int]) -> Iterator[tuple[str, Bools, Bools]]:
    """Yield (name, prediction, target) of objects that cover 24 to 100 % of the frame."""
    body = disc(shape, 0.5, 0.5, 0.35, 1.4)
    yield "ellipse moved by 12 pixels", np.roll(body, 12, axis=1), body
    field = smooth(1, shape, 60)
    ragged = field + 0.02 * (smooth(2, shape, 12) - 0.5)
    threshold = np.quantile(field, 0.6)
    yield "regions, ragged boundary", ragged > threshold, field > threshold
    whole = np.ones(shape, dtype=bool)
    yield "whole frame", whole, whole


def measure(prediction: Bools, target: Bools, repeats: int) -> float:
    """Return our time relative to that of the published implementation, after comparing their values."""
    reference = Reference(target)
    metric = BoundaryIou()
    if metric(Comparison(prediction, reference))["boundary_iou"] != published(prediction, target):
        raise SystemExit("the values differ")
    times = paired_time(
        lambda: metric(Comparison(prediction, reference)),
        lambda: published(prediction, target),
        repeats,
        clock=time.thread_time,
    )
    return times.ratio


def published(prediction: Bools, target: Bools) -> float:
    """Return boundary IoU as published: both bands by repeated erosion of the padded frame."""
    first = _band(prediction)
    second = _band(target)
    return float(np.count_nonzero(first & second) / np.count_nonzero(first | second))


def _band(mask: Bools) -> Bools:
    pixels = mask.astype(np.uint8)
    iterations = max(1, round(0.02 * float(np.hypot(*mask.shape))))
    framed = cv2.copyMakeBorder(pixels, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    eroded = cv2.erode(framed, np.ones((3, 3), dtype=np.uint8), iterations=iterations)
    return (pixels - eroded[1:-1, 1:-1]) > 0


if __name__ == "__main__":
    main()
