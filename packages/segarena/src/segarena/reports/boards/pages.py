"""The pages of a board as HTML, with links to stylesheets and scripts instead of inline ones.

So they work under the policy `script-src 'self'; style-src 'self'`, on a server and from a folder.
Templates escape all values; browsers do not execute the embedded JSON, from which the script draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from markupsafe import Markup

from segarena.benchmark_rules import Statistic
from segarena.reports.boards.board import Board, Choice
from segarena.reports.boards.board_tables import (
    board_targets_sheet,
    run_sheet,
    sample_sheet,
    standing_sheet,
)
from segarena.reports.boards.board_wording import (
    board_notes,
    leader_text,
    range_text,
    run_remarks,
    shared_text,
    size_text,
)
from segarena.reports.boards.extracts import Extract
from segarena.reports.boards.json_export import board_data
from segarena.reports.boards.panels import BoardRank, PanelKey
from segarena.reports.html_document import read_script, read_text, templates
from segarena.reports.page_parts import Gallery
from segarena.reports.renderers.html import sheet_html
from segarena.reports.run_statistics import TargetKey
from segarena.reports.table_html import NOSCRIPT_ROWS
from segarena.reports.wording import bounds_text, count_text, seconds_text, value_text

_REPORTS = "segarena.reports"
_BOARDS = "segarena.reports.boards"

STYLES = ("page.css", "board.css")

_BOARD_SCRIPTS = ("page.js", "sorting.js", "charts.js", "curves.js", "board.js")

SAMPLE_SCRIPTS = ("page.js", "sorting.js", "charts.js", "rounds.js", "viewer.js")

_OWN_FILES = ("board.css", "board.js", "curves.js")

ASSETS: Mapping[str, str] = {
    **dict.fromkeys((*STYLES, *_BOARD_SCRIPTS, *SAMPLE_SCRIPTS), _REPORTS),
    **dict.fromkeys(_OWN_FILES, _BOARDS),
}
"""Files that the pages link to, with the package of each."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'"
)
"""Content security policy of the pages."""


_NO_PICTURES = Gallery(lead="", cards=(), count_note="")


def asset_text(name: str) -> str:
    """Return the text of one of `ASSETS`."""
    read = read_script if name.endswith(".js") else read_text
    return read(ASSETS[name], name)


def board_html(
    board: Board,
    *,
    assets: str = "",
    choice: Choice = "all",
    files: Sequence[tuple[str, str]] = (),
    pages: Mapping[str, str] | None = None,
    anchors: Mapping[TargetKey, str] | None = None,
    runs: Sequence[str] = (),
) -> str:
    """Return the page of a board.

    Args:
        board: the board.
        assets: prefix of `ASSETS` in links: a folder or an address with a trailing "/".
        choice: which runs of a participant the page shows initially.
        files: address and name of each file for download, such as the CSV.
        pages: address of the page of each sample; None leaves out the table of targets.
        anchors: anchor of each target on the page of its sample.
        runs: address of the page of each entry; empty if entries have no pages.
    """
    view = _view(board, choice, files, pages, anchors, runs)
    return _page("board.html", assets, _BOARD_SCRIPTS, title=board.title, view=view)


def board_parts(
    board: Board,
    *,
    choice: Choice = "all",
    files: Sequence[tuple[str, str]] = (),
    pages: Mapping[str, str] | None = None,
    runs: Sequence[str] = (),
) -> Markup:
    """Return the content of `board_html` for embedding into another page.

    That page must link `STYLES`, and the scripts of a board with `defer`.
    """
    module: Any = templates(_BOARDS).get_template("parts.html").module
    return Markup(module.board_parts(_view(board, choice, files, pages, None, runs)))  # noqa: S704 - the template has escaped it


