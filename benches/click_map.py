"""Speed of a click map, compared with a baseline that blurs the whole frame and smooths the whole mask.

Run: python benches/click_map.py
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import cv2
import numpy as np
from scipy.ndimage import gaussian_filter

from segarena.systems.clicks.click_maps import click_map, click_radius_px

SHAPES = ((480, 854), (1365, 2048), (2048, 2048))
CLICKS = 50


def plain(positions: np.ndarray, error: np.ndarray, sigma: float) -> np.ndarray:
    """Return the click map as published."""
    blur = sigma * math.hypot(*error.shape) / math.hypot(1920, 1080)
    canvas = np.zeros(error.shape, dtype=np.float32)
    np.add.at(canvas, tuple(positions.T), 1.0)
    side = math.ceil(7 * blur) // 2 * 2 + 1
    canvas = cv2.GaussianBlur(canvas, (side, side), blur, borderType=cv2.BORDER_CONSTANT)
    return (
        canvas
        / canvas.max()
        * gaussian_filter(error.astype(np.float32), click_radius_px(error.shape, "published"))
    )


def median_ms(call: Callable[[], object], repeats: int = 7) -> float:
    """Return the median time of a call after one warm-up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * sorted(times)[repeats // 2]


def main() -> None:
    """Print one line per frame size and sigma."""
    cv2.setNumThreads(1)
    print(f"{'frame':>12} {'sigma':>6} {'plain ms':>9} {'ours ms':>8} {'ratio':>6}")
    for shape in SHAPES:
        rows, columns = np.mgrid[: shape[0], : shape[1]]
        error = ((rows / shape[0] - 0.5) / 0.33) ** 2 + ((columns / shape[1] - 0.5) / 0.25) ** 2 < 1
        rng = np.random.default_rng(0)
        inside = np.argwhere(error)
        positions = inside[rng.integers(len(inside), size=CLICKS)]
        for sigma in (1.0, 5.0, 20.0):
            slow = median_ms(lambda p=positions, e=error, s=sigma: plain(p, e, s))
            fast = median_ms(
                lambda p=positions, e=error, s=sigma: click_map(
                    p, e, sigma=s, radius="published", normalise="none"
                )
            )
            print(
                f"{shape[0]:>5} x {shape[1]:>4} {sigma:>6} {slow:>9.1f} {fast:>8.1f} {slow / fast:>6.1f}"
            )


if __name__ == "__main__":
    main()
