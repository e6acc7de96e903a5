"""Tables for notebooks: a run's summary and the differences between runs, with the verdict as the caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from segarena.records.plugin_trust import restrict_plugins
from segarena.reports.general_tables import paired_sheet, summary_sheet
from segarena.reports.pages import Page, page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.sheets import Sheet
from segarena.reports.wording import pairing_text, partial_text


def run_summary_sheet(path: Path) -> Sheet:
    """Return the summary of a run without executing plug-ins that its folder names."""
    own = _page([path])
    runs = own.usual_runs
    sheet = summary_sheet(runs, _verdict_text(own), target=own.target_word)
    return sheet.pick("segmenter", "user", *runs[0].statistic_names, "targets", "failures")


def comparison_sheet(paths: Sequence[Path]) -> Sheet:
    """Return the paired differences between the first run and each other run."""
    own = _page(paths)
    sheet = paired_sheet(own.usual_runs)
    remark = pairing_text(own.usual_runs)
    notes = (remark,) if remark else ()
    return replace(sheet, caption=_verdict_text(own), notes=notes)


def _verdict_text(own: Page) -> str:
    """Return the verdict, and a warning for each incomplete run."""
    with restrict_plugins(trust=False):
        texts = list(own.verdict)
        for run in own.usual_runs:
            texts.append(partial_text(run))
    return " ".join(text for text in texts if text)


def _page(paths: Sequence[Path]) -> Page:
    with restrict_plugins(trust=False):
        return page_of(read_runs(paths))
