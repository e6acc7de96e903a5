"""Page of a comparison: one self-contained HTML file, with tables and results in further files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from segarena.files.atomic_write import write_atomic
from segarena.reports.html_document import document, macros
from segarena.reports.page_parts import Fold, Html, Note, Part, Section, Terms
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.html import section_values
from segarena.reports.sheets import Sheet
from segarena.reports.wording import count_text
from segarena.version import __version__
from segarena_people.comparison.answer_features import FEATURE_DEFINITIONS
from segarena_people.comparison.figures import (
    ScopeFeatures,
    bias_figure,
    click_heat_map,
    feature_panels,
    importance_figure,
    separation_figure,
)
from segarena_people.comparison.gallery import PictureReader, build_cards, build_guessing_pairs
from segarena_people.comparison.prompt_time_table import prompt_time_sheet
from segarena_people.comparison.result_sheets import (
    AUC_DEFINITION,
    bias_sheet,
    features_sheet,
    people_pairs_sheet,
    segmenter_ranking_sheet,
    separation_sheet,
    slug,
    tests_sheet,
    user_shift_sheet,
)
from segarena_people.comparison.results import ScopeResult
from segarena_people.comparison.segmenter_ranking import SegmenterRanking
from segarena_people.comparison.user_comparison import PEOPLE, UserComparison
from segarena_people.comparison.verdict_sentences import ranking_verdict, user_verdict
from segarena_people.prompts import PersonPrompt

_PACKAGE = "segarena_people.comparison"

MOST_CHARTS = 8
"""Maximum number of scopes in the figure of separability; further scopes appear only in its table."""

MOST_SENTENCES = 4
"""Maximum number of verdicts at the top of the page; further verdicts appear in small print."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenComparison:
    """Output files of a comparison: the page, the results as JSON, and the tables."""

    html: Path
    json: Path
    tables: Sequence[Path]


