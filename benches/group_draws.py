"""Time of one sample from each of ten clicking groups on one error map, compared with the published method.

    python benches/group_draws.py [--repeats 15]

For every sample, the published method computes the map times the error mask times the pixels not
clicked yet, a sort of all pixels of the image, two cumulative sums, the pixels between the values
at the bounds, and a weighted choice among all pixels. Our code samples only from the error's
pixels, by `MapClicker`'s own steps. Values that ten groups share in the first round are computed
once and are part of the time. Before anything is timed, our samples are compared with a full sort.
Both alternate in one process, on one thread, in thread CPU time. Our code runs ten times per
repetition, so that both have equally warm caches.
"""

from __future__ import annotations

import time

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most, paired_time

from segarena.systems.clicks.sampling.error_weights import weights_at

GROUPS = 10
BARS = {
    "largest ratio, 480 x 854": at_most(1 / 60),
    "largest ratio, 2048 x 2048": at_most(1 / 85),
}
CASES = (((480, 854), 102_000), ((2048, 2048), 424_000))


def published_draw(click_map, error, not_clicked, low, high, rng):
    """Return one sample, with every step over the whole image."""
    masked = click_map * error * not_clicked
    ordered = np.sort(masked.ravel())
    total, sums = ordered.sum(), np.cumsum(ordered)
    first = int(np.argmax(sums >= total * low))
    above = sums > total * high
    last = int(np.argmax(above)) if above.any() else len(sums) - 1
    kept = np.where((masked >= ordered[first]) & (masked <= ordered[last]), masked, 0).ravel()
    return np.unravel_index(rng.choice(len(kept), p=kept / kept.sum()), masked.shape)


def published_draws(click_map, error, rng):
    """Return one sample from each group."""
    not_clicked = np.ones(error.shape, dtype=np.float32)
    return [
        published_draw(click_map, error, not_clicked, k / GROUPS, (k + 1) / GROUPS, rng)
        for k in range(GROUPS)
    ]


def our_draws(click_map, error, uniforms):
    """Return one sample from each group, including the time to locate the error."""
    found = weights_at(error, click_map)
    if not found.weights.total > 0:
        raise SystemExit("the map is empty")
    drawn = [
        found.weights.draw(k / GROUPS, (k + 1) / GROUPS, uniform)
        for k, uniform in enumerate(uniforms)
    ]
    return [found.position(index) for index in drawn]


def full_sort_draws(click_map, error, uniforms):
    """Return the expected result of `our_draws`, by sorting everything."""
    weights = (click_map * error).ravel().astype(np.float64)
    order = np.argsort(weights, kind="stable")
    sums = np.cumsum(weights[order])
    shares = [(k + uniform) / GROUPS for k, uniform in enumerate(uniforms)]
    return [
        np.unravel_index(order[np.searchsorted(sums, share * sums[-1], "right")], error.shape)
        for share in shares
    ]


def click_maps(shape, pixels):
    """Yield (name, map, error) with the given number of error pixels: one smooth map, one of depths with ties."""
    rows, columns = np.indices(shape)
    height = np.sqrt(pixels / np.pi / 1.5)
    error = (
        np.hypot((rows - 0.5 * shape[0]) / height, (columns - 0.45 * shape[1]) / (1.5 * height))
        <= 1
    )
    noise = np.random.default_rng(0).random((shape[0] // 4, shape[1] // 4)).astype(np.float32)
    field = cv2.resize(
        cv2.GaussianBlur(noise, (0, 0), 6), (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR
    )
    yield "smooth", (field - field.min()) / (field.max() - field.min()), error
    depth = cv2.distanceTransform(error.view(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    yield "by depth", depth / depth.max(), error
    yield "uniform", error.astype(np.float32), error


def main():
    """Print the ratio of each map; exit with 1 if the largest ratio of a size misses its limit."""
    parser = argument_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    figures = Figures(BARS, has_bars=not options.quick)
    repeats = options.repeats
    cases = CASES
    if options.quick:
        cases = CASES[:1]
        repeats = 3
    for shape, pixels in cases:
        size = f"{shape[0]} x {shape[1]}"
        ratios = []
        for name, click_map, error in click_maps(shape, pixels):
            uniforms = np.random.default_rng(2).random(GROUPS)
            if our_draws(click_map, error, uniforms) != full_sort_draws(click_map, error, uniforms):
                raise SystemExit(f"{name}: our samples differ from those of a full sort")
            legacy = np.random.RandomState(1)
            times = paired_time(
                lambda click_map=click_map, error=error, uniforms=uniforms: our_draws(
                    click_map, error, uniforms
                ),
                lambda click_map=click_map, error=error, legacy=legacy: published_draws(
                    click_map, error, legacy
                ),
                max(3, repeats // (4 if error.size > 1e6 else 1)),
                clock=time.thread_time,
                calls=10,
            )
            ratios.append(times.ratio)
            milliseconds = (
                f"published {1e3 * times.baseline_s:.1f} ms, ours {1e3 * times.ours_s:.2f} ms"
            )
            print(f"{size}, {name}: {milliseconds}, 1/{1 / times.ratio:.0f}", flush=True)
        figures.report(f"largest ratio, {size}", max(ratios))
    figures.finish()


if __name__ == "__main__":
    main()
