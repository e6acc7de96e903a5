"""The report summary for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from segarena.records.trust import restrict_plugins
from segarena.reports.baselines import floor_text
from segarena.reports.comparability import comparability_warnings
from segarena.reports.general_tables import paired_sheet, summary_sheet
from segarena.reports.pages import Page, page_of
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.renderers import sheet_rows, sheet_terminal
from segarena.reports.run_statistics import paired_rows
from segarena.reports.wording import (
    count_text,
    empty_text,
    pairing_text,
    partial_text,
    protocol_text,
    verified_text,
)

MAX_CAUSES_SHOWN = 5
"""Maximum number of failure causes of a run in the terminal."""


def terminal_table(
    runs: Sequence[str | Path], *, thresholds: Sequence[float] = ()
) -> RenderableType:
    """Return the summary of run folders, with paired differences to the first of several runs.

    The terminal content of the benchmark's page precedes it.

    Raises:
        InvalidInput: the runs cannot support an additional threshold.
        RunMissing, RunConflict: see `segarena.reports.recorded_run.read_runs`.
    """
    with restrict_plugins(trust=False):
        return terminal_of(page_of(read_runs(runs, thresholds=thresholds)))


def terminal_of(own: Page) -> RenderableType:
    """Return the summary of a page.

    For the page of a report that was just written, this reuses its cached statistics.
    """
    with restrict_plugins(trust=False):  # numbers and text alone
        return _table(own)


def _table(own: Page) -> Group:
    read = own.usual_runs
    parts: list[RenderableType] = [
        Text(f"{read[0].config.benchmark.name}, {protocol_text(read[0])}")
    ]
    warnings: list[str] = []
    for run in read:
        warnings += [partial_text(run), empty_text(run)]
    parts += [Text(warning, style="bold yellow") for warning in warnings if warning]
    parts += [Text(sentence, style="bold") for sentence in own.verdict]
    parts += own.terminal()
    parts.append(_summary(read, own.target_word))
    if own.floors:
        parts += [
            Text(floor_text(own.floors), style="dim"),
            _summary(own.usual_floors, own.target_word),
        ]
    parts += [Group(sheet_rows(sheet), Text()) for sheet in own.beside]
    if len(read) > 1:
        parts += [
            Text(text, style="yellow")
            for text in [pairing_text(read), *comparability_warnings(read)]
            if text
        ]
        parts += [_paired(read)] if paired_rows(read) else []
    parts += [Text(text, style="yellow") for text in failure_lines(own.every_run)]
    parts += [Text(text, style=style) for text, style in _verified(read)]
    if len(read) > 1 and paired_rows(read):
        tested = "; differences: test of signs, bold where p ≤ 0.05"
    else:
        tested = ""
    parts.append(
        Text(
            f"[low, high]: 95 % interval over {own.target_word}s, whole {own.sample_word}s drawn{tested}",
            style="dim",
        )
    )
    return Group(*parts)


def failure_lines(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the number of failures of each run, and their most frequent causes with an example."""
    for run in runs:
        causes = run.causes
        if causes:
            yield f"{run.label}: {count_text(len(run.failures), 'failure')}, by cause:"
            yield from (f"  {cause}" for cause in causes[:MAX_CAUSES_SHOWN])
            more = len(causes) - MAX_CAUSES_SHOWN
            if more > 0:
                yield f"  and {count_text(more, 'further cause')}; the page lists them"


def _verified(runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    """Yield (text, style) about the verification of the runs, a single one if all texts are equal."""
    told = {run.label: verified_text(run) for run in runs}
    for label, text in (
        told.items() if len(set(told.values())) > 1 else [("", verified_text(runs[0]))]
    ):
        differs = any(
            run.config.verified is not None and run.config.verified.differed for run in runs
        )
        yield f"{label}{label and ': '}{text}", "bold yellow" if differs else "dim"


def _summary(runs: Sequence[Run], target: str) -> Group:
    names = ("time/round", "targets", "failures", "encodes")
    sheet = summary_sheet(runs, target=target).pick(
        "segmenter", "user", *(s.name for s in runs[0].summary), *names
    )
    return sheet_terminal(sheet, together=len(runs))


def _paired(runs: Sequence[Run]) -> Group:
    statistics = (statistic.name for statistic in runs[0].summary)
    sheet = paired_sheet(runs).pick("difference", "user", *statistics, "matched", "unmatched")
    return sheet_terminal(sheet, together=len(runs) - 1)
