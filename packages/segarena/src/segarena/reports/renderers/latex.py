"""Tables as LaTeX for the booktabs package."""

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
    """Return a table as a tabular with the caption as a comment; equal tables give equal bytes."""
    alignment = "".join(
        "l" if column.kind in ("text", "words") else "r" for column in sheet.columns
    )
    head = [escape_latex(column.heading + column.arrow) for column in sheet.columns]
    comment = f"% {latex_comment(sheet.caption)}\n" if sheet.caption else ""
    return comment + tabular(alignment, head, [list(map(_cell, row)) for row in sheet.rows])


def tabular(alignment: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a tabular of LaTeX cells; `alignment` has one letter per column."""
    lines = [r"\toprule", _line(head), r"\midrule", *map(_line, rows), r"\bottomrule"]
    return "\n".join([rf"\begin{{tabular}}{{{alignment}}}", *lines, r"\end{tabular}", ""])


def escape_latex(text: str) -> str:
    """Return `text` escaped for LaTeX; line breaks and control characters become spaces."""
    escaped: list[str] = []
    for letter in text:
        printable = letter if letter.isprintable() else " "
        escaped.append(_ESCAPES.get(letter, printable))
    return "".join(escaped)


def latex_comment(text: str) -> str:
    """Return `text` on one line for a LaTeX comment."""
    return " ".join(text.split())


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    if not isinstance(cell, Value):
        return escape_latex(cell.text if isinstance(cell, Link) else str(cell))
    text = escape_latex(cell.text)
    if cell.mark in BOLD:
        marked = f"\\textbf{{{text}}}"
    else:
        marked = f"\\underline{{{text}}}" if cell.mark == "best" else text
    small = ", ".join(filter(None, [cell.bounds, cell.p_text]))
    return f"{marked} {{\\scriptsize {escape_latex(small)}}}" if small else marked
