"""Time of the metrics of a volume after each step, compared with a full-volume baseline.

Run: python benches/volume_metrics.py

The objects are a lesion about 20 voxels across and an organ, in 300 x 512 x 512 voxels. Dice is compared with three
sums over the volume, in alternation, and must be equal; NSD, including the surface of the target, with the yardstick,
and in a window of 40 x 64 x 64 voxels with the steps of the published implementation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measurement import (
    Figures,
    argument_parser,
    at_most,
    paired_time,
    paired_with_yardstick,
)
from scipy import ndimage

from segarena.arrays.surface import element_areas
from segarena.comparison import Comparison, Reference
from segarena.metrics.overlap import Dice
from segarena.metrics.surface import Nsd, SurfaceDistance

SHAPE, SPACING_MM = (300, 512, 512), (1.5, 0.8, 0.8)
SMALL = (slice(130, 170), slice(220, 284), slice(228, 292))
"""A window around the lesion."""
PAIRS = 7
BARS = {
    "Dice of the lesion, ratio": at_most(1 / 45),
    "Dice of the organ, ratio": at_most(1 / 12),
    "NSD of the lesion in a small volume, ratio": at_most(0.4),
    "NSD of the lesion with its surface, yardsticks": at_most(0.6),
    "NSD of the organ with its surface, yardsticks": at_most(12),
    "largest difference of Dice": at_most(0),
}


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


def plain_nsd(prediction: Any, target: Any, tolerance_mm: float = 2.0) -> float:
    """Return NSD by the steps of the published package surface-distance.

    These are a crop around both masks, pattern codes by correlation, a distance transform of each surface, and sorted
    lists of distances with their areas.
    """
    either = prediction | target
    window = []
    for axis in range(3):
        others = tuple(other for other in range(3) if other != axis)
        on_axis = np.flatnonzero(either.any(axis=others))
        window.append(slice(on_axis[0], on_axis[-1] + 1))
    bits = 2 ** np.arange(8).reshape(2, 2, 2)
    codes = []
    for mask in (prediction, target):
        crop = np.pad(mask[tuple(window)], 1).astype(np.uint8)
        codes.append(ndimage.correlate(crop, bits, mode="constant"))
    areas = element_areas(SPACING_MM)
    is_surface = [(code > 0) & (code < 255) for code in codes]
    near_area = total = 0.0
    for own, other in ((0, 1), (1, 0)):
        to_other = ndimage.distance_transform_edt(~is_surface[other], sampling=SPACING_MM)
        own_areas = areas[codes[own][is_surface[own]]]
        ordered = np.array(sorted(zip(to_other[is_surface[own]], own_areas, strict=True)))
        near_area += ordered[ordered[:, 0] <= tolerance_mm, 1].sum()
        total += ordered[:, 1].sum()
    return near_area / total


def measure_small_nsd(prediction: Any, target: Any, pairs: int, figures: Figures) -> None:
    """Report NSD of a small volume in relation to `plain_nsd`; end if the values differ."""

    def ours() -> float:
        return Nsd()(Comparison(prediction, Reference(target, spacing_mm=SPACING_MM)))

    if abs(ours() - plain_nsd(prediction, target)) > 1e-12:
        raise SystemExit("the values of NSD differ")
    times = paired_time(ours, lambda: plain_nsd(prediction, target), pairs)
    figures.report("NSD of the lesion in a small volume, ratio", times.ratio)


def measure(name: str, radius_mm: float, pairs: int, figures: Figures) -> float:
    """Report the times for one object; return the difference in Dice from the baseline."""
    target = ball((150, 250, 260), radius_mm)
    prediction = ball((151, 252, 261), 1.05 * radius_mm)
    reference = Reference(target, spacing_mm=SPACING_MM)
    metric = Dice()
    ours = metric(Comparison(prediction, reference))
    dice = paired_time(
        lambda: metric(Comparison(prediction, reference)),
        lambda: plain_dice(prediction, target),
        pairs,
    )
    Nsd()(Comparison(prediction, reference))  # imports
    nsd = paired_with_yardstick(
        lambda: Nsd()(Comparison(prediction, Reference(target, spacing_mm=SPACING_MM))), pairs
    )
    distances = paired_with_yardstick(
        lambda: SurfaceDistance()(Comparison(prediction, reference)), 1
    )
    if name == "lesion":
        measure_small_nsd(prediction[SMALL], target[SMALL], pairs, figures)
    print(
        f"{name} ({np.count_nonzero(target)} voxels): Dice {1e3 * dice.ours_s:.1f} ms, "
        f"NSD at 2 mm {1e3 * nsd.ours_s:.1f} ms, HD95 and ASSD {1e3 * distances.ours_s:.1f} ms"
    )
    figures.report(f"Dice of the {name}, ratio", dice.ratio)
    figures.report(f"NSD of the {name} with its surface, yardsticks", nsd.ratio)
    return abs(ours - plain_dice(prediction, target))


def main() -> None:
    """Report both objects; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    figures = Figures(BARS, has_bars=not options.quick)
    sizes_mm = {"lesion": 8.0, "organ": 70.0}
    pairs = PAIRS
    if options.quick:
        del sizes_mm["organ"]
        pairs = 1
    differences = [measure(name, size_mm, pairs, figures) for name, size_mm in sizes_mm.items()]
    figures.report("largest difference of Dice", max(differences))
    figures.finish()


if __name__ == "__main__":
    main()
