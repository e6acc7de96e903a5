"""Pages of a board: its ranking, and the values of a sample or a run.

Pages link to stylesheets and scripts instead of embedding them, so that they work under the policy
`script-src 'self'; style-src 'self'`, both on a server and from a folder. Templates escape all
values. The data for the script is embedded as JSON, which browsers do not execute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup

from segarena.reports.boards.board import CHOICES, Board, Choice
from segarena.reports.boards.board_figures import curves_figure, history_figure
from segarena.reports.boards.board_tables import (
    board_ranking_sheet,
    board_targets_sheet,
    run_sheet,
    sample_sheet,
    standing_sheet,
)
from segarena.reports.boards.board_wording import (
    board_notes,
    leader_text,
    median_seconds,
    run_remarks,
    shared_text,
    size_text,
    time_text,
)
from segarena.reports.boards.json_export import page_data
from segarena.reports.boards.statistic_rankings import PanelKey
from segarena.reports.html_document import macros, read_script, read_text, templates
from segarena.reports.page_parts import FigureRow, Gallery, Html, Note, Part, Section, Terms
from segarena.reports.renderers.html import section_values
from segarena.reports.run_statistics import TargetKey
from segarena.reports.sheets import Sheet
from segarena.reports.table_html import NOSCRIPT_ROWS
from segarena.reports.wording import count_text, isolation_text, name_with_words, seconds_text

_REPORTS = "segarena.reports"
_BOARDS = "segarena.reports.boards"

STYLES = ("page.css", "board.css")

BOARD_SCRIPTS = ("page.js", "sorting.js", "charts.js", "board.js")

SAMPLE_SCRIPTS = ("page.js", "sorting.js", "charts.js", "viewer.js")

_OWN_FILES = ("board.css", "board.js")

ASSETS: Mapping[str, str] = {
    **dict.fromkeys((*STYLES, *BOARD_SCRIPTS, *SAMPLE_SCRIPTS), _REPORTS),
    **dict.fromkeys(_OWN_FILES, _BOARDS),
}
"""Files that the pages link to, with the package that contains each."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'"
)
"""Content security policy of the pages."""


def asset_text(name: str) -> str:
    """Return the text of one of `ASSETS`."""
    read = read_script if name.endswith(".js") else read_text
    return read(ASSETS[name], name)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPage:
    """A page of a board: a heading, and sections of tables, figures and pictures.

    Attributes:
        title: heading.
        kicker: short text above the heading.
        sections: the sections, as in a report.
        home: address of the board; empty on the page of the board itself.
        banner: warning below the heading.
        verdict: the result in a few short sentences.
        size: description of what the page covers.
        facts: further facts by name.
        links: address, text and relation of links to neighbouring pages.
        scripts: names of the scripts.
        data: data for the script; None if there is none.
        footer: text at the end of the page; a fragment has no footer.
    """

    title: str
    kicker: str
    sections: Sequence[Section]
    home: str = ""
    banner: str = ""
    verdict: str = ""
    size: str = ""
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    links: Sequence[tuple[str, str, str]] = ()
    scripts: Sequence[str] = SAMPLE_SCRIPTS
    data: Mapping[str, Any] | None = None
    footer: str = ""

    def html(self, assets: str = "") -> str:
        """Render the page; `assets` is a prefix of the links to `ASSETS`, such as "files/"."""
        page = templates(_BOARDS).get_template("page.html")
        return page.render(
            style="",
            script="",
            policy=POLICY,
            title=self.title,
            styles=[f"{assets}{name}" for name in STYLES],
            modules=[f"{assets}{name}" for name in self.scripts],
            **self._values(),
        )

    def fragment(self) -> Markup:
        """Render the content for inclusion in another page, which must link `STYLES` and the scripts."""
        content = templates(_BOARDS).get_template("content.html")
        return Markup(content.render(**self._values()))  # noqa: S704 - the template has escaped it

    def _values(self) -> dict[str, Any]:
        # Readers of a sample page look at all of its targets, so expand all cards.
        values = section_values(self.sections, most_rows=NOSCRIPT_ROWS, open_cards=99)
        return {**values, "page": self, "is_served": False}


def board_page(
    board: Board,
    *,
    choice: Choice = "all",
    files: Sequence[tuple[str, str]] = (),
    pages: Mapping[str, str] | None = None,
    anchors: Mapping[TargetKey, str] | None = None,
    runs: Sequence[str] = (),
) -> BoardPage:
    """Build the page of a board.

    Args:
        board: the board.
        choice: which runs of each participant the page shows initially.
        files: address and name of each downloadable file, such as the CSV.
        pages: page address of each sample; None omits the table of targets.
        anchors: anchor of each target on the page of its sample.
        runs: page address of each entry; empty if entries have no pages.
    """
    key = board.first_key
    extract = board.entries[0].extract
    rows = board.rows(key, choice)
    choices = _choices(board)
    ranking: list[Part] = [
        Html(_macro("ranking_form", _form_values(board, choice, choices))),
        _page_ranking(board, key, choice, runs),
        Html(_macro("below_ranking", {"shared": shared_text(board, key, rows), "files": files})),
    ]
    targets: list[Part] = []
    if pages is not None:
        targets.append(board_targets_sheet(board, key, pages, anchors))
    charts: list[Part] = []
    figures = list(filter(None, (curves_figure(board, choice), history_figure(board))))
    if figures:
        charts.append(Html(_macro("curves_form", {})))
        charts.append(FigureRow(figures))
    sections = [
        Section("ranking", "Ranking", ranking),
        Section("figures", "Figures", charts),
        Section("targets", f"Every {extract.words[1]}", targets),
        Section("notes", "Definitions", [Terms(board_notes(board))]),
    ]
    banner = ""
    if board.frozen:
        banner = f"Frozen: runs that finished after {board.frozen} are not shown."
    return BoardPage(
        title=board.title,
        kicker=f"{extract.rules['name']} · board",
        sections=sections,
        banner=banner,
        verdict=leader_text(board, key, rows),
        size=size_text(board),
        scripts=BOARD_SCRIPTS,
        data=page_data(board, runs, choices),
        footer=f"Made by segarena from the records of {count_text(len(board.entries), 'run')}; "
        "nothing was recomputed.",
    )


