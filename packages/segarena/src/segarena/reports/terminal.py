"""The report summary for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from segarena.records.plugin_trust import restrict_plugins
from segarena.reports.baselines import floor_text
from segarena.reports.comparability import comparability_warnings
from segarena.reports.general_tables import paired_sheet, summary_sheet
from segarena.reports.pages import Page, page_of
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.renderers.terminal import sheet_rows, sheet_terminal
from segarena.reports.run_statistics import paired_rows
from segarena.reports.wording import (
    count_text,
    empty_text,
    isolation_text,
    pairing_text,
    partial_text,
    protocol_text,
    remark_texts,
    unloaded_texts,
    verified_text,
)

MAX_CAUSES_SHOWN = 5
"""Maximum number of failure causes per run in the terminal."""


def terminal_table(
    runs: Sequence[str | Path], *, thresholds: Sequence[float] = ()
) -> RenderableType:
    """Return the summary of run folders; for several, include the paired differences from the first run.

    Terminal content of the benchmark's page comes before the summary.

    Raises:
        InvalidInput: the runs cannot support an additional threshold.
        RunMissing, RunConflict: see `segarena.reports.recorded_run.read_runs`.
    """
    with restrict_plugins(trust=False):
        return terminal_of(page_of(read_runs(runs, thresholds=thresholds)))


def terminal_of(own: Page) -> RenderableType:
    """Return the summary of a page.

    If a report was just written from the page, the statistics that it cached are reused.
    """
    with restrict_plugins(trust=False):  # numbers and text need no third-party code
        return _table(own)


def _table(own: Page) -> Group:
    runs = own.usual_runs
    title = f"{runs[0].config.benchmark.name}, {protocol_text(runs[0])}"
    # A single run has no differences.
    has_pairs = bool(paired_rows(runs))
    parts: list[RenderableType] = [Text(title)]
    parts += _texts(remark_texts(own.every_run), "dim")
    for run in runs:
        parts += _texts([partial_text(run), empty_text(run)], "bold yellow")
    parts += _texts(unloaded_texts(own.every_run, own.sample_word), "yellow")
    parts += _texts(own.verdict, "bold")
    for user, words in own.users_in_words.items():
        parts.append(Text(f"{user}: {words}"))
    parts += own.terminal()
    parts.append(_summary(runs, own))
    if own.floors:
        parts.append(Text(floor_text(own.floors), style="dim"))
        parts.append(_summary(own.usual_floors, own))
    for sheet in own.beside:
        parts.append(Group(sheet_rows(sheet), Text()))
    if len(runs) > 1:
        parts += _texts([pairing_text(runs), *comparability_warnings(runs)], "yellow")
    if has_pairs:
        parts.append(_paired(runs))
    parts += _texts(failure_lines(own.every_run), "yellow")
    for text, style in _verified(runs):
        parts.append(Text(text, style=style))
    legend = (
        f"[low, high]: 95 % interval over {own.target_word}s, resampling whole {own.sample_word}s"
    )
    if has_pairs:
        legend += "; differences: sign-flip test, bold if p ≤ 0.05"
    parts.append(Text(legend, style="dim"))
    return Group(*parts)


def _texts(texts: Iterable[str], style: str) -> list[Text]:
    """Return the non-empty strings, styled for the terminal."""
    return [Text(text, style=style) for text in texts if text]


def failure_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the number of failures of each run that has any, and the most frequent causes with an example."""
    for run in runs:
        causes = run.causes
        if not causes:
            continue
        yield f"{run.label}: {count_text(len(run.failures), 'failure')}, by cause:"
        for cause in causes[:MAX_CAUSES_SHOWN]:
            yield f"  {cause}"
        more = len(causes) - MAX_CAUSES_SHOWN
        if more > 0:
            yield f"  and {count_text(more, 'further cause')}; the page lists them"


def _verified(runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """Yield (text, style) about verification and isolation of the runs; only one item if all are equal."""
    has_differed = False
    texts: dict[str, str] = {}
    for run in runs:
        texts[run.label] = f"{verified_text(run)}, {isolation_text(run.config.segmenter.isolation)}"
        verified = run.config.verified
        has_differed |= verified is not None and bool(verified.differed)
    style = "bold yellow" if has_differed else "dim"
    if len(set(texts.values())) == 1:
        yield texts[runs[0].label], style
        return
    for label, text in texts.items():
        yield f"{label}: {text}", style


def _summary(runs: Sequence[Run], own: Page) -> Group:
    names = ["time/round", "targets", "failures", "encodes"]
    pace = own.pace if own.shows_person_seconds else None
    if pace is not None:
        names.insert(0, "person/dialogue")
    sheet = summary_sheet(runs, target=own.target_word, pace=pace)
    sheet = sheet.pick("segmenter", "user", *runs[0].statistic_names, *names)
    return sheet_terminal(sheet, together=len(runs))


def _paired(runs: Sequence[Run]) -> Group:
    names = runs[0].statistic_names
    sheet = paired_sheet(runs).pick("difference", "user", *names, "matched", "unmatched")
    return sheet_terminal(sheet, together=len(runs) - 1)
