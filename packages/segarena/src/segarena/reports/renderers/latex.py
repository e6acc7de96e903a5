"""LaTeX renderer for tables, with the booktabs package."""

from __future__ import annotations

from collections.abc import Sequence

from segarena.reports.cells import BOLD, Cell, Link, Value
from segarena.reports.sheets import Sheet

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
    "↑": "$\\uparrow$",
    "↓": "$\\downarrow$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def sheet_tex(sheet: Sheet) -> str:
    """Render a table as a tabular with the caption as a comment; equal tables give equal bytes."""
    alignment = ""
    head: list[str] = []
    for column in sheet.columns:
        alignment += "l" if column.kind in ("text", "words") else "r"
        head.append(escape_latex(column.heading + column.arrow))
    rows = [_cells(row) for row in sheet.rows]
    table = tabular(alignment, head, rows)
    if sheet.caption:
        return f"% {latex_comment(sheet.caption)}\n{table}"
    return table


def tabular(
    alignment: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> str:
    """Build a tabular from LaTeX cells; `alignment` has one letter per column."""
    lines = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", _line(head), r"\midrule"]
    for row in rows:
        lines.append(_line(row))
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, ""])


def escape_latex(text: str) -> str:
    """Escape a text for LaTeX; line breaks and control characters become spaces."""
    escaped: list[str] = []
    for letter in text:
        printable = letter if letter.isprintable() else " "
        escaped.append(_ESCAPES.get(letter, printable))
    return "".join(escaped)


def latex_comment(text: str) -> str:
    """Put a text on one line, for a LaTeX comment."""
    return " ".join(text.split())


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cells(row: Sequence[Cell]) -> list[str]:
    return [_cell(cell) for cell in row]


def _cell(cell: Cell) -> str:
    if isinstance(cell, Link):
        return escape_latex(cell.text)
    if not isinstance(cell, Value):
        return escape_latex(str(cell))
    text = escape_latex(cell.text)
    if cell.mark in BOLD:
        text = f"\\textbf{{{text}}}"
    elif cell.mark == "best":
        text = f"\\underline{{{text}}}"
    remarks = [remark for remark in (cell.bounds, cell.p_text) if remark]
    if not remarks:
        return text
    small = escape_latex(", ".join(remarks))
    return f"{text} {{\\scriptsize {small}}}"
