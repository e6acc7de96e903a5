"""Tables of a reproduction: its requirements, and a comparison of measured with published figures."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from segarena.published.table_files import condition_label
from segarena.published.table_types import Measure, Measurement, PublishedFigure, PublishedTable
from segarena.reports.cells import Cell, Column, Value
from segarena.reports.sheets import Sheet
from segarena.reports.wording import count_text
from segarena.reproduction.measurement import FigureKey
from segarena.reproduction.requirements import Requirement

SMALL = 0.01
"""Measured values closer to 0 than this, but not 0, are printed in scientific notation."""


def requirements_sheet(table: PublishedTable, needs: Sequence[Requirement]) -> Sheet:
    """Return the table of requirements."""
    rows: list[tuple[Cell, ...]] = []
    for need in needs:
        found = need.place or f"missing {need.wanted}".strip()
        rows.append((need.kind, need.name, found, need.get))
    head = ("needed", "name", Column("found", "words"), Column("how to get it", "words"))
    present = sum(need.is_present for need in needs)
    caption = f"{table.name} needs {count_text(len(needs), 'item')}; {present} found."
    return Sheet(
        name="needs",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )


def figure_comparison_sheet(
    table: PublishedTable,
    found: Mapping[FigureKey, Measurement],
    *,
    is_whole: bool = True,
) -> Sheet:
    """Return a table with one row per published or measured figure of the measured models and datasets.

    Figures of measures that segarena cannot measure are left out. `is_whole` states whether all
    samples of the paper were used; results on other samples are not comparable to the paper.
    """
    measured = {(model, dataset) for model, dataset, _, _ in found}
    printed: dict[FigureKey, PublishedFigure] = {}
    for figure in table.figures:
        if (figure.model, figure.dataset) in measured:
            printed[_key(table, figure)] = figure
    unpublished = [key for key in found if key not in printed]
    keys = [*printed, *unpublished]
    rows: list[tuple[Cell, ...]] = []
    for key in keys:
        _, _, _, measure = key
        # A measure that segarena cannot measure would only add empty cells.
        if key in found or not table.measures[measure].why_not:
            rows.append(_row(table, key, printed.get(key), found.get(key)))
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


def unmeasured_figures(
    table: PublishedTable,
    found: Mapping[FigureKey, Measurement],
    models: Collection[str],
    datasets: Collection[str],
) -> list[FigureKey]:
    """Return the published figures of these models and datasets that were not measured, although segarena can."""
    missing: list[FigureKey] = []
    for figure in table.figures:
        key = _key(table, figure)
        is_requested = figure.model in models and figure.dataset in datasets
        if is_requested and key not in found and not table.measures[figure.measure].why_not:
            missing.append(key)
    return missing


def dry_run_sheet(table: PublishedTable, found: Mapping[FigureKey, Measurement]) -> Sheet:
    """Return the figures of a dry run, which say nothing about the models or data of the paper."""
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
    sheet = Sheet(
        name="dry-run",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )
    return _without_empty_conditions(sheet, found)


def unmeasured_reasons(table: PublishedTable) -> list[str]:
    """Return one line per measure that cannot be measured, with the reason."""
    measures = table.measures.values()
    return [f"{one.title}: {one.why_not}." for one in measures if one.why_not]


def _without_empty_conditions(sheet: Sheet, keys: Iterable[FigureKey]) -> Sheet:
    """Return a table without its column of conditions if they are all empty."""
    has_conditions = any(condition for _, _, condition, _ in keys)
    if has_conditions:
        return sheet
    others = [key for key in sheet.keys if key != "condition"]
    return sheet.pick(*others)


def _key(table: PublishedTable, figure: PublishedFigure) -> FigureKey:
    measure = table.measures[figure.measure]
    return (
        figure.model,
        figure.dataset,
        condition_label(figure.condition, figure.words, measure),
        figure.measure,
    )


def _row(
    table: PublishedTable,
    key: FigureKey,
    figure: PublishedFigure | None,
    found: Measurement | None,
) -> tuple[Cell, ...]:
    model, dataset, condition, measure_name = key
    measure = table.measures[measure_name]
    published = Value(mean=math.nan)
    measured = Value(mean=math.nan)
    difference = Value(mean=math.nan)
    agreement = "–"
    if figure is not None:
        published = Value(mean=figure.value, printed=figure.printed)
    if found is not None:
        measured = _measured(measure, found)
    if figure is not None and found is not None:
        # One digit more than printed, because smaller differences come from rounding.
        decimals = _decimals(figure) + 1
        difference = Value(mean=measured.mean - figure.value, decimals=decimals, is_signed=True)
        agreement = "yes" if figure.agrees(measured.mean) else "no"
    return (
        model,
        dataset,
        condition,
        _title(measure),
        published,
        measured,
        difference,
        agreement,
    )


def _measured(measure: Measure, found: Measurement) -> Value:
    mean = measure.scale * found.mean
    low = measure.scale * found.low
    high = measure.scale * found.high
    if 0 < abs(mean) < SMALL:
        bounds = "" if math.isnan(low) else f"[{low:.2e}, {high:.2e}]"
        return Value(
            mean=mean,
            low=low,
            high=high,
            printed=f"{mean:.2e}",
            printed_bounds=bounds,
        )
    # A scale of 100 gives per cent, which has two more digits before the point.
    decimals = 4 if measure.scale == 1 else 3
    return Value(
        mean=mean,
        low=low,
        high=high,
        decimals=decimals,
    )


def _decimals(figure: PublishedFigure) -> int:
    exponent = math.floor(math.log10(figure.step))
    return max(0, -exponent)


def _title(measure: Measure) -> str:
    if not measure.unit:
        return measure.title
    return f"{measure.title}, {measure.unit}"


def _caption(
    table: PublishedTable,
    rows: Iterable[tuple[Cell, ...]],
    *,
    is_whole: bool,
) -> str:
    verdicts = [row[-1] for row in rows]
    compared = [verdict for verdict in verdicts if verdict != "–"]
    within = sum(verdict == "yes" for verdict in compared)
    caption = f"{table.name}: {within} of {count_text(len(compared), 'figure')} within rounding."
    if is_whole:
        return caption
    return f"{caption} The samples differ from those of the paper, so agreement is not expected."
