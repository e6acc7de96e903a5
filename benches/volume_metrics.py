"""Time of the metrics of a volume after each step, compared with a full-volume baseline.

Run: python benches/volume_metrics.py

The objects are a lesion about 20 voxels across and an organ, in 300 x 512 x 512 voxels. The script
prints medians of one process. It fails if Dice of the lesion takes more than 1/30 of the
baseline, its NSD more than 100 ms, or a value differs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from segarena.comparison import Comparison, Reference
from segarena.metrics.overlap import Dice
from segarena.metrics.surface import Nsd, SurfaceDistance

SHAPE, SPACING_MM = (300, 512, 512), (1.5, 0.8, 0.8)
DICE_BAR, NSD_BAR_S = 1 / 30, 0.1


def ball(centre: tuple[int, ...], radius_mm: float) -> Any:
    """Return a ball in the volume, computed only in its own box."""
    mask = np.zeros(SHAPE, dtype=bool)
    window = tuple(
        slice(max(0, int(c - radius_mm / edge)), int(c + radius_mm / edge) + 2)
        for c, edge in zip(centre, SPACING_MM, strict=True)
    )
    steps = [
        (axis - c) * edge
        for axis, c, edge in zip(np.ogrid[window], centre, SPACING_MM, strict=True)
    ]
    mask[window] = sum(step**2 for step in steps) <= radius_mm**2
    return mask


def plain_dice(prediction: Any, target: Any) -> float:
    """Return Dice by three sums over the whole volume."""
    return float(2 * np.logical_and(prediction, target).sum() / (prediction.sum() + target.sum()))


def timed(work: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Return the median time of `runs` runs after a warm-up, and their result."""
    value, times = work(), []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), value


def measure(name: str, radius_mm: float) -> tuple[float, float, bool]:
    """Print the times for one object; return the ratio of Dice, the seconds of NSD and whether Dice is equal."""
    target, prediction = ball((150, 250, 260), radius_mm), ball((151, 252, 261), 1.05 * radius_mm)
    reference = Reference(target, spacing_mm=SPACING_MM)
    dice_s, dice = timed(lambda: Dice()(Comparison(prediction, reference)), 9)
    plain_s, plain = timed(lambda: plain_dice(prediction, target), 5)
    nsd_s, nsd = timed(lambda: Nsd()(Comparison(prediction, reference)), 5)
    first_s, _ = timed(
        lambda: Nsd()(Comparison(prediction, Reference(target, spacing_mm=SPACING_MM))), 3
    )
    all_s, _ = timed(lambda: SurfaceDistance()(Comparison(prediction, reference)), 3)
    print(
        f"{name} ({np.count_nonzero(target)} voxels): "
        f"Dice {dice:.4f} in {1e3 * dice_s:.1f} ms, plain {1e3 * plain_s:.1f} ms (1/{plain_s / dice_s:.0f}); "
        f"NSD at 2 mm {nsd:.4f} in {1e3 * nsd_s:.1f} ms, the first time {1e3 * first_s:.1f} ms; "
        f"HD95 and ASSD in {1e3 * all_s:.1f} ms"
    )
    return dice_s / plain_s, first_s, dice == plain


def main() -> int:
    """Return 0 if every limit is met."""
    ratio, nsd_s, same = measure("lesion", 8.0)
    _, _, organ_same = measure("organ", 70.0)
    verdicts = {
        f"Dice of the lesion at most 1/{1 / DICE_BAR:.0f} of the time of the baseline": ratio
        <= DICE_BAR,
        f"NSD of the lesion at most {1e3 * NSD_BAR_S:.0f} ms, its surface included": nsd_s
        <= NSD_BAR_S,
        "Dice equals that of the baseline": same and organ_same,
    }
    print("\n".join(f"{'held  ' if held else 'MISSED'} {what}" for what, held in verdicts.items()))
    return not all(verdicts.values())


if __name__ == "__main__":
    raise SystemExit(main())
