"""Reader of TOML files with the tables of a paper, in which figures are text tables as printed.

Cells of a text table are separated by `|`. Headings with a slash are for figures: `DATASET/MEASURE`,
`/MEASURE` if the row names the dataset, or `DATASET/MEASURE±OTHER` if a cell has two figures. Columns
with other headings are keys of the row. `NaN`, `–` and empty cells are missing figures; `?` after a
figure marks it as uncertain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from segarena.errors import InvalidInput
from segarena.options import suggest_names
from segarena.published.table_types import (
    ConditionEntry,
    DatasetEntry,
    InputEntry,
    Measure,
    ModelEntry,
    PublishedFigure,
    PublishedTable,
    RowWords,
    StandIn,
    TableMeasurer,
    TableRow,
)

KEY_COLUMNS = ("model", "condition", "dataset")
NO_FIGURE = ("", "-", "–", "nan")
_NAME = re.compile(r"{([\w -]+)}")
_FIGURE = re.compile(r"(?P<number>-?\d*\.?\d+(?:[eE][-+]?\d+)?)%?(?P<doubt>\??)")

Columns: TypeAlias = list[tuple[str, tuple[str, ...]]]
"""Dataset and measures of each heading; a key column has no measures, and its name instead of the dataset."""


class BenchmarkSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[benchmark]`: the benchmark that measures the tables of a paper."""

    name: str
    options: dict[str, Any] = {}
    needs: dict[str, str] = {}


class TableSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[tables.NUMBER]`; `model`, `condition` and `dataset` are templates over key columns."""

    title: str
    where: str = ""
    model: str = "{model}"
    condition: str = "{condition}"
    dataset: str = "{dataset}"
    figures: str = ""
    datasets: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    read_as: dict[str, str] = {}
    same_as: str = ""
    models_of: str = ""
    absent: str = ""
    notes: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    needs: dict[str, str] = {}
    stand_in: StandIn = StandIn()


class PaperFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    system: str
    paper: str
    read_from: str = ""
    benchmark: BenchmarkSection = BenchmarkSection(name="")
    stand_in: StandIn = StandIn()
    inputs: dict[str, InputEntry] = {}
    datasets: dict[str, DatasetEntry] = {}
    models: dict[str, ModelEntry] = {}
    measures: dict[str, Measure] = {}
    conditions: dict[str, ConditionEntry] = {}
    words: dict[str, dict[str, str]] = {}
    tables: dict[str, TableSection]


def read_paper(path: Path) -> PaperFile:
    """Read the file of a paper.

    Raises:
        InvalidInput: the file is missing or invalid; the message names the place.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=PaperFile)
    except OSError as error:
        raise InvalidInput(
            f"{path}: expected a file of published tables, {error.strerror}"
        ) from error
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{path}: expected TOML with published tables; {error}") from error


def read_tables(
    path: Path, measuring: Mapping[str, TableMeasurer] | None = None
) -> dict[str, PublishedTable]:
    """Return the tables of a paper by number; `measuring` has functions for tables without a benchmark.

    Raises:
        InvalidInput: as `read_paper`; or a figure is invalid, or a measure or dataset is not declared.
    """
    form = read_paper(path)
    for name in form.datasets:
        _check_mean(form.datasets, name, path)
    made: dict[str, PublishedTable] = {}
    for number in form.tables:
        try:
            made[number] = _Maker(form, number, (measuring or {}).get(number)).table
        except InvalidInput as error:
            raise InvalidInput(f"{path}, table {number}: {error}") from error
    return made


def _check_mean(
    datasets: Mapping[str, DatasetEntry], name: str, path: Path, within: tuple[str, ...] = ()
) -> None:
    """Raise an error for a mean over undeclared datasets or over itself."""
    if name not in datasets:
        hint = suggest_names(name, datasets) or f"known: {', '.join(datasets)}"
        raise InvalidInput(
            f"{path}: {within[-1]} is the mean over {name!r}, which is not declared; {hint}"
        )
    if name in within:
        raise InvalidInput(f"{path}: {name} is a mean over itself: {' of '.join((*within, name))}")
    for part in datasets[name].mean_of:
        _check_mean(datasets, part, path, (*within, name))


@dataclass(frozen=True)
class _Maker:
    """Builder of one table from the sections of the file."""

    paper: PaperFile
    number: str
    measuring: TableMeasurer | None

    @property
    def form(self) -> TableSection:
        return self.paper.tables[self.number]

    @property
    def table(self) -> PublishedTable:
        paper = self.paper
        form = self.form
        figures, rows = self._figures_of(self.number)
        if form.same_as:
            figures, rows = self._figures_of(form.same_as)
        elif form.models_of:
            _, rows = self._figures_of(form.models_of)
        measures = form.measures or tuple(dict.fromkeys(figure.measure for figure in figures))
        figures = [figure for figure in figures if figure.measure in measures]
        datasets = form.datasets or tuple(dict.fromkeys(figure.dataset for figure in figures))
        self._check(datasets, paper.datasets, "dataset")
        self._check(form.takes, paper.inputs, "input")
        return PublishedTable(
            name=f"{paper.system}:{self.number}",
            title=form.title,
            paper=paper.paper,
            where=form.where,
            read_from=paper.read_from,
            figures=tuple(figures),
            rows=tuple(rows),
            datasets=datasets,
            measures={name: self._measure(name) for name in measures},
            absent=form.absent,
            notes=form.notes,
            models=paper.models,
            data=paper.datasets,
            conditions=paper.conditions,
            inputs=paper.inputs,
            takes=form.takes,
            benchmark="" if self.measuring else paper.benchmark.name,
            options={**paper.benchmark.options, **form.options},
            needs={**paper.benchmark.needs, **form.needs},
            stand_in=self._stand_in(),
            measuring=self.measuring,
        )

    def _stand_in(self) -> StandIn:
        """Return the stand-in of the paper, overridden by that of the table."""
        own = self.form.stand_in
        shared = self.paper.stand_in
        return StandIn(
            segmenter=own.segmenter or shared.segmenter,
            dataset=own.dataset or shared.dataset,
            limit=own.limit or shared.limit,
            options={**shared.options, **own.options},
        )

    def _measure(self, name: str) -> Measure:
        self._check([name], self.paper.measures, "measure")
        return self.paper.measures[name]

    def _check(self, names: Any, known: Mapping[str, Any], kind: str) -> None:
        for name in names if known else ():
            if name not in known:
                raise InvalidInput(
                    f"no {kind} {name!r} is declared; {suggest_names(name, known) or 'known: ' + ', '.join(known)}"
                )

    def _figures_of(self, number: str) -> tuple[list[PublishedFigure], list[TableRow]]:
        if number not in self.paper.tables:
            raise InvalidInput(
                f"there is no table {number!r}; {suggest_names(number, self.paper.tables)}"
            )
        form = self.paper.tables[number]
        lines = [line for line in map(str.strip, form.figures.splitlines()) if line]
        if not lines:
            return [], []
        columns = self._columns(_cells(lines[0]), form)
        figures: list[PublishedFigure] = []
        rows: dict[str, TableRow] = {}
        for line in lines[1:]:
            cells = _cells(line)
            if len(cells) != len(columns):
                raise InvalidInput(f"expected {len(columns)} cells, got {len(cells)}: {line}")
            row = self._row(form, columns, cells)
            rows.setdefault(repr(row), row)
            figures += self._figures_in(row, columns, cells)
        return figures, list(rows.values())

    def _columns(self, headings: list[str], form: TableSection) -> Columns:
        columns: Columns = []
        for heading in headings:
            dataset, slash, measures = heading.rpartition("/")
            if slash:
                names = tuple(form.read_as.get(name, name) for name in measures.split("±"))
            else:
                names = ()
            self._check(names, self.paper.measures, "measure")
            columns.append((dataset if slash else heading, names))
        return columns

    def _row(self, form: TableSection, columns: Columns, cells: list[str]) -> TableRow:
        printed = {
            heading: cell
            for (heading, names), cell in zip(columns, cells, strict=True)
            if not names
        }
        patterns = {"model": form.model, "condition": form.condition, "dataset": form.dataset}
        words = {**dict.fromkeys(KEY_COLUMNS, ""), **printed}
        named = {
            key: " ".join(fill_placeholders(pattern, words).split())
            for key, pattern in patterns.items()
        }
        translated = {
            key: self.paper.words.get(key, {}).get(cell, cell) for key, cell in printed.items()
        }
        condition = self.paper.conditions.get(named["condition"])
        return TableRow(
            **named, words={**translated, **({"user": condition.user} if condition else {})}
        )

    def _figures_in(
        self, row: TableRow, columns: Columns, cells: list[str]
    ) -> Iterator[PublishedFigure]:
        for (dataset, names), cell in zip(columns, cells, strict=True):
            parts = _parted(cell, len(names)) if names else []
            for name, printed in zip(names, parts, strict=True):
                if printed.lower() not in NO_FIGURE:
                    yield self._figure(row, dataset or row.dataset, name, printed)

    def _figure(self, row: TableRow, dataset: str, measure: str, printed: str) -> PublishedFigure:
        match = _FIGURE.fullmatch(printed)
        try:
            number = Decimal(match["number"] if match else "")
        except InvalidOperation as error:
            raise InvalidInput(
                f"{row.model}, {measure}: expected a figure, got {printed!r}"
            ) from error
        if measure in self.paper.measures:
            decimals = self.paper.measures[measure].decimals
        else:
            decimals = None
        exponent = number.as_tuple().exponent
        return PublishedFigure(
            model=row.model,
            dataset=dataset,
            condition=row.condition,
            measure=measure,
            printed=printed,
            value=float(number),
            step=float(Decimal(1).scaleb(int(exponent) if decimals is None else -decimals)),
            is_certain=not (match and match["doubt"]),
            words=row.words,
        )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _parted(cell: str, count: int) -> list[str]:
    """Return the `count` figures of a cell such as "6.44±0.85"."""
    if cell.lower() in NO_FIGURE:
        return [""] * count
    parts = [part.strip() for part in cell.split("±")]
    if len(parts) != count:
        raise InvalidInput(f"expected {count} figures parted by ±, got {cell!r}")
    return parts


def condition_label(condition: str, words: RowWords, measure: Measure) -> str:
    """Return a label that distinguishes figures of a measure: the condition and the placeholders of its column."""
    named = [words[name] for name in placeholders_in(measure.column) if name in words]
    return ", ".join(filter(None, [condition, *named]))


def placeholders_in(text: object) -> list[str]:
    """Return the names in braces in a text; [] for other values.

    >>> placeholders_in("folder(path='{path}', pairs='{tiers}/a')")
    ['path', 'tiers']
    """
    return _NAME.findall(text) if isinstance(text, str) else []


def fill_placeholders(pattern: str, words: RowWords) -> str:
    """Return a text in which the cell under heading `name` replaces `{name}`.

    Raises:
        InvalidInput: there is no such heading.
    """
    for name in placeholders_in(pattern):
        if name not in words:
            known = ", ".join(words) or "none"
            raise InvalidInput(
                f"{pattern!r}: no column of the figures is called {name!r}; there are {known}"
            )
        pattern = pattern.replace(f"{{{name}}}", words[name])
    return pattern
