"""Cost of a run of 200 000 dialogues: size on disk, detecting that it is complete, and its report.

    python benches/run_folder.py [--samples 200000] [--folder KEPT]

The run is synthetic: a sample for each dialogue, five rounds each, with random clicks and values.
Limits: 150 bytes per round without masks, 2 s to detect that nothing is left to do, 5 s for the
summary in the terminal, 30 s for the page, and 1 GB of memory in each of them. A second run of 4000
samples is reported from one file per sample, and again after these files are merged.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
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
NOTHING_LEFT = (
    "import sys; from segarena import RunFolder; sys.exit(bool(RunFolder.open({!r}).pending()))"
)
TERMINAL = (
    "import rich; from segarena.reports import terminal_table; rich.print(terminal_table([{!r}]))"
)
PAGE = "from segarena.reports import write_report; write_report([{!r}], {!r})"


def configuration(samples: int) -> RunConfiguration:
    """Return the run.json of a run with this many samples."""
    names = tuple(f"COCO_val2014_{index:012d}" for index in range(samples))
    return RunConfiguration(
        version="bench",
        benchmark=BenchmarkRecord(name="clicks", protocol="careful", summary=SUMMARY),
        segmenter=PluginRecord(name="graph"),
        dataset=DatasetRecord(
            name="folder", options={"path": "nowhere"}, fingerprint="bench", samples=names
        ),
        users=(UserRecord(name="centre", written="centre"),),
        metrics=(PluginRecord(name="iou"),),
        rounds=ROUNDS,
    )


def tables_of(names: list[str], rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    """Return the tables of a dialogue about each sample, without masks."""
    count = len(names) * ROUNDS
    key = {
        "sample": np.repeat(names, ROUNDS),
        "target": np.repeat([f"{number % 7}" for number in range(len(names))], ROUNDS),
        "user": ["centre"] * count,
        "repeat": np.zeros(count, dtype=np.int32),
        "round": np.tile(np.arange(1, ROUNDS + 1, dtype=np.int32), len(names)),
    }
    union = rng.integers(500, 60_000, count)
    # Values improve from round to round, as in real dialogues.
    inter = (union * np.sort(rng.uniform(0.2, 1, (len(names), ROUNDS)), axis=1).ravel()).astype(
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


def write_run(path: Path, samples: int, *, one_by_one: bool) -> RunFolder:
    """Write a finished run: a few merged files, or one file for each sample."""
    folder = RunFolder.create(path, configuration(samples))
    rng = np.random.default_rng(0)
    with Ledger(path / PIECES_LEDGER, {"pieces": 1}) as ledger:
        pieces = WritablePieces(path, folder.samples, ledger)
        step = 1 if one_by_one else MAX_PIECE_SAMPLES
        for first in range(0, samples, step):
            stop = min(first + step, samples)
            tables = tables_of(list(folder.samples[first:stop]), rng)
            if one_by_one:
                pieces.write(first, sample_files(tables))
            else:
                pieces.write_piece(first, stop, tables.items())
    return folder


def bytes_a_round(folder: RunFolder, samples: int) -> float:
    """Return the size of records and timings on disk, per round."""
    files = [file for table in ("records", "timings") for file in (folder.path / table).iterdir()]
    return sum(file.stat().st_size for file in files) / (samples * ROUNDS)


def timed(code: str) -> tuple[float, float]:
    """Return the seconds of a new process, and the peak memory in MB of any process so far."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started, resource.getrusage(
        resource.RUSAGE_CHILDREN
    ).ru_maxrss / 1000


def large(path: Path, samples: int) -> bool:
    """Measure a large run; return whether all limits were met."""
    folder = write_run(path, samples, one_by_one=False)
    took = bytes_a_round(folder, samples)
    print(f"{samples} dialogues, {samples * ROUNDS} rounds: {took:.0f} bytes a round (bar 150)")
    held = [took <= 150]
    for name, code, bar_s in (
        ("nothing left to do", NOTHING_LEFT.format(str(path)), 2.0),
        ("summary in the terminal", TERMINAL.format(str(path)), 5.0),
        ("page", PAGE.format(str(path), str(path / "report")), 30.0),
    ):
        seconds, most_mb = timed(code)
        print(f"{name}: {seconds:.1f} s (limit {bar_s:g}), at most {most_mb:.0f} MB (bar 1000)")
        held += [seconds <= bar_s, most_mb <= 1000]
    return all(held)


def small(path: Path, samples: int) -> None:
    """Print the gain of merged files for a run of a few thousand samples."""
    folder = write_run(path, samples, one_by_one=True)
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
        f"{samples} samples: {loose:.0f} bytes a round and {loose_s:.1f} s for the page while each has its files,"
    )
    print(f"  {took:.0f} bytes and {seconds:.1f} s when they are gathered")


def main() -> None:
    """Measure everything; exit with 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument(
        "--folder", type=Path, help="where the runs stay; otherwise they are removed"
    )
    options = parser.parse_args()
    scratch = options.folder or Path(tempfile.mkdtemp())
    try:
        held = large(scratch / "large", options.samples)
        small(scratch / "small", 4000)
    finally:
        if options.folder is None:
            shutil.rmtree(scratch)
    print("all limits met" if held else "a limit was missed")
    raise SystemExit(not held)


if __name__ == "__main__":
    main()
