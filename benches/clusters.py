"""Cost and gain of Ray on one machine: a second worker, and thousands of tiny samples.

    python benches/clusters.py [BSDS500_FOLDER] [--samples 12] [--tiny 600] [--turns 3]

Both runs use a running cluster; the time to start one is reported too. Runs alternate, and the median of the ratios of
pairs counts. The figures are wall time, because waiting for other processes is what is measured; they say something
only if two cores are free.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from engine import WHOLE, equal_work
from measurement import Figures, argument_parser, at_least, at_most, no_bar, paired_time
from PIL import Image

import segarena
from segarena.work.cluster.connection import connect_ray

BARS = {
    "two workers on Ray, times as fast as one": at_least(1.7),
    "tiny samples on Ray, wall time relative to local workers": at_most(1.5),
    "starting a cluster, wall time": no_bar("s"),
}


def run_in(scratch: Path, work: Callable[[Path], object]) -> Callable[[], None]:
    """Return a function that does the work in a new folder, and then removes the folder."""

    def run() -> None:
        work(scratch / "run")
        shutil.rmtree(scratch / "run")

    return run


def second_worker_ratio(dataset: str, limit: int, pairs: int, scratch: Path) -> float:
    """Return how many times as fast two workers are as one."""

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

    times = paired_time(
        run_in(scratch, by(2)), run_in(scratch, by(1)), pairs, clock=time.perf_counter
    )
    print(f"GrabCut, {limit} photographs: one {times.baseline_s:.1f} s, two {times.ours_s:.1f} s")
    return 1 / times.ratio


def tiny_samples_ratio(count: int, pairs: int, scratch: Path) -> float:
    """Return the time on Ray relative to local workers for samples that take milliseconds."""
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

    times = paired_time(
        run_in(scratch, by(segarena.Ray(2))),
        run_in(scratch, by(2)),
        pairs,
        clock=time.perf_counter,
    )
    print(f"{count} tiny samples: local {times.baseline_s:.1f} s, on Ray {times.ours_s:.1f} s")
    return times.ratio


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
    parser = argument_parser(__doc__)
    parser.add_argument(
        "bsds500",
        nargs="?",
        help="folder of BSDS500; without it, copies of a demo photograph are used",
    )
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--tiny", type=int, default=600)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    samples = options.samples
    tiny = options.tiny
    turns = options.turns
    if options.quick:
        samples = 2
        tiny = 10
        turns = 1
    scratch = Path(tempfile.mkdtemp())
    if options.bsds500:
        dataset = f"bsds500(path={options.bsds500!r})"
    else:
        dataset = equal_work(scratch / "equal", samples)
    figures = Figures(BARS, has_bars=not options.quick)
    started = time.perf_counter()
    try:
        with connect_ray("", 2):
            figures.report("starting a cluster, wall time", time.perf_counter() - started)
            figures.report(
                "two workers on Ray, times as fast as one",
                second_worker_ratio(dataset, samples, turns, scratch),
            )
            figures.report(
                "tiny samples on Ray, wall time relative to local workers",
                tiny_samples_ratio(tiny, turns, scratch),
            )
    finally:
        shutil.rmtree(scratch)
    figures.finish()


if __name__ == "__main__":
    main()
