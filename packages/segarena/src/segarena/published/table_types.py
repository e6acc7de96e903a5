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
"""Cells of a row's key columns by heading, plus the `user` of its condition."""


class Measure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measure of a paper, and its location in segarena's reports.

    Attributes:
        title: title as printed.
        unit: "%", "ms", ...; empty where there is none.
        scale: factor from segarena's value to the printed one.
        decimals: decimal places, for a paper that omits trailing zeros; None counts the printed decimals.
        higher_is_better: whether higher values are better; None if neither direction is.
        sheet: name of the table in the report; "" if no report has it.
        column: column of that table. Here and in `row`, the cell of the paper under heading `name` replaces `{name}`.
        row: required cells in other columns of that table, as the report prints them.
        needs: properties of a run that the measure requires; see `PublishedTable.needs`.
        why_not: why segarena cannot measure it.
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
    """A model of a table, with the source of its weights and code.

    Attributes:
        segmenter: plug-in specification, in which the path of the weights replaces `{weights}`; "" if there is none.
        adapter: folder of its adapter in adapters/; "" if it needs none.
        weights: file name of its weights.
        get: where to get weights or code.
    """

    segmenter: str = ""
    adapter: str = ""
    weights: str = ""
    get: str = ""


class DatasetEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dataset of a table, with its source.

    Attributes:
        what: description.
        plugin: plug-in specification, in which the folder replaces `{path}` and an input replaces `{name}`; ""
            if there is none.
        folder: name of its folder inside --data.
        samples: number of samples; None if the paper does not state it.
        get: where to get it.
        mean_of: datasets over which this entry is a mean; empty for a real dataset.
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
        user: name of the user in segarena's records.
        options: options of the benchmark that select the user.
        around: specification of a wrapper plug-in, in which the model replaces `{segmenter}`.
        why_not: why segarena cannot measure it.
    """

    user: str = ""
    options: dict[str, Any] = {}
    around: str = ""
    why_not: str = ""


class InputEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file or folder that runs need in addition to data and weights.

    Attributes:
        file: name inside --data.
        get: where to get it.
    """

    file: str
    get: str = ""


class StandIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Substitutes for models and data in a dry run; a value that a table leaves out is that of its paper.

    Attributes:
        segmenter: a segmenter that needs no weights.
        dataset: a dataset that needs no download.
        limit: number of samples.
        options: options of the benchmark.
    """

    segmenter: str | None = None
    dataset: str | None = None
    limit: int | None = None
    options: dict[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFigure:
    """A value as printed in a paper.

    Attributes:
        model, dataset: names in the table.
        condition: user or other condition; "" if the table has only one.
        measure: key of the measure.
        printed: the printed text.
        value: the parsed value, in the paper's unit.
        step: one unit of its last decimal place: that of `Measure.decimals`, or without one, of the last printed digit.
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
        """Return whether a value in the paper's unit rounds to the printed one; a tie may round either way."""
        # Slightly more than half a step, because ties are not exact in binary.
        half_step = self.step / 2 * (1 + 1e-9)
        return abs(measured - self.value) <= half_step


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
    """A measured value in segarena's unit; `low` and `high` are NaN if there is no interval."""

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
        inputs: paths of additional inputs that exist, by name.
        models: names of the requested models.
        out: folder for intermediate results, from which a later call resumes.
        limit: maximum number of samples per dataset; None for all.
        workers: number of processes, or an executor; 0 uses only the current process.
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
"""A function that measures a table without a benchmark; without folders it measures substitutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTable:
    """A table of a paper.

    Attributes:
        name: "system:number".
        title: caption of the table.
        paper: citation of the paper.
        where: section or page in the paper.
        read_from: the source of the figures.
        figures: printed figures, row by row.
        rows: all rows, including rows without figures.
        datasets: names of the datasets, in the order of the table.
        measures: measures by key, in the order of the table.
        absent: why some figures are missing; "" if all are present.
        notes: remarks for the reader.
        models, data, conditions, inputs: entries by name.
        takes: names of the inputs of `measuring`.
        benchmark: name of the benchmark that measures it; "" if none does.
        options: options of that benchmark.
        needs: required properties of a run (option name, "protocol", "rounds") with their text or pattern.
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
        """Distinct models, in row order."""
        return tuple(dict.fromkeys(row.model for row in self.rows))

    @property
    def own_datasets(self) -> tuple[str, ...]:
        """Distinct real datasets of the table, with each mean replaced by its parts."""
        parts: list[str] = []
        for name in self.datasets:
            parts.extend(self.parts_of(name))
        return tuple(dict.fromkeys(parts))

    def parts_of(self, dataset: str) -> tuple[str, ...]:
        """Return the real datasets of a mean, recursively; for a real dataset, the dataset itself."""
        parts = self.data[dataset].mean_of if dataset in self.data else ()
        if not parts:
            return (dataset,)
        real: list[str] = []
        for part in parts:
            real.extend(self.parts_of(part))
        return tuple(real)

    def rows_on(self, dataset: str) -> Sequence[TableRow]:
        """Return the rows for a dataset, including the rows for all datasets."""
        return [row for row in self.rows if row.dataset in ("", dataset)]
