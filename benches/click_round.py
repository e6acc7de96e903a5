"""Time of one round of a click benchmark, compared with a baseline: next click, IoU, boundary IoU.

    python benches/click_round.py [--repeats 15] [--quick]

The baseline does what published click benchmarks do: two exact distance transforms of the padded
full frame, counts on the full frame, and two boundary bands on the full frame. Our code gets a new
`Comparison` in every repetition. Only values that depend on the target alone (its window, area and
boundary band) are kept in the `Reference`, as over the rounds of a dialogue, and are not part of a
round's time. Both alternate in one process, on one thread, and thread CPU time is measured, so that
the ratios are valid on a busy machine too. The largest ratio of each group has a limit. For large
errors, such as a missing object, the click alone is compared too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import cv2
import numpy as np
from measurement import Figures, PairedTime, argument_parser, at_most, paired_time

from segarena.comparison import Comparison, Reference
from segarena.metrics.boundary import BoundaryIou
from segarena.metrics.overlap import Iou
from segarena.users.centre import deepest_error

TYPICAL = (480, 854)
LARGE = (2048, 2048)
BARS = {
    "largest ratio, 480 x 854, a quarter wrong at most": at_most(0.35),
    "largest ratio, 480 x 854, wrong everywhere": at_most(0.55),
    "largest ratio, 2048 x 2048, wrong everywhere": at_most(0.5),
    "largest ratio, 2048 x 2048, a quarter wrong at most": at_most(0.3),
    "largest ratio, 480 x 854, nothing to find": at_most(0.07),
    "largest ratio, 2048 x 2048, nothing to find": at_most(0.04),
    "largest ratio, tiny": at_most(1.0),
    "largest ratio of the click alone, 480 x 854, a large error": at_most(1 / 7),
    "largest ratio of the click alone, 2048 x 2048, a large error": at_most(1 / 8),
}
LARGE_ERRORS = (
    "first click, round object",
    "thick missing blob",
    "thick surplus blob",
    "thick blobs of both kinds",
)


def plain_round(prediction, target, ignore, clicked):
    """Return click, IoU and boundary IoU, with every step on the full frame."""
    judged = ~ignore
    click = plain_click(prediction, target, judged, clicked)
    iterations = max(1, round(0.02 * float(np.hypot(*target.shape))))
    bands = [_plain_band(mask, iterations) for mask in (prediction, target)]
    return click, _plain_iou(prediction, target, judged), _plain_iou(bands[0], bands[1], judged)


def plain_click(prediction, target, judged, clicked):
    """Return (position, is_positive) of the published clicker: the first deepest pixel of the deeper error."""
    wrong = (target & ~prediction & judged, ~target & prediction & judged)
    free = np.ones(target.shape, dtype=bool)
    for position in clicked:
        free[position] = False
    depths = [_plain_depth(mask) * free for mask in wrong]
    highest = [depth.max() for depth in depths]
    is_positive = highest[0] > highest[1]
    chosen = depths[0] if is_positive else depths[1]
    rows, columns = np.where(chosen == chosen.max())
    return (int(rows[0]), int(columns[0])), bool(is_positive)


def _plain_depth(mask):
    padded = np.pad(mask, 1).astype(np.uint8)
    return cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1]


def _plain_band(mask, iterations):
    whole = mask.astype(np.uint8)
    framed = cv2.copyMakeBorder(whole, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    return (
        whole
        - cv2.erode(framed, np.ones((3, 3), dtype=np.uint8), iterations=iterations)[1:-1, 1:-1]
    ).astype(bool)


def _plain_iou(prediction, target, judged):
    intersection = np.logical_and(np.logical_and(prediction, target), judged).sum()
    union = np.logical_and(np.logical_or(prediction, target), judged).sum()
    return intersection / union if union else np.nan


IOU = Iou(empty="nan")
BOUNDARY_IOU = BoundaryIou(empty="nan")


def our_round(prediction, reference, clicked):
    """Compute `plain_round` on a new comparison."""
    comparison = Comparison(prediction, reference)
    click = deepest_error(comparison, clicked)
    return click, IOU(comparison)["iou"], BOUNDARY_IOU(comparison)["boundary_iou"]


def smooth(seed, shape, sigma):
    """Return a smooth random field whose ranks are scaled to 0 to 1."""
    noise = (
        np.random.default_rng(seed)
        .standard_normal((shape[0] // 4 + 1, shape[1] // 4 + 1))
        .astype(np.float32)
    )
    field = cv2.GaussianBlur(noise, (0, 0), sigma / 4, borderType=cv2.BORDER_REFLECT)
    field = cv2.resize(field, (shape[1], shape[0]), interpolation=cv2.INTER_CUBIC)
    return (field - field.min()) / (field.max() - field.min())


def disc(shape, row, column, radius, stretch=1.0):
    """Return a filled ellipse; positions and radius are fractions of the height and width."""
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    size = radius * shape[0]
    return ((rows - row * shape[0]) / size) ** 2 + (
        (columns - column * shape[1]) / (size * stretch)
    ) ** 2 <= 1


def specks(seed, shape, density, side):
    """Return scattered squares."""
    few = np.random.default_rng(seed).random((shape[0] // side + 1, shape[1] // side + 1)) < density
    return np.kron(few, np.ones((side, side), dtype=bool))[: shape[0], : shape[1]]


def typical_cases(shape) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield (name, prediction, target) with at most a quarter of the image wrong."""
    empty = np.zeros(shape, dtype=bool)
    body = disc(shape, 0.5, 0.5, 0.35, 1.4)
    field = smooth(1, shape, 60)
    land = field > np.quantile(field, 0.6)
    ragged = smooth(2, shape, 12) - 0.5
    yield "first click, round object", empty, disc(shape, 0.5, 0.45, 0.32, 1.2)
    yield "first click, ragged object", empty, field > np.quantile(field, 0.78)
    yield "thick missing blob", body & ~disc(shape, 0.45, 0.6, 0.25), body
    yield "thick surplus blob", body | disc(shape, 0.3, 0.8, 0.25), body
    yield (
        "thick blobs of both kinds",
        (body & ~disc(shape, 0.5, 0.3, 0.18)) | disc(shape, 0.3, 0.85, 0.2),
        body,
    )
    yield "object moved by 12 pixels", np.roll(body, (6, 12), axis=(0, 1)), body
    yield "thin ragged boundary", field + 0.02 * ragged > np.quantile(field, 0.6), land
    yield "wide ragged boundary", field + 0.15 * ragged > np.quantile(field, 0.6), land
    yield (
        "one pixel along the boundary",
        cv2.dilate(land.view(np.uint8), np.ones((3, 3), np.uint8)) > 0,
        land,
    )
    yield "specks of 1 pixel, both kinds", land ^ specks(3, shape, 0.1, 1), land
    yield "specks of 4 pixels, both kinds", land ^ specks(4, shape, 0.15, 4), land
    yield "specks of 9 pixels, both kinds", land ^ specks(5, shape, 0.2, 9), land
    yield "surplus specks everywhere", specks(6, shape, 0.2, 3), empty
    yield (
        "thin frame of the image",
        np.pad(np.zeros((shape[0] - 8, shape[1] - 8), bool), 4, constant_values=True),
        empty,
    )
    yield (
        "stripes over a quarter",
        (np.arange(shape[0]) % 16 < 4)[:, None] & np.ones(shape, dtype=bool),
        empty,
    )


