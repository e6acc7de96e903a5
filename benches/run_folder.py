"""Cost of runs of 200 000 dialogues: size on disk, detecting that they are complete, and their reports.

    python benches/run_folder.py [--samples 200000] [--folder KEPT]

The runs are synthetic, five rounds per dialogue, with random clicks and values. The first has one
user and a sample for each dialogue, the second ten users and a tenth of the samples. Limits, as
seconds of processor and peak memory of the process: 40 bytes per round without masks, 1 s to detect
that nothing is left to do, 5 s (ten users: 8 s) for the summary in the terminal, 15 s (60 s)
for a page of at most 5 MB, and 500 MB (1500 MB). A third run of 4000 samples is reported from one file per
sample, and again after these files are merged.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from segarena.benchmark_rules import Statistic
from segarena.engine.store import RunFolder
from segarena.records.compaction import MAX_PIECE_SAMPLES, WritablePieces
from segarena.records.configuration import (
    BenchmarkRecord,
    DatasetRecord,
    PluginRecord,
    RunConfiguration,
    UserRecord,
)
from segarena.records.parquet_tables import TABLES, table_frame
from segarena.records.pieces import PIECES_LEDGER, sample_files
from segarena.work.ledger import Ledger

ROUNDS = 5
SUMMARY = (
    Statistic(name="NoC@85", kind="noc", threshold=0.85, higher_is_better=False),
    Statistic(name="NoC@90", kind="noc", higher_is_better=False),
    Statistic(name="NoF@90", kind="nof", higher_is_better=False),
    Statistic(name="IoU@1", kind="at_round"),
    Statistic(name="AuC", kind="auc"),
)
NOTHING_LEFT = "from segarena import RunFolder; assert not RunFolder.open({!r}).pending()"
TERMINAL = (
    "import rich; from segarena.reports import terminal_table; rich.print(terminal_table([{!r}]))"
)
PAGE = "from segarena.reports import write_report; write_report([{!r}], {!r})"


USAGE = """
import sys, time
with open("/proc/self/status") as status:
    peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(time.process_time(), int(peak) / 1000, file=sys.stderr)
"""


def configuration(samples: int, users: int) -> RunConfiguration:
    """Return the run.json of a run with this many samples."""
    names = tuple(f"COCO_val2014_{index:012d}" for index in range(samples))
    return RunConfiguration(
        version="bench",
        benchmark=BenchmarkRecord(name="clicks", protocol="careful", summary=SUMMARY),
        segmenter=PluginRecord(name="graph"),
        dataset=DatasetRecord(
            name="folder", options={"path": "nowhere"}, fingerprint="bench", samples=names
        ),
        users=tuple(UserRecord(name=name, written=name) for name in user_names(users)),
        metrics=(PluginRecord(name="iou"),),
        rounds=ROUNDS,
    )


def user_names(count: int) -> list[str]:
    """Return the names of the users."""
    return [f"user-{number}" for number in range(count)]


def tables_of(
    names: list[str], users: list[str], rng: np.random.Generator
) -> dict[str, pl.DataFrame]:
    """Return the tables of a dialogue of each user about each sample, without masks."""
    dialogues = len(names) * len(users)
    count = dialogues * ROUNDS
    targets = [f"{number % 7}" for number in range(len(names))]
    key = {
        "sample": np.repeat(names, len(users) * ROUNDS),
        "target": np.repeat(targets, len(users) * ROUNDS),
        "user": np.tile(np.repeat(users, ROUNDS), len(names)),
        "repeat": np.zeros(count, dtype=np.int32),
        "round": np.tile(np.arange(1, ROUNDS + 1, dtype=np.int32), dialogues),
    }
    union = rng.integers(500, 60_000, count)
    # Values improve from round to round, as in real dialogues.
    inter = (union * np.sort(rng.uniform(0.2, 1, (dialogues, ROUNDS)), axis=1).ravel()).astype(
        np.int64
    )
    places = rng.integers(0, 500, (count, 3))
    clicks = [
        f'[{{"kind":"click","position":[{r},{c}],"is_positive":{"true" if p % 3 else "false"},"object_id":1}}]'
        for r, c, p in places.tolist()
    ]
    records = pl.DataFrame(
        {
            "benchmark": ["clicks"] * count,
            "dataset": ["folder"] * count,
            **key,
            "label": ["thing"] * count,
            "attributes": ["{}"] * count,
            "effort": key["round"].astype(np.float64),
            "prompts": clicks,
            "iou": inter / union,
            "intersection": inter.astype(np.float64),
            "union": union.astype(np.float64),
        }
    ).with_columns(failure=pl.lit(None, pl.String))
    timings = pl.DataFrame({**key, "predict_s": rng.gamma(2.0, 0.005, count)})
    empty = {table: table_frame(table, []) for table in TABLES}
    return {**empty, "records": records, "timings": timings}


def write_run(path: Path, samples: int, users: int, *, one_by_one: bool) -> RunFolder:
    """Write a finished run: a few merged files, or one file for each sample."""
    folder = RunFolder.create(path, configuration(samples, users))
    rng = np.random.default_rng(0)
    with Ledger(path / PIECES_LEDGER, {"pieces": 1}) as ledger:
        pieces = WritablePieces(path, folder.samples, ledger)
        step = 1 if one_by_one else MAX_PIECE_SAMPLES
        for first in range(0, samples, step):
            stop = min(first + step, samples)
            tables = tables_of(list(folder.samples[first:stop]), user_names(users), rng)
            if one_by_one:
                pieces.write(first, sample_files(tables))
            else:
                pieces.write_piece(first, stop, tables.items())
    return folder


def bytes_a_round(folder: RunFolder, dialogues: int) -> float:
    """Return the size of records and timings on disk, per round."""
    files = [file for table in ("records", "timings") for file in (folder.path / table).iterdir()]
    return sum(file.stat().st_size for file in files) / (dialogues * ROUNDS)


def timed(code: str) -> tuple[float, float]:
    """Return the seconds of processor and the peak memory in MB of a new process."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{USAGE}"], check=True, capture_output=True, text=True
    )
    seconds, peak_mb = done.stderr.splitlines()[-1].split()
    return float(seconds), float(peak_mb)


