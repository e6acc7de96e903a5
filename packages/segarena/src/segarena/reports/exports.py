"""The general tables as files: CSV for programs, LaTeX for papers. Equal records give equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from segarena.reports.general_tables import paired_sheet, summary_sheet
from segarena.reports.recorded_run import Run
from segarena.reports.renderers import latex_comment, sheet_csv, sheet_tex
from segarena.reports.wording import baseline_text, count_text, protocol_text


def summary_csv(runs: Sequence[Run]) -> str:
    """Return one line per segmenter and user; each statistic has a mean and both ends of its interval."""
    names = (
        "benchmark",
        "protocol",
        "segmenter",
        "user",
        "targets",
        "dialogues",
        "failures",
        "complete",
    )
    return sheet_csv(
        summary_sheet(runs).pick(*names, *(statistic.name for statistic in runs[0].summary))
    )


def summary_tex(runs: Sequence[Run]) -> str:
    """Return the summary, and the paired differences when there are several runs, as tabulars."""
    statistics = [statistic.name for statistic in runs[0].summary]
    summary = summary_sheet(runs).pick("segmenter", "user", *statistics, "targets", "failures")
    comments = [
        f"{runs[0].config.benchmark.name}; {protocol_text(runs[0])}",
        *(f"PARTIAL: {run.label}" for run in runs if not run.is_complete),
        "needs \\usepackage{booktabs}; brackets hold 95 % intervals over targets",
    ]
    text = "".join(f"% {latex_comment(comment)}\n" for comment in comments) + sheet_tex(summary)
    paired = paired_sheet(runs).pick("difference", "user", *statistics, "matched", "unmatched")
    if not paired.rows:
        return text
    about = f"paired differences to {baseline_text(runs)}, {count_text(len(runs) - 1, 'run')}"
    return f"{text}\n{sheet_tex(replace(paired, caption=about))}"
