"""Tables of the rclicks report; page, files and terminal each show a selection of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.text import Text

from segarena.reports.cells import Cell, Column, Value
from segarena.reports.recorded_run import Run
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.latex import latex_comment, sheet_tex
from segarena.reports.renderers.terminal import sheet_terminal
from segarena.reports.sheets import Sheet
from segarena.statistics.correlations import CorrelationTable
from segarena.systems.clicks.page.robustness_statistics import (
    DatasetHardness,
    dataset_hardness,
    first_click_rows,
    group_rows,
    measure_correlations,
)
from segarena.systems.clicks.page.robustness_wording import (
    USER_KIND_LABELS,
    first_click_cells,
    group_cells,
    group_statistic_label,
    missing_texts,
    rclicks_protocol_text,
)


def group_sheet(runs: Sequence[Run]) -> Sheet:
    """Return RClicks' Tables 4 and 9 to 11: one row per statistic and run."""
    head = (
        Column("Statistic", key="statistic"),
        *_run_columns(),
        Column("Base", "interval", "base"),
        Column("Sample ± std", "interval", "sample ± std"),
        Column("Sample", "interval", "sample"),
        Column("± std", "interval", "sample_std"),
        Column("ASB", "interval", "asb"),
        Column("AGR", "interval", "agr"),
        Column("AHH", "interval", "ahh"),
        Column("NSR", "interval", "nsr"),
        Column("Targets", "number", "targets"),
        Column("Left out", "number", "left_out"),
    )
    rows: list[tuple[Cell, ...]] = []
    for row in group_rows(runs):
        label = group_statistic_label(row.statistic)
        cells = group_cells(row)
        rows.append((label, *_run_cells(runs[row.run]), *cells, row.targets, row.left_out))
    return Sheet(
        name="robustness",
        caption="Over the clicking groups.",
        head=head,
        rows=tuple(rows),
    )


def first_click_sheet(runs: Sequence[Run]) -> Sheet:
    """Return RClicks' Table 12: one row per run and kind of user."""
    head = (
        *_run_columns(),
        Column("Who", key="clicks_of"),
        Column("Clicks of", key="who"),
        Column("IoU@1", "interval", "mean"),
        Column("std", "interval", "std"),
        Column("NSR", "interval", "nsr"),
        Column("minus real", "interval", "minus_real"),
        Column("Targets", "number", "targets"),
        Column("Clicks", "number", "clicks"),
        Column("Without", "number", "without"),
    )
    rows: list[tuple[Cell, ...]] = []
    for row in first_click_rows(runs):
        kind = (row.user_kind, USER_KIND_LABELS[row.user_kind])
        counts = (row.targets, row.clicks, row.without)
        rows.append((*_run_cells(runs[row.run]), *kind, *first_click_cells(row), *counts))
    return Sheet(
        name="first-clicks",
        caption="IoU after the first click.",
        head=head,
        rows=tuple(rows),
    )


def visible_group_sheet(runs: Sequence[Run]) -> Sheet:
    """Return the table over clicking groups with the columns shown on the page and in LaTeX."""
    names = (
        "statistic",
        "segmenter",
        "dataset",
        "base",
        "sample ± std",
        "asb",
        "agr",
        "ahh",
        "nsr",
        "targets",
    )
    return group_sheet(runs).pick(*names)


def visible_first_click_sheet(runs: Sequence[Run]) -> Sheet:
    """Return the table of first clicks with the columns shown on the page and in LaTeX."""
    numbers = ("mean", "std", "nsr", "minus_real", "targets", "clicks", "without")
    return first_click_sheet(runs).pick("segmenter", "dataset", "who", *numbers)


def robustness_files(runs: Sequence[Run]) -> dict[str, str]:
    """Return the tables as file contents by file name.

    CSV files have fractions; the LaTeX file has the numbers as the page prints them. Equal records
    give byte-identical files.
    """
    groups = group_sheet(runs)
    group_keys = [key for key in groups.keys if key != "sample ± std"]
    first = first_click_sheet(runs)
    first_keys = [key for key in first.keys if key != "who"]
    files = {
        "robustness.csv": sheet_csv(groups.pick(*group_keys)),
        "robustness.tex": robustness_latex(runs),
        "first-clicks.csv": sheet_csv(first.pick(*first_keys)),
        "instances.csv": sheet_csv(hardness_sheet(dataset_hardness(runs))),
    }
    matrix, _ = measure_correlations(runs)
    if matrix is not None:
        files["correlations.csv"] = sheet_csv(correlations_sheet(matrix))
    return files


