"""The tables of the rclicks report as HTML, CSV, LaTeX and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from segarena.reports.export import csv_number, csv_text
from segarena.reports.latex import latex_cell, latex_comment, tabular
from segarena.reports.reading import Run
from segarena.reports.sections import number_cell, table, text_cell
from segarena.statistics.correlations import CorrelationTable
from segarena.statistics.intervals import Interval
from segarena.systems.clicks.page.numbers import Hardness, correlations, first_rows, group_rows, hardness_of
from segarena.systems.clicks.page.wording import (
    FIRST_HEAD,
    GROUP_HEAD,
    WHO,
    Cell,
    first_cells,
    group_cells,
    missing_texts,
    mode_text,
)

COLUMNS = 4
"""Statistics that stand side by side in a terminal."""

GROUP_ROWS = ("base", "sample", "± std", "ASB", "AGR", "AHH", "NSR")


def group_table(runs: Sequence[Run]) -> str:
    """Return the HTML of RClicks' Tables 4 and 9 to 11: a row per statistic, dataset and segmenter."""
    head = [
        *(("text", name) for name in ("Statistic", "Segmenter", "Dataset")),
        *(("num", name) for name in (*GROUP_HEAD, "Targets")),
    ]
    rows = [
        text_cell(row.statistic.name)
        + _names(runs[row.run])
        + _cells(group_cells(row))
        + number_cell(row.targets, str(row.targets))
        for row in group_rows(runs)
    ]
    return table(head, rows)


def first_table(runs: Sequence[Run]) -> str:
    """Return the HTML of RClicks' Table 12: a row per segmenter, dataset and kind of user."""
    head = [
        *(("text", name) for name in ("Segmenter", "Dataset", "Clicks of")),
        *(("num", name) for name in (*FIRST_HEAD, "Targets", "Clicks", "Without")),
    ]
    rows = [
        _names(runs[row.run])
        + text_cell(WHO[row.who])
        + _cells(first_cells(row))
        + "".join(number_cell(count, str(count)) for count in (row.targets, row.clicks, row.without))
        for row in first_rows(runs)
    ]
    return table(head, rows)


def robustness_files(runs: Sequence[Run]) -> dict[str, str]:
    """Return the tables as files by name; equal records give equal bytes."""
    matrix, _ = correlations(runs)
    return {
        "robustness.csv": robustness_csv(runs),
        "robustness.tex": robustness_tex(runs),
        "first-clicks.csv": first_csv(runs),
        "instances.csv": hardness_csv(hardness_of(runs)),
        **({} if matrix is None else {"correlations.csv": correlations_csv(matrix)}),
    }


def robustness_csv(runs: Sequence[Run]) -> str:
    """Return a line per statistic, dataset and segmenter; fractions as they are, with both ends of their intervals."""
    names = ("base", "sample", "sample_std", "asb", "agr", "ahh", "nsr")
    head = ["statistic", "segmenter", "dataset", "protocol", *_with_ends(names), "targets", "left_out"]
    lines = [
        [
            row.statistic.name,
            *_about(runs[row.run]),
            *(x for name in names for x in _ends(getattr(row, name))),
            row.targets,
            row.left_out,
        ]
        for row in group_rows(runs)
    ]
    return csv_text(head, lines)


def first_csv(runs: Sequence[Run]) -> str:
    """Return a line per segmenter, dataset and kind of user."""
    names = ("mean", "std", "nsr")
    head = ["segmenter", "dataset", "protocol", "clicks_of", *_with_ends(names), *_with_ends(["minus_real"])]
    lines = [
        [
            *_about(runs[row.run]),
            row.who,
            *(x for name in names for x in _ends(getattr(row, name))),
            *(
                ("", "", "")
                if row.to_real is None
                else (csv_number(x) for x in (row.to_real.difference, row.to_real.low, row.to_real.high))
            ),
            row.targets,
            row.clicks,
            row.without,
        ]
        for row in first_rows(runs)
    ]
    return csv_text([*head, "targets", "clicks", "without"], lines)


def hardness_csv(found: Sequence[Hardness]) -> str:
    """Return a line per dataset and instance, the hardest first."""
    lines = [
        [one.dataset, *one.keys[i], one.who, *(csv_number(float(x[i])) for x in (one.means, one.stds, one.nsr))]
        for one in found
        for i in one.ranking
    ]
    return csv_text(["dataset", "sample", "target", "clicks_of", "mean_iou", "std_iou", "nsr"], lines)


