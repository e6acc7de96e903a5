"""The pages of a board as HTML: no script and no style in them, only links to files beside them.

So they work under a policy of `script-src 'self'; style-src 'self'`, on a server and from a folder. Whatever the
template prints is escaped; the JSON that the script draws from is data, which browsers do not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

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
from segarena.reports.renderers import sheet_html
from segarena.reports.run_statistics import TargetKey
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
"""Files that the pages link to, and the package that has each."""

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
"""What the browser may load and run."""


_NO_PICTURES = Gallery(lead="", cards=(), told="")

FIRST_ROWS = 100
"""Rows that can be read without the script."""


def asset_text(name: str) -> str:
    """Return one of `ASSETS`."""
    return (read_script if name.endswith(".js") else read_text)(ASSETS[name], name)


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
        board: what stands on it.
        assets: what stands before the names of `ASSETS` in links: a folder or an address with a "/" at its end.
        choice: which runs of a participant are shown at first.
        files: address and name of each file that is offered beside it, such as the CSV.
        pages: the address of each sample's page; None leaves out the table of targets.
        anchors: where a target stands on the page of its sample.
        runs: the address of each entry's page; none without.
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
    """Return the same for a page of one's own, which links `STYLES`, and the scripts of a board with `defer`."""
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
    """Return the same for a page of one's own, which links `STYLES` and `SAMPLE_SCRIPTS`; `title` is above it."""
    return _piece(
        "sample", _sample_view(board, key, sample, title, home, choice, pictures, before, after)
    )


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
    """Return the page of a run: where it stands in every statistic, and each target, those first that it loses most at.

    Args:
        board: what it stands on.
        key: the panel whose targets it shows.
        entry: its number.
        assets: as in `board_html`.
        home: the address of the board.
        pages: the address of each sample's page; None leaves out the targets.
        anchors: where a target stands on the page of its sample.
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
    """Return the same for a page of one's own; `own_page` is where every round of the run is, if that can be seen."""
    return _piece("run", _run_view(board, key, entry, home, pages, None, own_page))


def _piece(name: str, view: Mapping[str, Any]) -> Markup:
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
        "table": partial(sheet_html, most_rows=FIRST_ROWS),
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
        "table": partial(sheet_html, most_rows=FIRST_ROWS),
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
    """Return what the template names, for the panel that is shown first."""
    key = board.first_key
    words = board.entries[0].extract.words
    columns = [board.measure, *(one for one in board.statistics if one != board.measure)]
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
            for row in rows[:FIRST_ROWS]
        ],
        "left_out": len(rows) - FIRST_ROWS,
        "ranks_note": "Below a rank: the places that chance leaves open, all pairs of runs tested together.",
        "files": files,
        "targets": None if pages is None else board_targets_sheet(board, key, pages, anchors),
        "table": partial(sheet_html, most_rows=4 * FIRST_ROWS),
        "notes": board_notes(board),
        "told": board_data(board, runs),
    }


def _row(
    board: Board, key: PanelKey, entry: int, place: int, range_: str, runs: Sequence[str]
) -> dict[str, Any]:
    extract = board.entries[entry].extract
    values: list[tuple[str, str]] = []
    for statistic in [board.measure, *(one for one in board.statistics if one != board.measure)]:
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