def _macro(name: str, values: Mapping[str, Any]) -> str:
    return str(getattr(macros(_BOARDS, "controls.html"), name)(**values))


def _choices(board: Board) -> Sequence[Choice]:
    """Return the selections of runs that a reader can choose from; only one if each participant has a single run."""
    participants: set[str] = set()
    for name in board.participants:
        if name in participants:
            return CHOICES
        if name:
            participants.add(name)
    return CHOICES[:1]


def _form_values(
    board: Board,
    choice: Choice,
    choices: Sequence[Choice],
) -> dict[str, Any]:
    users: dict[str, None] = {}
    groups: dict[str, None] = {}
    for key in board.panels:
        users[key.user] = None
        if key.group:
            groups[key.group] = None
    words: dict[str, str] = {}
    for entry in board.entries:
        words.update(entry.extract.user_words)
    return {
        "statistics": board.statistic_names,
        "data": list(dict.fromkeys(board.data)),
        "users": {user: name_with_words(user, words) for user in users},
        "groups": list(groups),
        "target": board.entries[0].extract.words[1],
        "choices": choices,
        "choice": choice if choice in choices else choices[0],
    }


def _page_ranking(
    board: Board,
    key: PanelKey,
    choice: Choice,
    runs: Sequence[str],
) -> Sheet:
    """Return the ranking with the columns of the page; participants are in the notes below the names of runs."""
    sheet = board_ranking_sheet(board, key, choice, runs)
    columns = list(sheet.keys)
    columns.remove("participant")
    columns.remove("targets")
    caption = (
        "Means over targets with 95 % intervals. Below a rank: the range of possible ranks, with all pairs of runs "
        "tested together."
    )
    return replace(sheet.pick(*columns), caption=caption)


def sample_page(
    board: Board,
    key: PanelKey,
    sample: str,
    *,
    title: str = "",
    home: str = "",
    choice: Choice = "all",
    pictures: Gallery | None = None,
    before: str = "",
    after: str = "",
) -> BoardPage:
    """Build the page of a sample: the pictures and, for each of its targets, the value of every run.

    Args:
        board: the board.
        key: key of the panel that the page shows.
        sample: name of the sample.
        title: heading; the name of the sample by default.
        home: address of the board.
        choice: which runs of each participant the page shows.
        pictures: gallery with the cards of the sample's targets; None if there are no pictures.
        before: address of the previous page.
        after: address of the next page.
    """
    sheet = sample_sheet(board, key, sample, choice)
    # The first three columns are rank, run and participant; each further column is a target.
    targets = count_text(len(sheet.head) - 3, board.entries[0].extract.words[1])
    runs = count_text(len(sheet.rows), "run")
    gallery: list[Part] = []
    if pictures is not None:
        gallery.append(pictures)
        gallery += map(Note, pictures.notes)
    links: list[tuple[str, str, str]] = []
    if before:
        links.append((before, "← previous", "prev"))
    if after:
        links.append((after, "next →", "next"))
    return BoardPage(
        title=title or sample,
        kicker=board.title,
        home=home,
        size=f"{targets}, {runs}",
        links=links,
        sections=[
            Section("pictures", "Pictures", gallery),
            Section("values", "Every run", [sheet]),
        ],
    )


def run_page(
    board: Board,
    key: PanelKey,
    entry: int,
    *,
    home: str = "",
    pages: Mapping[str, str] | None = None,
    anchors: Mapping[TargetKey, str] | None = None,
    own_page: str = "",
) -> BoardPage:
    """Build the page of a run: its rank in every statistic, and its value for every target.

    Args:
        board: the board.
        key: key of the panel whose targets the page shows.
        entry: index of the entry.
        home: address of the board.
        pages: page address of each sample; None omits the targets.
        anchors: anchor of each target on the page of its sample.
        own_page: address of a page with every round of the run; empty if there is none.
    """
    extract = board.entries[entry].extract
    facts = {
        # Empty for a control; the page omits empty facts.
        "Participant": board.participants[entry],
        "Finished": time_text(board.entries[entry].time, "%Y-%m-%d %H:%M UTC"),
        "Data": board.data[entry],
        "Samples": f"{extract.done} of {extract.samples}",
        "Failures": f"{sum(extract.failures.values())}",
        "Not loaded": count_text(extract.unloaded, "sample") if extract.unloaded else "",
        "Isolation": isolation_text(extract.segmenter.isolation),
        f"Time / {extract.words[0]}": seconds_text(median_seconds(extract, key.user)),
    }
    targets: list[Part] = []
    if pages is not None:
        targets.append(run_sheet(board, key, entry, pages, anchors))
    links: list[tuple[str, str, str]] = []
    if own_page:
        links.append((own_page, "Every round of this run", "related"))
    return BoardPage(
        title=board.names[entry],
        kicker=board.title,
        home=home,
        verdict=run_remarks(board, entry, with_participant=False),
        facts=facts,
        links=links,
        sections=[
            Section("values", "Every statistic", [standing_sheet(board, entry)]),
            Section("targets", f"Every {extract.words[1]}", targets),
        ],
    )
