"""The pages of a board as HTML: no script and no style in them, only links to files beside them.

So they work under a policy of `script-src 'self'; style-src 'self'`, on a server and from a folder. Whatever the
template prints is escaped; the JSON that the script draws from is data, which browsers do not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from segarena.reports.boards.board import Board, Choice, Key
from segarena.reports.boards.sheets import sample_sheet, targets_sheet
from segarena.reports.boards.telling import told
from segarena.reports.boards.wording import (
    about_text,
    counted_text,
    leader_text,
    notes_of,
    range_text,
    shared_text,
)
from segarena.reports.parts import Gallery
from segarena.reports.renderers import sheet_html
from segarena.reports.rendering import read_text, templates
from segarena.reports.tables import TargetKey
from segarena.reports.wording import bounds_text, count_text, seconds_text, value_text

_REPORTS, _BOARDS = "segarena.reports", "segarena.reports.boards"

STYLES = ("page.css", "board.css")

_BOARD_SCRIPTS = ("page.js", "sorting.js", "charts.js", "curves.js", "board.js")

_SAMPLE_SCRIPTS = ("page.js", "sorting.js", "charts.js", "viewer.js")

ASSETS: Mapping[str, str] = {
    name: _BOARDS if name in ("board.css", "board.js", "curves.js") else _REPORTS
    for name in dict.fromkeys((*STYLES, *_BOARD_SCRIPTS, *_SAMPLE_SCRIPTS))
}
"""Files that the pages link to, and the package that has each."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
)
"""What the browser may load and run."""


FIRST_ROWS = 100
"""Rows that can be read without the script."""


def asset_text(name: str) -> str:
    """Return one of `ASSETS`."""
    return read_text(ASSETS[name], name)


def board_html(
    board: Board,
    *,
    assets: str = "",
    choice: Choice = "all",
    files: Sequence[tuple[str, str]] = (),
    pages: Mapping[str, str] | None = None,
    anchors: Mapping[TargetKey, str] | None = None,
) -> str:
    """Return the page of a board.

    Args:
        board: what stands on it.
        assets: what stands before the names of `ASSETS` in links: a folder or an address with a "/" at its end.
        choice: which runs of a participant are shown at first.
        files: address and name of each file that is offered beside it, such as the CSV.
        pages: the address of each sample's page; None leaves out the table of targets.
        anchors: where a target stands on the page of its sample.
    """
    view = _view(board, choice, files, pages, anchors)
    return _page("board.html", assets, _BOARD_SCRIPTS, title=board.title, view=view)


def board_parts(
    board: Board,
    *,
    choice: Choice = "all",
    files: Sequence[tuple[str, str]] = (),
    pages: Mapping[str, str] | None = None,
) -> Markup:
    """Return the same for a page of one's own, which links `STYLES`, and the scripts of a board with `defer`."""
    module: Any = templates(_BOARDS).get_template("parts.html").module
    return Markup(module.board_parts(_view(board, choice, files, pages, None)))  # noqa: S704 - the template has escaped it


def sample_html(
    board: Board,
    key: Key,
    sample: str,
    *,
    assets: str = "",
    home: str = "",
    choice: Choice = "all",
    pictures: Gallery | None = None,
    before: str = "",
    after: str = "",
) -> str:
    """Return the page of a sample: its pictures, if there are any, and the value of every run for each of its targets.

    Args:
        board: what it belongs to.
        key: the panel that it shows.
        sample: its name.
        assets: as in `board_html`.
        home: the address of the board.
        choice: which runs it shows.
        pictures: cards of its targets, as galleries of reports have them.
        before: the address of the page before.
        after: the address of the next one.
    """
    sheet, target = sample_sheet(board, key, sample, choice), board.entries[0].extract.words[1]
    return _page(
        "sample.html",
        assets,
        _SAMPLE_SCRIPTS,
        title=sample,
        board_title=board.title,
        counted=f"{count_text(len(sheet.head) - 3, target)}, {count_text(len(sheet.rows), 'run')}",
        sheet=sheet,
        pictures=pictures or Gallery(lead="", cards=(), told=""),
        table=partial(sheet_html, most_rows=FIRST_ROWS),
        home=home,
        before=before,
        after=after,
    )


def _page(template: str, assets: str, scripts: Sequence[str], **values: Any) -> str:
    page = templates(_BOARDS).get_template(template)
    return page.render(assets=assets, styles=STYLES, scripts=scripts, policy=POLICY, **values)


def _view(
    board: Board,
    choice: Choice,
    files: Sequence[tuple[str, str]],
    pages: Mapping[str, str] | None,
    anchors: Mapping[TargetKey, str] | None,
) -> dict[str, Any]:
    """Return what the template names, for the panel that is shown first."""
    key, words = board.first_key, board.entries[0].extract.words
    columns = [board.measure, *(one for one in board.statistics if one != board.measure)]
    definitions = board.entries[0].extract.definitions
    rows = board.rows(key, choice)
    return {
        "board": board,
        "benchmark": board.entries[0].extract.rules["name"],
        "key": key,
        "choice": choice,
        "leader": leader_text(board, key, rows),
        "counted": counted_text(board),
        "shared": shared_text(board, key, rows),
        "statistics": [one.name for one in board.statistics],
        "data": list(dict.fromkeys(board.data)),
        "users": list(dict.fromkeys(of.user for of in board.panels)),
        "groups": list(dict.fromkeys(of.group for of in board.panels if of.group)),
        "round_word": words[0],
        "target_word": words[1],
        "columns": [
            {"name": one.name, "definition": definitions[one.name], "arrow": " ↑" if one.higher_is_better else " ↓"}
            for one in columns
        ],
        "rows": [_row(board, key, row.entry, row.place, range_text(row)) for row in rows[:FIRST_ROWS]],
        "left_out": len(rows) - FIRST_ROWS,
        "ranks_note": "Below a rank: the places that chance leaves open, all pairs of runs tested together.",
        "files": files,
        "targets": None if pages is None else targets_sheet(board, key, pages, anchors),
        "table": partial(sheet_html, most_rows=4 * FIRST_ROWS),
        "notes": notes_of(board),
        "told": told(board),
    }


def _row(board: Board, key: Key, entry: int, place: int, range_: str) -> dict[str, Any]:
    extract = board.entries[entry].extract
    values: list[tuple[str, str]] = []
    for statistic in [board.measure, *(one for one in board.statistics if one != board.measure)]:
        panel = board.panels[key._replace(statistic=statistic.name)]
        mean = panel.means[panel.entries.index(entry)] if entry in panel.entries else None
        texts = (
            ("–", "")
            if mean is None
            else (value_text(statistic, mean.mean), bounds_text(statistic, mean.low, mean.high))
        )
        values.append(texts)
    seconds, time = extract.seconds.get(key.user), board.entries[entry].time
    return {
        "place": place or "–",
        "range": range_,
        "name": board.names[entry],
        "about": about_text(board, entry),
        "numbers": values,
        "failures": extract.failures.get(key.user, 0),
        "seconds": seconds_text(float("nan") if seconds is None else seconds),
        "at": "" if time.year == 1 else f"{time:%Y-%m-%d}",
        "control": extract.ignores_image or extract.segmenter.sees_truth,
    }
