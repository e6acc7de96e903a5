"""The rounds of a run as columns, and its dialogues as stretches of them.

A run may have millions of rounds, so what belongs to a dialogue is looked up in the columns when somebody asks.
Prompts, which take more room than all other columns together, are read when the first of them is wanted.
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
_KIND = r'"kind": ?"(\w+)"'
_ROWS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class DialogueRecord:
    """One dialogue as the records tell it: a stretch of a run's table, looked into when it is asked.

    Attributes:
        target, user: empty when the whole sample failed.
        label: of the target.
        attributes: of the target.
        rounds: how many were finished.
        failure: why it ended early, None when it did not.
        first, table: where its rounds stand.
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
        """By metric column, one float per finished round; NaN where the metric was not defined."""
        if not self.rounds:
            return {}
        return {
            name: tuple(column[self._stretch].tolist())
            for name, column in self.table.metrics.items()
        }

    def values_of(self, metric: str) -> list[float]:
        """Return `values` of one column; empty when there is no such column."""
        column = self.table.metrics.get(metric)
        return [] if column is None else column[self._stretch].tolist()

    @property
    def efforts(self) -> tuple[float, ...]:
        """Interactions spent so far, after each finished round."""
        return tuple(self.table.efforts[self._stretch].tolist())

    @property
    def prompts(self) -> tuple[tuple[RecordedPrompt, ...], ...]:
        """The prompts of each finished round."""
        return tuple(map(read_prompts, self.table.prompts[self._stretch]))

    @property
    def _stretch(self) -> slice:
        return slice(self.first, self.first + self.rounds)

    @property
    def key(self) -> DialogueId:
        """Sample, target, user, repeat."""
        return self.sample, self.target, self.user, self.repeat


@dataclass(frozen=True, eq=False)
class RoundTable:
    """The rounds of a run.

    Attributes:
        folder: of the run.
        rows: a row per round: samples and users in the order of the run, then targets, repeats and rounds; what failed
            comes last in its dialogue.
        metrics: the values by column, NaN where a metric was not defined.
    """

    folder: RunFolder
    rows: pl.DataFrame
    metrics: Mapping[str, NDArray[np.float64]]

    @cached_property
    def efforts(self) -> NDArray[np.float64]:
        """Interactions spent so far."""
        return self.rows["effort"].to_numpy().astype(np.float64)

    @cached_property
    def prompts(self) -> pl.Series:
        """The prompts of each round, as written."""
        key = [*_DIALOGUE, "round"]
        texts = self.folder.read("records", [*key, "prompts"])
        return self.rows.select(key).join(texts, on=key, how="left", maintain_order="left")[
            "prompts"
        ]

    def kinds_of(self, users: Set[str]) -> frozenset[str]:
        """Return the kinds of all prompts that some users gave in rounds that did not fail."""
        records = self.folder.read("records", ["user", "failure", "prompts"])
        texts = records.filter(pl.col("user").is_in(users), pl.col("failure").is_null())["prompts"]
        found: set[str] = set()
        for start in range(0, len(texts), _ROWS_AT_ONCE):
            named = (
                texts[start : start + _ROWS_AT_ONCE]
                .str.extract_all(_KIND)
                .explode()
                .unique()
                .drop_nulls()
            )
            found.update(named.str.extract(_KIND).to_list())
        return frozenset(found)


def read_rounds(folder: RunFolder) -> RoundTable:
    """Read the rounds of a run, without prompts."""
    records = folder.read("records", without=["prompts", "benchmark", "dataset"])
    samples = {name: place for place, name in enumerate(folder.samples)}
    users = {user.written: place for place, user in enumerate(folder.config.users)}
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
    for name in names:  # a damaged name of a column in a folder without checksums
        if not rows[name].dtype.is_numeric() and rows[name].dtype != pl.Null:
            raise StoreError(
                f"{folder.path}: expected numbers in column {name!r} of records/, got text; {RETRY_HINT}"
            )
    metrics = {name: rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in names}
    return RoundTable(folder, rows.drop(names), metrics)


def iterate_dialogues(table: RoundTable) -> Iterator[DialogueRecord]:
    """Yield the dialogues in the order of their rounds."""
    attributes: dict[str | None, Mapping[str, Any]] = {}
    found = (
        table.rows.with_row_index("first")
        .group_by(_DIALOGUE, maintain_order=True)
        .agg(
            pl.col("label", "attributes", "first").first(),
            pl.col("failure").is_null().sum().alias("rounds"),
            pl.col("failure").drop_nulls().first(),
        )
    )
    for sample, target, user, repeat, label, told, first, rounds, failure in found.iter_rows():
        if told not in attributes:
            attributes[told] = read_attributes(told)
        yield DialogueRecord(
            sample=sample,
            target=target,
            user=user,
            repeat=repeat,
            label=label or "",
            attributes=attributes[told],
            rounds=rounds,
            failure=failure,
            first=first,
            table=table,
        )
