"""The tables of the rclicks report: each is one sheet, from which page, files and terminal pick columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.text import Text

from segarena.reports.recorded_run import Run
from segarena.reports.renderers import latex_comment, sheet_csv, sheet_terminal, sheet_tex
from segarena.reports.sheets import Cell, Column, Sheet, Value
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
    protocol_text,
)


def group_sheet(runs: Sequence[Run]) -> Sheet:
    """Return RClicks' Tables 4 and 9 to 11: a row per statistic, dataset and segmenter."""
    head = (
        *(
            Column(name.capitalize(), key=name)
            for name in ("statistic", "segmenter", "dataset", "protocol")
        ),
        Column("Base", "interval", "base"),
        Column("Sample ± std", "interval", "sample ± std"),
        Column("Sample", "interval", "sample"),
        Column("± std", "interval", "sample_std"),
        *(Column(name, "interval", name.lower()) for name in ("ASB", "AGR", "AHH", "NSR")),
        Column("Targets", "number", "targets"),
        Column("Left out", "number", "left_out"),
    )
    rows = tuple(
        (
            group_statistic_label(row.statistic),
            *_about(runs[row.run]),
            *group_cells(row),
            row.targets,
            row.left_out,
        )
        for row in group_rows(runs)
    )
    return Sheet(name="robustness", caption="Over the clicking groups.", head=head, rows=rows)


def first_click_sheet(runs: Sequence[Run]) -> Sheet:
    """Return RClicks' Table 12: a row per segmenter, dataset and kind of user."""
    head = (
        *(Column(name.capitalize(), key=name) for name in ("segmenter", "dataset", "protocol")),
        Column("Who", key="clicks_of"),
        Column("Clicks of", key="who"),
        Column("IoU@1", "interval", "mean"),
        Column("std", "interval", "std"),
        Column("NSR", "interval", "nsr"),
        Column("minus real", "interval", "minus_real"),
        *(Column(name.capitalize(), "number", name) for name in ("targets", "clicks", "without")),
    )
    rows = tuple(
        (
            *_about(runs[row.run]),
            row.who,
            USER_KIND_LABELS[row.who],
            *first_click_cells(row),
            row.targets,
            row.clicks,
            row.without,
        )
        for row in first_click_rows(runs)
    )
    return Sheet(name="first-clicks", caption="IoU after the first click.", head=head, rows=rows)


def visible_group_sheet(runs: Sequence[Run]) -> Sheet:
    """Return the table over clicking groups as the page and LaTeX have it."""
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
    """Return the table of first clicks as the page and LaTeX have it."""
    numbers = ("mean", "std", "nsr", "minus_real", "targets", "clicks", "without")
    return first_click_sheet(runs).pick("segmenter", "dataset", "who", *numbers)


def robustness_files(runs: Sequence[Run]) -> dict[str, str]:
    """Return the tables as files by name, fractions as they are; equal records give equal bytes."""
    groups = group_sheet(runs)
    first = first_click_sheet(runs)
    matrix, _ = measure_correlations(runs)
    sheets = {
        "robustness": groups.pick(*(key for key in groups.keys if key != "sample ± std")),
        "first-clicks": first.pick(*(key for key in first.keys if key != "who")),
        "instances": hardness_sheet(dataset_hardness(runs)),
        **({} if matrix is None else {"correlations": correlations_sheet(matrix)}),
    }
    first_csv, *others = ((f"{name}.csv", sheet_csv(sheet)) for name, sheet in sheets.items())
    return dict([first_csv, ("robustness.tex", robustness_latex(runs)), *others])


def hardness_sheet(found: Sequence[DatasetHardness]) -> Sheet:
    """Return a line per dataset and instance, the hardest first, for programs."""
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        for i in one.ranking:
            values = (Value(mean=float(of_all[i])) for of_all in (one.means, one.stds, one.nsr))
            rows.append((one.dataset, *one.keys[i], one.who, *values))
    numbers = (Column(name, "number") for name in ("mean_iou", "std_iou", "nsr"))
    return Sheet(
        name="instances",
        caption="",
        head=("dataset", "sample", "target", "clicks_of", *numbers),
        rows=tuple(rows),
    )


def correlations_sheet(matrix: CorrelationTable) -> Sheet:
    """Return the matrix for programs: Spearman below the diagonal, Pearson above it."""
    rows: list[tuple[Cell, ...]] = []
    for name, line in zip(matrix.names, matrix.values.tolist(), strict=True):
        rows.append((name, *(Value(mean=value) for value in line)))
    return Sheet(name="correlations", caption="", head=("measure", *matrix.names), rows=tuple(rows))


def robustness_latex(runs: Sequence[Run]) -> str:
    """Return both tables for booktabs."""
    about = f"% {latex_comment(protocol_text(runs[0]))}\n% needs \\usepackage{{booktabs}}; brackets hold 95 % intervals\n"
    groups = sheet_tex(replace(visible_group_sheet(runs), caption=""))
    first = sheet_tex(replace(visible_first_click_sheet(runs), caption="IoU after the first click"))
    return f"{about}{groups}\n{first}"


def robustness_terminal(runs: Sequence[Run]) -> RenderableType:
    """Return both tables for a terminal of 80 columns, run by run."""
    parts: list[RenderableType] = [
        Text(text, style="dim") for text in dict.fromkeys(map(protocol_text, runs))
    ]
    parts += [Text(text, style="yellow") for text in missing_texts(runs)]
    groups = group_sheet(runs).pick(
        "statistic", "base", "sample", "sample_std", "asb", "agr", "ahh", "nsr"
    )
    first = first_click_sheet(runs).pick("who", "mean", "std", "nsr", "minus_real")
    first = replace(
        first, rows=tuple((str(who).split(" from ")[0], *cells) for who, *cells in first.rows)
    )
    for place, run in enumerate(runs):
        told = [row.run == place and bool(row.targets) for row in group_rows(runs)]
        firsts = [row.run == place for row in first_click_rows(runs)]
        parts += [
            Text(f"\n{run.segmenter} on {run.data}", style="bold"),
            _terminal(groups, told),
            _terminal(first, firsts),
        ]
    return Group(*parts)


def _terminal(sheet: Sheet, is_shown: Sequence[bool]) -> RenderableType:
    """Return some rows of a table under its headings, without the columns in which they say nothing."""
    rows = [row for row, shown in zip(sheet.rows, is_shown, strict=True) if shown]
    # 80 columns are few: what says nothing of these rows is left out.
    told = [
        column
        for column, *cells in zip(sheet.columns, *rows, strict=True)
        if any(map(_tells, cells))
    ]
    kept = replace(sheet, rows=tuple(rows)).pick(*(column.key for column in told))
    return sheet_terminal(replace(kept, head=tuple(column.heading for column in told)))


def _tells(cell: Cell) -> bool:
    return (cell.text if isinstance(cell, Value) else str(cell)) != "–"


def _about(run: Run) -> list[str]:
    return [run.segmenter, run.data, run.config.benchmark.protocol]
