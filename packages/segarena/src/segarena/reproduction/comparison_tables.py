"""Tables of a reproduction: requirements, and measured next to published figures with their differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from segarena.published.table_files import condition_label
from segarena.published.table_types import Measure, Measurement, PublishedFigure, PublishedTable
from segarena.reports.cells import Cell, Column, Value
from segarena.reports.sheets import Sheet
from segarena.reports.wording import count_text
from segarena.reproduction.measurement import FigureKey
from segarena.reproduction.requirements import Requirement

SMALL = 0.01
"""Smaller numbers are printed in scientific notation."""


def requirements_sheet(table: PublishedTable, needs: Sequence[Requirement]) -> Sheet:
    """Return the table of requirements."""
    rows = tuple(
        (need.kind, need.name, need.place or f"missing {need.wanted}".strip(), need.get)
        for need in needs
    )
    head = ("needed", "name", Column("found", "words"), Column("how to have it", "words"))
    there = sum(need.is_present for need in needs)
    caption = f"{table.name} takes {count_text(len(needs), 'thing')}; there already: {there}."
    return Sheet(name="needs", caption=caption, head=head, rows=rows)


def figure_comparison_sheet(
    table: PublishedTable, found: Mapping[FigureKey, Measurement], *, is_whole: bool = True
) -> Sheet:
    """Return a row for each figure of the measured models and datasets, published or measured.

    `is_whole` tells whether all samples were used; a subset is not comparable to the paper.
    """
    about = {(model, dataset) for model, dataset, _, _ in found}
    printed = {
        _key(table, figure): figure
        for figure in table.figures
        if (figure.model, figure.dataset) in about
    }
    keys = [*printed, *(key for key in found if key not in printed)]
    rows = [
        _row(table, key, printed.get(key), found.get(key))
        for key in keys
        if key in found or not table.measures[key[3]].why_not
    ]
    head = (
        Column("model"),
        Column("dataset"),
        Column("condition"),
        Column("measure", "words"),
        Column("published", "number"),
        Column("measured", "interval"),
        Column("difference", "number"),
        Column("within rounding"),
    )
    sheet = Sheet(
        name="comparison",
        caption=_caption(table, rows, is_whole=is_whole),
        head=head,
        rows=tuple(rows),
    )
    return _without_empty_conditions(sheet, keys)


def dry_run_sheet(table: PublishedTable, found: Mapping[FigureKey, Measurement]) -> Sheet:
    """Return the figures of a dry run, which are not about the models or data of the paper."""
    rows: list[tuple[Cell, ...]] = []
    for (model, dataset, condition, name), value in found.items():
        measure = table.measures[name]
        rows.append((model, dataset, condition, _title(measure), _measured(measure, value)))
    head = (
        "stand-in",
        "dataset",
        "condition",
        Column("measure", "words"),
        Column("measured", "interval"),
    )
    caption = f"A dry run of {table.name}: these are stand-ins, not the paper's models and data."
    sheet = Sheet(name="dry-run", caption=caption, head=head, rows=tuple(rows))
    return _without_empty_conditions(sheet, found)


def unmeasured_reasons(table: PublishedTable) -> list[str]:
    """Return a line with the reason for each measure that cannot be measured."""
    measures = table.measures.values()
    return [f"{one.title}: {one.why_not}." for one in measures if one.why_not]


def _without_empty_conditions(sheet: Sheet, keys: Iterable[FigureKey]) -> Sheet:
    """Return a table without its column of conditions if all are empty."""
    has_conditions = any(condition for _, _, condition, _ in keys)
    if has_conditions:
        return sheet
    return sheet.pick(*(key for key in sheet.keys if key != "condition"))


def _key(table: PublishedTable, figure: PublishedFigure) -> FigureKey:
    measure = table.measures[figure.measure]
    return (
        figure.model,
        figure.dataset,
        condition_label(figure.condition, figure.words, measure),
        figure.measure,
    )


def _row(
    table: PublishedTable, key: FigureKey, figure: PublishedFigure | None, found: Measurement | None
) -> tuple[Cell, ...]:
    measure = table.measures[key[3]]
    if figure is None:
        published = Value(mean=math.nan)
    else:
        published = Value(mean=figure.value, printed=figure.printed)
    if found is None:
        return (
            *key[:3],
            _title(measure),
            published,
            Value(mean=math.nan),
            Value(mean=math.nan),
            "–",
        )
    measured = _measured(measure, found)
    if figure is None:
        return (*key[:3], _title(measure), published, measured, Value(mean=math.nan), "–")
    decimals = _decimals(figure)
    difference = Value(mean=measured.mean - figure.value, decimals=decimals + 1, is_signed=True)
    return (
        *key[:3],
        _title(measure),
        published,
        measured,
        difference,
        "yes" if figure.agrees(measured.mean) else "no",
    )


def _measured(measure: Measure, found: Measurement) -> Value:
    mean = measure.scale * found.mean
    low = measure.scale * found.low
    high = measure.scale * found.high
    decimals = 4 if measure.scale == 1 else 3
    if 0 < abs(mean) < SMALL:
        bounds = "" if math.isnan(low) else f"[{low:.2e}, {high:.2e}]"
        return Value(mean=mean, low=low, high=high, printed=f"{mean:.2e}", printed_bounds=bounds)
    return Value(mean=mean, low=low, high=high, decimals=decimals)


def _decimals(figure: PublishedFigure) -> int:
    return max(0, -math.floor(math.log10(figure.step)))


def _title(measure: Measure) -> str:
    return f"{measure.title}, {measure.unit}" if measure.unit else measure.title


def _caption(table: PublishedTable, rows: Iterable[tuple[Cell, ...]], *, is_whole: bool) -> str:
    verdicts = [row[-1] for row in rows]
    compared = [verdict for verdict in verdicts if verdict != "–"]
    within = sum(verdict == "yes" for verdict in compared)
    caption = f"{table.name}: {within} of {count_text(len(compared), 'figure')} within rounding."
    if is_whole:
        return caption
    return f"{caption} Not over the samples of the paper, so no agreement is to be expected."