def write_comparison(
    comparison: UserComparison,
    folder: Path,
    *,
    command: str = "",
    picture_of: PictureReader | None = None,
    ranked: Sequence[SegmenterRanking] = (),
) -> WrittenComparison:
    """Write page, JSON and CSV files into a folder, which is created if needed.

    Args:
        comparison: result of the comparison.
        folder: output folder for comparison.html, comparison.json and one CSV file per table.
        command: command line that reproduces the comparison.
        picture_of: returns the picture to draw below the answers; None leaves pictures out.
        ranked: rankings of segmenters.

    Raises:
        StoreError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sections = build_sections(comparison, picture_of, ranked)
    page = render_comparison(comparison, sections, command=command, ranked=ranked)
    # Keyed by name, because the name becomes a file name.
    sheets: dict[str, Sheet] = {}
    for section in sections:
        for sheet in _sheets_in(section.parts):
            sheets[sheet.name] = sheet
    tables: list[Path] = []
    for name, sheet in sheets.items():
        tables.append(write_atomic(folder / f"{name}.csv", sheet_csv(sheet)))
    return WrittenComparison(
        html=write_atomic(folder / "comparison.html", page),
        json=write_atomic(folder / "comparison.json", encode_comparison(comparison, ranked)),
        tables=tables,
    )


def encode_comparison(comparison: UserComparison, ranked: Sequence[SegmenterRanking] = ()) -> bytes:
    """Return the results of a comparison as JSON; NaN and infinity become null."""
    scopes: list[dict[str, Any]] = []
    for one in comparison.scopes:
        scopes.append({**asdict(one), "ceiling": one.ceiling, "title": one.scope.title})
    found = {
        "people": {"name": comparison.name, "path": comparison.path, "terms": comparison.terms},
        "users": comparison.users,
        "verdict": verdicts(comparison, ranked),
        "notes": comparison.notes,
        "version": __version__,
        "scopes": scopes,
        "segmenters": list(map(asdict, ranked)),
    }
    return msgspec.json.format(msgspec.json.encode(_finite(found)), indent=1)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    # JSON has no NaN and no infinity.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def verdicts(comparison: UserComparison, ranked: Sequence[SegmenterRanking] = ()) -> list[str]:
    """Return a sentence on each user, over targets of every label, and on each ranking by the first statistic."""
    scopes = [found for found in comparison.scopes if not found.scope.label]
    several = len(scopes) > 1
    sentences: list[str] = []
    for found in scopes:
        prefix = f"{_capital(found.scope.title)}: " if several else ""
        for user in found.users:
            sentences.append(prefix + user_verdict(found, user))
    for ranking in ranked:
        if ranking.statistic == ranked[0].statistic:
            sentences.append(ranking_verdict(ranking))
    return sentences


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def render_comparison(
    comparison: UserComparison,
    sections: Sequence[Section],
    *,
    command: str = "",
    ranked: Sequence[SegmenterRanking] = (),
) -> str:
    """Return the page as one HTML document."""
    sentences = verdicts(comparison, ranked)
    users = ", ".join(comparison.users)
    return document(
        _PACKAGE,
        "comparison.html",
        style="comparison.css",
        scripts=("sorting.js", "page.js", "charts.js"),
        title=f"{users} compared with the people of {comparison.name}",
        verdict=sentences[:MOST_SENTENCES],
        ran=[_summary_text(comparison), *sentences[MOST_SENTENCES:]],
        notes=comparison.notes,
        command=command,
        terms=comparison.terms,
        version=__version__,
        **section_values(sections),
    )


def _summary_text(comparison: UserComparison) -> str:
    people = dict.fromkeys(given.row.person for given in comparison.answers if given.row.person)
    goals: set[tuple[str, str, int | None]] = set()
    for given in comparison.answers:
        goals.add((given.row.sample, given.row.target, given.row.plane))
    answers = count_text(len(comparison.answers), "answer")
    return f"{answers} of {count_text(len(people), 'person', 'people')} about {count_text(len(goals), 'object')}"


def build_sections(
    comparison: UserComparison,
    picture_of: PictureReader | None = None,
    ranked: Sequence[SegmenterRanking] = (),
) -> list[Section]:
    """Return the sections of the page in display order."""
    whole = [found for found in comparison.scopes if not found.scope.label]
    apart = separation_figure(comparison.scopes[:MOST_CHARTS], f"{AUC_DEFINITION}.")
    every = [
        Section("apart", "Separability from people", [apart, separation_sheet(comparison.scopes)])
    ]
    if ranked:
        shown: list[Part] = [
            bias_figure(ranked),
            segmenter_ranking_sheet(ranked),
            bias_sheet(ranked),
        ]
        every.append(Section("segmenters", "Consequences for segmenters", shown))
    answered: list[ScopeResult] = []
    for found in whole:
        if any(user.answered for user in found.users):
            answered.append(found)
    is_only = len(whole) == 1
    for found in answered:
        every.append(_gallery(comparison, found, picture_of, is_only=is_only))
    for found in whole:
        every += _difference_sections(comparison, found, is_only=is_only)
    seconds = prompt_time_sheet([(found.scope, _rows(comparison, found)) for found in whole])
    if seconds.rows:
        every.append(Section("seconds", "Seconds", [seconds]))
    features: dict[str, str] = {}
    for found in whole:
        features |= FEATURE_DEFINITIONS[found.scope.kind]
    return [*every, Section("notes", "Definitions", [Terms(_terms(features))])]


def _gallery(
    comparison: UserComparison,
    found: ScopeResult,
    picture_of: PictureReader | None,
    *,
    is_only: bool,
) -> Section:
    drawn = macros(_PACKAGE, "pictures.html")
    shown = [user.user for user in found.users if user.answered]
    riddles: list[Fold] = []
    for user in shown:
        pairs = build_guessing_pairs(comparison, found, user)
        if pairs:
            heading = f"Try it yourself: one {found.scope.one} is by a person, the other by {user}"
            riddles.append(Fold(heading, [Html(str(drawn.riddles(pairs, user)))]))
    lead = (
        "The same goals (grey), with answers by people (black) and by simulated users (in colour)."
    )
    title = "Side by side" if is_only else f"Side by side: {found.scope.title}"
    cards = Html(str(drawn.gallery(build_cards(comparison, found, picture_of))))
    return Section(
        f"gallery-{slug(found.scope.title)}",
        title,
        [Note(lead, is_lead=True), cards, *riddles],
    )


def _difference_sections(
    comparison: UserComparison,
    found: ScopeResult,
    *,
    is_only: bool,
) -> list[Section]:
    """Return the sections on differences: feature importance, feature distributions, and other tests."""
    drawn = _scope_features(comparison, found)
    importance = importance_figure(found)
    heat_map = click_heat_map(drawn) if found.scope.kind == "click" else None
    parts: list[Part] = [part for part in (importance, heat_map) if part is not None]
    for place, user in enumerate(found.users):
        panels = feature_panels(found, user, place, drawn)
        sheet = features_sheet(found, user)
        inner = [part for part in (panels, sheet) if part is not None]
        if not user.features:
            continue
        # Only the feature panels of the first user are expanded; otherwise the page would be too
        # long.
        if place == 0:
            parts += inner
        else:
            parts.append(Fold(f"Features of {user.user}", inner))
    sheets = (tests_sheet(found), user_shift_sheet(found), people_pairs_sheet(found))
    parts += [sheet for sheet in sheets if sheet.rows]
    if is_only:
        title = "Differences by feature"
    else:
        title = f"Differences by feature: {found.scope.title}"
    return [Section(f"why-{slug(found.scope.title)}", title, parts)]


def _rows(comparison: UserComparison, found: ScopeResult) -> list[PersonPrompt]:
    return [comparison.answers[place].row for place in comparison.indices(found.scope)]


def _scope_features(comparison: UserComparison, found: ScopeResult) -> ScopeFeatures:
    """Return the features of people and users in a scope."""
    places = comparison.indices(found.scope)
    rows = _rows(comparison, found)
    people: dict[str, list[Any]] = {}
    for row, place in zip(rows, places, strict=True):
        values = comparison.measured[PEOPLE][place].values
        if values is not None:
            people.setdefault(row.person, []).append(values)
    users = {user: comparison.values(user, found.scope) for user in comparison.users}
    return ScopeFeatures(people=people, users=users)


def _terms(features: Mapping[str, str]) -> list[str]:
    definitions: list[str] = []
    for name, text in features.items():
        definitions.append(f"{name.replace('_', ' ')}: {text}.")
    return [
        f"AUC: {AUC_DEFINITION}. The classifier has 150 boosted trees; it is tested on images, patients or sequences "
        "that it was not trained on, with equally many answers from both sides. Intervals are over these images.",
        "The human ceiling: no user needs to be closer to people than people are to each other. "
        "It is the AUC between two people if several answered the same questions, otherwise 0.5 (guessing); "
        "the AUC between random halves of all answers is then shown for comparison.",
        *definitions,
    ]


def _sheets_in(parts: Sequence[Part]) -> list[Sheet]:
    found: list[Sheet] = []
    for part in parts:
        if isinstance(part, Sheet):
            found.append(part)
        if isinstance(part, Fold):
            found += _sheets_in(part.parts)
    return found