def large(
    path: Path, samples: int, users: int, *, terminal_s: float, page_s: float, most_mb: float
) -> bool:
    """Measure a large run; return whether all limits were met."""
    folder = write_run(path, samples, users, one_by_one=False)
    dialogues = samples * users
    took = bytes_a_round(folder, dialogues)
    print(
        f"{samples} samples, {users} users, {dialogues * ROUNDS} rounds: {took:.0f} bytes per round (limit 40)"
    )
    held = [took <= 40]
    for name, code, bar_s in (
        ("nothing left to do", NOTHING_LEFT.format(str(path)), 1.0),
        ("summary in the terminal", TERMINAL.format(str(path)), terminal_s),
        ("page", PAGE.format(str(path), str(path / "report")), page_s),
    ):
        seconds, peak_mb = timed(code)
        print(
            f"{name}: {seconds:.1f} s (bar {bar_s:g}), at most {peak_mb:.0f} MB (bar {most_mb:g})"
        )
        held += [seconds <= bar_s, peak_mb <= most_mb]
    page_mb = (path / "report" / "report.html").stat().st_size / 1e6
    print(f"size of the page: {page_mb:.1f} MB (bar 5)")
    return all([*held, page_mb <= 5])


def small(path: Path, samples: int) -> None:
    """Print the gain of merged files for a run of a few thousand samples."""
    folder = write_run(path, samples, users=1, one_by_one=True)
    loose, loose_s = (
        bytes_a_round(folder, samples),
        timed(PAGE.format(str(path), str(path / "report")))[0],
    )
    with folder.lock():
        folder.gather()
    took, seconds = (
        bytes_a_round(folder, samples),
        timed(PAGE.format(str(path), str(path / "report")))[0],
    )
    print(
        f"{samples} samples: {loose:.0f} bytes per round and {loose_s:.1f} s for the page "
        "with separate files for each sample,"
    )
    print(f"  {took:.0f} bytes and {seconds:.1f} s for the page after the files are merged")


def main() -> None:
    """Measure everything; exit with 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument(
        "--folder", type=Path, help="folder in which the runs are kept; by default they are removed"
    )
    options = parser.parse_args()
    scratch = options.folder or Path(tempfile.mkdtemp())
    try:
        held = large(
            scratch / "large", options.samples, 1, terminal_s=5.0, page_s=15.0, most_mb=500.0
        )
        held &= large(
            scratch / "users",
            options.samples // 10,
            10,
            terminal_s=8.0,
            page_s=60.0,
            most_mb=1500.0,
        )
        small(scratch / "small", 4000)
    finally:
        if options.folder is None:
            shutil.rmtree(scratch)
    print("all limits met" if held else "a limit was missed")
    raise SystemExit(not held)


if __name__ == "__main__":
    main()
