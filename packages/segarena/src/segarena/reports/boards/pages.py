"""The pages of a board as HTML, with links to stylesheets and scripts instead of inline ones.

So they work under the policy `script-src 'self'; style-src 'self'`, on a server and from a folder.
Templates escape all values; browsers do not execute the embedded JSON, from which the script draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from segarena.reports.boards.json_export import board_data
from segarena.reports.boards.panels import PanelKey
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

ASSETS: Mapping[str, str] = {
    name: _BOARDS if name in ("board.css", "board.js", "curves.js") else _REPORTS
    for name in dict.fromkeys((*STYLES, *_BOARD_SCRIPTS, *SAMPLE_SCRIPTS))
}
"""Files that the pages link to, with the package of each."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'"
)
"""Content security policy of the pages."""


_NO_PICTURES = Gallery(lead="", cards=(), told="")


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
    target = board.entries[0].extract.words[1]
    return {
        "title": title,
        "board_title": board.title,
        "counted": f"{count_text(len(sheet.head) - 3, target)}, {count_text(len(sheet.rows), 'run')}",
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
    time = board.entries[entry].time
    seconds = extract.seconds.get(key.user)
    facts = {
        "Participant": board.participants[entry],
        "Finished": "" if time.year == 1 else f"{time:%Y-%m-%d %H:%M} UTC",
        "Data": board.data[entry],
        "Samples": f"{extract.done} of {extract.samples}",
        "Failures": f"{sum(extract.failures.values())}",
        f"Time / {extract.words[0]}": seconds_text(float("nan") if seconds is None else seconds),
    }
    return {
        "title": board.names[entry],
        "verdict": run_remarks(board, entry, with_participant=False),
        "board_title": board.title,
        "home": home,
        "facts": {name: text for name, text in facts.items() if text},
        "own_page": own_page,
        "sheet": standing_sheet(board, entry),
        "targets": None if pages is None else run_sheet(board, key, entry, pages, anchors),
        "target_word": extract.words[1],
        "table": partial(sheet_html, most_rows=NOSCRIPT_ROWS),
    }


def _page(template: str, assets: str, scripts: Sequence[str], **values: Any) -> str:
    page = templates(_BOARDS).get_template(template)
    return page.render(assets=assets, styles=STYLES, scripts=scripts, policy=POLICY, **values)


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
    words = board.entries[0].extract.words
    columns = _ordered_statistics(board)
    definitions = board.entries[0].extract.definitions
    rows = board.rows(key, choice)
    return {
        "board": board,
        "benchmark": board.entries[0].extract.rules["name"],
        "key": key,
        "choice": choice,
        "leader": leader_text(board, key, rows),
        "counted": size_text(board),
        "shared": shared_text(board, key, rows),
        "statistics": [one.name for one in board.statistics],
        "data": list(dict.fromkeys(board.data)),
        "users": list(dict.fromkeys(of.user for of in board.panels)),
        "groups": list(dict.fromkeys(of.group for of in board.panels if of.group)),
        "round_word": words[0],
        "target_word": words[1],
        "columns": [
            {
                "name": one.name,
                "definition": definitions[one.name],
                "arrow": " ↑" if one.higher_is_better else " ↓",
            }
            for one in columns
        ],
        "rows": [
            _row(board, key, row.entry, row.place, range_text(row), runs)
            for row in rows[:NOSCRIPT_ROWS]
        ],
        "left_out": len(rows) - NOSCRIPT_ROWS,
        "ranks_note": "Below a rank: the range of possible ranks, with all pairs of runs tested together.",
        "files": files,
        "targets": None if pages is None else board_targets_sheet(board, key, pages, anchors),
        "table": partial(sheet_html, most_rows=4 * NOSCRIPT_ROWS),
        "notes": board_notes(board),
        "told": board_data(board, runs),
    }


def _ordered_statistics(board: Board) -> list[Statistic]:
    """Return the statistics of a board, its measure first."""
    return [board.measure, *(one for one in board.statistics if one != board.measure)]


def _row(
    board: Board, key: PanelKey, entry: int, place: int, range_: str, runs: Sequence[str]
) -> dict[str, Any]:
    extract = board.entries[entry].extract
    values: list[tuple[str, str]] = []
    for statistic in _ordered_statistics(board):
        panel = board.panels[key._replace(statistic=statistic.name)]
        mean = panel.means[panel.entries.index(entry)] if entry in panel.entries else None
        if mean is None:
            texts = ("–", "")
        else:
            texts = (value_text(statistic, mean.mean), bounds_text(statistic, mean.low, mean.high))
        values.append(texts)
    seconds = extract.seconds.get(key.user)
    time = board.entries[entry].time
    return {
        "place": place or "–",
        "range": range_,
        "name": board.names[entry],
        "page": runs[entry] if runs else "",
        "about": run_remarks(board, entry),
        "numbers": values,
        "failures": extract.failures.get(key.user, 0),
        "seconds": seconds_text(float("nan") if seconds is None else seconds),
        "at": "" if time.year == 1 else f"{time:%Y-%m-%d}",
        "control": extract.ignores_image or extract.segmenter.sees_truth,
    }
