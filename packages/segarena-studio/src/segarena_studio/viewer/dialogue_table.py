"""Table with one row per dialogue, or per sample if there are no runs, computed once and stored in a file.

Records are read for a limited number of samples at a time, and only the outcome of each dialogue is
kept; prompts and masks are not read. Every page is then a query on that file, however many rows it
has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.engine.run_folder import RunFolder
from segarena.records.parquet_tables import COLUMNS
from segarena.reports.display_names import metric_name
from segarena_studio.viewer.table_query import TableQuery

KEY = ("sample", "target", "user", "repeat")
STRETCH = 16_384
"""Maximum number of samples whose records are read at once."""
_ROW = "_row"
_PLACE = "_place"
_ORDERS_KEPT = 8
_NOT_READ = ("benchmark", "dataset", "prompts")
_ABOUT_TARGET = ("label", "attributes")
_SPREAD = "spread"

DialogueKey: TypeAlias = tuple[str, str, str, int]
"""Sample, target, user, repeat; a sample without a dialogue has "" and 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        name: name in addresses and conditions.
        title: heading.
        kind: "text" or "number".
    """

    name: str
    title: str
    kind: str


class DialogueTable:
    """Table of a collection's rows, stored in a file.

    Args:
        samples: sample ids, in the order of the dataset.
        runs: run folders by label.
        file: file in which the rows are stored; overwritten.
    """

    def __init__(
        self,
        samples: Sequence[str],
        runs: Mapping[str, RunFolder],
        file: Path,
    ) -> None:
        self._samples = samples
        self._runs = runs
        self._file = file
        self.columns = self._written()
        self._order = lru_cache(maxsize=_ORDERS_KEPT)(self._ordered)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each column."""
        return {column.name: column.kind for column in self.columns}

    def count(self, query: TableQuery) -> int:
        """Return the number of rows of a query.

        Raises:
            InvalidInput: a column is unknown, or a value is not a number.
        """
        return len(self._order(query))

    def rows(
        self,
        query: TableQuery,
        first: int,
        count: int,
    ) -> list[dict[str, Any]]:
        """Return a page of a query's rows, in order; each also has its position, as "place"."""
        first = max(0, first)
        numbers = self._order(query)[first : first + count].tolist()
        position_of = {number: position for position, number in enumerate(numbers, first)}
        # A series, because Polars takes several times as long for a list of a few dozen numbers.
        wanted = pl.Series(numbers, dtype=pl.Int64).implode()
        page = self._scan().filter(pl.col(_ROW).is_in(wanted)).drop(_PLACE).collect()
        rows: list[dict[str, Any]] = []
        for row in page.iter_rows(named=True):
            rows.append({"place": position_of[row.pop(_ROW)], **row})
        return sorted(rows, key=lambda row: row["place"])

    def place_of(self, query: TableQuery, key: DialogueKey) -> int | None:
        """Return the position of a dialogue among a query's rows; None when it is not among them."""
        wanted = {name: value for name, value in zip(KEY, key, strict=True) if name in self._keys}
        numbers = self._scan().filter(**wanted).select(_ROW).collect()[_ROW]
        if not len(numbers):
            return None
        positions = np.flatnonzero(self._order(query) == numbers[0])
        return int(positions[0]) if len(positions) else None

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        return KEY if self._runs else ("sample",)

    def _ordered(self, query: TableQuery) -> NDArray[np.uint32]:
        rows = query.apply(self._scan(), self.kinds)
        return rows.select(_ROW).collect()[_ROW].to_numpy()

    def _scan(self) -> pl.LazyFrame:
        return pl.scan_parquet(self._file)

    def _written(self) -> list[Column]:
        """Write the rows, and return their columns."""
        places = pl.DataFrame(
            {"sample": list(self._samples)}, schema={"sample": pl.String}
        ).with_row_index(_PLACE)
        columns = [Column(name="sample", title="sample", kind="text")]
        rows = places
        if self._runs:
            rows, more = _side_by_side(self._runs)
            rows = rows.join(places, on="sample", how="left", maintain_order="left")
            rows = rows.sort(_PLACE, nulls_last=True, maintain_order=True)
            columns += more
        rows.with_row_index(_ROW).write_parquet(self._file)
        return columns


