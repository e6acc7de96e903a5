"""Speed of a click map, compared with a baseline that blurs the whole frame and smooths the whole mask.

Run: python benches/click_map.py
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most, paired_time
from scipy.ndimage import gaussian_filter

from segarena.systems.clicks.click_maps import click_map, click_radius_px

SHAPES = ((480, 854), (1365, 2048), (2048, 2048))
CLICKS = 50
SIGMAS = (1.0, 5.0, 20.0)
PAIRS = 7
BARS = {
    "ratio, 480 x 854, sigma 1": at_most(0.55),
    "ratio, 480 x 854, sigma 5": at_most(0.6),
    "ratio, 480 x 854, sigma 20": at_most(1.0),
    "ratio, 1365 x 2048, sigma 1": at_most(0.05),
    "ratio, 1365 x 2048, sigma 5": at_most(0.07),
    "ratio, 1365 x 2048, sigma 20": at_most(0.28),
    "ratio, 2048 x 2048, sigma 1": at_most(0.036),
    "ratio, 2048 x 2048, sigma 5": at_most(0.06),
    "ratio, 2048 x 2048, sigma 20": at_most(0.21),
}


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


def main() -> None:
    """Report the ratio for each frame size and sigma."""
    options = argument_parser(__doc__).parse_args()
    cv2.setNumThreads(1)
    figures = Figures(BARS, has_bars=not options.quick)
    shapes = SHAPES
    if options.quick:
        shapes = SHAPES[:1]
    for shape in shapes:
        rows, columns = np.mgrid[: shape[0], : shape[1]]
        error = ((rows / shape[0] - 0.5) / 0.33) ** 2 + ((columns / shape[1] - 0.5) / 0.25) ** 2 < 1
        rng = np.random.default_rng(0)
        inside = np.argwhere(error)
        positions = inside[rng.integers(len(inside), size=CLICKS)]
        for sigma in SIGMAS:

            def ours(
                positions: np.ndarray = positions, error: np.ndarray = error, sigma: float = sigma
            ) -> None:
                click_map(positions, error, sigma=sigma, radius="published", normalise="none")

            def baseline(
                positions: np.ndarray = positions, error: np.ndarray = error, sigma: float = sigma
            ) -> None:
                plain(positions, error, sigma)

            ours()
            times = paired_time(ours, baseline, PAIRS, calls=5)
            figures.report(f"ratio, {shape[0]} x {shape[1]}, sigma {sigma:g}", times.ratio)
    figures.finish()


if __name__ == "__main__":
    main()
