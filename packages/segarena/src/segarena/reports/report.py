"""The report as one self-contained HTML file that needs no network."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from segarena.reports.baselines import floor_text
from segarena.reports.dialogue_gallery import BUDGET_BYTES, all_dialogue_keys, make_gallery
from segarena.reports.figures import figures
from segarena.reports.general_tables import (
    MAX_HARDEST_ROWS,
    failures_parts,
    hardest_sheet,
    paired_sheet,
    summary_sheet,
)
from segarena.reports.hardest_targets import MAX_FAILED_CARDS, failed_dialogue_keys
from segarena.reports.header import (
    benchmark_facts,
    report_title,
    report_warnings,
    run_description,
    run_facts,
)
from segarena.reports.html_document import document
from segarena.reports.human_time import human_time_parts
from segarena.reports.page_parts import FigureRow, Fold, Note, Part, Section, Terms, are_empty
from segarena.reports.pages import Page, fold_title
from segarena.reports.people_section import people_parts
from segarena.reports.person_variation import person_variation_parts
from segarena.reports.ranking_tables import pairs_sheet, ranks_sheet
from segarena.reports.recorded_run import Run
from segarena.reports.renderers.html import section_values
from segarena.reports.round_table import DialogueId
from segarena.reports.run_statistics import paired_rows, user_names
from segarena.reports.sheets import Sheet
from segarena.reports.solved_table import solved_sheet
from segarena.reports.targets_table import target_values_sheet
from segarena.reports.wording import (
    EARLY_END_NOTE,
    FAILURES_NOTE,
    FEW_SAMPLES,
    baseline_text,
    count_text,
    intervals_text,
    paired_text,
    pairing_text,
    protocol_text,
    statistic_definition,
)

USER_COLUMNS = ("user", "User", "Prompts")
"""Keys of the columns that hold names of users."""

MAX_OPEN_SUMMARY_RUNS = 24
"""With more runs, the summary is collapsed and placed after the ranking."""

VIEWER_HINT = "Run segarena look RUN... with these run folders to view every dialogue at any zoom next to this report."
"""Note below the gallery of a report that is opened outside the viewer."""

MAX_TARGET_ROWS = 5000
"""Maximum number of rows in the table of every target; a browser takes seconds to lay out more."""

MAX_OPEN_COMPARED_RUNS = 5
"""With more runs, the differences to the first run are collapsed."""


def report_sections(own: Page, *, shows_all: bool = False) -> list[Section]:
    """Return the non-empty sections of a page, from top to bottom.

    With `shows_all`, the gallery contains every target regardless of the size of the page.
    """
    every = [*own.sections(), *_general_sections(own, shows_all=shows_all)]
    sections: list[Section] = []
    for section in every:
        if not are_empty(section.parts):
            parts = [_with_user_words(part, own.users_in_words) for part in section.parts]
            sections.append(replace(section, parts=parts))
    return sections


def _with_user_words(part: Part, words: Mapping[str, str]) -> Part:
    """Describe the prompts of users below their names in tables."""
    if isinstance(part, Sheet):
        return part.with_remarks(USER_COLUMNS, words)
    if isinstance(part, Fold):
        return replace(part, parts=[_with_user_words(inner, words) for inner in part.parts])
    return part


def report_html(
    own: Page,
    sections: Sequence[Section] | None = None,
    *,
    is_served: bool = False,
    file_address: Callable[[str], str] | None = None,
) -> str:
    """Render the report of a page's runs as one HTML document, self-contained unless `file_address` is given.

    Args:
        own: the page of the runs.
        sections: the sections; None builds them.
        is_served: whether the page may load further cards from its server; see
            `segarena.reports.report_server`.
        file_address: function that returns the address of a stylesheet or script; None embeds them.
    """
    sections = report_sections(own) if sections is None else sections
    return document(
        "segarena.reports",
        "report.html",
        scripts=("sorting.js", "page.js", "charts.js", "viewer.js"),
        title=report_title(own.runs),
        benchmark=own.runs[0].config.benchmark.name,
        mode=protocol_text(own.runs[0]),
        alarms=report_warnings(own.every_run),
        verdict=own.verdict,
        ran=run_description(own),
        facts=benchmark_facts(own),
        runs=[(run.label, run.config.command, run_facts(run)) for run in own.every_run],
        versions=", ".join(dict.fromkeys(run.config.version for run in own.every_run)),
        is_served=is_served,
        file_address=file_address,
        **section_values(sections),
    )


def _general_sections(own: Page, *, shows_all: bool) -> list[Section]:
    runs = own.whole_runs
    cards, shown = _gallery(own, shows_all=shows_all)
    summary = own.summary(partial(_summary, own=own))
    mean_parts = [*summary, _floors(own), Note(_summary_notes(own)), *own.beside]
    means = Section("summary", "Summary", mean_parts)
    ranks = Section("ranks", "Ranking", _ranks(own))
    # A long summary comes after the ranking.
    first_two = [ranks, means] if len(runs) > MAX_OPEN_SUMMARY_RUNS else [means, ranks]
    every = [
        *first_two,
        Section("differences", "Paired differences", _differences(own)),
        Section("solved", f"Solved by {own.word}", _solved(own)),
        Section("between", "Between people", person_variation_parts(runs)),
        Section("people", "People", people_parts(own)),
        Section("figures", "Figures", [FigureRow(figures(own))]),
        Section("pace", "Human time", human_time_parts(own)),
        Section("hardest", f"Hardest {own.target_word}s", [_hardest(own, shown)]),
        Section("targets", f"Every {own.target_word}", _targets(own, shown)),
        Section("gallery", own.gallery_title, cards),
        Section("failures", "Failures", failures_parts(own.every_run)),
        Section("notes", "Definitions", [_definitions(runs)]),
    ]
    return [section for section in every if section.anchor not in own.leaves_out]


def _summary(
    runs: Sequence[Run],
    caption: str,
    *,
    own: Page,
) -> Part:
    pace = own.pace if own.shows_person_seconds else None
    sheet = summary_sheet(runs, caption, target=own.target_word, pace=pace)
    keys = ["user", *_run_columns(runs), *runs[0].statistic_names]
    if pace is not None:
        keys.append("person/dialogue")
    sheet = _without_user(sheet.pick(*keys, "time/round", "targets", "failures"), runs)
    if len(runs) > MAX_OPEN_SUMMARY_RUNS:
        return Fold(fold_title(sheet), [sheet])
    return sheet


def _run_columns(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the keys of the summary columns that identify a run."""
    if len({run.data for run in runs}) > 1:
        return ("dataset", "name")
    return ("segmenter",)


