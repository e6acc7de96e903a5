"""Types of published tables: figures, models, datasets, conditions and measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from segarena.work.jobs import Workers
from segarena.work.progress import OnProgress, ignore_progress

RowWords: TypeAlias = Mapping[str, str]
"""Cells of the key columns of a row, by heading, and the `user` of its condition."""


class Measure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measure of a paper, and its place in our reports.

    Attributes:
        title: as printed.
        unit: "%", "ms", ...; empty where there is none.
        scale: factor from our number to the printed one.
        decimals: decimal places, if the paper omits trailing zeros; None counts the printed ones.
        higher_is_better: None if neither direction is better.
        sheet: name of the table in the report; "" if no report has it.
        column: its column. Here and in `row`, the cell of the paper under heading `name` replaces `{name}`.
        row: required cells in other columns, as printed.
        needs: facts of a run that the measure requires; see `PublishedTable.needs`.
        why_not: why it cannot be measured here.
    """

    title: str
    unit: str = ""
    scale: float = 1.0
    decimals: int | None = None
    higher_is_better: bool | None = None
    sheet: str = ""
    column: str = ""
    row: dict[str, str] = {}
    needs: dict[str, str] = {}
    why_not: str = ""


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of a table, and its source.

    Attributes:
        segmenter: plug-in text, in which the path of the weights replaces `{weights}`; "" if there is none.
        adapter: its folder in adapters/; "" if it needs none.
        weights: file name of its weights.
        get: source of weights or code.
    """

    segmenter: str = ""
    adapter: str = ""
    weights: str = ""
    get: str = ""


class DatasetEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dataset of a table, and its source.

    Attributes:
        what: description.
        plugin: plug-in text, in which its folder replaces `{path}` and an input `{name}`; "" if there is none.
        folder: name of its folder inside --data.
        samples: number of samples; None if not stated.
        get: where it is to be had.
        mean_of: datasets whose mean it is; empty for a real dataset.
    """

    what: str = ""
    plugin: str = ""
    folder: str = ""
    samples: int | None = None
    get: str = ""
    mean_of: tuple[str, ...] = ()


class ConditionEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A user, or another condition, named in the rows of a table.

    Attributes:
        user: its name in our records.
        options: options of the benchmark that select the user.
        around: text of a wrapper plug-in, in which the model replaces `{segmenter}`.
        why_not: why it cannot be measured here.
    """

    user: str = ""
    options: dict[str, Any] = {}
    around: str = ""
    why_not: str = ""


class InputEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file or folder that runs need in addition to data and weights.

    Attributes:
        file: its name inside --data.
        get: where it is to be had.
    """

    file: str
    get: str = ""


class StandIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Substitutes for models and data in a dry run; None keeps those of the paper.

    Attributes:
        segmenter: one that needs no weights.
        dataset: one that needs no download.
        limit: number of samples.
        options: options of the benchmark.
    """

    segmenter: str | None = None
    dataset: str | None = None
    limit: int | None = None
    options: dict[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFigure:
    """A number as printed in a paper.

    Attributes:
        model, dataset: names in the table.
        condition: user or other condition; "" if the table has only one.
        measure: key of the measure.
        printed: the printed text.
        value: the number, in the paper's unit.
        step: one unit of its last printed digit.
        is_certain: False if a digit is hard to read.
        words: cells of the key columns of its row.
    """

    model: str
    dataset: str
    condition: str
    measure: str
    printed: str
    value: float
    step: float
    is_certain: bool = True
    words: RowWords = field(default_factory=dict[str, str])

    def agrees(self, measured: float) -> bool:
        """Return whether a number in the unit of the paper is within half a step of this one, with ties."""
        return abs(measured - self.value) <= self.step / 2 * (1 + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A row of a table: a model under a condition, for all datasets of its figures.

    `dataset` is "" unless the table has a row per dataset.
    """

    model: str
    condition: str
    dataset: str
    words: RowWords


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A measured number in our unit; `low` and `high` are NaN if there is no interval."""

    mean: float
    low: float = math.nan
    high: float = math.nan


Measurements: TypeAlias = Mapping[tuple[str, str, str, str], Measurement]
"""Measurements by model, dataset, condition and measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementRequest:
    """Arguments of a function that measures a table.

    Attributes:
        folders: folders of the requested datasets that exist, by name; empty for a dry run.
        inputs: paths of the further inputs that exist, by name.
        models: names of the requested models.
        out: folder for intermediate results, to resume from.
        limit: maximum number of samples per dataset; None for all.
        workers: number of processes, or an executor; 0 runs in this one.
        on_progress: called with the progress.
    """

    folders: Mapping[str, Path]
    inputs: Mapping[str, Path]
    models: tuple[str, ...]
    out: Path
    limit: int | None = None
    workers: Workers = 0
    on_progress: OnProgress = ignore_progress


TableMeasurer: TypeAlias = Callable[[MeasurementRequest], Measurements]
"""A function that measures a table without a benchmark; without folders it uses substitutes, named as dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTable:
    """A table of a paper.

    Attributes:
        name: "system:number".
        title: caption.
        paper: citation.
        where: its place in the paper.
        read_from: the source of the figures.
        figures: as printed, row by row.
        rows: all rows, including those of absent figures.
        datasets: names of its datasets, in its order.
        measures: by key, in its order.
        absent: why figures are missing here; "" if complete.
        notes: remarks for the reader.
        models, data, conditions, inputs: entries by name.
        takes: names of the inputs of `measuring`.
        benchmark: name of the benchmark that measures it; "" if none does.
        options: options of that benchmark.
        needs: required facts of a run (option name, "protocol", "rounds") with their text or pattern.
        stand_in: substitutes for a dry run.
        measuring: the function that measures it, if no benchmark does.
    """

    name: str
    title: str
    paper: str
    where: str
    read_from: str
    figures: tuple[PublishedFigure, ...]
    rows: tuple[TableRow, ...]
    datasets: tuple[str, ...]
    measures: Mapping[str, Measure]
    absent: str = ""
    notes: tuple[str, ...] = ()
    models: Mapping[str, ModelEntry] = field(default_factory=dict[str, ModelEntry])
    data: Mapping[str, DatasetEntry] = field(default_factory=dict[str, DatasetEntry])
    conditions: Mapping[str, ConditionEntry] = field(default_factory=dict[str, ConditionEntry])
    inputs: Mapping[str, InputEntry] = field(default_factory=dict[str, InputEntry])
    takes: tuple[str, ...] = ()
    benchmark: str = ""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    stand_in: StandIn = field(default_factory=StandIn)
    measuring: TableMeasurer | None = None

    @property
    def model_names(self) -> tuple[str, ...]:
        """Distinct models, in the order of the rows."""
        return tuple(dict.fromkeys(row.model for row in self.rows))

    @property
    def own_datasets(self) -> tuple[str, ...]:
        """Distinct real datasets: those of the table, with means replaced by their parts."""
        parts: list[str] = []
        for name in self.datasets:
            parts.extend(self.parts_of(name))
        return tuple(dict.fromkeys(parts))

    def parts_of(self, dataset: str) -> tuple[str, ...]:
        """Return the real datasets of a mean, recursively; a real dataset itself."""
        parts = self.data[dataset].mean_of if dataset in self.data else ()
        if not parts:
            return (dataset,)
        real: list[str] = []
        for part in parts:
            real.extend(self.parts_of(part))
        return tuple(real)

    def rows_on(self, dataset: str) -> Sequence[TableRow]:
        """Return the rows about a dataset."""
        return [row for row in self.rows if row.dataset in ("", dataset)]
