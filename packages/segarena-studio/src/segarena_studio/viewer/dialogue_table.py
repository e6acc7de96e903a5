"""One row per dialogue, or per sample where nobody was asked about it: made once of the records, and kept in a file.

Records are read in stretches of samples, and of each dialogue only what came of it stays; prompts and masks are not
read. What is asked for afterwards is a query over that file, however many rows there are, and comes in pages.
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

from segarena.engine.store import RunFolder
from segarena.records.parquet_tables import COLUMNS
from segarena.reports.display_names import metric_name
from segarena_studio.viewer.table_query import TableQuery

KEY = ("sample", "target", "user", "repeat")
STRETCH = 16_384
"""Samples whose records are read at once."""
_ROW = "_row"
_PLACE = "_place"
_ORDERS_KEPT = 8
_NOT_READ = ("benchmark", "dataset", "prompts")
_ABOUT_TARGET = ("label", "attributes")
_SPREAD = "spread"

DialogueKey: TypeAlias = tuple[str, str, str, int]
"""Sample, target, user, repeat; a sample alone has "" and 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        name: in addresses and conditions.
        title: above it.
        kind: "text" or "number".
    """

    name: str
    title: str
    kind: str


class DialogueTable:
    """The rows of a collection.

    Args:
        samples: ids, in the order of the dataset.
        runs: folders of runs about them, with what each is called.
        file: where the rows are kept; written anew.
    """

    def __init__(self, samples: Sequence[str], runs: Mapping[str, RunFolder], file: Path) -> None:
        self._samples = samples
        self._runs = runs
        self._file = file
        self.columns = self._written()
        self._order = lru_cache(maxsize=_ORDERS_KEPT)(self._ordered)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each column."""
        return {column.name: column.kind for column in self.columns}

    def count(self, question: TableQuery) -> int:
        """Return how many rows a question finds.

        Raises:
            InvalidInput: it asks for a column that is not there, or for a number that is none.
        """
        return len(self._order(question))

    def rows(self, question: TableQuery, first: int, count: int) -> list[dict[str, Any]]:
        """Return some rows of those that a question finds, in its order; each says its key and its place in it."""
        wanted = self._order(question)[max(0, first) : max(0, first) + count]
        place = {row: at for at, row in enumerate(wanted.tolist(), max(0, first))}
        found = self._scan().filter(pl.col(_ROW).is_in(wanted.tolist())).drop(_PLACE).collect()
        rows = sorted(found.iter_rows(named=True), key=lambda row: place[row[_ROW]])
        return [{"place": place[row.pop(_ROW)], **row} for row in rows]

    def place_of(self, question: TableQuery, key: DialogueKey) -> int | None:
        """Return where a dialogue stands among the rows that a question finds; None where it is not one of them."""
        wanted = {name: value for name, value in zip(KEY, key, strict=True) if name in self._keys}
        found = self._scan().filter(**wanted).select(_ROW).collect()[_ROW]
        at = np.flatnonzero(self._order(question) == found[0]).tolist() if len(found) else []
        return at[0] if at else None

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        return KEY if self._runs else ("sample",)

    def _ordered(self, question: TableQuery) -> NDArray[np.uint32]:
        rows = question.asked_of(self._scan(), self.kinds)
        return rows.select(_ROW).collect()[_ROW].to_numpy()

    def _scan(self) -> pl.LazyFrame:
        return pl.scan_parquet(self._file)

    def _written(self) -> list[Column]:
        """Write the rows; return what their columns are."""
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
    """Return a row per dialogue of a run, in its order: key, label, rounds, effort, seconds, last values, failure."""
    count = len(folder.samples)
    if count <= STRETCH:
        return _reduced(folder, None)
    stretches = [range(first, min(first + STRETCH, count)) for first in range(0, count, STRETCH)]
    return pl.concat([_reduced(folder, only) for only in stretches], how="diagonal")


def _reduced(folder: RunFolder, only: range | None) -> pl.DataFrame:
    rounds = folder.read("records", without=_NOT_READ, only=only).sort("round", maintain_order=True)
    metrics = [name for name in rounds.columns if name not in COLUMNS["records"]]
    last = [pl.col(name).drop_nulls().last() for name in ("effort", *metrics)]
    made = rounds.group_by(*KEY, maintain_order=True).agg(
        pl.col("label").first(),
        pl.col("attributes").first().str.replace_all(r'[{}"]', ""),
        pl.col("round").filter(pl.col("failure").is_null()).max().fill_null(0).alias("rounds"),
        *last,
        pl.col("failure").drop_nulls().first(),
    )
    timed = folder.read("timings", [*KEY, "round", "predict_s"], only=only).filter(
        pl.col("round") > 0
    )
    seconds = timed.group_by(*KEY).agg(pl.col("predict_s").sum().alias("seconds"))
    return made.join(seconds, on=KEY, how="left", maintain_order="left")


def metric_columns(folder: RunFolder, columns: Sequence[str]) -> list[str]:
    """Return those columns of a run's records that are metrics, what its benchmark's summary begins with first."""
    first = [statistic.metric for statistic in folder.config.benchmark.summary[:1]]
    own = [name for name in columns if name not in COLUMNS["records"]]
    return [*(name for name in own if name in first), *(name for name in own if name not in first)]


def _side_by_side(runs: Mapping[str, RunFolder]) -> tuple[pl.DataFrame, list[Column]]:
    """Return the dialogues of all runs, one row for those about the same, and the columns beside the sample."""
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


def _own(name: str, number: int, runs: int) -> str:
    return name if runs == 1 else f"{name}.{number + 1}"