def hard_cases(shape) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield (name, prediction, target) with errors everywhere."""
    empty, full = np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool)
    rows, columns = np.indices(shape, dtype=np.int32)
    noise = np.random.default_rng(7).random(shape) < 0.5
    yield "noise of 50 % against everything", noise, full
    yield "noise against other noise", noise, np.random.default_rng(8).random(shape) < 0.5
    yield "noise of 99 % against nothing", np.random.default_rng(9).random(shape) < 0.99, empty
    yield "checkerboard against its inverse", (rows + columns) % 2 == 0, (rows + columns) % 2 == 1
    yield "whole frame missing", empty, full
    yield "whole frame surplus", full, empty
    yield "halves swapped", columns < shape[1] // 2, columns >= shape[1] // 2
    for width in (1, 2, 3, 7, 20, 64, 200):
        yield (
            f"stripes of {width} against their inverse",
            columns // width % 2 == 0,
            columns // width % 2 == 1,
        )
    yield "stripes of 40 missing", empty, columns // 40 % 2 == 0
    yield (
        "slanted stripes against their inverse",
        (3 * columns + rows) // 150 % 2 == 0,
        (3 * columns + rows) // 150 % 2 == 1,
    )
    centre = np.hypot(rows - shape[0] / 2, columns - shape[1] / 2)
    yield "rings against their inverse", centre // 30 % 2 == 0, centre // 30 % 2 == 1
    yield (
        "equal discs against the rest",
        np.hypot(rows % 64 - 32, columns % 64 - 32) < 28,
        np.hypot(rows % 64 - 32, columns % 64 - 32) >= 28,
    )
    field = smooth(10, shape, 25)
    yield "blobs against their inverse", field > 0.5, field <= 0.5
    fine = smooth(11, shape, 6)
    yield "small blobs against their inverse", fine > 0.5, fine <= 0.5


def ignored_cases(shape) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (name, prediction, target, ignore): a band along the target's outline is ignored."""
    for name, prediction, target in typical_cases(shape):
        if name in ("thick missing blob", "wide ragged boundary", "specks of 4 pixels, both kinds"):
            thick = np.ones((9, 9), dtype=np.uint8)
            ignore = cv2.dilate(target.view(np.uint8), thick) > cv2.erode(
                target.view(np.uint8), thick
            )
            yield f"{name}, band ignored", prediction, target, ignore


