"""How often a run loads its samples, and the time after its last dialogue: `python benches/after_dialogues.py`.

Samples are tiny, but loading one of them takes a fixed processor time. A run loads each sample once, at any number of
workers, and what remains after the last dialogue does not depend on the time of a load. Two runs are compared, with
slow and with quick loads, by the processor time of the main process from the last dialogue until `evaluate` returns. If
samples were loaded again there, the ratio would be about 20.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measurement import Figures, argument_parser, at_most

import segarena
from segarena.samples import ImageSample, Target

LOAD_S = 0.2
SAMPLES = 12
WORKERS = (0, 2)
BARS = {
    "0 workers: loads of a sample": at_most(1),
    "2 workers: loads of a sample": at_most(1),
    "0 workers: time after the last dialogue, slow / quick loads": at_most(1.8),
    "2 workers: time after the last dialogue, slow / quick loads": at_most(1.8),
}


class SlowlyLoaded:
    """Images of a square whose loading takes processor time; each load adds a line to a file."""

    name = "slowly-loaded"
    fingerprint = "slowly-loaded"

    def __init__(self, *, log: str = "", load_s: float = 0.0, count: int = 1) -> None:
        self.log = log
        self.load_s = load_s
        self.sample_ids = tuple(f"{number:04d}" for number in range(count))

    def load(self, sample_id: str) -> ImageSample:
        """Return an image after the processor time of a load."""
        started = time.process_time()
        while time.process_time() - started < self.load_s:
            pass
        with Path(self.log).open("a", encoding="utf-8") as log:
            log.write(f"{sample_id}\n")
        mask = np.zeros((48, 48), dtype=np.bool_)
        mask[10:30, 10:30] = True
        image = np.full((48, 48, 3), 90, dtype=np.uint8)
        return ImageSample(id=sample_id, image=image, targets=(Target(id="square", mask=mask),))

    def check(self) -> list[Any]:
        """Return no findings."""
        return []


def run(load_s: float, samples: int, workers: int, scratch: Path) -> tuple[float, int]:
    """Return the main process's seconds after the last dialogue, and the number of loads."""
    log = scratch / "loads"
    log.write_text("")
    last_s = time.process_time()

    def note(_: object) -> None:
        nonlocal last_s
        last_s = time.process_time()

    with tempfile.TemporaryDirectory(dir=scratch) as out:
        segarena.evaluate(
            "clicks",
            segmenter="nearest-prompt",
            dataset=f"{__file__}:SlowlyLoaded(log={str(log)!r}, load_s={load_s}, count={samples})",
            users=["centre"],
            rounds=2,
            out=Path(out) / "run",
            workers=workers,
            on_progress=note,
        )
        after_s = time.process_time() - last_s
    return after_s, len(log.read_text().splitlines())


def main() -> None:
    """Report loads and time for each number of workers; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    samples = SAMPLES
    load_s = LOAD_S
    if options.quick:
        samples = 2
        load_s = 0.02
    figures = Figures(BARS, has_bars=not options.quick)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        run(0.0, 1, 0, scratch)  # imports
        for workers in WORKERS:
            quick_s, _ = run(0.0, samples, workers, scratch)
            slow_s, loads = run(load_s, samples, workers, scratch)
            figures.report(f"{workers} workers: loads of a sample", loads / samples)
            figures.report(
                f"{workers} workers: time after the last dialogue, slow / quick loads",
                slow_s / quick_s,
            )
    figures.finish()


if __name__ == "__main__":
    main()
