"""Run time of the click statistics, compared with a plain implementation of the same definition.

Run: python benches/click_statistics.py

Both alternate in one process, in processor time, and their values must agree.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from measurement import Figures, argument_parser, at_most, paired_time
from scipy.stats import kstwobign, pearsonr, wasserstein_distance_nd

from segarena.statistics.ks2d import ks2d
from segarena.systems.clicks.measures.click_model_quality import draw_clicks
from segarena.systems.clicks.measures.click_set_distances import matched_distances

DRAWS, CLICKS, SHAPE = 100, 50, (480, 854)
FEW = 20
"""Sets that the linear program compares: it takes 30 ms for each."""
BARS = {
    "KS test of 100 samples with sampling, ratio": at_most(1 / 45),
    "Wasserstein distance of 100 sets, ratio": at_most(1 / 220),
    "largest difference of a value": at_most(1e-9),
}


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


def main() -> None:
    """Report both ratios; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    warnings.simplefilter("ignore")
    rows, columns = np.indices(SHAPE)
    probability = np.exp(-((rows - 200) ** 2 + (columns - 400) ** 2) / (2 * 40.0**2))
    clicks = draw_clicks(probability, CLICKS, np.random.default_rng(1))

    def draw() -> Any:
        drawn = draw_clicks(probability, DRAWS * CLICKS, np.random.default_rng(2))
        return drawn.reshape(DRAWS, CLICKS, 2)

    def plain() -> Any:
        drawn = plain_draw(probability, DRAWS * CLICKS, np.random.RandomState(2))
        return drawn.reshape(DRAWS, CLICKS, 2)

    def plain_distances() -> Any:
        return [wasserstein_distance_nd(own, clicks) for own in sets[:FEW]]

    sets = draw()
    far = sets.astype(np.float64)
    expected = [plain_ks(own, clicks) for own in sets]
    ks_difference = np.abs(ks2d(sets, clicks).p_values - expected).max()
    distance_difference = np.abs(matched_distances(far[:FEW], clicks) - plain_distances()).max()
    pairs = 5
    if options.quick:
        pairs = 1
    ks = paired_time(
        lambda: ks2d(draw(), clicks),
        lambda: [plain_ks(own, clicks) for own in plain()],
        pairs,
        calls=3,
    )
    distances = paired_time(lambda: matched_distances(far, clicks), plain_distances, pairs, calls=3)
    figures = Figures(BARS, has_bars=not options.quick)
    figures.report("KS test of 100 samples with sampling, ratio", ks.ratio)
    figures.report("Wasserstein distance of 100 sets, ratio", distances.ratio * FEW / DRAWS)
    figures.report("largest difference of a value", max(ks_difference, distance_difference))
    figures.finish()


if __name__ == "__main__":
    main()
