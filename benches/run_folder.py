"""Cost of runs of 200 000 dialogues: size on disk, detecting that they are complete, and their reports.

    python benches/run_folder.py [--samples 200000] [--full] [--folder KEPT]

The runs are synthetic, five rounds per dialogue, with random clicks and values. The first has one
user and a sample for each dialogue, the second ten users and a tenth of the samples. `--full` adds a run of a million
dialogues. Seconds are those of the processor, memory is the peak of the process. A third run of 4000 samples is
reported from one file per sample, and again after these files are merged.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from measurement import Figures, argument_parser, at_most, run_code

from segarena.benchmark_rules import Statistic
from segarena.engine.run_folder import RunFolder
from segarena.records.compaction import MAX_PIECE_SAMPLES, WritablePieces
from segarena.records.configuration import (
    BenchmarkRecord,
    DatasetRecord,
    PluginRecord,
    RunConfiguration,
    UserRecord,
)
from segarena.records.parquet_tables import table_frame
from segarena.records.pieces import PIECES_LEDGER
from segarena.records.row_types import ROW_TYPES, TABLES, Row
from segarena.records.sample_file import pack_rows
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

BARS = {
    "one user: records and timings": at_most(40, "bytes/round"),
    "one user: detecting that the run is complete": at_most(0.5, "s"),
    "one user: summary in the terminal": at_most(5, "s"),
    "one user: memory of the summary": at_most(470, "MB"),
    "one user: page": at_most(13, "s"),
    "one user: memory of the page": at_most(500, "MB"),
    "one user: size of the page": at_most(0.8, "MB"),
    "ten users: records and timings": at_most(40, "bytes/round"),
    "ten users: detecting that the run is complete": at_most(0.5, "s"),
    "ten users: summary in the terminal": at_most(8, "s"),
    "ten users: memory of the summary": at_most(470, "MB"),
    "ten users: page": at_most(40, "s"),
    "ten users: memory of the page": at_most(500, "MB"),
    "ten users: size of the page": at_most(1, "MB"),
    "merged files / separate files: page of 4000 samples": at_most(0.75),
    "merged files / separate files: bytes of a round": at_most(0.14),
}
MILLION_BARS = {
    "a million dialogues: summary in the terminal": at_most(15, "s"),
    "a million dialogues: page": at_most(60, "s"),
    "a million dialogues: memory of the page": at_most(1500, "MB"),
}


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
    """Return the tables of one dialogue per user and sample, without masks."""
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


def rows_of(table: str, frame: pl.DataFrame) -> list[Row]:
    """Return the rows of a table; columns that are no fields are metrics."""
    row_type = ROW_TYPES[table]
    rows: list[Row] = []
    for cells in frame.iter_rows(named=True):
        fields = {name: cells.pop(name) for name in row_type.__struct_fields__ if name in cells}
        if "values" in row_type.__struct_fields__:
            fields["values"] = cells
        rows.append(row_type(**fields))
    return rows


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
                rows = {table: rows_of(table, frame) for table, frame in tables.items()}
                folder.writer.write(first, pack_rows(rows))
            else:
                pieces.write_piece(first, stop, tables.items())
    return folder


def bytes_a_round(folder: RunFolder, dialogues: int) -> float:
    """Return the size of records and timings on disk, per round."""
    files = [file for table in ("records", "timings") for file in (folder.path / table).iterdir()]
    return sum(file.stat().st_size for file in files) / (dialogues * ROUNDS)


def measure_large(name: str, path: Path, samples: int, users: int, figures: Figures) -> None:
    """Report the figures of a large run."""
    folder = write_run(path, samples, users, one_by_one=False)
    figures.report(f"{name}: records and timings", bytes_a_round(folder, samples * users))
    complete = run_code(NOTHING_LEFT.format(str(path)))
    figures.report(f"{name}: detecting that the run is complete", complete.processor_s)
    summary = run_code(TERMINAL.format(str(path)))
    figures.report(f"{name}: summary in the terminal", summary.processor_s)
    figures.report(f"{name}: memory of the summary", summary.peak_mb)
    page = run_code(PAGE.format(str(path), str(path / "report")))
    figures.report(f"{name}: page", page.processor_s)
    figures.report(f"{name}: memory of the page", page.peak_mb)
    page_bytes = (path / "report" / "report.html").stat().st_size
    figures.report(f"{name}: size of the page", page_bytes / 1e6)


def measure_merged(path: Path, samples: int, figures: Figures) -> None:
    """Report the gain of merged files for a run of a few thousand samples."""
    folder = write_run(path, samples, users=1, one_by_one=True)
    page = PAGE.format(str(path), str(path / "report"))
    separate_bytes = bytes_a_round(folder, samples)
    separate_s = run_code(page).processor_s
    with folder.lock():
        folder.gather()
    merged_s = run_code(page).processor_s
    name = "merged files / separate files"
    figures.report(f"{name}: page of 4000 samples", merged_s / separate_s)
    figures.report(f"{name}: bytes of a round", bytes_a_round(folder, samples) / separate_bytes)


def measure_million(path: Path, figures: Figures) -> None:
    """Report the figures of ten users on 100 000 samples."""
    write_run(path, 100_000, 10, one_by_one=False)
    name = "a million dialogues"
    figures.report(
        f"{name}: summary in the terminal", run_code(TERMINAL.format(str(path))).processor_s
    )
    page = run_code(PAGE.format(str(path), str(path / "report")))
    figures.report(f"{name}: page", page.processor_s)
    figures.report(f"{name}: memory of the page", page.peak_mb)


def main() -> None:
    """Measure everything; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument(
        "--full", action="store_true", help="also measure a run of a million dialogues"
    )
    parser.add_argument(
        "--folder", type=Path, help="folder in which the runs are kept; by default they are removed"
    )
    options = parser.parse_args()
    samples = options.samples
    separate = 4000
    if options.quick:
        samples = 2000
        separate = 50
    bars = BARS
    if options.full:
        bars = BARS | MILLION_BARS
    figures = Figures(bars, has_bars=samples == 200_000)
    scratch = options.folder or Path(tempfile.mkdtemp())
    try:
        measure_large("one user", scratch / "large", samples, 1, figures)
        measure_large("ten users", scratch / "users", samples // 10, 10, figures)
        measure_merged(scratch / "small", separate, figures)
        if options.full:
            measure_million(scratch / "million", figures)
    finally:
        if options.folder is None:
            shutil.rmtree(scratch)
    figures.finish()


if __name__ == "__main__":
    main()
