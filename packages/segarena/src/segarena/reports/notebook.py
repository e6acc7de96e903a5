"""Summary and differences of runs for notebooks, with the verdict as caption."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from segarena.records.trust import restrict_plugins
from segarena.reports.general_tables import paired_sheet, summary_sheet
from segarena.reports.pages import Page, page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.sheets import Sheet
from segarena.reports.wording import pairing_text, partial_text


def run_summary_sheet(path: Path) -> Sheet:
    """Return the summary of a run without executing plug-ins that its folder names."""
    own = _page([path])
    statistics = (statistic.name for statistic in own.usual_runs[0].summary)
    sheet = summary_sheet(own.usual_runs, _said(own), target=own.target_word)
    return sheet.pick("segmenter", "user", *statistics, "targets", "failures")


def comparison_sheet(paths: Sequence[Path]) -> Sheet:
    """Return the paired differences of runs to the first one."""
    own = _page(paths)
    sheet = paired_sheet(own.usual_runs)
    notes = tuple(filter(None, [pairing_text(own.usual_runs)]))
    return Sheet(name=sheet.name, caption=_said(own), head=sheet.head, rows=sheet.rows, notes=notes)


def _page(paths: Sequence[Path]) -> Page:
    with restrict_plugins(trust=False):
        return page_of(read_runs(paths))


def _said(own: Page) -> str:
    with restrict_plugins(trust=False):
        return " ".join([*own.verdict, *filter(None, map(partial_text, own.usual_runs))])
