"""Reader of TOML files with the tables of a paper: text tables that contain the figures as printed.

Cells of a text table are separated by `|`. Headings with a slash are for figures: `DATASET/MEASURE`,
`/MEASURE` if the row names the dataset, or `DATASET/MEASURE±OTHER` if a cell has two figures. Columns
with other headings are keys of the row. `NaN`, `-`, `–` and empty cells are missing figures; `?` after
a figure marks it as uncertain.
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
"""Dataset and measures of each heading; a key column has no measures, and its own name instead of the dataset."""


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
        InvalidInput: the file is missing or invalid; the message names the faulty field.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=PaperFile)
    except OSError as error:
        raise InvalidInput(
            f"{path}: expected a file of published tables; {error.strerror}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path}: expected TOML with published tables; {error}") from error


def read_tables(
    path: Path, measuring: Mapping[str, TableMeasurer] | None = None
) -> dict[str, PublishedTable]:
    """Return the tables of a paper by number; `measuring` has, by number, the functions that measure tables.

    A function replaces the benchmark of the paper for its table.

    Raises:
        InvalidInput: see `read_paper`; also if a figure is invalid, or a measure, dataset, input or other table is not
            declared.
    """
    paper = read_paper(path)
    for name in paper.datasets:
        _check_mean(paper.datasets, name, path)
    measurers = measuring or {}
    tables: dict[str, PublishedTable] = {}
    for number in paper.tables:
        builder = _TableBuilder(paper, number, measurers.get(number))
        try:
            tables[number] = builder.table
        except InvalidInput as error:
            raise InvalidInput(f"{path}, table {number}: {error}") from error
    return tables


def _check_mean(
    datasets: Mapping[str, DatasetEntry],
    name: str,
    path: Path,
    within: tuple[str, ...] = (),
) -> None:
    """Raise InvalidInput for a mean over undeclared datasets or over itself."""
    if name not in datasets:
        hint = suggest_names(name, datasets) or f"known: {', '.join(datasets)}"
        raise InvalidInput(
            f"{path}: {within[-1]} is a mean over {name!r}, which is not declared; {hint}"
        )
    if name in within:
        raise InvalidInput(f"{path}: {name} is a mean over itself: {' -> '.join((*within, name))}")
    for part in datasets[name].mean_of:
        _check_mean(datasets, part, path, (*within, name))


@dataclass(frozen=True)
class _TableBuilder:
    """Builder of one table from the sections of the file."""

    paper: PaperFile
    number: str
    measuring: TableMeasurer | None

    @property
    def section(self) -> TableSection:
        return self.paper.tables[self.number]

    @property
    def table(self) -> PublishedTable:
        paper = self.paper
        section = self.section
        figures, rows = self._figures_of(self.number)
        if section.same_as:
            figures, rows = self._figures_of(section.same_as)
        elif section.models_of:
            _, rows = self._figures_of(section.models_of)
        measures = section.measures or tuple(dict.fromkeys(figure.measure for figure in figures))
        figures = [figure for figure in figures if figure.measure in measures]
        datasets = section.datasets or tuple(dict.fromkeys(figure.dataset for figure in figures))
        self._check(datasets, paper.datasets, "dataset")
        self._check(section.takes, paper.inputs, "input")
        return PublishedTable(
            name=f"{paper.system}:{self.number}",
            title=section.title,
            paper=paper.paper,
            where=section.where,
            read_from=paper.read_from,
            figures=tuple(figures),
            rows=tuple(rows),
            datasets=datasets,
            measures={name: self._measure(name) for name in measures},
            absent=section.absent,
            notes=section.notes,
            models=paper.models,
            data=paper.datasets,
            conditions=paper.conditions,
            inputs=paper.inputs,
            takes=section.takes,
            # A function that measures the table replaces the benchmark of the paper.
            benchmark="" if self.measuring else paper.benchmark.name,
            options={**paper.benchmark.options, **section.options},
            needs={**paper.benchmark.needs, **section.needs},
            stand_in=self._stand_in(),
            measuring=self.measuring,
        )

    def _stand_in(self) -> StandIn:
        """Merge the stand-ins of the paper and of the table; the table takes precedence."""
        own = self.section.stand_in
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

    def _check(
        self,
        names: Any,
        known: Mapping[str, Any],
        kind: str,
    ) -> None:
        # A file without a section for such entries may use any names.
        if not known:
            return
        for name in names:
            if name not in known:
                hint = suggest_names(name, known) or f"known: {', '.join(known)}"
                raise InvalidInput(f"no {kind} {name!r} is declared; {hint}")

    def _figures_of(self, number: str) -> tuple[list[PublishedFigure], list[TableRow]]:
        if number not in self.paper.tables:
            raise InvalidInput(
                f"there is no table {number!r}; "
                f"{suggest_names(number, self.paper.tables) or 'known: ' + ', '.join(self.paper.tables)}"
            )
        section = self.paper.tables[number]
        lines = [line for line in map(str.strip, section.figures.splitlines()) if line]
        if not lines:
            return [], []
        heading_line, *row_lines = lines
        columns = self._columns(_cells(heading_line), section)
        figures: list[PublishedFigure] = []
        rows: dict[str, TableRow] = {}
        for line in row_lines:
            cells = _cells(line)
            if len(cells) != len(columns):
                raise InvalidInput(f"expected {len(columns)} cells, got {len(cells)}: {line}")
            row = self._row(section, columns, cells)
            # Rows contain dictionaries, which cannot be set members; equal rows have equal `repr`
            # texts.
            rows.setdefault(repr(row), row)
            figures += self._figures_in(row, columns, cells)
        return figures, list(rows.values())

    def _columns(self, headings: list[str], section: TableSection) -> Columns:
        columns: Columns = []
        for heading in headings:
            dataset, slash, measures = heading.rpartition("/")
            if not slash:
                columns.append((heading, ()))
                continue
            names = tuple(section.read_as.get(name, name) for name in measures.split("±"))
            self._check(names, self.paper.measures, "measure")
            columns.append((dataset, names))
        return columns

    def _row(
        self,
        section: TableSection,
        columns: Columns,
        cells: list[str],
    ) -> TableRow:
        key_cells: dict[str, str] = {}
        row_words: dict[str, str] = {}
        for (heading, names), cell in zip(columns, cells, strict=True):
            if not names:
                key_cells[heading] = cell
                translations = self.paper.words.get(heading, {})
                row_words[heading] = translations.get(cell, cell)
        placeholders = {**dict.fromkeys(KEY_COLUMNS, ""), **key_cells}
        model = _fill_template(section.model, placeholders)
        condition = _fill_template(section.condition, placeholders)
        dataset = _fill_template(section.dataset, placeholders)
        entry = self.paper.conditions.get(condition)
        if entry:
            row_words["user"] = entry.user
        return TableRow(
            model=model,
            condition=condition,
            dataset=dataset,
            words=row_words,
        )

    def _figures_in(
        self,
        row: TableRow,
        columns: Columns,
        cells: list[str],
    ) -> Iterator[PublishedFigure]:
        for (dataset, names), cell in zip(columns, cells, strict=True):
            if not names:
                continue
            parts = _split_figures(cell, len(names))
            for name, printed in zip(names, parts, strict=True):
                if printed.lower() not in NO_FIGURE:
                    yield self._figure(row, dataset or row.dataset, name, printed)

    def _figure(
        self,
        row: TableRow,
        dataset: str,
        measure: str,
        printed: str,
    ) -> PublishedFigure:
        match = _FIGURE.fullmatch(printed)
        try:
            number = Decimal(match["number"] if match else "")
        except InvalidOperation as error:
            raise InvalidInput(
                f"{row.model}, {measure}: expected a figure, got {printed!r}"
            ) from error
        exponent = int(number.as_tuple().exponent)
        if measure in self.paper.measures:
            decimals = self.paper.measures[measure].decimals
            if decimals is not None:
                exponent = -decimals
        return PublishedFigure(
            model=row.model,
            dataset=dataset,
            condition=row.condition,
            measure=measure,
            printed=printed,
            value=float(number),
            # Use a decimal, which is exact for any number of digits.
            step=float(Decimal(1).scaleb(exponent)),
            is_certain=not (match and match["doubt"]),
            words=row.words,
        )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _fill_template(template: str, words: RowWords) -> str:
    """Fill in a template, and remove the extra spaces of empty cells."""
    return " ".join(fill_placeholders(template, words).split())


def _split_figures(cell: str, count: int) -> list[str]:
    """Split a cell such as "6.44±0.85" into its `count` figures; a cell without figures gives empty texts."""
    if cell.lower() in NO_FIGURE:
        return [""] * count
    parts = [part.strip() for part in cell.split("±")]
    if len(parts) != count:
        raise InvalidInput(f"expected {count} figures separated by ±, got {cell!r}")
    return parts


def condition_label(
    condition: str,
    words: RowWords,
    measure: Measure,
) -> str:
    """Return a label that distinguishes figures of a measure: the condition, and the words that fill its column."""
    named = [words[name] for name in placeholders_in(measure.column) if name in words]
    parts = [condition, *named]
    return ", ".join(part for part in parts if part)


def placeholders_in(text: object) -> list[str]:
    """Return the names in braces in a text; [] for other values.

    >>> placeholders_in("folder(path='{path}', pairs='{tiers}/a')")
    ['path', 'tiers']
    """
    if not isinstance(text, str):
        return []
    return _NAME.findall(text)


def fill_placeholders(pattern: str, words: RowWords) -> str:
    """Replace `{name}` in a text with the cell under heading `name`.

    Raises:
        InvalidInput: a placeholder has no heading.
    """
    for name in placeholders_in(pattern):
        if name not in words:
            known = ", ".join(words) or "none"
            raise InvalidInput(f"{pattern!r}: there is no column {name!r}; the columns are {known}")
        pattern = pattern.replace(f"{{{name}}}", words[name])
    return pattern
