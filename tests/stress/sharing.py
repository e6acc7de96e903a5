"""Work shared by three processes, one of which is killed or paused, compared with work by one undisturbed process.

    python tests/stress/sharing.py --kills 10

Three processes take part in a run, and in a study of annotations, with `--share`. At a random moment during the work
one of them is killed (SIGKILL, with all its processes), or paused (SIGSTOP) until the others have taken over its work
and finished, and then resumed. The others must succeed, all work left by the first must be done, and the folder must
equal that of a single process, byte for byte: records, kept masks and report of the run, results and page of the study.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kills import AS_IT_IS, finish, report_of, segarena

RUN = "run clicks -s watershed -d demo -u uniform --rounds 4 --repeats 2"
STUDY = "amodal agreement"
IMPATIENT = "from segarena.work.sharing.process_heartbeats import Presence\n"
IMPATIENT += "Presence.__init__.__kwdefaults__['expire_s'] = 3.0\n"
IMPATIENT += "from segarena.work.sharing import claims; claims.Claims.__init__.__kwdefaults__['expire_s'] = 3.0\n"
"""Gives others up after three seconds, for those who are held: the usual minute is long."""


def wait_for(condition: Callable[[], bool], processes: list[subprocess.Popen[bytes]]) -> None:
    """Wait until a condition holds, or all processes have ended."""
    while not condition() and any(process.poll() is None for process in processes):
        time.sleep(0.01)


def end(process: subprocess.Popen[bytes], how: signal.Signals) -> bool:
    """Send a signal to a process and all its children; return whether it was alive."""
    is_alive = process.poll() is None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, how)
    return is_alive


def share(
    words: list[str], out: Path, wait_s: float, how: signal.Signals, has_begun: Callable[[], bool]
) -> bool:
    """Let three processes share the work, and kill or pause one; return whether that one was working.

    Raises:
        SystemExit: one of the others failed.
    """
    code = IMPATIENT + AS_IT_IS if how is signal.SIGSTOP else AS_IT_IS
    given = [[*words, "-o", str(out), "--share", "-w", workers] for workers in ("0", "0", "1")]
    first, *others = processes = [segarena(line, code) for line in given]
    wait_for(has_begun, processes)
    time.sleep(wait_s)
    was_at_work = end(first, how)
    ended = [other.wait() for other in others]
    end(first, signal.SIGCONT)
    code_of_first = first.wait()
    if any(ended) or code_of_first not in (0, -signal.SIGKILL):
        raise SystemExit(
            f"{words[0]}: exit codes {ended}, {code_of_first} of the one that got {how.name}"
        )
    return was_at_work


def files_of(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def try_runs(folder: Path, kills: int, how: signal.Signals, rng: random.Random) -> tuple[int, int]:
    """Share runs; return how many of the kills hit a working process, and how many runs differ."""
    first, met, differing = folder / "first", 0, 0
    if not first.exists():
        finish([*RUN.split(), "-o", str(first), "-w", "0"])
    expected = report_of(first, first, folder / "shown")
    for number in range(kills):
        out = folder / f"run-{how.name}-{number}"
        met += share(
            RUN.split(),
            out,
            rng.uniform(0, 3),
            how,
            lambda out=out: any(out.glob("records/*.*")),
        )
        is_same = (
            report_of(out, first, folder / "shown") == expected and not (out / "claims").exists()
        )
        differing += not is_same
        print(
            f"run, {how.name} {number}: {'the same bytes' if is_same else 'DIFFERENT'}", flush=True
        )
    return met, differing


def try_studies(
    folder: Path, kills: int, how: signal.Signals, rng: random.Random
) -> tuple[int, int]:
    """Share studies; return how many of the kills hit a working process, and how many studies differ."""
    alone, scenes, met, differing = folder / "alone", folder / "scenes", 0, 0
    words = [*STUDY.split(), str(scenes / "scenes.json")]
    if not alone.exists():
        finish(["amodal", "demo", "-o", str(scenes), "--images", "12"])
        finish([*words, "-o", str(alone)])
    expected = files_of(alone)
    for number in range(kills):
        out = folder / f"study-{how.name}-{number}"
        met += share(
            words,
            out,
            rng.uniform(0, 3),
            how,
            lambda out=out: any(out.glob("images.claims/*.jsonl")),
        )
        is_same = files_of(out) == expected
        differing += not is_same
        print(
            f"study, {how.name} {number}: {'the same bytes' if is_same else 'DIFFERENT'}",
            flush=True,
        )
    return met, differing


def main() -> None:
    """Share work, kill and pause processes, and report differences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--kills",
        type=int,
        default=10,
        help="Number of kills of runs and of studies; as many processes are paused.",
    )
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    differing, told = 0, []
    with tempfile.TemporaryDirectory() as name:
        for how in (signal.SIGKILL, signal.SIGSTOP):
            for what in (try_runs, try_studies):
                rng = random.Random(f"{given.seed}/{how.name}/{what.__name__}")
                met, differ = what(Path(name), given.kills, how, rng)
                differing += differ
                told.append(f"{what.__name__[4:]} {how.name} {met} of {given.kills} at work")
    print(f"{4 * given.kills} times three processes ({', '.join(told)}): {differing} differ")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
