"""The words of a published table: figures, and the models, data, users and measures that they are about."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from segarena.work.jobs import Workers
from segarena.work.progress import OnProgress, ignore_progress

Words: TypeAlias = Mapping[str, str]
"""What stands in the key columns of a row, by heading, with `user` of its condition."""


class Measure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a figure measures, and where a report of ours has it.

    Attributes:
        title: as printed.
        unit: "%", "ms", ...; empty where there is none.
        scale: the printed number is so many times ours.
        decimals: how many the figures have where trailing zeros are not printed; None counts them.
        higher_is_better: None where neither is.
        sheet: name of the table of the report; empty where no report has it.
        column: its column there. As in `row`, `{name}` stands for what the row of the paper has under that heading.
        row: what other columns of that table hold in the row, as printed.
        needs: facts of a run without which its number is another one; see `PublishedTable.needs`.
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


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of a table, and how to have it.

    Attributes:
        segmenter: a plug-in as written, in which `{weights}` is the path of its weights; empty if there is none.
        adapter: the folder of adapters/ with the worker for it; empty if it needs none.
        weights: name of their file.
        get: where weights or code are to be had.
    """

    segmenter: str = ""
    adapter: str = ""
    weights: str = ""
    get: str = ""


class Data(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dataset of a table, and how to have it.

    Attributes:
        what: what it is, in words.
        plugin: a plug-in as written, in which `{path}` is its folder and `{name}` an input; empty if there is none.
        folder: what the folder is called, below the one given with --data.
        samples: how many it has; None where that is not stated.
        get: where it is to be had.
        mean_of: it is no dataset but the mean over these.
    """

    what: str = ""
    plugin: str = ""
    folder: str = ""
    samples: int | None = None
    get: str = ""
    mean_of: tuple[str, ...] = ()


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A user, or another condition, as a row of a table names it.

    Attributes:
        user: what our records call that user.
        options: of the benchmark, that make that user take part.
        around: a plug-in as written that stands around the model, in which `{segmenter}` is the model.
        why_not: why it cannot be measured here.
    """

    user: str = ""
    options: dict[str, Any] = {}
    around: str = ""
    why_not: str = ""


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file or folder that runs need beside data and weights.

    Attributes:
        file: its name, below the folder given with --data.
        get: where it is to be had.
    """

    file: str
    get: str = ""


class StandIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a dry run takes in place of models and data; None leaves it to the paper's own.

    Attributes:
        segmenter: one that needs no weights.
        dataset: one that needs no download.
        limit: so many samples.
        options: of the benchmark, instead of its own.
    """

    segmenter: str | None = None
    dataset: str | None = None
    limit: int | None = None
    options: dict[str, Any] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number as a paper prints it.

    Attributes:
        model, dataset: whose and on what.
        condition: of which user, or under what other condition; empty where the table has one.
        measure: key of the measure.
        printed: as it stands there.
        value: the number, in the paper's unit.
        step: one unit of its last digit.
        is_certain: False where the digit could not be read with certainty.
        words: what the key columns of its row hold.
    """

    model: str
    dataset: str
    condition: str
    measure: str
    printed: str
    value: float
    step: float
    is_certain: bool = True
    words: Words = field(default_factory=dict[str, str])

    def agrees(self, measured: float) -> bool:
        """Tell whether a number in the paper's unit rounds to this one; half a step of either side does."""
        return abs(measured - self.value) <= self.step / 2 * (1 + 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a table: a model under a condition, on every dataset that its figures are of.

    `dataset` is that of the row where the table has a row for each, else empty.
    """

    model: str
    condition: str
    dataset: str
    words: Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A number that was measured, in our unit; `low` and `high` are NaN where no interval is known."""

    mean: float
    low: float = math.nan
    high: float = math.nan


Measured: TypeAlias = Mapping[tuple[str, str, str, str], Found]
"""What was measured, by model, dataset, condition and measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementRequest:
    """What a system's own measuring is asked for.

    Attributes:
        folders: where each dataset lies that is there and asked for, by name; none for a dry run with stand-ins.
        inputs: where each further input lies that is there, by name.
        models: names of those asked for.
        out: folder in which work is kept, so that it resumes.
        limit: only so many samples of each; None for all.
        workers: processes, or an executor; 0 works in this one.
        on_progress: told how far it is.
    """

    folders: Mapping[str, Path]
    inputs: Mapping[str, Path]
    models: tuple[str, ...]
    out: Path
    limit: int | None = None
    workers: Workers = 0
    on_progress: OnProgress = ignore_progress


Measuring: TypeAlias = Callable[[MeasurementRequest], Measured]
"""Measures a table for which no benchmark is run; without folders it takes stand-ins, and names them as dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTable:
    """A table of a paper.

    Attributes:
        name: "system:number".
        title: what it shows.
        paper: who published it, and where.
        where: its place in the paper.
        read_from: what the figures were read from.
        figures: as printed, row by row.
        rows: the rows that it has, also of figures that are absent.
        datasets: names of those it is about, in its order.
        measures: by key, in its order.
        absent: why figures are missing here; empty when all are there.
        notes: what must be known to read it.
        models, data, conditions, inputs: by name, what is known of them.
        takes: names of the inputs that `measuring` takes.
        benchmark: name of the benchmark that measures it; empty if none does.
        options: of that benchmark.
        needs: facts of a run (name of an option, "protocol", "rounds") with the text or pattern that they must have.
        stand_in: what a dry run takes.
        measuring: how it is measured, where no benchmark does.
    """

    name: str
    title: str
    paper: str
    where: str
    read_from: str
    figures: tuple[Figure, ...]
    rows: tuple[Row, ...]
    datasets: tuple[str, ...]
    measures: Mapping[str, Measure]
    absent: str = ""
    notes: tuple[str, ...] = ()
    models: Mapping[str, Model] = field(default_factory=dict[str, Model])
    data: Mapping[str, Data] = field(default_factory=dict[str, Data])
    conditions: Mapping[str, Condition] = field(default_factory=dict[str, Condition])
    inputs: Mapping[str, Input] = field(default_factory=dict[str, Input])
    takes: tuple[str, ...] = ()
    benchmark: str = ""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    stand_in: StandIn = field(default_factory=StandIn)
    measuring: Measuring | None = None

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models, each once, in the order of the rows."""
        return tuple(dict.fromkeys(row.model for row in self.rows))

    @property
    def own_datasets(self) -> tuple[str, ...]:
        """The datasets that one can have: those of the table, and of means their parts, each once."""
        return tuple(dict.fromkeys(part for name in self.datasets for part in self.parts_of(name)))

    def parts_of(self, dataset: str) -> tuple[str, ...]:
        """Return the datasets that `dataset` is the mean of, parts of parts too; itself where it is none."""
        parts = self.data[dataset].mean_of if dataset in self.data else ()
        if parts:
            return tuple(inner for part in parts for inner in self.parts_of(part))
        return (dataset,)

    def rows_on(self, dataset: str) -> Sequence[Row]:
        """Return the rows about a dataset."""
        return [row for row in self.rows if row.dataset in ("", dataset)]
