"""J and F of a whole video of 70 frames of 480 x 854 with 3 objects, compared with a baseline.

    python benches/davis_metrics.py [--repeats 5]

The baseline works on 64-bit labels and full frames: for every object and frame it computes the
contours of both masks and dilates each by a disk. Both alternate in one process, on one thread. The
smallest CPU time and wall time count. "First" is the first prediction about a video, which includes
finding the contours of its target; "later" is any other.

Limits, for objects of usual size and for large ones: later predictions take at most 1/10 of the CPU
time of the baseline, the difference is exactly 0, and the peak memory is less than 4 bytes for each
pixel of the stack, including half of the target.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import cv2
import numpy as np
from skimage.morphology import disk

from segarena.arrays.contours import contour_radius_px
from segarena.multi_object import ObjectsComparison, ObjectsReference
from segarena.systems.videos.measures.jaccard_contour import JaccardContourMetric

SHAPE, OBJECTS = (70, 480, 854), 3
RATIO_BAR, BYTES_BAR = 1 / 10, 4.0


def video(radius_px: tuple[float, float], seed: int = 0) -> Any:
    """Return labels of star-shaped objects that move and change, later ones in front."""
    rng = np.random.default_rng(seed)
    labels = np.zeros(SHAPE, dtype=np.uint8)
    angle = np.linspace(0, 2 * np.pi, 200)
    for number in range(1, OBJECTS + 1):
        row, column, size = rng.uniform(120, 360), rng.uniform(150, 700), rng.uniform(*radius_px)
        phases = rng.uniform(0, 6, 5)
        for frame in range(SHAPE[0]):
            waves = sum(np.sin(k * angle + phases[k] + frame / 10) / (k + 1) for k in range(1, 5))
            radius = size * (1 + 0.2 * waves)
            points = np.stack(
                [column + frame + radius * np.cos(angle), row + radius * np.sin(angle)], axis=1
            )
            cv2.fillPoly(labels[frame], [points.astype(np.int32)], number)
    return labels


def plain_contour(mask: Any) -> Any:
    """Return the contour of a full frame by the published rule."""
    east, south, both = np.zeros_like(mask), np.zeros_like(mask), np.zeros_like(mask)
    east[:, :-1], south[:-1], both[:-1, :-1] = mask[:, 1:], mask[1:], mask[1:, 1:]
    found = (mask ^ east) | (mask ^ south) | (mask ^ both)
    found[-1], found[:, -1] = mask[-1] ^ east[-1], mask[:, -1] ^ south[:, -1]
    found[-1, -1] = False
    return found


def plain_f(prediction: Any, target: Any, around: Any) -> float:
    """Return F of one object in one frame."""
    ours, theirs = plain_contour(prediction), plain_contour(target)
    count, wanted = int(ours.sum()), int(theirs.sum())
    if not (count and wanted):
        return float(count == wanted)
    near_ours, near_theirs = (cv2.dilate(one.astype(np.uint8), around) for one in (ours, theirs))
    precision, recall = (
        int((ours * near_theirs).sum()) / count,
        int((theirs * near_ours).sum()) / wanted,
    )
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def plain(prediction: Any, target: Any) -> tuple[Any, Any]:
    """Return J and F, arrays (objects, frames)."""
    prediction, target = prediction.astype(np.int64), target.astype(np.int64)
    around = disk(contour_radius_px(SHAPE[1:], 0.008)).astype(np.uint8)
    jaccard, contours = (np.ones((OBJECTS, SHAPE[0])) for _ in range(2))
    for number in range(OBJECTS):
        ours, theirs = prediction == number + 1, target == number + 1
        for frame in range(SHAPE[0]):
            union = int((ours[frame] | theirs[frame]).sum())
            if union:
                jaccard[number, frame] = int((ours[frame] & theirs[frame]).sum()) / union
            contours[number, frame] = plain_f(ours[frame], theirs[frame], around)
    return jaccard, contours


class Spent(NamedTuple):
    """CPU seconds and wall seconds."""

    core_s: float
    clock_s: float


def timed(work: Callable[[], Any]) -> tuple[Spent, Any]:
    """Return the time that `work` took, and its result."""
    core, clock = time.process_time(), time.perf_counter()
    value = work()
    return Spent(time.process_time() - core, time.perf_counter() - clock), value


def least(times: list[Spent]) -> Spent:
    """Return the smallest CPU time and the smallest wall time."""
    return Spent(*map(min, zip(*times, strict=True)))


def peak_bytes(prediction: Any, target: Any) -> float:
    """Return the peak memory of the evaluation, for each pixel of the stack."""
    tracemalloc.start()
    JaccardContourMetric().of(ObjectsComparison(prediction, ObjectsReference(target, OBJECTS)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / target.size


def measure(name: str, radius_px: tuple[float, float], repeats: int) -> tuple[float, bool, float]:
    """Print the times for one kind of video; return the ratio, whether values are equal, and the bytes per pixel."""
    target = video(radius_px)
    prediction = np.roll(target, (7, 11), axis=(1, 2))
    prediction[:, :, 300:340] = 0
    metric, times = JaccardContourMetric(), {"plain": [], "first": [], "later": []}
    for _ in range(repeats):
        reference = ObjectsReference(target, OBJECTS)
        spent, theirs = timed(lambda: plain(prediction, target))
        times["plain"].append(spent)
        for way in ("first", "later", "later"):
            spent, ours = timed(
                lambda about=reference: metric.of(ObjectsComparison(prediction, about))
            )
            times[way].append(spent)
    same = np.array_equal(ours.jaccard, theirs[0]) and np.array_equal(ours.contour, theirs[1])
    size = peak_bytes(prediction, target)
    print(f"{name}, {100 * np.count_nonzero(target) / target.size:.0f} % of the pixels:")
    took = {way: least(spent) for way, spent in times.items()}
    for way, (core_s, clock_s) in took.items():
        shares = f"1/{took['plain'].core_s / core_s:.1f}, 1/{took['plain'].clock_s / clock_s:.1f}"
        print(
            f"  {way:6}{core_s:8.3f} s of processor time, {clock_s:.3f} s of wall time    {shares}"
        )
    print(f"  the same values: {same}; {size:.2f} bytes per pixel")
    return took["later"].core_s / took["plain"].core_s, same, size


def main() -> int:
    """Return 0 if every limit is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    cv2.setNumThreads(1)
    usual, large = (
        measure("usual objects", (60, 110), repeats),
        measure("large objects", (150, 230), repeats),
    )
    verdicts = {
        f"usual objects at most 1/{1 / RATIO_BAR:.0f} of the time of the baseline": usual[0]
        <= RATIO_BAR,
        f"large objects at most 1/{1 / RATIO_BAR:.0f} of the time of the baseline": large[0]
        <= RATIO_BAR,
        "difference exactly 0": usual[1] and large[1],
        f"less than {BYTES_BAR:g} bytes per pixel": max(usual[2], large[2]) < BYTES_BAR,
    }
    print("\n".join(f"{'held  ' if held else 'MISSED'} {what}" for what, held in verdicts.items()))
    return not all(verdicts.values())


if __name__ == "__main__":
    raise SystemExit(main())
