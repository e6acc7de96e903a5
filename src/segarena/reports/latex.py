"""Tables as LaTeX, for the booktabs package."""

from __future__ import annotations

from collections.abc import Sequence

from segarena.reports.reading import Run
from segarena.reports.tables import direction, paired_rows, summary_rows
from segarena.reports.wording import (
    baseline_text,
    bounds_text,
    count_text,
    difference_bounds_text,
    difference_text,
    protocol_text,
    value_text,
)

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "±": "$\\pm$",
    "…": r"\ldots{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def escape_latex(text: str) -> str:
    """Return `text` so that LaTeX prints it; line ends and control characters become spaces."""
    return "".join(_ESCAPES.get(letter, letter if letter.isprintable() else " ") for letter in text)


def summary_tex(runs: Sequence[Run]) -> str:
    """Return the summary, and the paired differences when there are several runs, as tabulars.

    Equal records give equal bytes.
    """
    statistics, config = runs[0].summary, runs[0].config
    lines = [
        [
            row.label,
            row.user,
            *(
                latex_cell(value_text(s, c.mean), bounds_text(s, c.low, c.high))
                for s in statistics
                for c in [row.cells[s.name]]
            ),
            str(row.targets),
            str(row.failures),
        ]
        for row in summary_rows(runs)
    ]
    head = ["Segmenter", "User", *(s.name for s in statistics), "Targets", "Failures"]
    about = f"% {latex_comment(config.benchmark.name)}; {latex_comment(protocol_text(runs[0]))}\n"
    partial = "".join(f"% PARTIAL: {latex_comment(run.label)}\n" for run in runs if not run.is_complete)
    need = "% needs \\usepackage{booktabs}; brackets hold 95 % intervals over targets\n"
    text = about + partial + need + tabular(head, lines)
    return text + _paired(runs) if paired_rows(runs) else text


def _paired(runs: Sequence[Run]) -> str:
    statistics = runs[0].summary
    lines: list[list[str]] = []
    for row in paired_rows(runs):
        cells: list[str] = []
        for statistic in statistics:
            cell = row.cells[statistic.name]
            text = difference_text(statistic, cell)
            is_clear = direction(cell, statistic) != "unclear"
            cells.append(latex_cell(text, difference_bounds_text(statistic, cell), is_bold=is_clear))
        lines.append([f"{row.label} − {row.baseline}", row.user, *cells, str(row.matched), str(row.unmatched)])
    head = ["Difference", "User", *(s.name for s in statistics), "Matched", "Unmatched"]
    about = f"\n% paired differences to {latex_comment(baseline_text(runs))}, {count_text(len(runs) - 1, 'run')}\n"
    return about + tabular(head, lines)


def tabular(head: Sequence[str], lines: Sequence[Sequence[str]], *, names: int = 2) -> str:
    """Return a tabular; the first `names` cells of a line are escaped here, the others are LaTeX already."""
    rows = "".join(" & ".join([*map(escape_latex, line[:names]), *line[names:]]) + " \\\\\n" for line in lines)
    columns = "l" * names + "r" * (len(head) - names)
    titles = " & ".join(map(escape_latex, head))
    return (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{titles} \\\\\n\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n"
    )


def latex_cell(value: str, bounds: str, *, is_bold: bool = False) -> str:
    """Return a value with its interval in small print."""
    text = escape_latex(value)
    bold = f"\\textbf{{{text}}}" if is_bold else text
    return f"{bold} {{\\scriptsize {escape_latex(bounds)}}}" if bounds else bold


def latex_comment(text: str) -> str:
    """Return `text` on one line."""
    return " ".join(text.split())