def read_dialogues(folder: RunFolder) -> pl.DataFrame:
    """Return a row per dialogue of a run, in order: key, label, rounds, effort, seconds, last values, failure."""
    count = len(folder.samples)
    if count <= STRETCH:
        return _reduced(folder, None)
    parts: list[pl.DataFrame] = []
    for first in range(0, count, STRETCH):
        only = range(first, min(first + STRETCH, count))
        parts.append(_reduced(folder, only))
    return pl.concat(parts, how="diagonal")


def _reduced(folder: RunFolder, only: range | None) -> pl.DataFrame:
    """Reduce the records of some samples to one row per dialogue."""
    rounds = folder.read("records", without=_NOT_READ, only=only).sort("round", maintain_order=True)
    metrics = [name for name in rounds.columns if name not in COLUMNS["records"]]
    completed = pl.col("round").filter(pl.col("failure").is_null())
    # Attributes are JSON; without braces and quotes they are readable as text.
    attributes = pl.col("attributes").first().str.replace_all(r'[{}"]', "")
    dialogues = rounds.group_by(*KEY, maintain_order=True).agg(
        pl.col("label").first(),
        attributes,
        completed.max().fill_null(0).alias("rounds"),
        *[pl.col(name).drop_nulls().last() for name in ("effort", *metrics)],
        pl.col("failure").drop_nulls().first(),
    )
    timings = folder.read("timings", [*KEY, "round", "predict_s"], only=only)
    timings = timings.filter(pl.col("round") > 0)
    seconds = timings.group_by(*KEY).agg(pl.col("predict_s").sum().alias("seconds"))
    return dialogues.join(seconds, on=KEY, how="left", maintain_order="left")


def metric_columns(folder: RunFolder, columns: Sequence[str]) -> list[str]:
    """Return the metrics among a run's columns; the first metric of the benchmark's summary comes first."""
    headline = [statistic.metric for statistic in folder.config.benchmark.summary[:1]]
    metrics = [name for name in columns if name not in COLUMNS["records"]]
    # A stable sort keeps the other metrics in order.
    return sorted(metrics, key=lambda name: name not in headline)


def _side_by_side(runs: Mapping[str, RunFolder]) -> tuple[pl.DataFrame, list[Column]]:
    """Join the dialogues of all runs on their keys; return the rows, and all columns but the sample."""
    labels = list(runs)
    frames = [read_dialogues(folder) for folder in runs.values()]
    named: list[pl.DataFrame] = []
    columns = [
        Column(name=name, title=name, kind="number" if name == "repeat" else "text")
        for name in KEY[1:]
    ]
    columns += [Column(name=name, title=name, kind="text") for name in _ABOUT_TARGET]
    folder = next(iter(runs.values()))
    metrics = [
        name
        for name in metric_columns(folder, frames[0].columns)
        if name not in ("rounds", "seconds")
    ]
    for name in dict.fromkeys(
        [*metrics[:1], "rounds", *metrics[1:], "effort", "seconds", "failure"]
    ):
        for number, (frame, label) in enumerate(zip(frames, labels, strict=True)):
            if name in frame.columns:
                title = f"{metric_name(name)} {label}" if len(frames) > 1 else metric_name(name)
                kind = "text" if name == "failure" else "number"
                columns.append(Column(name=_own(name, number, len(frames)), title=title, kind=kind))
    for number, frame in enumerate(frames):
        renamed = {
            name: _own(name, number, len(frames))
            for name in frame.columns
            if name not in (*KEY, *_ABOUT_TARGET)
        }
        named.append(frame.rename(renamed))
    rows = named[0]
    for number, frame in enumerate(named[1:], 1):
        rows = rows.join(
            frame,
            on=KEY,
            how="full",
            coalesce=True,
            suffix=f"._{number}",
            maintain_order="left_right",
        )
        for about in _ABOUT_TARGET:
            other = f"{about}._{number}"
            rows = rows.with_columns(pl.coalesce(about, other).alias(about)).drop(other)
    if len(frames) > 1 and metrics:
        values = [_own(metrics[0], number, len(frames)) for number in range(len(frames))]
        there = [name for name in values if name in rows.columns]
        rows = rows.with_columns(
            (pl.max_horizontal(there) - pl.min_horizontal(there)).alias(_SPREAD)
        )
        columns.append(
            Column(
                name=_SPREAD, title=f"{metric_name(metrics[0])}, largest difference", kind="number"
            )
        )
    return rows, columns


def _own(
    name: str,
    number: int,
    runs: int,
) -> str:
    """Return the name of a run's column; if there are several runs, the name has a number."""
    if runs == 1:
        return name
    return f"{name}.{number + 1}"
