"""Compare runs that are killed, split over processes or executed in another order with an undisturbed run.

    python tests/stress/kills.py --kills 20 --seeds 3

A run is killed (SIGKILL, with all its processes) at random moments and restarted until it is finished. The same run is
executed by 1, 2 and 4 processes, and with its samples in shuffled order. Records and kept masks must be equal byte for
byte, and so must the report, page and tables, once durations and the date are replaced by those of the first run.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

RUN = "run clicks -s watershed -d demo -u uniform --rounds 4 --repeats 2 --limit 5"
AS_IT_IS = "from segarena.cli.start import main; main()"
SHUFFLED = """
import random
from segarena.engine.run_folder import RunFolder
in_order = RunFolder.pending
RunFolder.pending = lambda run: random.sample(found := in_order(run), len(found))
"""
CIRCUMSTANCES = ("run.json", "pieces.jsonl", "timings")
"""What tells when, how and how fast a run was made; the ledger has the SHA-256 of all tables."""


def segarena(words: list[str], code: str = AS_IT_IS) -> subprocess.Popen[bytes]:
    """Start a command as the leader of its own process group."""
    silent = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], start_new_session=True, stdout=silent, stderr=silent
    )


def run_words(out: Path, seed: int, workers: int) -> list[str]:
    """Return the command line of the run."""
    return [*RUN.split(), "-o", str(out), "--seed", str(seed), "-w", str(workers)]


def finish(words: list[str], code: str = AS_IT_IS) -> float:
    """Run a command to its end; return its duration in seconds."""
    started = time.monotonic()
    if ended := segarena(words, code).wait():
        raise SystemExit(f"segarena {' '.join(words)} ended with exit code {ended}")
    return time.monotonic() - started


def kill_and_finish(words: list[str], kills: int, span_s: float, rng: random.Random) -> int:
    """Kill a run at moments within `span_s` seconds, then let it finish; return how many kills hit it alive."""
    alive = 0
    for _ in range(kills):
        process = segarena(words)
        time.sleep(rng.uniform(0.2, 1.0) * span_s)
        alive += process.poll() is None
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    finish(words)
    return alive


def report_of(run: Path, first: Path, into: Path) -> dict[str, bytes]:
    """Return the report of a run, by file, with durations and date replaced by those of the first run."""
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(run, into)
    for name in CIRCUMSTANCES:
        source, place = first / name, into / name
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        shutil.copytree(source, place) if source.is_dir() else shutil.copy(source, place)
    finish(["report", str(into)])
    shown = {
        str(file.relative_to(into)): file.read_bytes()
        for file in sorted((into / "report").rglob("*"))
    }
    tables = (
        file for table in ("records", "masks", "parts") for file in sorted((into / table).glob("*"))
    )
    return {**shown, **{str(file.relative_to(into)): file.read_bytes() for file in tables}}


def main() -> None:
    """Make the runs, and report which of them differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--kills",
        type=int,
        default=20,
        help="Number of kills for each seed, half of them without workers.",
    )
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    differing = runs = killed = at_work = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(given.seeds):
            first = folder / f"first-{seed}"
            took_s = finish(run_words(first, seed, 0))
            expected = report_of(first, first, folder / "shown")
            others = {
                f"{workers} workers": folder / f"by-{workers}-{seed}" for workers in (1, 2, 4)
            }
            for workers, out in zip((1, 2, 4), others.values(), strict=True):
                finish(run_words(out, seed, workers))
            others["shuffled order"] = folder / f"shuffled-{seed}"
            finish(run_words(others["shuffled order"], seed, 0), SHUFFLED + AS_IT_IS)
            for workers in (0, 2):
                out = folder / f"killed-{workers}-{seed}"
                rng = random.Random(f"{seed}/{workers}")
                kills = (given.kills + (workers == 0)) // 2
                alive = kill_and_finish(run_words(out, seed, workers), kills, took_s, rng)
                killed, at_work = killed + kills, at_work + alive
                others[f"{workers} workers, killed {alive} times of {kills}"] = out
            for what, out in others.items():
                is_same = report_of(out, first, folder / "shown") == expected
                differing, runs = differing + (not is_same), runs + 1
                print(
                    f"seed {seed}, {what}: {'the same bytes' if is_same else 'DIFFERENT'}",
                    flush=True,
                )
    print(f"{runs} runs, {killed} kills, {at_work} of them of runs at work: {differing} differ")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
