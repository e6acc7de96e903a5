"""Run every benchmark in this folder in sequence; exit with 1 if any missed its limit."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

NEED_FILES = {"boxes_by_size.py"}
"""Scripts that compare a collection of people's prompts, given as an argument, and have no limit."""


def main() -> None:
    """Run all benchmarks and print which of them met their limits."""
    here = Path(__file__)
    verdicts: dict[str, tuple[bool, float]] = {}
    for bench in sorted(here.parent.glob("*.py")):
        if bench != here and bench.name not in NEED_FILES:
            print(f"\n== {bench.name}", flush=True)
            started = time.perf_counter()
            held = subprocess.run([sys.executable, str(bench)], check=False).returncode == 0
            verdicts[bench.name] = held, time.perf_counter() - started
    print()
    for name, (held, took_s) in verdicts.items():
        print(f"{'held  ' if held else 'MISSED'} {name:24}{took_s:6.0f} s")
    raise SystemExit(not all(held for held, _ in verdicts.values()))


if __name__ == "__main__":
    main()
