"""Cost of samples that take milliseconds: processor time, flushes to disk and file look-ups of each.

    python benches/small_samples.py [--samples 512]

Images of 64 x 64 pixels with one target are segmented in five rounds by a stand-in that draws a disc around each
click, so that nearly all of the time is that of the engine, the user and the metrics. A short and a long run are
compared, so that start and end do not count. Processor time is that of all processes, and is printed beside the time
of a million additions, because that of a busy machine is longer.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measurement import Figures, argument_parser, at_most, no_bar, processor_s

import segarena
from segarena.samples import ImageSample, Target

SIDE_PX = 64
ROUNDS = 5
BARS = {
    "0 workers: processor time of a sample": at_most(4, "ms"),
    "2 workers: processor time of a sample": at_most(4, "ms"),
    "flushes of a sample": at_most(2),
    "look-ups of a sample": at_most(5),
    "a million additions": no_bar("ms"),
}

_ROWS, _COLUMNS = np.mgrid[:SIDE_PX, :SIDE_PX]


class Discs:
    """Images of a disc each; nothing is read from a disk."""

    name = "discs"
    fingerprint = "discs"

    def __init__(self, *, count: int = 100) -> None:
        self.sample_ids = tuple(f"{index:06d}" for index in range(count))

    def load(self, sample_id: str) -> ImageSample:
        """Return an image with a disc, whose place depends on the id."""
        number = int(sample_id)
        mask = _disc(16 + number % 31, 16 + number % 29, 12)
        image = np.full((SIDE_PX, SIDE_PX, 3), 60, np.uint8)
        return ImageSample(id=sample_id, image=image, targets=(Target(id="disc", mask=mask),))


class DiscsAtClicks:
    """Draws a disc around each positive click, and erases one around each negative click."""

    def encode(self, sample: ImageSample) -> ImageSample:
        """Return the sample."""
        return sample

    def predict(self, encoded: ImageSample, dialogues: Any) -> list[Any]:
        """Return a mask for each dialogue."""
        answers: list[Any] = []
        for dialogue in dialogues:
            mask = dialogue.previous_mask(encoded.shape).copy()
            last = dialogue.clicks[-1]
            row, column = last.position
            mask[_disc(row, column, 6)] = last.is_positive
            answers.append(mask)
        return answers


def _disc(row: int, column: int, radius: int) -> Any:
    return (_ROWS - row) ** 2 + (_COLUMNS - column) ** 2 < radius**2


@contextmanager
def counted_calls(counts: Counter[str]) -> Any:
    """Count flushes and look-ups of this process in the block."""
    originals = {"fsync": os.fsync, "stat": os.stat, "lstat": os.lstat}

    def counting(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            counts[name] += 1
            return call(*arguments, **options)

        return counted

    is_on = True

    def audit(event: str, _: tuple[Any, ...]) -> None:
        if is_on and event in ("open", "os.listdir", "os.scandir"):
            counts[event] += 1

    # An audit hook cannot be removed.
    sys.addaudithook(audit)
    for name, call in originals.items():
        setattr(os, name, counting(name, call))
    try:
        yield
    finally:
        is_on = False
        for name, call in originals.items():
            setattr(os, name, call)


def run(samples: int, workers: int, out: Path) -> None:
    """Run the benchmark on this many samples."""
    folder = segarena.evaluate(
        "clicks",
        segmenter=f"{__file__}:DiscsAtClicks",
        dataset=f"{__file__}:Discs(count={samples})",
        users=["centre"],
        rounds=ROUNDS,
        out=out,
        workers=workers,
    )
    if folder.config.counts is None or folder.config.counts.failures:
        raise SystemExit("some dialogues failed")


def spent_s(samples: int, workers: int, out: Path) -> float:
    """Return the processor time of a run."""
    started = processor_s()
    run(samples, workers, out)
    return processor_s() - started


def additions_ms() -> float:
    """Return the processor time of a million additions."""
    started = processor_s()
    total = 0
    for number in range(1_000_000):
        total += number
    return 1000 * (processor_s() - started)


def main() -> None:
    """Measure everything; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--samples", type=int, default=512)
    options = parser.parse_args()
    samples = options.samples
    if options.quick:
        samples = 16
    few = max(1, samples // 8)
    figures = Figures(BARS, has_bars=not options.quick)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        run(few, 0, scratch / "warm")
        for workers in (0, 2):
            short_s = spent_s(few, workers, scratch / f"short-{workers}")
            long_s = spent_s(samples, workers, scratch / f"long-{workers}")
            each_ms = 1000 * (long_s - short_s) / (samples - few)
            figures.report(f"{workers} workers: processor time of a sample", each_ms)
        figures.report("a million additions", additions_ms())
        short, long = Counter[str](), Counter[str]()
        with counted_calls(short):
            run(few, 0, scratch / "counted-short")
        with counted_calls(long):
            run(samples, 0, scratch / "counted-long")
    more = {name: (long[name] - short[name]) / (samples - few) for name in long}
    figures.report("flushes of a sample", more.pop("fsync", 0.0))
    detail = ", ".join(f"{name} {count:.2f}" for name, count in sorted(more.items()))
    print(f"look-ups: {detail}")
    figures.report("look-ups of a sample", sum(more.values()))
    figures.finish()


if __name__ == "__main__":
    main()
