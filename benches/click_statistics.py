"""Run time of the click statistics, compared with a plain implementation of the same definition.

Run: python benches/click_statistics.py

The script prints medians of one process, and fails if a ratio misses its limit or a value differs
by more than 1e-9.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import kstwobign, pearsonr, wasserstein_distance_nd

from segarena.statistics.ks2d import ks2d
from segarena.systems.clicks.measures.click_model_quality import draw_clicks
from segarena.systems.clicks.measures.click_set_distances import matched_distances

DRAWS, CLICKS, SHAPE = 100, 50, (480, 854)


def plain_draw(probability: Any, count: int, rng: np.random.RandomState) -> Any:
    """Sample as the published code does, from all pixels."""
    flat = rng.choice(probability.size, size=count, p=probability.ravel() / probability.sum())
    return np.stack(np.unravel_index(flat, probability.shape), axis=1)


def plain_quadrants(corner: Any, points: Any) -> Any:
    """Return the shares of `points` in the four quadrants at `corner`."""
    first, second = points[:, 0] <= corner[0], points[:, 1] <= corner[1]
    return np.array([np.mean(a & b) for a in (first, ~first) for b in (second, ~second)])


def plain_one_sided(own: Any, other: Any) -> float:
    """Return the one-sided D, computed one corner at a time."""
    differences = np.array(
        [plain_quadrants(corner, own) - plain_quadrants(corner, other) for corner in own]
    )
    differences[:, 0] -= 1 / len(own)
    return max(-differences.min(), differences.max() + 1 / len(own))


def plain_ks(own: Any, other: Any) -> float:
    """Return the p-value for one pair of sets."""
    d = (plain_one_sided(own, other) + plain_one_sided(other, own)) / 2
    root = np.sqrt(len(own) * len(other) / (len(own) + len(other)))
    r = np.sqrt(1 - (pearsonr(*own.T)[0] ** 2 + pearsonr(*other.T)[0] ** 2) / 2)
    return float(kstwobign.sf(d * root / (1 + r * (0.25 - 0.75 / root))))


def median_s(work: Callable[[], Any], runs: int) -> float:
    """Return the median time of `runs` runs."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def report(name: str, ours_s: float, plain_s: float, bar: float, difference: float) -> bool:
    """Print one line; return whether the limit is met."""
    passed = ours_s / plain_s <= bar and difference <= 1e-9
    print(
        f"{name:28} {1e3 * ours_s:8.1f} ms  plain {1e3 * plain_s:8.1f} ms  1/{plain_s / ours_s:.0f}"
        f"  (limit 1/{1 / bar:.0f})  difference {difference:.1e}  {'ok' if passed else 'MISSED'}"
    )
    return passed


def main() -> int:
    """Return 0 if every limit is met."""
    warnings.simplefilter("ignore")
    rows, columns = np.indices(SHAPE)
    probability = np.exp(-((rows - 200) ** 2 + (columns - 400) ** 2) / (2 * 40.0**2))
    clicks = draw_clicks(probability, CLICKS, np.random.default_rng(1))

    def draw() -> Any:
        return draw_clicks(probability, DRAWS * CLICKS, np.random.default_rng(2)).reshape(
            DRAWS, CLICKS, 2
        )

    def plain() -> Any:
        return plain_draw(probability, DRAWS * CLICKS, np.random.RandomState(2)).reshape(
            DRAWS, CLICKS, 2
        )

    sets = draw()
    far = sets.astype(np.float64)
    ks_difference = np.abs(
        ks2d(sets, clicks).p_values - [plain_ks(own, clicks) for own in sets]
    ).max()
    few = slice(0, 20)  # the linear program takes 30 ms for each
    wd_difference = np.abs(
        matched_distances(far[few], clicks)
        - [wasserstein_distance_nd(own, clicks) for own in sets[few]]
    ).max()
    passed = [
        report(
            "KS, 100 draws of 50, drawing",
            median_s(lambda: ks2d(draw(), clicks), 9),
            median_s(lambda: [plain_ks(own, clicks) for own in plain()], 3),
            1 / 20,
            ks_difference,
        ),
        report(
            "WD, 100 sets of 50",
            median_s(lambda: matched_distances(far, clicks), 9),
            median_s(lambda: [wasserstein_distance_nd(own, clicks) for own in sets[few]], 3)
            * DRAWS
            / 20,
            1 / 200,
            wd_difference,
        ),
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
