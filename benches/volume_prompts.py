"""Time and memory of prompts in radiology volumes, compared with a baseline on full volumes.

    python benches/volume_prompts.py [--repeats 5] [--quick]

The baseline is the method of RadioActive's published code: it finds foreground with `np.where` on
the volume, labels and dilates whole volumes, and searches pixels with trees. It gets the target as
8-bit numbers in memory; the published code also makes 64-bit copies of it, which is not counted.
Our code starts from a bool mask each time, including finding the object; the sweep finds it once
for all schemes. Both alternate in one process, on one thread, in thread CPU time.

Volumes are 300 x 512 x 512. The organ is an ellipsoid of 0.3 of the size along each half axis (8.8
million voxels), the lesion one of 2000 voxels on 12 slices. Predictions are 5 % larger and shifted
by a tenth of each half axis and 1 voxel. Errors that fill a volume have half the size along each
axis: either all voxels are wrong, or a random half of them. `--quick` uses 60 x 128 x 128 voxels.
"""

from __future__ import annotations

import time
import tracemalloc
from itertools import product

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most, paired_time, yardstick
from scipy.ndimage import grey_dilation
from scipy.spatial import KDTree
from skimage.measure import label
from skimage.morphology import disk

from segarena.comparison import Comparison, Reference
from segarena.systems.volumes.prompting import initial_boxes, initial_points
from segarena.systems.volumes.prompting.corrective_prompts import (
    click_largest_error,
    click_wrong_voxel,
    lasso_largest_error,
)
from segarena.systems.volumes.prompting.schemes import SCHEMES, SchemeOptions, find_scheme
from segarena.systems.volumes.prompting.scribble_outline import ScribbleOptions
from segarena.systems.volumes.prompting.scribbles import (
    draw_scribble,
    line_through_missing,
    line_through_surplus,
)
from segarena.systems.volumes.prompting.sliced_target import SlicedTarget

COUNTS = {
    "N-pps": (1, 2, 3, 5, 10),
    "N±pps": (2, 3, 5, 10),
    "Np-inter": (3, 5, 10),
    "Nb-inter": (3, 5, 10),
}
COUNTS |= {"N-ppv": (1, 2, 3, 5, 10), "N-center-ppv": (1, 2, 3, 5, 10)}
BARS = {
    "organ, object and 3 boxes, ratio": at_most(1 / 30),
    "organ, object and 5 points, ratio": at_most(1 / 25),
    "organ, scribble on missing, ratio": at_most(1 / 10),
    "organ, 5 points per slice, both signs, ratio": at_most(1 / 35),
    "organ, sweep of static schemes, yardsticks": at_most(25),
    "lesion, object and 3 boxes, ratio": at_most(1 / 28),
    "lesion, object and 5 points, ratio": at_most(1 / 28),
    "lesion, scribble on missing, ratio": at_most(1 / 110),
    "lesion, 5 points per slice, both signs, ratio": at_most(1 / 350),
    "lesion, sweep of static schemes, yardsticks": at_most(1),
    "peak memory of a voxel, objects": at_most(1.6, "bytes"),
    "peak memory of a voxel, errors that fill the volume": at_most(1.8, "bytes"),
}
FILLED = (150, 256, 256)  # a smaller volume needs at least as many bytes per voxel
NAMES = [s.form.replace("N", str(n)) for s in SCHEMES for n in COUNTS.get(s.form, (0,))]


def ellipsoid(shape, centre, half_axes):
    """Return the filled ellipsoid."""
    planes, rows, columns = np.ogrid[: shape[0], : shape[1], : shape[2]]
    parts = zip((planes, rows, columns), centre, half_axes, strict=True)
    return sum(((grid - c) / a) ** 2 for grid, c, a in parts) <= 1


def case(shape, half_axes):
    """Return (prediction, target)."""
    centre = np.array(shape) / 2
    half_axes = np.array(half_axes)
    target = ellipsoid(shape, centre, half_axes)
    return ellipsoid(shape, centre + 0.1 * half_axes + 1, 1.05 * half_axes), target


def plain_slices(target):
    """Return the foreground slices by the indices of all foreground voxels."""
    return np.unique(np.where(target == 1)[0])


