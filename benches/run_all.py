"""Run the benches in this folder in sequence, and print one table of their figures.

    python benches/run_all.py [NAME ...] [--quick] [--record]

The table has a row for each figure: its limit, whether it was met, and the ratio to the recorded run
(`recorded.json`). Seconds are compared as those of the reference machine. A bench that crashes, or that does not
report all of its figures, has a row "failed". The exit status is 1 if a limit was missed or a bench failed. `--record`
writes the figures into `recorded.json`; commit that file when a change is meant to move them. All benches together
take at most 25 minutes on two quiet cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measurement import FIGURES_FILE, processor_s

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json"
LONGEST_S = 3600
"""Seconds after which a bench counts as failed, even on a busy machine."""

ESTIMATES_S = {
    "after_dialogues": 10,
    "boards": 70,
    "boundary_iou": 5,
    "click_map": 30,
    "click_network": 145,
    "click_round": 60,
    "click_statistics": 10,
    "clusters": 155,
    "coco_rle": 5,
    "davis_metrics": 20,
    "davis_robot": 30,
    "davis_session": 10,
    "edge_matching": 10,
    "encode_once": 170,
    "engine": 105,
    "group_draws": 25,
    "large_photographs": 70,
    "large_volume": 5,
    "leak_meter": 30,
    "long_videos": 10,
    "look_targets": 15,
    "people_fit": 5,
    "rclicks_run": 40,
    "run_folder": 80,
    "scene_checks": 20,
    "scribbler": 15,
    "segmenters": 10,
    "server_turn": 5,
    "shared_run": 35,
    "small_samples": 10,
    "starting": 35,
    "stroke_features": 5,
    "studio_save": 5,
    "toss_building": 10,
    "toss_scores": 5,
    "trust_costs": 90,
    "volume_metrics": 5,
    "volume_prompts": 55,
    "worker": 10,
}
"""Seconds of each bench on a quiet machine with two cores; at most 25 minutes together."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Threads of NumPy's libraries spin while they wait for a busy core, and their processor time would count: a ratio
came out ten times too high. Benches of networks set the number of threads that they are about."""

NOT_RUN = {"boxes_by_size", "measurement", "run_all"}
"""Modules that are not benches, and a script that compares a collection of people's prompts and has no limit."""


@dataclass
class BenchResult:
    """Figures that one bench reported, and whether it reached its end."""

    name: str
    lines: list[dict[str, Any]] = field(default_factory=list)
    is_finished: bool = False
    missed: list[str] = field(default_factory=list)
    processor_s: float = 0.0

    @property
    def has_failed(self) -> bool:
        """Return whether the bench crashed or left out a figure."""
        reported = {line["figure"] for line in self.lines}
        return not self.is_finished or not reported.issuperset(self.missed)

    @property
    def is_held(self) -> bool:
        """Return whether the bench ended and met all limits."""
        return self.is_finished and not self.missed


def bench_names() -> list[str]:
    """Return the names of all benches in this folder."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_RUN)


def run_bench(name: str, *, is_quick: bool = False) -> BenchResult:
    """Run one bench in a separate process and return its figures."""
    result = BenchResult(name)
    before = processor_s()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.jsonl"
        command = [sys.executable, str(HERE / f"{name}.py")]
        if is_quick:
            command.append("--quick")
        environment = {**os.environ, **ONE_THREAD, FIGURES_FILE: str(file)}
        try:
            subprocess.run(command, check=False, env=environment, timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            print(f"{name} was stopped after {LONGEST_S} s")
        lines: list[dict[str, Any]] = []
        if file.exists():
            lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        if "finished" in line:
            result.is_finished = True
            result.missed = line["missed"]
        else:
            result.lines.append(line)
    result.processor_s = processor_s() - before
    return result


def read_recorded(file: Path = RECORDED) -> dict[str, dict[str, float]]:
    """Return the recorded figures of each bench; empty if there is no record."""
    if not file.exists():
        return {}
    return json.loads(file.read_text())


def write_recorded(results: list[BenchResult], file: Path = RECORDED) -> None:
    """Replace the recorded figures of these benches. A bench that failed keeps its old ones."""
    recorded = read_recorded(file)
    for result in results:
        if not result.has_failed:
            recorded[result.name] = {
                line["figure"]: float(f"{line['compared']:.4g}") for line in result.lines
            }
    file.write_text(json.dumps(recorded, indent=2, sort_keys=True) + "\n")


def print_table(results: list[BenchResult], recorded: dict[str, dict[str, float]]) -> None:
    """Print a row for each figure, and one for each bench that failed."""
    heads = ("bench", "figure", "measured", "limit", "", "to the recorded run")
    print(
        f"\n{heads[0]:20} {heads[1]:62} {heads[2]:>10} {'':10} {heads[3]:10} {heads[4]:7} {heads[5]}"
    )
    for result in results:
        before = recorded.get(result.name, {})
        for line in result.lines:
            ratio = ""
            if before.get(line["figure"]):
                ratio = f"{line['compared'] / before[line['figure']]:.2f}"
            verdict = ""
            if line["bar"]:
                verdict = "held" if line["held"] else "MISSED"
            print(
                f"{result.name:20} {line['figure']:62} {line['value']:10.4g} {line['unit']:10} "
                f"{line['bar']:10} {verdict:7} {ratio}"
            )
        if result.has_failed:
            print(f"{result.name:20} failed")
    total_s = sum(result.processor_s for result in results)
    print(f"\n{total_s / 60:.1f} minutes of processor time:", end="")
    for result in sorted(results, key=lambda one: -one.processor_s):
        print(f" {result.name} {result.processor_s:.0f} s,", end="")
    print()


def main() -> None:
    """Run the benches and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="benches to run; by default all")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="check in small sizes that the benches run, without limits",
    )
    parser.add_argument(
        "--record", action="store_true", help="write the figures into recorded.json"
    )
    options = parser.parse_args()
    unknown = set(options.names) - set(bench_names())
    if unknown:
        parser.error(
            f"no such bench: {', '.join(sorted(unknown))}; there are {', '.join(bench_names())}"
        )
    if options.record and options.quick:
        parser.error("--record needs the usual sizes: leave out --quick")
    recorded = read_recorded()
    results: list[BenchResult] = []
    for name in options.names or bench_names():
        print(f"\n== {name}", flush=True)
        results.append(run_bench(name, is_quick=options.quick))
        if options.record:
            # After each bench, so that an interrupted run keeps what it has measured.
            write_recorded(results)
    print_table(results, recorded)
    raise SystemExit(not all(result.is_held for result in results))


if __name__ == "__main__":
    main()
