"""`make stress`: damaged files for every reader, read in processes that may take 1 GiB, and 5 seconds for a file.

What counts as a failure: an exception that is not one of segarena's, a signal, more memory, more time. A case is made
of the seed and its number alone, and is printed when it fails: `--first NUMBER --cases 1` does it again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from damage import damaged
from readers import Reader, readers

from segarena.errors import SegarenaError

MEMORY_BYTES = 1 << 30
SECONDS = 5
IN_CHILD = 200


def main() -> int:
    """Run the cases, print the figures; 1 when something failed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=50_000)
    options.add_argument("--seed", type=int, default=13)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), given.seed, given.first, given.cases, given.seconds)


def run(folder: Path, seed: int, first: int, cases: int, seconds: float) -> int:
    """Run cases `first` to `first + cases`; return 1 when one failed."""
    known = readers()
    whole: dict[str, bytes] = {}
    for reader in known:
        reader.make(folder / reader.name)
        whole[reader.name] = (folder / reader.name).read_bytes()
    # Sound files must be read, or their damage says nothing. Not by this process: threads do not outlive a fork.
    sound, _, _ = in_child(lambda number: (known[number], whole[known[number].name]), range(len(known)), folder)
    unread = [known[at].name for at in range(len(known)) if at >= len(sound) or sound[at][0] != "read"]
    if unread:
        print(f"sound files that are not read: {', '.join(unread)}")
        return 1

    def case(number: int) -> tuple[Reader, bytes]:
        reader = known[number % len(known)]
        rng = random.Random(f"{seed}/{number}")
        return reader, damaged(whole[reader.name], list(whole.values()), rng)

    counts: Counter[str] = Counter()
    slowest, most = (0.0, ""), 0
    begun, number, last = time.monotonic(), first, first + cases
    while number < last and time.monotonic() - begun < seconds:
        done, signalled, used = in_child(case, range(number, min(number + IN_CHILD, last)), folder)
        most = max(most, used)
        for outcome, took, said in done:
            name = known[number % len(known)].name
            counts.update([outcome, "cases"])
            slowest = max(slowest, (took, name))
            if outcome == "tracebacks":
                print(f"case {number} of seed {seed}, {name}: {said}", flush=True)
            number += 1
        if signalled:
            counts.update(["signals", "cases"])
            print(f"case {number} of seed {seed}, {known[number % len(known)].name}: signal {signalled}", flush=True)
            number += 1
    print(", ".join(f"{counts[kind]:,} {kind}" for kind in ("cases", "read", "refused", "tracebacks", "signals")))
    print(f"slowest file {slowest[0]:.2f} s ({slowest[1]}); most memory of a process {most >> 20} MiB")
    return int(bool(counts["tracebacks"] or counts["signals"]))


def in_child(
    case: Callable[[int], tuple[Reader, bytes]], numbers: range, folder: Path
) -> tuple[list[tuple[str, float, str]], int, int]:
    """Read files in a process: what became of each until it ended, the signal that ended it, and its peak memory."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _read_and_leave(case, numbers, folder, writing)
    os.close(writing)
    with os.fdopen(reading, "r") as lines:
        done = [tuple(json.loads(line)) for line in lines]
    _, status, usage = os.wait4(child, 0)
    return done, max(0, -os.waitstatus_to_exitcode(status)), usage.ru_maxrss << 10


def _read_and_leave(case: Callable[[int], tuple[Reader, bytes]], numbers: range, folder: Path, writing: int) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, used + MEMORY_BYTES))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for number in numbers:
        reader, data = case(number)
        path = folder / reader.name
        path.write_bytes(data)
        begun = time.monotonic()
        signal.alarm(SECONDS)  # nothing catches it: the process ends by a signal
        outcome, said = _outcome(reader, path)
        signal.alarm(0)
        os.write(writing, json.dumps([outcome, time.monotonic() - begun, said]).encode() + b"\n")
    os._exit(0)


def _outcome(reader: Reader, path: Path) -> tuple[str, str]:
    try:
        reader.read(path)
    except SegarenaError:
        return "refused", ""
    except BaseException:
        lines = traceback.format_exc().splitlines()
        return "tracebacks", " | ".join(line.strip()[:300] for line in lines[-7:])
    return "read", ""


if __name__ == "__main__":
    sys.exit(main())