def plain_keys(target, count):
    """Return evenly spread slices, moved to the foreground."""
    slices = plain_slices(target)
    wanted = np.linspace(slices.min(), slices.max(), min(count, len(slices)), dtype=int)
    return [int(slices[np.abs(slices - z).argmin()]) for z in wanted]


def plain_largest(labels):
    """Return the largest component; ties give the last one, as sorting does."""
    sizes = np.bincount(labels.ravel())[:0:-1]
    return labels == len(sizes) - sizes.argmax()


def plain_component(plane):
    """Return the pixels of the largest component."""
    return np.argwhere(plain_largest(label(plane)))


def plain_snap(pixels, wanted):
    """Return the pixel nearest to `wanted`."""
    return tuple(int(i) for i in pixels[KDTree(pixels).query(wanted)[1]])


def first_snap(pixels, wanted):
    """Return the first of the pixels nearest to `wanted`; `plain_snap` may return another of them."""
    return tuple(int(i) for i in pixels[((pixels - wanted) ** 2).sum(axis=1).argmin()])


def plain_boxes(target):
    """Return the three key boxes."""
    found = []
    for z in plain_keys(target, 3):
        rows, columns = np.where(target[z] == 1)
        found.append(((z, rows.min(), columns.min()), (z + 1, rows.max() + 1, columns.max() + 1)))
    return found


def plain_points(target, snap=plain_snap):
    """Return the five key points."""
    found = []
    for z in plain_keys(target, 5):
        pixels = plain_component(target[z] == 1)
        found.append((z, *snap(pixels, np.round((pixels.min(axis=0) + pixels.max(axis=0)) / 2))))
    return found


