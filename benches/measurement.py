"""Measure processor time and memory, and report the figures of a bench.

All benches measure through this module, so that their figures mean the same. Times are processor time, which hardly
depends on other work on the machine, or ratios of two ways that alternate (A B, B A, ...): each ratio is that of one
pair, and the median of the pairs counts. Processor time still rises when other processes share a core's caches; a
ratio does not, because both of its sides are affected.

A bench declares the names and limits of its figures in `BARS`, reports them to a `Figures`, and calls `finish` at the
end. `run_all.py` collects them in one table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

FIGURES_FILE = "SEGARENA_BENCH_FIGURES"
"""Environment variable with the file to which figures are appended, one JSON object a line."""

REFERENCE_YARDSTICK_S = 0.012
"""Processor time of `yardstick` on the machine for which limits in seconds were set."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Bar:
    """Limit of a figure: its largest value, or its smallest if `is_minimum`; None for no limit."""

    limit: float | None
    unit: str = ""
    is_minimum: bool = False

    def holds(self, value: float) -> bool:
        """Return whether the value meets the limit."""
        if self.limit is None:
            return True
        if self.is_minimum:
            return value >= self.limit
        return value <= self.limit

    def __str__(self) -> str:
        """Return the limit as text; empty if there is none."""
        if self.limit is None:
            return ""
        return f"{'>=' if self.is_minimum else '<='} {self.limit:.3g}"


def at_most(limit: float, unit: str = "") -> Bar:
    """Return the bar of a figure that must not be larger."""
    return Bar(limit, unit)


def at_least(limit: float, unit: str = "") -> Bar:
    """Return the bar of a figure that must not be smaller."""
    return Bar(limit, unit, is_minimum=True)


def no_bar(unit: str = "") -> Bar:
    """Return the declaration of a figure that is only recorded."""
    return Bar(None, unit)


class Figures:
    """Figures of one run of a bench.

    Limits in seconds are those of the reference machine: a figure is divided by `slowdown` before it is compared.
    `has_bars=False` is for other sizes than the usual ones: figures are printed, and not compared.
    """

    def __init__(self, bars: Mapping[str, Bar], *, has_bars: bool = True) -> None:
        self.bars = bars
        self.has_bars = has_bars
        self.held: dict[str, bool] = {}

    def report(self, name: str, value: float) -> None:
        """Print a figure, and add it to the file of `run_all.py`."""
        bar = self.bars[name]
        value = float(value)
        shown = Bar(None, bar.unit)
        if self.has_bars:
            shown = bar
        compared = value
        remark = ""
        if shown.limit is not None and shown.unit in {"s", "ms"}:
            compared = value / slowdown()
            remark = f"  ({compared:.3g} {shown.unit} on the reference machine)"
        self.held[name] = shown.holds(compared)
        verdict = remark if self.held[name] else f"{remark}  MISSED"
        print(f"{name:60} {value:10.4g} {bar.unit:10} {shown!s:10}{verdict}", flush=True)
        _append(
            {
                "figure": name,
                "value": value,
                "compared": compared,
                "unit": bar.unit,
                "bar": str(shown),
                "held": self.held[name],
            }
        )

    def missed(self) -> list[str]:
        """Return the figures that miss their limit or were never reported."""
        if not self.has_bars:
            return []
        return [name for name in self.bars if not self.held.get(name, False)]

    def finish(self) -> None:
        """End the process: with 1 if a figure is missing or misses its limit."""
        missed = self.missed()
        if missed:
            print(f"missed: {', '.join(missed)}")
        elif self.has_bars:
            print("all limits met")
        _append({"finished": True, "missed": missed})
        raise SystemExit(bool(missed))


def _append(line: Mapping[str, object]) -> None:
    file = os.environ.get(FIGURES_FILE)
    if file:
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with `--quick`, which every bench has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="use small sizes, to check in seconds that the bench runs; limits do not apply",
    )
    return parser


def processor_s() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