def sample_html(
    board: Board,
    key: PanelKey,
    sample: str,
    *,
    assets: str = "",
    home: str = "",
    choice: Choice = "all",
    pictures: Gallery | None = None,
    before: str = "",
    after: str = "",
) -> str:
    """Return the page of a sample: its pictures, and the value of each run for each of its targets.

    Args:
        board: the board.
        key: key of the panel that the page shows.
        sample: name of the sample.
        assets: as in `board_html`.
        home: address of the board.
        choice: which runs of a participant the page shows.
        pictures: gallery with the cards of the sample's targets; None without pictures.
        before: address of the previous page.
        after: address of the next page.
    """
    view = _sample_view(board, key, sample, sample, home, choice, pictures, before, after)
    return _page("sample.html", assets, SAMPLE_SCRIPTS, title=sample, view=view)


def sample_parts(
    board: Board,
    key: PanelKey,
    sample: str,
    *,
    title: str,
    home: str,
    choice: Choice = "all",
    pictures: Gallery | None = None,
    before: str = "",
    after: str = "",
) -> Markup:
    """Return the content of `sample_html` for embedding into another page under the heading `title`.

    That page must link `STYLES` and `SAMPLE_SCRIPTS`.
    """
    view = _sample_view(board, key, sample, title, home, choice, pictures, before, after)
    return _fragment("sample", view)


def run_html(
    board: Board,
    key: PanelKey,
    entry: int,
    *,
    assets: str = "",
    home: str = "",
    pages: Mapping[str, str] | None = None,
    anchors: Mapping[TargetKey, str] | None = None,
) -> str:
    """Return the page of a run: its rank in every statistic, and its value for every target.

    Args:
        board: the board.
        key: key of the panel whose targets the page shows.
        entry: number of the entry.
        assets: as in `board_html`.
        home: address of the board.
        pages: address of the page of each sample; None leaves out the targets.
        anchors: anchor of each target on the page of its sample.
    """
    view = _run_view(board, key, entry, home, pages, anchors, "")
    return _page("run.html", assets, SAMPLE_SCRIPTS, title=board.names[entry], view=view)


def run_parts(
    board: Board,
    key: PanelKey,
    entry: int,
    *,
    home: str,
    pages: Mapping[str, str] | None = None,
    own_page: str = "",
) -> Markup:
    """Return the content of `run_html` for embedding into another page.

    `own_page` is the address of a page with every round of the run; empty without one.
    """
    return _fragment("run", _run_view(board, key, entry, home, pages, None, own_page))


def _fragment(name: str, view: Mapping[str, Any]) -> Markup:
    module: Any = templates(_BOARDS).get_template("pieces.html").module
    return Markup(getattr(module, name)(view))  # noqa: S704 - the template has escaped it


def _sample_view(
    board: Board,
    key: PanelKey,
    sample: str,
    title: str,
    home: str,
    choice: Choice,
    pictures: Gallery | None,
    before: str,
    after: str,
) -> dict[str, Any]:
    sheet = sample_sheet(board, key, sample, choice)
    # The first three columns are rank, run and participant; each other one is a target.
    targets = count_text(len(sheet.head) - 3, board.entries[0].extract.words[1])
    runs = count_text(len(sheet.rows), "run")
    return {
        "title": title,
        "board_title": board.title,
        "counted": f"{targets}, {runs}",
        "sheet": sheet,
        "pictures": pictures or _NO_PICTURES,
        "table": partial(sheet_html, most_rows=NOSCRIPT_ROWS),
        "home": home,
        "before": before,
        "after": after,
    }


def _run_view(
    board: Board,
    key: PanelKey,
    entry: int,
    home: str,
    pages: Mapping[str, str] | None,
    anchors: Mapping[TargetKey, str] | None,
    own_page: str,
) -> dict[str, Any]:
    extract = board.entries[entry].extract
    facts = {
        "Participant": board.participants[entry],
        "Finished": _time_text(board.entries[entry].time, "%Y-%m-%d %H:%M UTC"),
        "Data": board.data[entry],
        "Samples": f"{extract.done} of {extract.samples}",
        "Failures": f"{sum(extract.failures.values())}",
        f"Time / {extract.words[0]}": _median_seconds_text(extract, key.user),
    }
    targets = None
    if pages is not None:
        targets = run_sheet(board, key, entry, pages, anchors)
    return {
        "title": board.names[entry],
        "verdict": run_remarks(board, entry, with_participant=False),
        "board_title": board.title,
        "home": home,
        "facts": {name: text for name, text in facts.items() if text},
        "own_page": own_page,
        "sheet": standing_sheet(board, entry),
        "targets": targets,
        "target_word": extract.words[1],
        "table": partial(sheet_html, most_rows=NOSCRIPT_ROWS),
    }


