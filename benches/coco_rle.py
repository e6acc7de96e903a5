"""Encode masks as COCO strings, compared with pycocotools: `python benches/coco_rle.py`.

pycocotools is not installed with the project; without it (`pip install pycocotools`) nothing is compared. Its encoder
takes masks in column-major order, so the conversion of a row-major mask is part of its time, as in every script that
writes COCO results.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.coco_rle import Rle

BAR = 0.8
REPEATS = 200


def main() -> None:
    """Print the ratio for each mask; exit with 1 if one misses the limit."""
    try:
        from pycocotools import mask as coco
    except ImportError:
        print("pycocotools is not installed: nothing to compare with")
        return
    is_met = True
    for name, mask in masks().items():

        def published(mask: NDArray[np.bool_] = mask) -> str:
            columns = np.asfortranarray(mask.view(np.uint8))
            return coco.encode(columns)["counts"].decode("ascii")

        def ours(mask: NDArray[np.bool_] = mask) -> str:
            return Rle.of(mask).counts

        if ours() != published():
            raise SystemExit(f"{name}: the strings differ")
        ratio = fastest_ns(ours) / fastest_ns(published)
        is_met = is_met and ratio <= BAR
        print(f"{name:32} {ratio:.2f} of the time of pycocotools; limit {BAR}")
    raise SystemExit(not is_met)


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


def fastest_ns(call: Callable[[], str]) -> int:
    """Return the smallest processor time of a call in nanoseconds."""
    times: list[int] = []
    for _ in range(REPEATS):
        started = time.process_time_ns()
        call()
        times.append(time.process_time_ns() - started)
    return min(times)


if __name__ == "__main__":
    main()
