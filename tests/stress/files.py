"""Damaged files for every reader, in processes that may allocate 1 GiB more and use 5 s of processor time per file.

    python tests/stress/files.py --cases 50000 --seed 13

A case fails on an exception that segarena does not define, on a message that contains the name of a Python exception,
on a signal, and on more memory or time. A case depends only on the seed and its number, which is printed on failure:
`--first NUMBER --cases 1` repeats it.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import redirect_stderr
from pathlib import Path
from typing import NamedTuple

from children import PYTHONS_OWN, in_child
from damage import damaged
from dataset_folders import dataset_folders
from folders import Folder, folders
from readers import readers
from uploads import uploads

from segarena.errors import SegarenaError

SECONDS = 5
"""Of the processor: on the clock, a busy machine may need longer for anything."""

HANGS_S = 60
IN_CHILD = 500
PROGRESS_S = 30


class Sound(NamedTuple):
    """An intact file to be damaged, and the folder that it belongs to."""

    folder: Folder
    file: str
    data: bytes

    @property
    def name(self) -> str:
        """What it is called in what is printed."""
        return f"{self.folder.name}/{self.file}"


def main() -> int:
    """Run the cases and print the counts; return 1 on failures."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--cases", type=int, default=50_000)
    options.add_argument("--seed", type=int, default=13)
    options.add_argument("--first", type=int, default=0)
    options.add_argument(
        "--only", default="", help="Only files whose name contains this; numbers count within them."
    )
    given = options.parse_args()
    warnings.simplefilter("ignore")
    os.fsync = lambda _: None  # half of the time would be spent waiting for the disk
    with tempfile.TemporaryDirectory() as name:
        known = [one for one in sound_files(Path(name)) if given.only in one.name]
        reading = Reading(known, Path(name), given.seed)
        is_well = reading.sound_is_read() and reading.run(
            range(given.first, given.first + given.cases)
        )
        return int(not is_well)


def sound_files(place: Path) -> list[Sound]:
    """Create all intact files below `place`, and return them."""
    known = [*readers(), *folders(), *dataset_folders(), *uploads()]

    def make(number: int) -> None:
        with redirect_stderr(sys.stdout):
            try:
                known[number].make(place / known[number].name)
            except Exception:
                traceback.print_exc()
                raise

    made = in_child(make, range(len(known)), seconds=120, is_limited=False)
    if made.by:
        raise SystemExit(f"{known[len(made.answers)].name} cannot be made: {made.by}")
    return [
        Sound(one, file, (place / one.name / file).read_bytes())
        for one in known
        for file in one.files
    ]


class Reading:
    """Reads damaged files, and counts the outcomes."""

    def __init__(self, known: list[Sound], place: Path, seed: int) -> None:
        self.known, self.place, self.seed = known, place, seed
        self.whole = [one.data for one in known]
        self.counts: Counter[str] = Counter()
        self.by_reader: Counter[str] = Counter()
        self.slowest, self.most = (0.0, ""), 0

    def sound_is_read(self) -> bool:
        """Return whether the intact files can be read; otherwise a failure on damaged ones would mean nothing."""
        done = in_child(
            lambda at: self.read(self.known[at], self.whole[at]),
            range(len(self.known)),
            seconds=HANGS_S,
        )
        for one, (outcome, _, said) in zip(self.known, done.answers, strict=False):
            if outcome != "read":
                print(f"{one.name} is sound, and not read: {said}")
        if done.by:
            print(f"{self.known[len(done.answers)].name} is sound, and ends the process: {done.by}")
        return not done.by and all(outcome == "read" for outcome, _, _ in done.answers)

    def run(self, numbers: range) -> bool:
        """Read cases and print the counts; return whether none failed."""
        told, number = time.monotonic(), numbers.start
        while number < numbers.stop:
            done = in_child(
                self.case, range(number, min(number + IN_CHILD, numbers.stop)), seconds=HANGS_S
            )
            self.most = max(self.most, done.peak_bytes)
            for outcome, took, said in [
                *done.answers,
                *([("signals", HANGS_S, done.by)] if done.by else []),
            ]:
                self.count(number, outcome, took, said)
                number += 1
            if time.monotonic() - told > PROGRESS_S:
                told = time.monotonic()
                print(
                    f"  {number - numbers.start:,} of {len(numbers):,}", file=sys.stderr, flush=True
                )
        done = [f"{name} {count:,}" for name, count in sorted(self.by_reader.items())]
        print(f"cases of each reader: {', '.join(done)}")
        kinds = ("cases", "read", "refused", "tracebacks", "signals", "late")
        print(", ".join(f"{self.counts[kind]:,} {kind}" for kind in kinds))
        slowest = f"slowest {self.slowest[0]:.2f} s ({self.slowest[1]})"
        print(
            f"{len(self.known)} kinds of files, seed {self.seed}; {slowest}; most memory {self.most >> 20} MiB"
        )
        return self.counts["cases"] == self.counts["read"] + self.counts["refused"]

    def count(self, number: int, outcome: str, took: float, said: str) -> None:
        """Count the outcome of a case."""
        one = self.known[number % len(self.known)]
        name = one.name
        self.counts.update([outcome, "cases"])
        self.by_reader[one.folder.name] += 1
        self.slowest = max(self.slowest, (took, name))
        if outcome not in ("read", "refused"):
            print(f"case {number} of seed {self.seed}, {name}: {said}", flush=True)

    def case(self, number: int) -> tuple[str, float, str]:
        """Damage a file and read it."""
        one = self.known[number % len(self.known)]
        rng = random.Random(f"{self.seed}/{number}")
        return self.read(one, damaged(one.data, self.whole, rng, Path(one.file).suffix))

    def read(self, one: Sound, data: bytes) -> tuple[str, float, str]:
        """Read a copy of the folder with this content of the file; return the outcome, the seconds and the message."""
        copy = self.place / "damaged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.place / one.folder.name, copy)
        (copy / one.file).write_bytes(data)
        begun = time.process_time()
        outcome, said = _outcome(one.folder, copy)
        took = time.process_time() - begun
        return ("late", took, f"{took:.1f} s") if took > SECONDS else (outcome, took, said)


def _outcome(folder: Folder, place: Path) -> tuple[str, str]:
    try:
        folder.read(place)
    except SegarenaError as error:
        said = str(error)
        return "tracebacks" if PYTHONS_OWN.search(said) else "refused", said[:600]
    except BaseException:
        lines = traceback.format_exc().splitlines()
        return "tracebacks", " | ".join(line.strip()[:300] for line in lines[-9:])
    return "read", ""


if __name__ == "__main__":
    sys.exit(main())
