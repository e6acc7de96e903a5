"""Cost of the engine: its share of a GrabCut run, and the gain of a second worker.

    python benches/engine.py [BSDS500_FOLDER] [--samples 8]

Without the folder of BSDS500, one demo photograph is repeated, because one of the demo photographs
causes half of the work, which a second worker could not share. Limits are for GrabCut as in the paper (the whole
window, five iterations, no bound) and for the package's own fast one.

The share outside the segmenter is of processor time. How much faster two workers are is a question of wall time: it
says something only if two cores are free. The processor time of two workers relative to one holds on a busy machine
too: it is the work that the second worker adds.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from measurement import Figures, argument_parser, at_least, at_most, paired_time, processor_s
from PIL import Image

import segarena
from segarena.registry import build

WHOLE = "grabcut(work_px=1000000, iterations=5, reach_px=0)"


BARS = {
    "outside the segmenter, share of a run with the published GrabCut": at_most(0.04),
    "outside the segmenter, share of a run with our GrabCut": at_most(0.16),
    "two workers, times as fast as one (wall time)": at_least(1.6),
    "two workers, processor time relative to one": at_most(1.25),
}


def evaluate(segmenter: str, dataset: str, out: Path, workers: int, limit: int) -> None:
    """Run GrabCut in a new folder, and remove the folder."""
    segarena.evaluate(
        "clicks",
        segmenter=segmenter,
        dataset=dataset,
        users=["centre"],
        out=out,
        workers=workers,
        limit=limit,
    )
    shutil.rmtree(out)


def outside_share(segmenter: str, dataset: str, limit: int, scratch: Path) -> float:
    """Return the share of a run's processor time in which the segmenter does not work."""
    inside_s = 0.0
    kind = type(build("segmenter", segmenter))
    originals = {name: getattr(kind, name) for name in ("encode", "predict")}

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def measured(*arguments: Any, **options: Any) -> Any:
            nonlocal inside_s
            started = time.process_time()
            answer = method(*arguments, **options)
            inside_s += time.process_time() - started
            return answer

        return measured

    for name, method in originals.items():
        setattr(kind, name, timed(method))
    try:
        started = time.process_time()
        evaluate(segmenter, dataset, scratch / "run", workers=0, limit=limit)
        total_s = time.process_time() - started
    finally:
        for name, method in originals.items():
            setattr(kind, name, method)
    print(f"{segmenter}: {total_s:.1f} s of processor time, {inside_s:.1f} s in the segmenter")
    return 1 - inside_s / total_s


def worker_ratios(dataset: str, limit: int, pairs: int, scratch: Path) -> tuple[float, float]:
    """Return the wall time and the processor time of a run with two workers relative to those with one."""
    worked_s: dict[int, list[float]] = {1: [], 2: []}

    def run(workers: int) -> None:
        before_s = processor_s()
        evaluate(WHOLE, dataset, scratch / "run", workers=workers, limit=limit)
        worked_s[workers].append(processor_s() - before_s)

    times = paired_time(lambda: run(2), lambda: run(1), pairs, clock=time.perf_counter)
    ratios = [two / one for two, one in zip(worked_s[2], worked_s[1], strict=True)]
    return times.ratio, median(ratios)


def equal_work(folder: Path, count: int) -> str:
    """Write a demo photograph and its first target under `count` names; return a dataset of them."""
    sample = build("dataset", "demo").load("camera")
    Image.fromarray(sample.image).save(place_of(folder, "images", 0))
    Image.fromarray(sample.targets[0].mask.astype(np.uint8) * 255).save(
        place_of(folder, "masks", 0)
    )
    for kind in ("images", "masks"):
        for index in range(1, count):
            place_of(folder, kind, index).hardlink_to(place_of(folder, kind, 0))
    return f"folder(path={str(folder)!r})"


def place_of(folder: Path, kind: str, index: int) -> Path:
    """Return the path of a picture, and create its folder."""
    (folder / kind).mkdir(parents=True, exist_ok=True)
    return folder / kind / f"{index:04d}.png"


def main() -> None:
    """Measure everything; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "bsds500", nargs="?", help="folder of BSDS500; without it, a demo photograph is repeated"
    )
    parser.add_argument("--samples", type=int, default=8)
    options = parser.parse_args()
    samples = options.samples
    pairs = 3
    if options.quick:
        samples = 2
        pairs = 1
    figures = Figures(BARS, has_bars=not options.quick)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if options.bsds500:
            dataset = f"bsds500(path={options.bsds500!r})"
        else:
            dataset = equal_work(scratch / "equal", samples)
        evaluate("grabcut", dataset, scratch / "warm", workers=0, limit=1)
        figures.report(
            "outside the segmenter, share of a run with the published GrabCut",
            outside_share(WHOLE, dataset, samples, scratch),
        )
        figures.report(
            "outside the segmenter, share of a run with our GrabCut",
            outside_share("grabcut", dataset, samples, scratch),
        )
        wall_ratio, processor_ratio = worker_ratios(dataset, samples, pairs, scratch)
        figures.report("two workers, times as fast as one (wall time)", 1 / wall_ratio)
        figures.report("two workers, processor time relative to one", processor_ratio)
    figures.finish()


if __name__ == "__main__":
    main()