def _page(template: str, assets: str, scripts: Sequence[str], **values: Any) -> str:
    page = templates(_BOARDS).get_template(template)
    return page.render(assets=assets, styles=STYLES, scripts=scripts, policy=POLICY, **values)


def _time_text(time: datetime, time_format: str) -> str:
    """Return a time as text; empty for year 1, which stands for an unknown time."""
    return "" if time.year == 1 else time.strftime(time_format)


def _median_seconds_text(extract: Extract, user: str) -> str:
    seconds = extract.seconds.get(user)
    if seconds is None:
        seconds = math.nan
    return seconds_text(seconds)


def _view(
    board: Board,
    choice: Choice,
    files: Sequence[tuple[str, str]],
    pages: Mapping[str, str] | None,
    anchors: Mapping[TargetKey, str] | None,
    runs: Sequence[str],
) -> dict[str, Any]:
    """Return the values of the template for the initial panel."""
    key = board.first_key
    extract = board.entries[0].extract
    words = extract.words
    users = [panel.user for panel in board.panels]
    groups = [panel.group for panel in board.panels if panel.group]
    columns: list[dict[str, str]] = []
    for statistic in _ordered_statistics(board):
        column = {
            "name": statistic.name,
            "definition": extract.definitions[statistic.name],
            "arrow": " ↑" if statistic.higher_is_better else " ↓",
        }
        columns.append(column)
    rows = board.rows(key, choice)
    targets = None
    if pages is not None:
        targets = board_targets_sheet(board, key, pages, anchors)
    return {
        "board": board,
        "benchmark": extract.rules["name"],
        "key": key,
        "choice": choice,
        "leader": leader_text(board, key, rows),
        "counted": size_text(board),
        "shared": shared_text(board, key, rows),
        "statistics": [statistic.name for statistic in board.statistics],
        "data": list(dict.fromkeys(board.data)),
        "users": list(dict.fromkeys(users)),
        "groups": list(dict.fromkeys(groups)),
        "round_word": words[0],
        "target_word": words[1],
        "columns": columns,
        "rows": [_row(board, key, row, runs) for row in rows[:NOSCRIPT_ROWS]],
        "left_out": len(rows) - NOSCRIPT_ROWS,
        "ranks_note": "Below a rank: the range of possible ranks, with all pairs of runs tested together.",
        "files": files,
        "targets": targets,
        "table": partial(sheet_html, most_rows=4 * NOSCRIPT_ROWS),
        "notes": board_notes(board),
        "told": board_data(board, runs),
    }


def _ordered_statistics(board: Board) -> list[Statistic]:
    """Return the statistics of a board, its measure first."""
    others = [statistic for statistic in board.statistics if statistic != board.measure]
    return [board.measure, *others]


def _row(board: Board, key: PanelKey, row: BoardRank, runs: Sequence[str]) -> dict[str, Any]:
    entry = row.entry
    extract = board.entries[entry].extract
    numbers: list[tuple[str, str]] = []
    for statistic in _ordered_statistics(board):
        panel = board.panels[key._replace(statistic=statistic.name)]
        if entry in panel.entries:
            mean = panel.means[panel.entries.index(entry)]
            bounds = bounds_text(statistic, mean.low, mean.high)
            numbers.append((value_text(statistic, mean.mean), bounds))
        else:
            numbers.append(("–", ""))
    return {
        "place": row.place or "–",
        "range": range_text(row),
        "name": board.names[entry],
        "page": runs[entry] if runs else "",
        "about": run_remarks(board, entry),
        "numbers": numbers,
        "failures": extract.failures.get(key.user, 0),
        "seconds": _median_seconds_text(extract, key.user),
        "at": _time_text(board.entries[entry].time, "%Y-%m-%d"),
        "control": extract.ignores_image or extract.segmenter.sees_truth,
    }
