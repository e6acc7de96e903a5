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
    sheet = summary_sheet(runs)
    return sheet_csv(sheet.pick(*names, *runs[0].statistic_names))


def summary_tex(runs: Sequence[Run]) -> str:
    """Return the summary, and the paired differences when there are several runs, as tabulars."""
    names = runs[0].statistic_names
    summary = summary_sheet(runs).pick("segmenter", "user", *names, "targets", "failures")
    comments = [f"{runs[0].config.benchmark.name}; {protocol_text(runs[0])}"]
    comments += [f"PARTIAL: {run.label}" for run in runs if not run.is_complete]
    comments.append("needs \\usepackage{booktabs}; brackets hold 95 % intervals over targets")
    text = ""
    for comment in comments:
        text += f"% {latex_comment(comment)}\n"
    text += sheet_tex(summary)
    paired = paired_sheet(runs).pick("difference", "user", *names, "matched", "unmatched")
    if not paired.rows:
        return text
    about = f"paired differences to {baseline_text(runs)}, {count_text(len(runs) - 1, 'run')}"
    return f"{text}\n{sheet_tex(replace(paired, caption=about))}"
