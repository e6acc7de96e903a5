"""Tables as files: CSV for programs. LaTeX is `segarena.reports.latex`."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

from segarena.reports.reading import Run
from segarena.reports.tables import paired_rows, summary_rows, timing_rows


def summary_csv(runs: Sequence[Run]) -> str:
    """Return one line per segmenter and user; each statistic has a mean and both ends of its interval.

    Equal records give equal bytes.
    """
    names = [statistic.name for statistic in runs[0].summary]
    head = ["benchmark", "protocol", "segmenter", "user", "targets", "dialogues", "failures", "complete"]
    lines = [
        [
            runs[row.run].config.benchmark.name,
            runs[row.run].config.benchmark.protocol,
            row.label,
            row.user,
            row.targets,
            row.dialogues,
            row.failures,
            "yes" if runs[row.run].is_complete else "no",
            *(csv_number(x) for name in names for c in [row.cells[name]] for x in (c.mean, c.low, c.high)),
        ]
        for row in summary_rows(runs)
    ]
    return csv_text([*head, *(f"{name}{end}" for name in names for end in ("", " low", " high"))], lines)


def paired_csv(runs: Sequence[Run]) -> str:
    """Return one line per pair of runs, user and statistic; the difference is segmenter minus baseline."""
    head = ["segmenter", "baseline", "user", "statistic", "difference", "low", "high", "p_value", "better", "ties"]
    head += ["matched", "unmatched"]
    lines = [
        [
            row.label,
            row.baseline,
            row.user,
            name,
            *(csv_number(x) for x in (cell.difference, cell.low, cell.high, cell.p_value, cell.better, cell.ties)),
            row.matched,
            row.unmatched,
        ]
        for row in paired_rows(runs)
        for name, cell in row.cells.items()
    ]
    return csv_text(head, lines)


def timings_csv(runs: Sequence[Run]) -> str:
    """Return the seconds of each segmenter with each user; these differ from run to run."""
    head = ["segmenter", "user", "rounds", "median_s", "p95_s", "encoder_passes", "encoder_median_s"]
    lines = [
        [
            row.label,
            row.user,
            row.rounds,
            csv_number(row.median_s),
            csv_number(row.p95_s),
            row.encodes,
            csv_number(row.encode_median_s),
        ]
        for row in timing_rows(runs)
    ]
    return csv_text(head, lines)


def csv_text(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return CSV with a head line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return text.getvalue()


def csv_number(value: float) -> str:
    """Return a number with six digits; nothing for NaN."""
    return "" if math.isnan(value) else f"{value:.6g}"