def _floors(own: Page) -> Part:
    """Tabulate the floors, one row per user and floor; None if there are none."""
    if not own.floors:
        return None
    floors = own.usual_floors
    sheet = replace(summary_sheet(floors, floor_text(own.floors)), name="floors")
    # Same columns as in the summary of the other runs.
    keys = ("user", *_run_columns(own.every_run), *floors[0].statistic_names, "targets")
    return _without_user(sheet.pick(*keys), floors)


def _without_user(sheet: Sheet, runs: Sequence[Run]) -> Sheet:
    """Remove the user column from a table if there is only one user."""
    if len(user_names(runs)) > 1:
        return sheet
    keys = [key for key in sheet.keys if key != "user"]
    return sheet.pick(*keys)


def without_empty(sheet: Sheet) -> Sheet:
    """Remove columns in which all cells are empty."""
    if not sheet.rows:
        return sheet
    keys: list[str] = []
    for index, key in enumerate(sheet.keys):
        if any(row[index] != "" for row in sheet.rows):
            keys.append(key)
    return sheet.pick(*keys)


def _summary_notes(own: Page) -> str:
    runs = own.whole_runs
    left_out = runs[0].left_out
    texts = [intervals_text(own.sample_word, own.target_word)]
    few = _count_few_samples(runs)
    if few is not None:
        count = count_text(few, own.sample_word)
        texts.append(f"With only {count}, the intervals are rough.")
    if len(runs) > 1:
        has_several_users = len(user_names(runs)) > 1
        scope = "value for each user" if has_several_users else "value"
        texts.append(f"Underlined: the best {scope}.")
    if left_out:
        texts.append(f"Omitted because the runs have too few rounds: {', '.join(left_out)}.")
    return " ".join(texts)


