"""Time of encoding masks as COCO strings, compared with pycocotools: `python benches/coco_rle.py`.

pycocotools is not installed with the project; without it (`pip install pycocotools`) only the time relative to the
yardstick of `measurement.py` is reported. Its encoder takes masks in column-major order, so the conversion of a
row-major mask is part of its time, as in every script that writes COCO results.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
from measurement import (
    Figures,
    argument_parser,
    at_most,
    paired_time,
    paired_with_yardstick,
)
from numpy.typing import NDArray

from segarena.arrays.coco_rle import Rle

PAIRS = 31
BARS = {
    "30 px in 480 x 640, yardsticks": at_most(0.036),
    "200 px in 480 x 640, yardsticks": at_most(0.05),
    "400 px in 1500 x 2000, yardsticks": at_most(0.15),
}
COMPARED = {
    "30 px in 480 x 640, ratio to pycocotools": at_most(0.35),
    "200 px in 480 x 640, ratio to pycocotools": at_most(0.6),
    "400 px in 1500 x 2000, ratio to pycocotools": at_most(0.4),
}
if find_spec("pycocotools"):
    BARS |= COMPARED


def main() -> None:
    """Report the time for each mask; exit with 1 if one misses a limit."""
    options = argument_parser(__doc__).parse_args()
    figures = Figures(BARS, has_bars=not options.quick)
    pairs = PAIRS
    if options.quick:
        pairs = 1
    for name, mask in masks().items():

        def ours(mask: NDArray[np.bool_] = mask) -> str:
            return Rle.of(mask).counts

        figures.report(f"{name}, yardsticks", paired_with_yardstick(ours, pairs, calls=10).ratio)
        if find_spec("pycocotools"):
            from pycocotools import mask as coco

            def published(mask: NDArray[np.bool_] = mask) -> str:
                columns = np.asfortranarray(mask.view(np.uint8))
                return coco.encode(columns)["counts"].decode("ascii")

            if ours() != published():
                raise SystemExit(f"{name}: the strings differ")
            times = paired_time(ours, lambda: [published() for _ in range(10)], pairs, calls=10)
            figures.report(f"{name}, ratio to pycocotools", 10 * times.ratio)
    figures.finish()


def masks() -> dict[str, NDArray[np.bool_]]:
    """Return discs of several sizes, as masks (H, W)."""
    return {
        "30 px in 480 x 640": disc((480, 640), 30),
        "200 px in 480 x 640": disc((480, 640), 200),
        "400 px in 1500 x 2000": disc((1500, 2000), 400),
    }


def disc(shape: tuple[int, int], radius: int) -> NDArray[np.bool_]:
    """Return a disc in the middle of a frame."""
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    from_centre = (rows - shape[0] // 2) ** 2 + (columns - shape[1] // 2) ** 2
    return np.ascontiguousarray(from_centre < radius**2)


if __name__ == "__main__":
    main()
