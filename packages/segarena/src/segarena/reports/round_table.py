"""The rounds of a run as columns, and its dialogues as views of consecutive rows.

A run may have millions of rounds, so a dialogue reads its values from the columns on demand.
Prompts, which need more memory than all other columns together, are read in blocks when they are used.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.engine.run_folder import RunFolder
from segarena.errors import StoreError
from segarena.records.parquet_tables import COLUMNS
from segarena.records.prompts import RecordedPrompt, read_prompts
from segarena.records.row_types import read_attributes
from segarena.records.sample_file import RETRY_HINT

DialogueId: TypeAlias = tuple[str, str, str, int]
"""Sample, target, user, repeat."""

_DIALOGUE = ["sample", "target", "user", "repeat"]
_PROMPT_KIND = r'"kind": ?"(\w+)"'
_ROUNDS_PER_BLOCK = 100_000
"""Number of rounds that are read at once, which limits the memory of their texts."""


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
        return tuple(read_prompts(text) for text in self.table.prompt_texts(self))

    @property
    def _rows(self) -> slice:
        return slice(self.first, self.first + self.rounds)

    @property
    def key(self) -> DialogueId:
        """Sample, target, user, repeat."""
        return self.sample, self.target, self.user, self.repeat


@dataclass(frozen=True, eq=False)
class RoundTable:
    """The rounds of a run, ordered by sample, target, user, repeat and round.

    Samples and users are in the order of the run. A failed round is the last row of its dialogue.

    Attributes:
        folder: the run folder.
        metrics: values by metric column; NaN where a metric is undefined.
        efforts: cumulative number of interactions in the dialogue.
        samples_per_block: number of samples whose prompts are read at once.
        block_starts: first row of each such block.
    """

    folder: RunFolder
    metrics: Mapping[str, NDArray[np.float64]]
    efforts: NDArray[np.float64]
    samples_per_block: int
    block_starts: Sequence[int]

    def prompt_texts(self, dialogue: DialogueRecord) -> Sequence[str]:
        """Return the prompts of each finished round of a dialogue as JSON text."""
        block = bisect_right(self.block_starts, dialogue.first) - 1
        rows, texts = self._prompts_of_block(block)
        # A failed round is the last one, so the slice leaves it out.
        return texts[rows[dialogue.key]].to_list()[: dialogue.rounds]

    @cached_property
    def _prompts_of_block(self) -> Callable[[int], tuple[Mapping[DialogueId, int], pl.Series]]:
        """Function that reads the prompts of a block of samples: the row of each dialogue, and the texts by row."""

        # Readers go through the dialogues in order, so one block is enough.
        @lru_cache(maxsize=1)
        def read_block(block: int) -> tuple[Mapping[DialogueId, int], pl.Series]:
            first = block * self.samples_per_block
            indices = range(first, min(first + self.samples_per_block, len(self.folder.samples)))
            records = self.folder.read("records", [*_DIALOGUE, "round", "prompts"], only=indices)
            dialogues = records.group_by(_DIALOGUE).agg(pl.col("prompts").sort_by("round"))
            keys = dialogues.select(_DIALOGUE)
            rows = {
                (sample, target, user, repeat): row
                for row, (sample, target, user, repeat) in enumerate(keys.iter_rows())
            }
            return rows, dialogues["prompts"]

        return read_block

    def kinds_of(self, users: Set[str]) -> frozenset[str]:
        """Return the kinds of all prompts that `users` gave in rounds that did not fail."""
        found: set[str] = set()
        for indices in _sample_blocks(self.folder, self.samples_per_block):
            columns = ["user", "failure", "prompts"]
            records = self.folder.read("records", columns, only=indices)
            own = records.filter(pl.col("user").is_in(users), pl.col("failure").is_null())
            matches = own["prompts"].str.extract_all(_PROMPT_KIND).explode()
            distinct = matches.unique().drop_nulls()
            found.update(distinct.str.extract(_PROMPT_KIND).to_list())
        return frozenset(found)


def read_rounds(folder: RunFolder) -> tuple[RoundTable, pl.DataFrame]:
    """Read a run's rounds, without their prompts, and a table of its dialogues for `iterate_dialogues`.

    The texts of a million rounds need more memory than all numbers. The records are therefore read
    in blocks of samples, which keep their numbers by round but their texts only by dialogue.

    Raises:
        StoreError: a metric column contains values other than numbers.
    """
    rounds = len(folder.read("records", ["round"]))
    samples_per_block = max(1, len(folder.samples) * _ROUNDS_PER_BLOCK // max(1, rounds))
    efforts: list[NDArray[np.float64]] = []
    metrics: list[Mapping[str, NDArray[np.float64]]] = []
    dialogues: list[pl.DataFrame] = []
    block_starts: list[int] = []
    first = 0
    for indices in _sample_blocks(folder, samples_per_block):
        records = folder.read("records", without=["prompts", "benchmark", "dataset"], only=indices)
        rows = _sort_rows(folder, records, indices)
        metrics.append(_metrics_of(folder, rows))
        efforts.append(rows["effort"].to_numpy().astype(np.float64))
        dialogues.append(_dialogue_rows(rows, first))
        block_starts.append(first)
        first += len(rows)
    table = RoundTable(
        folder=folder,
        metrics=_concatenate_metrics(metrics, [len(block) for block in efforts]),
        efforts=np.concatenate([np.empty(0), *efforts]),
        samples_per_block=samples_per_block,
        block_starts=block_starts,
    )
    return table, pl.concat(dialogues)


def _sample_blocks(folder: RunFolder, size: int) -> Iterator[range]:
    """Yield the indices of the samples of each block; one empty block if there are no samples."""
    count = len(folder.samples)
    for start in range(0, max(1, count), size):
        yield range(start, min(start + size, count))


def _sort_rows(folder: RunFolder, records: pl.DataFrame, indices: range) -> pl.DataFrame:
    """Return the records about the samples with these indices in the order of a `RoundTable`."""
    samples = {folder.samples[index]: index for index in indices}
    users = {user.written: index for index, user in enumerate(folder.config.users)}
    return records.sort(
        pl.col("sample").replace_strict(samples, return_dtype=pl.Int64),
        pl.col("target"),
        pl.col("user").replace_strict(users, default=len(users), return_dtype=pl.Int64),
        pl.col("repeat"),
        pl.col("failure").is_not_null(),
        pl.col("round"),
    )


def _metrics_of(folder: RunFolder, rows: pl.DataFrame) -> Mapping[str, NDArray[np.float64]]:
    """Return the values of each metric column; NaN where a metric is undefined.

    Raises:
        StoreError: a column contains text.
    """
    metrics: dict[str, NDArray[np.float64]] = {}
    for name in rows.columns:
        if name in COLUMNS["records"]:
            continue
        # In a folder without checksums, a damaged column name can make a text column look like a
        # metric.
        if not rows[name].dtype.is_numeric() and rows[name].dtype != pl.Null:
            raise StoreError(
                f"{folder.path}: expected numbers in column {name!r} of records/, got text; {RETRY_HINT}"
            )
        metrics[name] = rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return metrics


def _concatenate_metrics(
    blocks: Sequence[Mapping[str, NDArray[np.float64]]],
    lengths: Sequence[int],
) -> Mapping[str, NDArray[np.float64]]:
    """Return the metrics of all blocks; NaN in blocks that lack a metric."""
    names = dict.fromkeys(chain.from_iterable(blocks))
    metrics: dict[str, NDArray[np.float64]] = {}
    for name in names:
        parts: list[NDArray[np.float64]] = []
        for block, length in zip(blocks, lengths, strict=True):
            missing = np.full(length, np.nan) if name not in block else block[name]
            parts.append(missing)
        metrics[name] = np.concatenate(parts)
    return metrics


def _dialogue_rows(rows: pl.DataFrame, start: int) -> pl.DataFrame:
    """Return one row per dialogue: key, label and attributes of the target, first row, finished rounds, failure.

    Args:
        rows: rounds in the order of a `RoundTable`.
        start: number of rounds before these.
    """
    return (
        rows.with_row_index("first", offset=start)
        .group_by(_DIALOGUE, maintain_order=True)
        .agg(
            pl.col("label", "attributes", "first").first(),
            pl.col("failure").is_null().sum().alias("rounds"),
            pl.col("failure").cast(pl.String).drop_nulls().first(),
        )
    )


def iterate_dialogues(table: RoundTable, dialogues: pl.DataFrame) -> Iterator[DialogueRecord]:
    """Yield the dialogues of `read_rounds` in the order of their rounds."""
    # Each name occurs in many dialogues, but is kept in memory only once.
    names = {name: name for name in table.folder.samples}
    # Dialogues about the same target share their attributes, so parse each JSON text only once.
    attributes: dict[str | None, Mapping[str, Any]] = {}
    for row in dialogues.iter_rows(named=True):
        text = row["attributes"]
        if text not in attributes:
            attributes[text] = read_attributes(text)
        label = row["label"] or ""
        yield DialogueRecord(
            sample=names.setdefault(row["sample"], row["sample"]),
            target=names.setdefault(row["target"], row["target"]),
            user=names.setdefault(row["user"], row["user"]),
            repeat=row["repeat"],
            label=names.setdefault(label, label),
            attributes=attributes[text],
            rounds=row["rounds"],
            failure=row["failure"],
            first=row["first"],
            table=table,
        )
