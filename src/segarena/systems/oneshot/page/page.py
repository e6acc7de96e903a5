"""The sections of one-shot runs, the same tables as files, and the scores for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from html import escape

from rich.text import Text

from segarena.reports.latex import latex_comment
from segarena.reports.reading import Run
from segarena.reports.series import Figure
from segarena.reports.sheets import Sheet, Value, sheet_csv, sheet_html, sheet_tex
from segarena.reports.wording import count_text
from segarena.systems.oneshot.page.figures import toss_figures
from segarena.systems.oneshot.page.pictures import toss_pictures
from segarena.systems.oneshot.page.runs import base_entries, failed_text, images, mode_text, settings_of
from segarena.systems.oneshot.page.tables import toss_sheets

FOLDED = frozenset({"classes", "folds", "parts-folds"})
MOST_TINY = 12
"""A longer table of tiny cells is folded away."""
LEAD_OF_PICTURES = (
    '<p class="lead">Two pairs of every part, a quarter and three quarters of the way from its lowest to its highest '
    'IoU, the mean over segmenters. Target and masks of supports are outlined (<i class="key truth"></i>), '
    'predictions filled (<i class="key guess"></i>); grey (<i class="key ignored"></i>) is not judged.</p>'
)


def toss_sections(
    runs: Sequence[Run], table: Callable[[str, str], str], figure: Callable[[Figure], str]
) -> list[tuple[str, str, str]]:
    """Return (anchor, title, HTML); `table` and `figure` number what they are given."""
    sheets, problems = every_sheet(tuple(runs))
    base = base_entries(runs)
    named = {sheet.name: sheet for sheet in sheets}

    def shown(*names: str) -> str:
        return "".join(_shown(named[name], table) for name in names if name in named)

    tiers = [name for name in named if name.startswith("parts-") and name not in FOLDED]
    notes = [*problems, failed_text(base), passes_text(runs)]
    made = toss_figures(base, settings_of(runs[0])) if base else []
    pictures, missing = toss_pictures(runs)
    return [
        ("scores", "Scores", shown("scores", "miou", "folds") + _notes(notes)),
        ("tiers", "Tiers", shown(*tiers) + "".join(map(figure, made)) + shown("parts-folds", "tiny", "classes")),
        ("bias", "Bias", shown("salience", "supports")),
        ("pairs", "Pairs", _notes(missing) + (LEAD_OF_PICTURES + pictures if pictures else "")),
    ]


def toss_files(runs: Sequence[Run]) -> dict[str, str]:
    """Return the same tables as files: one CSV each, whose first column is the mode, and all of them for LaTeX."""
    sheets, _ = every_sheet(tuple(runs))
    mode = mode_text(runs)
    texts = {f"toss-{sheet.name}.csv": sheet_csv(_with_mode(sheet, mode)) for sheet in sheets}
    return {**texts, "toss.tex": f"% {latex_comment(mode)}\n" + "\n".join(map(sheet_tex, sheets))} if sheets else {}


def toss_terminal(runs: Sequence[Run]) -> tuple[list[list[Text]], list[str]]:
    """Return the scores for the terminal, a line of titles and one per segmenter; and what must be said of them."""
    sheets, problems = every_sheet(tuple(runs))
    named = {sheet.name: sheet for sheet in sheets}
    sheet = named.get("scores") or named.get("miou")
    if sheet is None:
        return [], problems
    shown = [place for place, cell in enumerate(sheet.rows[0]) if not isinstance(cell, int)]
    titles = [Text(sheet.head[place]) for place in shown]
    rows = [[_terminal_cell(row[place]) for place in shown] for row in sheet.rows]
    return [titles, *rows], [mode_text(runs), *problems]


def passes_text(runs: Sequence[Run]) -> str:
    """Say how often images were encoded."""
    queries, query_passes, supports, support_passes = images(runs)
    if not queries:
        return ""
    return (
        f"Encoder passes of all runs: {query_passes} for {count_text(queries, 'query image')}, {support_passes} for "
        f"{count_text(supports, 'support')}; an image that is shown with another mask, or none, needs no further pass."
    )


@lru_cache(maxsize=2)  # the page and the files of one report have the same tables
def every_sheet(runs: tuple[Run, ...]) -> tuple[list[Sheet], list[str]]:
    """Return all tables, and why scores are missing, if any are."""
    return toss_sheets(runs)


def _with_mode(sheet: Sheet, mode: str) -> Sheet:
    """Return a table as its file has it; the shares there are no percentages."""
    head = ("Mode", *(title.removesuffix(", %") for title in sheet.head))
    return replace(sheet, head=head, rows=tuple((mode, *row) for row in sheet.rows))


def _shown(sheet: Sheet, table: Callable[[str, str], str]) -> str:
    html = table(sheet.caption, sheet_html(sheet)) + _notes(sheet.notes)
    is_folded = sheet.name in FOLDED or (sheet.name == "tiny" and len(sheet.rows) > MOST_TINY)
    if not is_folded:
        return html
    title = f"{sheet.caption.split('.')[0].split(',')[0]}, {count_text(len(sheet.rows), 'row')}"
    return f"<details><summary>{escape(title)}</summary>{html}</details>"


def _terminal_cell(cell: str | int | Value) -> Text:
    if not isinstance(cell, Value):
        return Text(str(cell))
    style = "bold" if cell.is_best else ""
    return Text.assemble((cell.text, style), *([("\n" + cell.bounds, "dim")] if cell.bounds else []))


def _notes(texts: Sequence[str]) -> str:
    return "".join(_note(text) for text in texts if text)


def _note(text: str, css: str = "note") -> str:
    return f'<p class="{css}">{escape(text)}</p>'