def correlations_csv(matrix: CorrelationTable) -> str:
    """Return the matrix: Spearman below the diagonal, Pearson above it."""
    rows = zip(matrix.names, matrix.values.tolist(), strict=True)
    return csv_text(["measure", *matrix.names], [[name, *map(csv_number, values)] for name, values in rows])


def robustness_tex(runs: Sequence[Run]) -> str:
    """Return both tables for booktabs."""
    about = f"% {latex_comment(mode_text(runs[0]))}\n% needs \\usepackage{{booktabs}}; brackets hold 95 % intervals\n"
    head = ["Statistic", "Segmenter", "Dataset", *GROUP_HEAD, "Targets"]
    lines = [
        [row.statistic.name, *_written(runs[row.run]), *_latex(group_cells(row)), str(row.targets)]
        for row in group_rows(runs)
    ]
    first_head = ["Segmenter", "Dataset", "Clicks of", *FIRST_HEAD, "Targets", "Clicks", "Without"]
    first_lines = [
        [
            *_written(runs[row.run]),
            WHO[row.who],
            *_latex(first_cells(row)),
            *map(str, (row.targets, row.clicks, row.without)),
        ]
        for row in first_rows(runs)
    ]
    return (
        about
        + tabular(head, lines, names=3)
        + "\n% IoU after the first click\n"
        + tabular(first_head, first_lines, names=3)
    )


def robustness_terminal(runs: Sequence[Run]) -> RenderableType:
    """Return both tables for a terminal of 80 columns, run by run."""
    parts: list[RenderableType] = [Text(text, style="dim") for text in dict.fromkeys(map(mode_text, runs))]
    parts += [Text(text, style="yellow") for text in missing_texts(runs)]
    every, every_first = group_rows(runs), first_rows(runs)
    for place, run in enumerate(runs):
        groups = [row for row in every if row.run == place and row.targets]
        firsts = [row for row in every_first if row.run == place]
        parts.append(Text(f"\n{run.segmenter} on {run.data}", style="bold"))
        if groups:
            parts += [_terminal(GROUP_ROWS, [(row.statistic.name, _split(group_cells(row))) for row in groups]), Text()]
        parts.append(_terminal(FIRST_HEAD, [(WHO[row.who].split(" from ")[0], first_cells(row)) for row in firsts]))
    return Group(*parts)


def _terminal(names: Sequence[str], columns: Sequence[tuple[str, Sequence[Cell]]]) -> RenderableType:
    """Return cells in columns, a few to a table, so that they fit."""
    tables: list[RenderableType] = []
    for start in range(0, len(columns), COLUMNS):
        shown = columns[start : start + COLUMNS]
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        grid.add_column("")
        for title, _ in shown:
            grid.add_column(title, justify="right")
        for name, cells in zip(names, zip(*(cells for _, cells in shown), strict=True), strict=True):
            if any(cell.text != "–" for cell in cells):
                grid.add_row(
                    name, *(Text.assemble(c.text, "\n", (c.bounds, "dim")) if c.bounds else c.text for c in cells)
                )
        tables.append(grid)
    return Group(*tables)


def _split(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells with the deviation in one of its own."""
    base, sample, *others = cells
    mean, _, std = sample.text.partition(" ± ")
    return [base, Cell(sample.value, mean, sample.bounds), Cell(sample.value, std or "–"), *others]


def _names(run: Run) -> str:
    return text_cell(run.segmenter) + text_cell(run.data)


def _written(run: Run) -> list[str]:
    return [run.segmenter, run.data]


def _about(run: Run) -> list[str]:
    return [run.segmenter, run.data, run.config.benchmark.protocol]


def _cells(cells: Sequence[Cell]) -> str:
    return "".join(number_cell(cell.value, cell.text, cell.bounds) for cell in cells)


def _latex(cells: Sequence[Cell]) -> list[str]:
    return [latex_cell(cell.text, cell.bounds) for cell in cells]


def _with_ends(names: Sequence[str]) -> list[str]:
    return [f"{name}{end}" for name in names for end in ("", " low", " high")]


def _ends(interval: Interval | None) -> list[str]:
    return ["", "", ""] if interval is None else [csv_number(x) for x in (interval.mean, interval.low, interval.high)]