def seconds_of(work: Callable[[], object], clock: Clock = time.process_time) -> float:
    """Return the seconds that a call takes by a clock: by default processor time of this process."""
    started = clock()
    work()
    return clock() - started


class PairedTime(NamedTuple):
    """Medians over pairs of calls. `ratio` is the median of the ratios, not the ratio of the medians."""

    ratio: float
    ours_s: float
    baseline_s: float


def paired_time(
    ours: Callable[[], object],
    baseline: Callable[[], object],
    pairs: int,
    *,
    clock: Clock = time.process_time,
    calls: int = 1,
) -> PairedTime:
    """Return the time of `ours` relative to `baseline`.

    The two alternate, and so does the one that begins. For a call of microseconds, `calls` repeats `ours` in each
    pair, so that the clock's resolution does not matter. Seconds are those of one call.
    """
    ours_s: list[float] = []
    baseline_s: list[float] = []

    def measure_ours() -> None:
        total_s = seconds_of(lambda: [ours() for _ in range(calls)], clock)
        ours_s.append(total_s / calls)

    def measure_baseline() -> None:
        baseline_s.append(seconds_of(baseline, clock))

    order = [measure_ours, measure_baseline]
    for _ in range(pairs):
        for measure in order:
            measure()
        order.reverse()
    ratios = [one / other for one, other in zip(ours_s, baseline_s, strict=True)]
    return PairedTime(median(ratios), median(ours_s), median(baseline_s))


@cache
def _unsorted() -> np.ndarray:
    return np.random.default_rng(0).random(200_000)


def yardstick() -> None:
    """Do a fixed piece of work, partly in Python and partly in NumPy, of about 25 ms.

    Times without a baseline are compared with it, so that their limits hold on any machine.
    """
    total = 0
    for number in range(200_000):
        total += number
    np.sort(_unsorted())


def slowdown() -> float:
    """Return by what factor a yardstick takes longer here now than on the reference machine, at least 1.

    It is measured for each figure, because other work on the machine slows its caches for minutes.
    """
    yardstick()
    return max(1.0, median(seconds_of(yardstick) for _ in range(31)) / REFERENCE_YARDSTICK_S)


def paired_with_yardstick(
    work: Callable[[], object],
    pairs: int,
    *,
    clock: Clock = time.process_time,
    calls: int = 1,
) -> PairedTime:
    """Return the time of a call relative to `yardstick`, in alternation."""
    yardstick()
    return paired_time(work, yardstick, pairs, clock=clock, calls=calls)


def resident_mb() -> float:
    """Return the resident memory of this process in MB."""
    return _status_mb("VmRSS")


def peak_resident_mb() -> float:
    """Return the peak of the resident memory of this process in MB."""
    return _status_mb("VmHWM")


def _status_mb(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024 / 1e6
    raise SystemExit(f"no {field} in /proc/self/status: this bench needs Linux")


def run_command(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """Return the processor seconds of a command and its children; end with its output if it fails."""
    before = processor_s()
    own_s = time.process_time()
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return processor_s() - before - (time.process_time() - own_s)


class ProcessCost(NamedTuple):
    """Processor seconds of a process and its children, and the peak of its own resident memory in MB."""

    processor_s: float
    peak_mb: float


_REPORT_COST = """
import sys as _sys
import measurement as _measurement
print(_measurement.processor_s(), _measurement.peak_resident_mb(), file=_sys.stderr)
"""


def run_code(code: str) -> ProcessCost:
    """Return the cost of code in a new Python process, in which the benches can be imported."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{_REPORT_COST}"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    if done.returncode:
        raise SystemExit(f"the measured code failed:\n{done.stderr}")
    seconds, peak_mb = done.stderr.splitlines()[-1].split()
    return ProcessCost(float(seconds), float(peak_mb))


def print_seconds(label: str, seconds: float) -> None:
    """Print a time that is not a figure of the table."""
    print(f"{label:60} {seconds:10.3f} s of processor time", flush=True)