def _count_few_samples(runs: Sequence[Run]) -> int | None:
    """Return the number of samples with a finished dialogue if it is below `FEW_SAMPLES`, else None."""
    samples: set[tuple[str, str]] = set()
    for run in runs:
        for dialogue in run.finished():
            samples.add((run.data, dialogue.sample))
            if len(samples) >= FEW_SAMPLES:
                return None
    return len(samples)


def _ranks(own: Page) -> list[Part]:
    runs = own.usual_runs
    statistic = own.decides
    if len(runs) <= 2 or statistic is None or not own.verdict:
        return []
    parts: list[Part] = [ranks_sheet(runs, statistic)]
    pairs = pairs_sheet(runs, statistic)
    if pairs.rows:
        parts.append(Fold(fold_title(pairs), [pairs]))
    return parts


def _differences(own: Page) -> list[Part]:
    runs = own.usual_runs
    if len(runs) < 2:
        return []
    if not paired_rows(runs):
        return [Note(pairing_text(runs))]
    sheet = _without_user(paired_sheet(runs, target=own.target_word), runs)
    texts = [paired_text(own.sample_word, own.target_word), pairing_text(runs)]
    note = Note(" ".join(text for text in texts if text))
    parts: list[Part] = [sheet, note]
    # For many runs, the ranking is more informative.
    if len(runs) > MAX_OPEN_COMPARED_RUNS:
        return [Fold(f"Differences to {baseline_text(runs)}", parts)]
    return parts


def _solved(own: Page) -> list[Part]:
    statistic = own.decides
    runs = own.usual_runs
    if statistic is None or statistic.kind != "noc":
        return []
    if "noc" in own.leaves_out or runs[0].rounds < 2:
        return []
    sheet = solved_sheet(runs, statistic, word=own.word, target=own.target_word)
    sheet = _without_user(sheet, runs)
    if len(runs) > MAX_OPEN_COMPARED_RUNS:
        return [Fold(fold_title(sheet), [sheet])]
    return [sheet]


def _hardest(own: Page, shown: Mapping[DialogueId, str]) -> Part:
    # Ranking the targets is expensive, so skip it if the page omits the table.
    if "hardest" in own.leaves_out or not own.ranked:
        return None
    return without_empty(hardest_sheet(own.whole_runs, own.ranked, shown))


def _targets(own: Page, shown: Mapping[DialogueId, str]) -> list[Part]:
    runs = own.usual_runs
    if own.decides is None:
        return []
    sheet = target_values_sheet(
        runs, own.decides, shown, target=own.target_word, limit=MAX_TARGET_ROWS
    )
    if not sheet.rows:
        return []
    sheet = without_empty(_without_user(sheet, runs))
    if len(sheet.rows) > MAX_HARDEST_ROWS:
        return [Fold(fold_title(sheet), [sheet])]
    return [sheet]


def _gallery(own: Page, *, shows_all: bool) -> tuple[list[Part], Mapping[DialogueId, str]]:
    """Return the gallery, and by dialogue the id of its card or, without a card, its address in the viewer."""
    if "gallery" in own.leaves_out:
        return [], {}
    if own.pictures is None:
        return [Note("No pictures: no installed package can draw samples of this kind.")], {}
    every = all_dialogue_keys(own)
    if shows_all:
        keys = every
        budget = math.inf
    else:
        failed = failed_dialogue_keys(own.shown_runs)[:MAX_FAILED_CARDS]
        keys = list(dict.fromkeys([*own.chosen(own.pictures), *failed]))
        budget = BUDGET_BYTES
    gallery = make_gallery(own, own.pictures, keys, every=every, budget_bytes=budget)
    parts: list[Part] = [Note(note) for note in gallery.notes]
    parts.append(gallery)
    if own.viewer is None:
        parts.append(Note(VIEWER_HINT))
        return parts, gallery.shown
    addresses = {key: own.viewer(key) for key in every}
    return parts, {**addresses, **gallery.shown}


def _definitions(runs: Sequence[Run]) -> Part:
    definitions = [statistic_definition(statistic, runs[0]) for statistic in runs[0].summary]
    return Terms([*definitions, EARLY_END_NOTE, FAILURES_NOTE])
