"""Cost of fingerprints, checksums and read-only arrays in a GrabCut run, and of checksums when runs are read.

    python benches/trust_costs.py [BSDS500_FOLDER] [--samples 10] [--large 50000] [--repeats 7] [--each]

Without the folder of BSDS500, the demo photographs are used. The same code runs in this process
with and without all three features, and with `--each` also without each of them. The runs
alternate, so that a change in the speed of the machine affects all of them. The result is the
median, over the repetitions, of the ratio of processor times with and without. No fingerprint is
cached between runs. The reading part reads `--large` samples in a few files, and 4000 in a file
each; without checksums, the same bytes are read and not verified.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cv2
from measurement import Figures, argument_parser, at_most, no_bar, seconds_of
from run_folder import write_run

import segarena
from segarena import RunFolder, comparison, multi_object
from segarena.engine import evaluate, lockstep_dialogues, session
from segarena.records import compaction, pieces, sample_file
from segarena.records.run_identity_record import Identity

BARS = {
    "a GrabCut run with all three / without": at_most(1.02),
    "reading many samples in few files with checksums / without": at_most(1.2),
    "reading 4000 samples in a file each with checksums / without": at_most(1.10),
}
EACH_BARS = {
    "a GrabCut run with fingerprints / without": no_bar(),
    "a GrabCut run with checksums / without": no_bar(),
    "a GrabCut run with read-only arrays / without": no_bar(),
}
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
        (sample_file, "sha256"): lambda *_: "00" * 32,
        (sample_file, "sample_fault"): lambda *_: "",
        (pieces, "sha256"): lambda *_: AnyHash(),
        (compaction, "sha256"): lambda *_: "",
    },
    "read-only arrays": {
        (comparison, "freeze"): nothing,
        (comparison, "read_only"): as_it_is,
        (multi_object, "read_only"): as_it_is,
        (session, "freeze"): nothing,
        (session, "freeze_mask"): as_it_is,
        (lockstep_dialogues, "read_only_sample"): as_it_is,
    },
}
"""Replacements that switch off each of the three."""

UNVERIFIED: Switch = {
    (sample_file, "sample_fault"): lambda *_: "",
    (pieces, "sha256"): lambda *_: AnyHash(),
}
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


def grabcut_run(
    dataset: str, samples: int, repeats: int, scratch: Path, *, each: bool
) -> dict[str, float]:
    """Return the ratio of a run with all three features, and with each of them if requested."""

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
    ways: dict[str, tuple[Switch, ...]] = {"all three": tuple(OFF.values())}
    if each:
        ways |= {name: (switch,) for name, switch in OFF.items()}
    return ratios(run, ways, repeats)


def reading(samples: int, repeats: int, scratch: Path, *, one_by_one: bool) -> float:
    """Return the ratio of reading a run with checksums."""
    write_run(scratch, samples, users=1, one_by_one=one_by_one)

    def read() -> None:
        for _ in range(READS):
            folder = RunFolder.open(scratch)
            for table in ("records", "timings"):
                folder.read(table)

    read()
    return ratios(read, {"checksums": (UNVERIFIED,)}, repeats)["checksums"]


def main() -> None:
    """Measure everything; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "bsds500", nargs="?", help="folder of BSDS500; without it, the demo photographs are used"
    )
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument(
        "--large", type=int, default=50_000, help="Samples of the run that is read."
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument(
        "--each",
        action="store_true",
        help="Also measure the cost of each of the three features in the run.",
    )
    options = parser.parse_args()
    cv2.setNumThreads(1)
    samples = options.samples
    large = options.large
    separate = 4000
    repeats = options.repeats
    if options.quick:
        samples = 1
        large = 500
        separate = 20
        repeats = 1
    dataset = f"bsds500(path={options.bsds500!r})" if options.bsds500 else "demo"
    bars = BARS
    if options.each:
        bars = BARS | EACH_BARS
    figures = Figures(bars, has_bars=not options.quick)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for way, ratio in grabcut_run(
            dataset, samples, repeats, place / "run", each=options.each
        ).items():
            figures.report(f"a GrabCut run with {way} / without", ratio)
        figures.report(
            "reading many samples in few files with checksums / without",
            reading(large, repeats, place / "large", one_by_one=False),
        )
        figures.report(
            "reading 4000 samples in a file each with checksums / without",
            reading(separate, repeats, place / "loose", one_by_one=True),
        )
    figures.finish()


if __name__ == "__main__":
    main()
