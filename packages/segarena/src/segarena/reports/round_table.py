"""The rounds of a run as columns, and its dialogues as views of consecutive rows.

A run may have millions of rounds, so a dialogue reads its values from the columns on demand.
Prompts, which need more memory than all other columns together, are read on first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.engine.store import RunFolder
from segarena.errors import StoreError
from segarena.records.parquet_scan import RETRY_HINT
from segarena.records.parquet_tables import COLUMNS
from segarena.records.prompts import RecordedPrompt, read_prompts
from segarena.records.row_types import read_attributes

DialogueId: TypeAlias = tuple[str, str, str, int]
"""Sample, target, user, repeat."""

_DIALOGUE = ["sample", "target", "user", "repeat"]
_PROMPT_KIND = r'"kind": ?"(\w+)"'
_ROWS_PER_BATCH = 100_000
"""Limits the memory of the regular expression that scans the JSON of prompts."""


@dataclass(frozen=True, slots=True, eq=False)
class DialogueRecord:
    """One recorded dialogue: a view of consecutive rows in a run's table.

    Attributes:
        target, user: empty if the whole sample failed.
        label: label of the target.
        attributes: attributes of the target.
        rounds: number of finished rounds.
        failure: error message of a failed dialogue, else None.
        first: row of the first round in `table`.
        table: the rounds of the run.
    """

    sample: str
    target: str
    user: str
    repeat: int
    label: str
    attributes: Mapping[str, Any]
    rounds: int
    failure: str | None
    first: int = field(repr=False)
    table: RoundTable = field(repr=False)

    @property
    def values(self) -> Mapping[str, tuple[float, ...]]:
        """Values of the finished rounds by metric column, as floats; NaN where the metric is undefined."""
        if not self.rounds:
            return {}
        values: dict[str, tuple[float, ...]] = {}
        for name, column in self.table.metrics.items():
            values[name] = tuple(column[self._rows].tolist())
        return values

    def values_of(self, metric: str) -> list[float]:
        """Return `values` of one column; empty if the column does not exist."""
        column = self.table.metrics.get(metric)
        return [] if column is None else column[self._rows].tolist()

    @property
    def efforts(self) -> tuple[float, ...]:
        """Cumulative number of interactions after each finished round."""
        return tuple(self.table.efforts[self._rows].tolist())

    @property
    def prompts(self) -> tuple[tuple[RecordedPrompt, ...], ...]:
        """Prompts of each finished round."""
        texts = self.table.prompts[self._rows]
        return tuple(read_prompts(text) for text in texts)

    @property
    def _rows(self) -> slice:
        return slice(self.first, self.first + self.rounds)

    @property
    def key(self) -> DialogueId:
        """Sample, target, user, repeat."""
        return self.sample, self.target, self.user, self.repeat


@dataclass(frozen=True, eq=False)
class RoundTable:
    """The rounds of a run.

    Attributes:
        folder: the run folder.
        rows: one row per round, ordered by sample, target, user, repeat and round, with samples and
            users in the order of the run; a failed round is the last row of its dialogue.
        metrics: values by metric column; NaN where a metric is undefined.
    """

    folder: RunFolder
    rows: pl.DataFrame
    metrics: Mapping[str, NDArray[np.float64]]

    @cached_property
    def efforts(self) -> NDArray[np.float64]:
        """Cumulative number of interactions in the dialogue, for each row."""
        return self.rows["effort"].to_numpy().astype(np.float64)

    @cached_property
    def prompts(self) -> pl.Series:
        """Prompts of each round as JSON text."""
        key = [*_DIALOGUE, "round"]
        texts = self.folder.read("records", [*key, "prompts"])
        return self.rows.select(key).join(texts, on=key, how="left", maintain_order="left")[
            "prompts"
        ]

    def kinds_of(self, users: Set[str]) -> frozenset[str]:
        """Return the kinds of all prompts that `users` gave in rounds that did not fail."""
        records = self.folder.read("records", ["user", "failure", "prompts"])
        own = records.filter(pl.col("user").is_in(users), pl.col("failure").is_null())
        texts = own["prompts"]
        found: set[str] = set()
        for start in range(0, len(texts), _ROWS_PER_BATCH):
            batch = texts[start : start + _ROWS_PER_BATCH]
            matches = batch.str.extract_all(_PROMPT_KIND).explode()
            distinct = matches.unique().drop_nulls()
            found.update(distinct.str.extract(_PROMPT_KIND).to_list())
        return frozenset(found)


def read_rounds(folder: RunFolder) -> RoundTable:
    """Read the rounds of a run without prompts.

    Raises:
        StoreError: a metric column contains values other than numbers.
    """
    records = folder.read("records", without=["prompts", "benchmark", "dataset"])
    samples = {name: index for index, name in enumerate(folder.samples)}
    users = {user.written: index for index, user in enumerate(folder.config.users)}
    order = [
        pl.col("sample").replace_strict(samples, default=len(samples), return_dtype=pl.Int64),
        pl.col("sample"),
        pl.col("target"),
        pl.col("user").replace_strict(users, default=len(users), return_dtype=pl.Int64),
        pl.col("repeat"),
        pl.col("failure").is_not_null(),
        pl.col("round"),
    ]
    rows = records.sort(order)
    names = [name for name in rows.columns if name not in COLUMNS["records"]]
    for name in names:
        # In a folder without checksums, a damaged column name can make a text column look like a
        # metric.
        if not rows[name].dtype.is_numeric() and rows[name].dtype != pl.Null:
            raise StoreError(
                f"{folder.path}: expected numbers in column {name!r} of records/, got text; {RETRY_HINT}"
            )
    metrics = {name: rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in names}
    return RoundTable(folder, rows.drop(names), metrics)


def iterate_dialogues(table: RoundTable) -> Iterator[DialogueRecord]:
    """Yield the dialogues in the order of their rounds."""
    # Dialogues about the same target share their attributes, so parse each JSON text only once.
    attributes: dict[str | None, Mapping[str, Any]] = {}
    dialogues = (
        table.rows.with_row_index("first")
        .group_by(_DIALOGUE, maintain_order=True)
        .agg(
            pl.col("label", "attributes", "first").first(),
            pl.col("failure").is_null().sum().alias("rounds"),
            pl.col("failure").drop_nulls().first(),
        )
    )
    for row in dialogues.iter_rows(named=True):
        text = row["attributes"]
        if text not in attributes:
            attributes[text] = read_attributes(text)
        yield DialogueRecord(
            sample=row["sample"],
            target=row["target"],
            user=row["user"],
            repeat=row["repeat"],
            label=row["label"] or "",
            attributes=attributes[text],
            rounds=row["rounds"],
            failure=row["failure"],
            first=row["first"],
            table=table,
        )
