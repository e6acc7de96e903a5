"""Cost of fingerprints, checksums and read-only arrays in a GrabCut run, and of checksums when runs are read.

    python benches/trust_costs.py [BSDS500_FOLDER] [--samples 10] [--large 200000] [--repeats 7] [--each]
        [--only run|reading]

Without the folder of BSDS500, the demo photographs are used. The same code runs in this process
with and without all three features, and with `--each` also without each of them. The runs
alternate, so that a change in the speed of the machine affects all of them. The result is the
median, over the repetitions, of the ratio of processor times with and without. No fingerprint is
cached between runs. The reading part reads `--large` samples in a few files, and 4000 in a file
each; without checksums, the same bytes are read and not verified.

Limits: all three together cost at most 2 % of the GrabCut run, and checksums at most 10 % of
reading a large run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cv2
from run_folder import write_run

import segarena
from segarena import RunFolder, comparison, multi_object
from segarena.engine import evaluate, lockstep, session
from segarena.records import compaction, pieces
from segarena.records.identity import Identity

RUN_BAR, READ_BAR = 1.02, 1.10
READS = 5
"""Number of reads for one measurement, because a single one takes a tenth of a second."""


def as_it_is(value: Any) -> Any:
    """Return the argument unchanged."""
    return value


class AnyHash(str):
    """A hash that equals every other."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


def nothing(*_: Any, **__: Any) -> Any:
    """Do nothing."""


Switch = Mapping[tuple[Any, str], Callable[..., Any]]
OFF: dict[str, Switch] = {
    "fingerprints": {(evaluate, "identity_of"): lambda *_, **__: (Identity(), ())},
    "checksums": {
        (pieces, "seal_parquet"): as_it_is,
        (pieces, "verify_seal"): nothing,
        (pieces, "sha256"): lambda *_: AnyHash(),
        (compaction, "sha256"): lambda *_: "",
    },
    "read-only arrays": {
        (comparison, "freeze"): nothing,
        (comparison, "read_only"): as_it_is,
        (multi_object, "read_only"): as_it_is,
        (session, "freeze"): nothing,
        (session, "freeze_mask"): as_it_is,
        (lockstep, "read_only_sample"): as_it_is,
    },
}
"""Replacements that switch off each of the three."""

UNVERIFIED: Switch = {(pieces, "verify_seal"): nothing, (pieces, "sha256"): lambda *_: AnyHash()}
"""The same for reading."""


@contextmanager
def without(*switches: Switch) -> Generator[None]:
    """Switch off the given features inside the `with` block."""
    with ExitStack() as stack:
        for switch in switches:
            for (place, attribute), other in switch.items():
                stack.enter_context(patch.object(place, attribute, other))
        yield


def ratios(
    work: Callable[[], object], ways: Mapping[str, tuple[Switch, ...]], repeats: int
) -> dict[str, float]:
    """Return the median ratio of the time with the named features to the time without them."""
    found: dict[str, list[float]] = {way: [] for way in ways}
    for repeat in range(repeats):
        order = list(ways) if repeat % 2 else list(reversed(list(ways)))
        taken = {"": seconds_of(work)}
        for way in order:
            with without(*ways[way]):
                taken[way] = seconds_of(work)
        for way in ways:
            found[way].append(taken[""] / taken[way])
    return {way: statistics.median(values) for way, values in found.items()}


def seconds_of(work: Callable[[], object]) -> float:
    """Return the processor seconds of a call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def grabcut_run(dataset: str, samples: int, repeats: int, scratch: Path, *, each: bool) -> bool:
    """Print the cost of all three in a run, and of each if requested; return whether the limit is met."""

    def run() -> None:
        shutil.rmtree(scratch, ignore_errors=True)
        os.environ["XDG_CACHE_HOME"] = str(scratch / "cache")
        segarena.evaluate(
            "clicks",
            segmenter="grabcut",
            dataset=dataset,
            limit=samples,
            rounds=3,
            out=scratch / "run",
        )

    run()  # imports are not part of the measurement
    single = {name: (switch,) for name, switch in OFF.items()} if each else {}
    ways = {**single, "all three": tuple(OFF.values())}
    found = ratios(run, ways, repeats)
    print(
        f"GrabCut, {samples} photographs: {', '.join(f'{way} {ratio - 1:+.1%}' for way, ratio in found.items())}"
    )
    return found["all three"] <= RUN_BAR


def reading(samples: int, repeats: int, scratch: Path, *, one_by_one: bool) -> bool:
    """Print the cost of checksums when a run is read; return whether the limits are met."""
    write_run(scratch, samples, one_by_one=one_by_one)

    def read() -> None:
        for _ in range(READS):
            folder = RunFolder.open(scratch)
            for table in ("records", "timings"):
                folder.read(table)

    read()
    ratio = ratios(read, {"checksums": (UNVERIFIED,)}, repeats)["checksums"]
    files = "a file each" if one_by_one else "few files"
    print(f"reading {samples} samples in {files}: checksums {ratio - 1:+.1%}")
    return ratio <= READ_BAR


def main() -> int:
    """Measure everything; return 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "bsds500", nargs="?", help="folder of BSDS500; without it, the demo photographs are used"
    )
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument(
        "--large", type=int, default=200_000, help="Samples of the run that is read."
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument(
        "--each", action="store_true", help="Also measure the cost of each of the three in the run."
    )
    parser.add_argument("--only", choices=("run", "reading"))
    given = parser.parse_args()
    cv2.setNumThreads(1)
    dataset = f"bsds500(path={given.bsds500!r})" if given.bsds500 else "demo"
    with tempfile.TemporaryDirectory() as name:
        place, repeats = Path(name), given.repeats
        held: list[bool] = []
        if given.only != "reading":
            held.append(
                grabcut_run(dataset, given.samples, repeats, place / "run", each=given.each)
            )
        if given.only != "run":
            held.append(reading(given.large, repeats, place / "large", one_by_one=False))
            held.append(reading(4000, repeats, place / "loose", one_by_one=True))
    print(
        f"limits: {RUN_BAR - 1:.0%} of the run, {READ_BAR - 1:.0%} of reading: {'met' if all(held) else 'MISSED'}"
    )
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