def all_cases(is_quick):
    """Yield (group, name, prediction, target, ignore)."""
    shapes = [TYPICAL]
    if not is_quick:
        shapes.append(LARGE)
    for shape in shapes:
        size = f"{shape[0]} x {shape[1]}"
        for name, prediction, target in typical_cases(shape):
            yield f"{size}, a quarter wrong at most", name, prediction, target, None
        if shape == TYPICAL:
            for name, prediction, target, ignore in ignored_cases(shape):
                yield f"{size}, a quarter wrong at most", name, prediction, target, ignore
        for name, prediction, target in hard_cases(shape):
            yield f"{size}, wrong everywhere", name, prediction, target, None
        group = f"{size}, nothing to find"
        empty = np.zeros(shape, dtype=bool)
        body = disc(shape, 0.5, 0.5, 0.35)
        yield group, "both empty", empty, empty, None
        yield group, "solved", body, body, None
        yield group, "everything ignored", body, ~body, np.ones(shape, dtype=bool)
    for side in (1, 4, 8, 16, 32, 64, 128):
        shape = (side, side)
        body = disc(shape, 0.5, 0.5, 0.3)
        noise = np.random.default_rng(side).random((2, *shape)) < 0.5
        empty = np.zeros(shape, dtype=bool)
        yield "tiny", f"{side} x {side}, disc missing", empty, body, None
        yield "tiny", f"{side} x {side}, disc moved", np.roll(body, 1, axis=1), body, None
        yield "tiny", f"{side} x {side}, noise", noise[0], noise[1], None


def measure(prediction, target, ignore, pairs) -> PairedTime:
    """Time both implementations in alternation, after checking that their results agree."""
    reference = Reference(target, ignore)
    judged_out = np.zeros(target.shape, dtype=bool)
    if ignore is not None:
        judged_out = ignore
    check(plain_round(prediction, target, judged_out, []), our_round(prediction, reference, []))
    return paired_time(
        lambda: our_round(prediction, reference, []),
        lambda: plain_round(prediction, target, judged_out, []),
        pairs,
        clock=time.thread_time,
    )


def measure_click(prediction, target, pairs) -> PairedTime:
    """Return the times of the click alone, with the target's window and area already cached, as from round 2 on."""
    reference = Reference(target)
    deepest_error(Comparison(prediction, reference))
    everything = np.ones(target.shape, dtype=bool)
    return paired_time(
        lambda: deepest_error(Comparison(prediction, reference)),
        lambda: plain_click(prediction, target, everything, []),
        pairs,
        clock=time.thread_time,
    )


def check(plain, ours):
    """Raise an error if the results differ. If float32 breaks a tie, the baseline may click another pixel."""
    ((position, is_positive), *plain_values), (click, *our_values) = plain, ours
    if not np.array_equal(plain_values, our_values, equal_nan=True):
        raise SystemExit(f"values differ: {plain_values} and {our_values}")
    if click is not None and (click.position, click.is_positive) != (position, is_positive):
        print(f"  (float32 decides a tie: plain {position}, ours {click.position})")


def pairs_for(target, repeats):
    """Return the number of pairs: fewer for large frames, and many for tiny ones, whose times vary more."""
    if target.size > 1e6:
        return max(5, repeats // 3)
    if target.size > 1e5:
        return repeats
    return 10 * repeats


def main():
    """Print the ratio of each case; exit with 1 if the largest ratio of a group misses its limit."""
    parser = argument_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    repeats = options.repeats
    if options.quick:
        repeats = 1
    largest = {}
    print(f"{'':80}{'plain ms':>10}{'ours ms':>10}{'ratio':>8}")
    for group, name, prediction, target, ignore in all_cases(options.quick):
        times = measure(prediction, target, ignore, pairs_for(target, repeats))
        figure = f"largest ratio, {group}"
        largest[figure] = max(largest.get(figure, 0), times.ratio)
        print(
            f"{group + ', ' + name:80}{1e3 * times.baseline_s:10.3f}{1e3 * times.ours_s:10.3f}{times.ratio:8.2f}",
            flush=True,
        )
    shapes = [TYPICAL]
    if not options.quick:
        shapes.append(LARGE)
    for shape in shapes:
        figure = f"largest ratio of the click alone, {shape[0]} x {shape[1]}, a large error"
        for name, prediction, target in typical_cases(shape):
            if name in LARGE_ERRORS:
                ratio = measure_click(prediction, target, pairs_for(target, repeats)).ratio
                print(f"the click alone, {shape[0]} x {shape[1]}, {name:60}{ratio:8.3f}")
                largest[figure] = max(largest.get(figure, 0), ratio)
    figures = Figures(BARS, has_bars=not options.quick)
    for name, ratio in largest.items():
        figures.report(name, ratio)
    figures.finish()


if __name__ == "__main__":
    main()
