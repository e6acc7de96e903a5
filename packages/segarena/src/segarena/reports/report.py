"""The report as one HTML file that needs nothing else, on any machine, without a network."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from segarena.reports.baselines import floor_text
from segarena.reports.figures import figures
from segarena.reports.gallery import BUDGET_BYTES, all_dialogue_keys, make_gallery
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
from segarena.reports.recorded_run import DialogueId, Run
from segarena.reports.run_statistics import paired_rows, user_names
from segarena.reports.sectioned import section_values
from segarena.reports.sheets import Sheet
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

MAX_OPEN_SUMMARY_RUNS = 24
"""Of more runs the summary is folded away, below the ranking."""

VIEWER_HINT = "segarena look RUN..., with these run folders, shows every dialogue at any zoom, and this report beside it."
"""Below the gallery of a report that is no page of the viewer."""

MAX_OPEN_COMPARED_RUNS = 5
"""Of more runs the differences to the first are folded away."""


def report_sections(own: Page, *, shows_all: bool = False) -> list[Section]:
    """Return what a page shows, from top to bottom; a section without anything in it is left out.

    With `shows_all` the gallery has every target, however large the page gets.
    """
    every = [*own.sections(), *_general_sections(own, shows_all=shows_all)]
    return [section for section in every if not are_empty(section.parts)]


def report_html(
    own: Page,
    sections: Sequence[Section] | None = None,
    *,
    is_served: bool = False,
    file_address: Callable[[str], str] | None = None,
) -> str:
    """Return the report of a page's runs as one HTML document, self-contained unless `file_address` is given.

    Args:
        own: the page.
        sections: what it shows, where that is made already.
        is_served: whether the page may ask where it came from for further cards; see `segarena.reports.report_server`.
        file_address: gives where a stylesheet or script is loaded from; None puts them into the page.
    """
    sections = report_sections(own) if sections is None else sections
    return document(
        "segarena.reports",
        "report.html",
        scripts=("sorting.js", "page.js", "charts.js", "rounds.js", "viewer.js"),
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
    summary = own.summary(partial(_summary, target=own.target_word))
    means = Section(
        "summary", "Summary", [*summary, _floors(own), Note(_summary_notes(own)), *own.beside]
    )
    ranks = Section("ranks", "Ranking", _ranks(own))
    every = [
        *([ranks, means] if len(runs) > MAX_OPEN_SUMMARY_RUNS else [means, ranks]),
        Section("differences", "Paired differences", _differences(own)),
        Section("between", "Between people", person_variation_parts(runs)),
        Section("people", "People", people_parts(own)),
        Section("figures", "Figures", [FigureRow(figures(own))]),
        Section("pace", "A person's seconds", human_time_parts(own)),
        Section("hardest", f"Hardest {own.target_word}s", [_hardest(own, shown)]),
        Section("targets", f"Every {own.target_word}", _targets(own, shown)),
        Section("gallery", own.gallery_title, cards),
        Section("failures", "Failures", failures_parts(own.every_run)),
        Section("notes", "What the numbers are", [_definitions(runs)]),
    ]
    return [section for section in every if section.anchor not in own.leaves_out]


def _summary(runs: Sequence[Run], caption: str, *, target: str) -> Part:
    statistics = (statistic.name for statistic in runs[0].summary)
    names = ("time/round", "targets", "failures")
    sheet = summary_sheet(runs, caption, target=target)
    who = ("dataset", "name") if len({run.data for run in runs}) > 1 else ("segmenter",)
    sheet = _without_user(sheet.pick("user", *who, *statistics, *names), runs)
    return Fold(fold_title(sheet), [sheet]) if len(runs) > MAX_OPEN_SUMMARY_RUNS else sheet


def _floors(own: Page) -> Part:
    """Return a row for each floor, below the summary; nothing without any."""
    if not own.floors:
        return None
    if len({run.data for run in own.every_run}) > 1:
        names = ("dataset", "name")
    else:
        names = ("segmenter",)
    sheet = summary_sheet(own.usual_floors, floor_text(own.floors))
    statistics = (statistic.name for statistic in own.usual_floors[0].summary)
    return _without_user(
        replace(sheet, name="floors").pick("user", *names, *statistics, "targets"), own.usual_floors
    )


def _without_user(sheet: Sheet, runs: Sequence[Run]) -> Sheet:
    """Return a table without the column of users, where there is only one."""
    if len(user_names(runs)) > 1:
        return sheet
    return sheet.pick(*(key for key in sheet.keys if key != "user"))


def without_empty(sheet: Sheet) -> Sheet:
    """Return a table without the columns of words in which nothing stands."""
    columns = zip(sheet.keys, zip(*sheet.rows, strict=True), strict=True)
    if sheet.rows:
        return sheet.pick(*(key for key, cells in columns if any(cell != "" for cell in cells)))
    return sheet


def _summary_notes(own: Page) -> str:
    runs = own.whole_runs
    samples = len({(run.data, dialogue.sample) for run in runs for dialogue in run.finished()})
    if samples < FEW_SAMPLES:
        few = f"With {count_text(samples, own.sample_word)} only, take them as rough."
    else:
        few = ""
    if runs[0].left_out:
        left_out = f"Left out, for want of rounds: {', '.join(runs[0].left_out)}."
    else:
        left_out = ""
    if len(runs) > 1:
        best = f"Underlined: the best {'of each user' if len(user_names(runs)) > 1 else 'value'}."
    else:
        best = ""
    return " ".join(
        filter(None, [intervals_text(own.sample_word, own.target_word), few, best, left_out])
    )


def _ranks(own: Page) -> list[Part]:
    runs = own.usual_runs
    statistic = own.decides
    if len(runs) <= 2 or statistic is None or not own.verdict:
        return []
    pairs = pairs_sheet(runs, statistic)
    return [ranks_sheet(runs, statistic), Fold(fold_title(pairs), [pairs]) if pairs.rows else None]


def _differences(own: Page) -> list[Part]:
    runs = own.usual_runs
    if len(runs) < 2:
        return []
    if not paired_rows(runs):
        return [Note(pairing_text(runs))]
    sheet = _without_user(paired_sheet(runs, target=own.target_word), runs)
    told: list[Part] = [
        sheet,
        Note(
            " ".join(
                filter(None, [paired_text(own.sample_word, own.target_word), pairing_text(runs)])
            )
        ),
    ]
    # Of many runs the ranking says more.
    return [Fold(f"To {baseline_text(runs)}", told)] if len(runs) > MAX_OPEN_COMPARED_RUNS else told


def _hardest(own: Page, shown: Mapping[DialogueId, str]) -> Part:
    # A page that leaves them out need not look for them.
    is_there = "hardest" not in own.leaves_out and own.ranked
    if is_there:
        return without_empty(hardest_sheet(own.whole_runs, own.ranked, shown))
    return None


def _targets(own: Page, shown: Mapping[DialogueId, str]) -> list[Part]:
    runs = own.usual_runs
    decides = own.decides
    sheet = target_values_sheet(runs, decides, shown, target=own.target_word) if decides else None
    if sheet is None or not sheet.rows:
        return []
    sheet = without_empty(_without_user(sheet, runs))
    return [Fold(fold_title(sheet), [sheet]) if len(sheet.rows) > MAX_HARDEST_ROWS else sheet]


def _gallery(own: Page, *, shows_all: bool) -> tuple[list[Part], Mapping[DialogueId, str]]:
    """Return the gallery, and for each dialogue in it the id of its card."""
    if "gallery" in own.leaves_out:
        return [], {}
    if own.pictures is None:
        return [Note("No pictures: no installed package draws samples of this kind.")], {}
    every = all_dialogue_keys(own)
    failed = failed_dialogue_keys(own.shown_runs)[:MAX_FAILED_CARDS]
    keys = every if shows_all else dict.fromkeys([*own.chosen(own.pictures), *failed])
    budget = math.inf if shows_all else BUDGET_BYTES
    made = make_gallery(own, own.pictures, list(keys), every=every, budget_bytes=budget)
    if own.viewer is None:
        return [*map(Note, made.notes), made, Note(VIEWER_HINT)], made.shown
    others = {key: own.viewer(key) for key in every}
    return [*map(Note, made.notes), made], {**others, **made.shown}


def _definitions(runs: Sequence[Run]) -> Part:
    return Terms(
        [
            *(statistic_definition(statistic, runs[0]) for statistic in runs[0].summary),
            EARLY_END_NOTE,
            FAILURES_NOTE,
        ]
    )