def hardness_sheet(hardness: Sequence[DatasetHardness]) -> Sheet:
    """Return the CSV table of instances, dataset by dataset: one row per instance, hardest first."""
    rows: list[tuple[Cell, ...]] = []
    for one in hardness:
        for i in one.ranking:
            mean = Value(mean=float(one.means[i]))
            std = Value(mean=float(one.stds[i]))
            nsr = Value(mean=float(one.nsr[i]))
            rows.append((one.dataset, *one.keys[i], one.user_kind, mean, std, nsr))
    head = (
        "dataset",
        "sample",
        "target",
        "clicks_of",
        Column("mean_iou", "number"),
        Column("std_iou", "number"),
        Column("nsr", "number"),
    )
    return Sheet(
        name="instances",
        caption="",
        head=head,
        rows=tuple(rows),
    )


def correlations_sheet(matrix: CorrelationTable) -> Sheet:
    """Return the CSV table of correlations: Spearman below the diagonal, Pearson above it."""
    rows: list[tuple[Cell, ...]] = []
    for name, line in zip(matrix.names, matrix.values.tolist(), strict=True):
        values = [Value(mean=value) for value in line]
        rows.append((name, *values))
    return Sheet(
        name="correlations",
        caption="",
        head=("measure", *matrix.names),
        rows=tuple(rows),
    )


def robustness_latex(runs: Sequence[Run]) -> str:
    """Return both tables as LaTeX for the package booktabs."""
    protocol_comment = f"% {latex_comment(rclicks_protocol_text(runs[0]))}"
    usage_comment = "% needs \\usepackage{booktabs}; brackets hold 95 % intervals"
    groups = sheet_tex(replace(visible_group_sheet(runs), caption=""))
    first_clicks = replace(visible_first_click_sheet(runs), caption="IoU after the first click")
    return f"{protocol_comment}\n{usage_comment}\n{groups}\n{sheet_tex(first_clicks)}"


def robustness_terminal(runs: Sequence[Run]) -> RenderableType:
    """Return both tables for a terminal with 80 columns, run by run."""
    protocols = dict.fromkeys(rclicks_protocol_text(run) for run in runs)
    parts: list[RenderableType] = [Text(text, style="dim") for text in protocols]
    parts += [Text(text, style="yellow") for text in missing_texts(runs)]
    groups = group_sheet(runs).pick(
        "statistic", "base", "sample", "sample_std", "asb", "agr", "ahh", "nsr"
    )
    first = first_click_sheet(runs).pick("who", "mean", "std", "nsr", "minus_real")
    short_rows: list[tuple[Cell, ...]] = []
    for user_kind, *cells in first.rows:
        short_label = str(user_kind).split(" from ")[0]
        short_rows.append((short_label, *cells))
    first = replace(first, rows=tuple(short_rows))
    for run_index, run in enumerate(runs):
        has_groups = [row.run == run_index and bool(row.targets) for row in group_rows(runs)]
        has_first = [row.run == run_index for row in first_click_rows(runs)]
        parts += [
            Text(f"\n{run.segmenter} on {run.data}", style="bold"),
            _terminal_table(groups, has_groups),
            _terminal_table(first, has_first),
        ]
    return Group(*parts)


def _terminal_table(sheet: Sheet, is_shown: Sequence[bool]) -> RenderableType:
    """Return a selection of table rows, without columns that are empty in all of them."""
    rows = [row for row, shown in zip(sheet.rows, is_shown, strict=True) if shown]
    # 80 characters leave no room for empty columns.
    columns: list[Column] = []
    for column, *cells in zip(sheet.columns, *rows, strict=True):
        if any(_has_value(cell) for cell in cells):
            columns.append(column)
    keys = [column.key for column in columns]
    headings = tuple(column.heading for column in columns)
    picked = replace(sheet, rows=tuple(rows)).pick(*keys)
    return sheet_terminal(replace(picked, head=headings))


def _has_value(cell: Cell) -> bool:
    text = cell.text if isinstance(cell, Value) else str(cell)
    return text != "–"


def _run_cells(run: Run) -> list[str]:
    return [run.segmenter, run.data, run.config.benchmark.protocol]


def _run_columns() -> list[Column]:
    names = ("segmenter", "dataset", "protocol")
    return [Column(name.capitalize(), key=name) for name in names]
