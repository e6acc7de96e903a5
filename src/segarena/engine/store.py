"""A run on disk: `run.json`, and one Parquet file per sample and table.

    runs/x/
      run.json                everything needed to repeat the run
      records/000012.parquet  one row per round: keys, effort, prompts, metrics and their counts, failure
      timings/000012.parquet  seconds per round; round 0 is the encoder pass of the sample
      masks/000012.parquet    predictions after chosen rounds, as run lengths
      parts/000012.parquet    what metrics say of each object and frame; only where they do

Files are numbered by the sample's place in run.json. Each is written whole or not at all
(`segarena.files.whole`), records last: a sample whose records exist is done, whatever happened to the process. Seconds
live apart from the records, so equal runs have equal record files, byte for byte.
"""

from __future__ import annotations

import fcntl
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from segarena.engine.rows import Row, Rows
from segarena.errors import RunConflict, RunMissing, StoreError
from segarena.files.whole import clear_leftovers, write_whole
from segarena.records.configuration import (
    CIRCUMSTANCES,
    RunConfiguration,
    configuration_text,
    plain_configuration,
    read_configuration,
)
from segarena.work.ledger import first_difference

TABLES = ("parts", "masks", "timings", "records")
"""In the order of writing."""

ONLY_WITH_ROWS = ("parts",)
"""Tables that most runs have no use for."""

_COLUMNS: dict[str, dict[str, Any]] = {
    "records": {
        "benchmark": pl.String,
        "dataset": pl.String,
        "sample": pl.String,
        "target": pl.String,
        "label": pl.String,
        "attributes": pl.String,
        "user": pl.String,
        "repeat": pl.Int32,
        "round": pl.Int32,
        "effort": pl.Float64,
        "prompts": pl.String,
        "failure": pl.String,
    },
    "timings": {
        "sample": pl.String,
        "target": pl.String,
        "user": pl.String,
        "repeat": pl.Int32,
        "round": pl.Int32,
        "predict_s": pl.Float64,
    },
    "masks": {
        "sample": pl.String,
        "target": pl.String,
        "user": pl.String,
        "repeat": pl.Int32,
        "round": pl.Int32,
        "object": pl.Int32,
        "rle": pl.Binary,
        "shape": pl.List(pl.Int32),
    },
    "parts": {
        "sample": pl.String,
        "target": pl.String,
        "user": pl.String,
        "repeat": pl.Int32,
        "round": pl.Int32,
        "object": pl.Int32,
        "frame": pl.Int32,
    },
}


