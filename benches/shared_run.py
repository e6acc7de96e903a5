"""Processor time that `--share` adds: two processes that share a run, compared with one that runs it alone.

    python benches/shared_run.py [--samples 20]

Both sides are whole commands, in alternation. Two processes start twice, so the time to start one (of a run that is
already complete) is subtracted from theirs. What remains is the cost of claims, of looking for work of the other
process, and of samples that both of them computed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from engine import equal_work
from measurement import Figures, argument_parser, at_most, no_bar, processor_s, run_command
from starting import segarena_command

PAIRS = 3
BARS = {
    "two processes / one, without the second start": at_most(1.15),
    "starting on a complete run": no_bar("s"),
}


def run_arguments(dataset: str, out: Path) -> list[str]:
    """Return the command of a run."""
    command = [segarena_command(), "run", "clicks", "-s", "grabcut", "-d", dataset]
    return [*command, "--rounds", "5", "-o", str(out)]


def shared_s(dataset: str, out: Path) -> float:
    """Return the processor seconds of two processes that share a run."""
    before = processor_s()
    own_before = sum(os.times()[:2])
    processes = [
        subprocess.Popen(
            [*run_arguments(dataset, out), "--share"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        _, errors = process.communicate()
        if process.returncode:
            raise SystemExit(f"a shared run failed:\n{errors}")
    own_s = sum(os.times()[:2]) - own_before
    return processor_s() - before - own_s


def main() -> None:
    """Report the ratio; exit with 1 if the limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--samples", type=int, default=20)
    options = parser.parse_args()
    samples = options.samples
    pairs = PAIRS
    if options.quick:
        samples = 2
        pairs = 1
    figures = Figures(BARS, has_bars=not options.quick)
    ratios: list[float] = []
    starts_s: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        dataset = equal_work(scratch / "equal", samples)
        for _ in range(pairs):
            alone_s = run_command(run_arguments(dataset, scratch / "alone"))
            start_s = run_command(run_arguments(dataset, scratch / "alone"))
            both_s = shared_s(dataset, scratch / "shared")
            ratios.append((both_s - start_s) / alone_s)
            starts_s.append(start_s)
            shutil.rmtree(scratch / "alone")
            shutil.rmtree(scratch / "shared")
    figures.report("two processes / one, without the second start", median(ratios))
    figures.report("starting on a complete run", median(starts_s))
    figures.finish()


if __name__ == "__main__":
    main()
