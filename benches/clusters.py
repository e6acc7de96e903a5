"""Cost and gain of Ray on one machine: a second worker, and thousands of tiny samples.

    python benches/clusters.py [BSDS500_FOLDER] [--samples 12] [--tiny 2000] [--turns 3]

Limits: two workers on Ray do at least 1.7 times the work of one, on GrabCut over the whole window;
2000 tiny samples take at most 15 % longer than with the same number of workers without Ray. Both
use a running cluster; the time to start one is printed too. Runs with and without Ray alternate,
and the fastest of each counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from engine import WHOLE, equal_work
from PIL import Image

import segarena
from segarena.work.cluster.connection import connect_ray


def seconds(work: Callable[[Path], object], scratch: Path) -> float:
    """Return the seconds of a run in a new folder."""
    started = time.perf_counter()
    work(scratch / "run")
    took = time.perf_counter() - started
    shutil.rmtree(scratch / "run")
    return took


def second_worker(dataset: str, limit: int, turns: int, scratch: Path) -> bool:
    """Print the speed-up of two workers over one."""

    def by(workers: int) -> Callable[[Path], object]:
        return lambda out: segarena.evaluate(
            "clicks",
            segmenter=WHOLE,
            dataset=dataset,
            users=["centre"],
            limit=limit,
            out=out,
            workers=segarena.Ray(workers),
        )

    ratios = [(seconds(by(1), scratch), seconds(by(2), scratch)) for _ in range(turns)]
    one_s, two_s = (min(took) for took in zip(*ratios, strict=True))
    print(
        f"GrabCut, {limit} photographs: one {one_s:.1f} s, two {two_s:.1f} s, ratio {one_s / two_s:.2f} (bar 1.7)"
    )
    return one_s / two_s >= 1.7


def tiny_samples(count: int, turns: int, scratch: Path) -> bool:
    """Print the overhead of Ray for samples that take milliseconds."""
    photographs(scratch / "tiny", count)

    def by(workers: int | segarena.Ray) -> Callable[[Path], object]:
        return lambda out: segarena.evaluate(
            "clicks",
            segmenter="nearest-prompt",
            dataset=f"folder(path={str(scratch / 'tiny')!r})",
            users=["centre"],
            rounds=1,
            out=out,
            workers=workers,
        )

    pairs = [(seconds(by(2), scratch), seconds(by(segarena.Ray(2)), scratch)) for _ in range(turns)]
    local_s, ray_s = (min(took) for took in zip(*pairs, strict=True))
    print(
        f"{count} tiny samples: local {local_s:.1f} s, on Ray {ray_s:.1f} s, ratio {ray_s / local_s:.2f} (bar 1.15)"
    )
    return ray_s / local_s <= 1.15


def photographs(folder: Path, count: int) -> None:
    """Write one small photograph and its mask under `count` names."""
    image = np.random.default_rng(0).integers(0, 255, size=(48, 64, 3), dtype=np.uint8)
    mask = np.zeros((48, 64), dtype=np.uint8)
    mask[10:30, 20:50] = 255
    for name, pixels, ending in (("images", image, "png"), ("masks", mask, "png")):
        (folder / name).mkdir(parents=True)
        first = folder / name / f"0000.{ending}"
        Image.fromarray(pixels).save(first)
        for index in range(1, count):
            (folder / name / f"{index:04d}.{ending}").hardlink_to(first)


def main() -> None:
    """Measure; exit with 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "bsds500",
        nargs="?",
        help="folder of BSDS500; without it, copies of a demo photograph are used",
    )
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--tiny", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    scratch = Path(tempfile.mkdtemp())
    dataset = (
        f"bsds500(path={given.bsds500!r})"
        if given.bsds500
        else equal_work(scratch / "equal", given.samples)
    )
    print("load before:", " ".join(f"{load:.1f}" for load in os.getloadavg()))
    started = time.perf_counter()
    try:
        with connect_ray("", 2):
            print(f"starting a cluster on this machine: {time.perf_counter() - started:.1f} s")
            held = [
                second_worker(dataset, given.samples, given.turns, scratch),
                tiny_samples(given.tiny, given.turns, scratch),
            ]
    finally:
        shutil.rmtree(scratch)
    print("load after:", " ".join(f"{load:.1f}" for load in os.getloadavg()))
    print("all limits met" if all(held) else "a limit was missed")
    raise SystemExit(not all(held))


if __name__ == "__main__":
    main()