class RunFolder:
    """One run on disk. `open` reads an existing one, `create` starts or continues one."""

    def __init__(self, path: Path, config: RunConfiguration) -> None:
        self.path = path
        self.config = config

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Open an existing run.

        Raises:
            RunMissing: there is no run.json.
            StoreError: it is damaged, of a later version, or not one of ours.
        """
        file = Path(path) / "run.json"
        if not file.is_file():
            raise RunMissing(f"{path}: expected a run folder with a run.json in it; make one with 'segarena run'")
        return cls(Path(path), read_configuration(file))

    @classmethod
    def create(cls, path: str | Path, config: RunConfiguration) -> RunFolder:
        """Start the run `config` in `path`, or continue it if it was started there.

        Raises:
            RunConflict: the folder holds another run (the first difference is named) or other files.
            StoreError: the folder cannot be written.
        """
        folder = Path(path)
        if (folder / "run.json").is_file():
            existing = cls.open(folder)
            _refuse_other(folder, existing.config, config)
            return existing
        if folder.is_dir() and any(folder.iterdir()):
            raise RunConflict(f"{folder} holds other files and no run.json; choose an empty or new folder with --out")
        run = cls(folder, config)
        try:
            for table in TABLES:
                if table not in ONLY_WITH_ROWS:
                    (folder / table).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{folder} cannot be written: {error.strerror}; choose another --out") from error
        run.write_config(config)
        return run

    @property
    def samples(self) -> tuple[str, ...]:
        """All sample ids of the run, in order."""
        return self.config.dataset.samples

    @property
    def is_complete(self) -> bool:
        """Whether every sample is done."""
        return not self.pending()

    def pending(self) -> list[int]:
        """Return the places of the samples that are not done."""
        done = {file.stem for file in (self.path / "records").glob("*.parquet")}
        return [index for index in range(len(self.samples)) if _shard(index) not in done]

    @contextmanager
    def lock(self) -> Generator[None]:
        """Hold the run for this process; the lock dies with it.

        Raises:
            RunConflict: another process works on this run.
        """
        with (self.path / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RunConflict(f"{self.path} is in use by another process; wait for it or choose --out") from error
            for written in (self.path, *(self.path / table for table in TABLES)):
                clear_leftovers(written)
            yield

    def write(self, index: int, rows: Rows) -> None:
        """Write the tables of sample `index`; after that it is done.

        Raises:
            StoreError: the disk is full or cannot be written. What was written before stays.
        """
        for table in TABLES:
            if table in ONLY_WITH_ROWS and not getattr(rows, table):
                continue
            buffer = BytesIO()
            frame_of(table, getattr(rows, table)).write_parquet(buffer, compression="zstd", statistics=False)
            write_whole(self.path / table / f"{_shard(index)}.parquet", buffer.getvalue())

    def size_bytes(self, index: int, *tables: str) -> int:
        """Return what the files of sample `index` take on disk."""
        return sum((self.path / table / f"{_shard(index)}.parquet").stat().st_size for table in tables)

    def discard(self, indices: Sequence[int]) -> None:
        """Forget samples, so that the next run does them again."""
        for index in indices:
            for table in reversed(TABLES):
                (self.path / table / f"{_shard(index)}.parquet").unlink(missing_ok=True)

    def failed(self) -> list[int]:
        """Return the places of the samples in which something failed."""
        records = self.records()
        bad = set(records.filter(pl.col("failure").is_not_null())["sample"].to_list())
        return [index for index, sample in enumerate(self.samples) if sample in bad]

    def write_config(self, config: RunConfiguration) -> None:
        """Write run.json, which then is the run's configuration."""
        write_whole(self.path / "run.json", configuration_text(config))
        self.config = config

    def records(self) -> pl.DataFrame:
        """Return all records, in the order of the samples."""
        return self._read("records")

    def timings(self) -> pl.DataFrame:
        """Return all timings, in the order of the samples."""
        return self._read("timings")

    def masks(self) -> pl.DataFrame:
        """Return all kept masks, in the order of the samples."""
        return self._read("masks")

    def parts(self) -> pl.DataFrame:
        """Return what metrics said of each object and frame, in the order of the samples."""
        return self._read("parts")

    def _read(self, table: str) -> pl.DataFrame:
        done = sorted((self.path / "records").glob("*.parquet"))
        files = [self.path / table / file.name for file in done]
        if table in ONLY_WITH_ROWS:
            files = [file for file in files if file.is_file()]
        if not files:
            return frame_of(table, [])
        try:
            return pl.concat([pl.read_parquet(file) for file in files], how="diagonal")
        except (pl.exceptions.PolarsError, OSError) as error:
            raise StoreError(f"{self.path / table}: a file is damaged ({error}); delete it and run again") from error


def _shard(index: int) -> str:
    return f"{index:06d}"


def frame_of(table: str, rows: Sequence[Row]) -> pl.DataFrame:
    """Return rows as a typed frame; columns that only metrics know are floats, between the keys and `failure`."""
    known = _COLUMNS[table]
    extra = {name: pl.Float64 for row in rows for name in row if name not in known}
    last = {name: known[name] for name in known if name == "failure"}
    schema = {**{name: kind for name, kind in known.items() if name not in last}, **extra, **last}
    return pl.DataFrame(rows, schema=schema)


def _refuse_other(folder: Path, existing: RunConfiguration, asked: RunConfiguration) -> None:
    old, new = plain_configuration(existing), plain_configuration(asked)
    for key, value in new.items():
        if key not in CIRCUMSTANCES and old[key] != value:
            where, has, wants = first_difference(key, old[key], value)
            raise RunConflict(
                f"{folder} holds a run with {where} = {has}, this one has {wants}; "
                "choose another --out, or repeat the options of that run"
            )