def plain_signed_points(target, count=5):
    """Return points per slice of both signs, with the ring computed by two grey dilations of the volume."""
    near = grey_dilation(target, footprint=disk(2)[None])
    ring = grey_dilation(near, footprint=disk(3)[None]) - near
    rng = np.random.default_rng(0)
    found = []
    for z in plain_slices(target):
        for mask, wanted in ((target[z], count - count // 2), (ring[z], count // 2)):
            pixels = np.argwhere(mask == 1)
            found.append(pixels[rng.choice(len(pixels), min(wanted, len(pixels)), replace=False)])
    return found


def plain_missing(prediction, target, snap=plain_snap):
    """Return the scribble through the largest missing component, computed on the whole volume."""
    component = plain_largest(label((target == 1) & (prediction == 0))).astype(int)
    line = []
    for z in np.unique(np.where(component == 1)[0]):
        pixels = plain_component(component[z])
        line.append((int(z), *snap(pixels, np.round(pixels.mean(axis=0)))))
    return line


def fresh(target):
    """Return the object without cached values."""
    return SlicedTarget(Reference(target))


def our_boxes(target):
    """Return the three key boxes."""
    return [(box.start, box.stop) for box in initial_boxes.key_boxes(fresh(target), 3)]


def our_points(target):
    """Return the five key points."""
    return [click.position for click in initial_points.key_points(fresh(target), 5)]


def our_signed_points(target):
    """Return points per slice of both signs."""
    return initial_points.points_per_slice_of_both_signs(fresh(target), np.random.default_rng(0), 5)


def our_missing(prediction, target):
    """Return the scribble through the largest missing component."""
    return list(line_through_missing(Comparison(prediction, Reference(target))))


def sweep(target):
    """Return all static prompts of one target; the object is found once."""
    sliced, rng = fresh(target), np.random.default_rng(0)
    found = [find_scheme(name) for name in NAMES]
    return [scheme.make_prompts(sliced, rng, number, SchemeOptions()) for scheme, number in found]


def traced(function):
    """Return thread milliseconds of one call, and the peak of its allocated memory."""
    tracemalloc.start()
    start = time.thread_time()
    function()
    took_ms = 1e3 * (time.thread_time() - start)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return took_ms, peak


def compare(name, prediction, target, pairs, figures):
    """Report each prompt that has a baseline."""
    numbers = (prediction.view(np.uint8), target.view(np.uint8))
    boxes = (plain_boxes, numbers[1:], our_boxes, (target,), {})
    points = (plain_points, numbers[1:], our_points, (target,), {"snap": first_snap})
    missing = (plain_missing, numbers, our_missing, (prediction, target), {"snap": first_snap})
    # Points of both signs are drawn at random, so the two have nothing to compare.
    signed = (plain_signed_points, numbers[1:], our_signed_points, (target,), None)
    rows = {
        "object and 3 boxes": boxes,
        "object and 5 points": points,
        "scribble on missing": missing,
        "5 points per slice, both signs": signed,
    }
    for prompt, (plain, plain_arguments, ours, our_arguments, check) in rows.items():
        if check is not None and plain(*plain_arguments, **check) != ours(*our_arguments):
            raise SystemExit(f"{prompt}: our prompts differ from those of the baseline")
        times = paired_time(
            lambda ours=ours, given=our_arguments: ours(*given),
            lambda plain=plain, given=plain_arguments: plain(*given),
            pairs,
            clock=time.thread_time,
        )
        figures.report(f"{name}, {prompt}, ratio", times.ratio)


def measure_alone(name, prediction, target, pairs, figures):
    """Report the sweep; return the highest peak bytes per voxel of it and of the corrections without a baseline."""
    reference = Reference(target)
    rng = np.random.default_rng(0)

    def against(function, *rest):
        return lambda: function(Comparison(prediction, reference), *rest)

    steps = {
        f"sweep of {len(NAMES)} static schemes": lambda: sweep(target),
        "scribble on surplus": against(line_through_surplus, rng, ScribbleOptions()),
        "click in the largest error": against(click_largest_error, rng),
        "click on the whole object missing": lambda: click_largest_error(
            Comparison.empty(reference), rng
        ),
        "lasso": against(lasso_largest_error),
        "wrong voxel": against(click_wrong_voxel, rng),
        "scribble on missing": against(line_through_missing),
    }
    times = paired_time(lambda: sweep(target), yardstick, pairs, clock=time.thread_time)
    figures.report(f"{name}, sweep of static schemes, yardsticks", times.ratio)
    return max(
        bytes_per_voxel(f"{name}, {step}", work, target.size) for step, work in steps.items()
    )


def measure_filling(shape):
    """Return the peak bytes per voxel for correcting errors that fill the volume."""
    nothing, everything = np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool)
    noise = np.random.default_rng(0).integers(0, 2, shape, dtype=np.uint8).view(np.bool_)
    rng = np.random.default_rng(0)
    errors = {
        "all missing": lambda: Comparison(nothing, Reference(everything)),
        "all surplus": lambda: Comparison(everything, Reference(nothing)),
        "noise missing": lambda: Comparison(nothing, Reference(noise)),
    }
    steps = {
        "click in the largest error": lambda error: click_largest_error(error, rng),
        "lasso": lasso_largest_error,
        "scribble": lambda error: draw_scribble(error, rng, ScribbleOptions()),
    }
    largest = 0.0
    for (case_name, error), (name, step) in product(errors.items(), steps.items()):
        share = bytes_per_voxel(
            f"{case_name}: {name}", lambda step=step, error=error: step(error()), nothing.size
        )
        largest = max(largest, share)
    return largest


def bytes_per_voxel(name, step, voxels):
    """Print the cost of a step; return its peak memory per voxel."""
    took_ms, peak = traced(step)
    print(f"{name:50}{took_ms:11.2f} ms (traced) {peak / voxels:8.3f} bytes per voxel", flush=True)
    return peak / voxels


def main():
    """Report all figures; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    shape = (300, 512, 512)
    filled = FILLED
    if options.quick:
        shape = (60, 128, 128)
        filled = (16, 64, 64)
    objects = {"organ": 0.3 * np.array(shape), "lesion": np.array((6.0, 8.9, 8.9))}
    figures = Figures(BARS, has_bars=not options.quick)
    largest = 0.0
    for name, half_axes in objects.items():
        prediction, target = case(shape, half_axes)
        print(f"\n{name}: {np.count_nonzero(target)} voxels in {' x '.join(map(str, shape))}")
        compare(name, prediction, target, options.repeats, figures)
        share = measure_alone(name, prediction, target, options.repeats, figures)
        largest = max(largest, share)
    figures.report("peak memory of a voxel, objects", largest)
    figures.report("peak memory of a voxel, errors that fill the volume", measure_filling(filled))
    figures.finish()


if __name__ == "__main__":
    main()
