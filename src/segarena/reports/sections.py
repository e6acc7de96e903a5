"""The tables of the page, as HTML. Every name that comes from outside goes through `escape`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

from segarena.reports.ranking import RankedTarget
from segarena.reports.reading import Key, Run
from segarena.reports.series import area_statistic
from segarena.reports.tables import direction, paired_rows, summary_rows, thresholds_of, timing_rows
from segarena.reports.wording import (
    bounds_text,
    count_text,
    difference_bounds_text,
    difference_text,
    metric_name,
    seconds_text,
    value_text,
)

MOST_HARD = 12
"""Rows of the table of hardest targets; all of them are in the gallery."""

MOST_FAILURES = 200
"""Failures listed one by one."""


def summary_table(runs: Sequence[Run]) -> str:
    """Return the first table: a row per user and segmenter, a column per statistic."""
    statistics = runs[0].summary
    head = [
        *(("text", name) for name in ("User", "Segmenter")),
        *(("num", s.name) for s in statistics),
        *(("num", name) for name in ("Time / round", "Targets", "Failures")),
    ]
    rows = []
    for row, timing in zip(summary_rows(runs), timing_rows(runs), strict=True):
        cells = [
            number_cell(c.mean, value_text(s, c.mean), bounds_text(s, c.low, c.high))
            for s in statistics
            for c in [row.cells[s.name]]
        ]
        ends = [
            number_cell(timing.median_s, seconds_text(timing.median_s)),
            number_cell(row.targets, str(row.targets)),
            number_cell(row.failures, str(row.failures), css="alarm" if row.failures else ""),
        ]
        rows.append("".join([text_cell(row.user), text_cell(row.label), *cells, *ends]))
    return table(head, rows)


def paired_table(runs: Sequence[Run]) -> str:
    """Return the differences to the first run."""
    statistics = runs[0].summary
    head = [
        *(("text", name) for name in ("User", "Difference")),
        *(("num", s.name) for s in statistics),
        *(("num", name) for name in ("Matched", "Unmatched")),
    ]
    rows = []
    for row in paired_rows(runs):
        cells = [
            number_cell(c.difference, difference_text(s, c), difference_bounds_text(s, c), css=direction(c, s))
            for s in statistics
            for c in [row.cells[s.name]]
        ]
        ends = [number_cell(row.matched, str(row.matched)), number_cell(row.unmatched, str(row.unmatched))]
        names = [text_cell(row.user), text_cell(f"{row.label} − {row.baseline}")]
        rows.append("".join([*names, *cells, *ends]))
    return table(head, rows)


def hardest_table(runs: Sequence[Run], targets: Sequence[RankedTarget], shown: Mapping[Key, str]) -> str:
    """Return the hardest targets; each row leads to its dialogue in the gallery when that is shown."""
    statistic = area_statistic(runs[0])
    thresholds = thresholds_of(runs[0], statistic.metric)
    solved = f"Reached {thresholds[-1]:g}" if thresholds else ""
    head = [
        *(("text", name) for name in ("Target", "Sample", "Label")),
        *(
            ("num", name)
            for name in (f"Mean {statistic.name}", f"Best {metric_name(statistic.metric)}", solved)
            if name
        ),
        ("text", "Worst with"),
    ]
    rows = []
    for target in targets[:MOST_HARD]:
        cells = [
            text_cell(target.key[1], anchor=shown.get(target.worst, "")),
            text_cell(target.key[0]),
            words_cell(target.label),
            number_cell(target.score, f"{target.score:.3f}"),
            number_cell(target.best, f"{target.best:.3f}"),
        ]
        if solved:
            cells.append(number_cell(target.solved, f"{target.solved} of {target.dialogues}"))
        rows.append("".join([*cells, text_cell(target.worst[2])]))
    return table(head, rows)


def failures_section(runs: Sequence[Run]) -> str:
    """Return what went wrong: how often each message came, then one line per dialogue; empty without failures."""
    found = [(run, dialogue) for run in runs for dialogue in run.failures]
    if not found:
        return "<p>None: every dialogue was finished.</p>" if any(run.dialogues for run in runs) else ""
    counts = Counter(dialogue.failure or "" for _, dialogue in found)
    often = [
        number_cell(count, str(count)) + words_cell(message)
        for message, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    each = [
        "".join(map(text_cell, (run.label, d.sample, d.target or "(whole sample)", d.user or "–")))
        + words_cell(d.failure or "")
        for run, d in found[:MOST_FAILURES]
    ]
    more = "" if len(found) <= MOST_FAILURES else f"<p>The first {MOST_FAILURES} of {len(found)}.</p>"
    head = [("text", name) for name in ("Segmenter", "Sample", "Target", "User", "Message")]
    return (
        table([("num", "Times"), ("text", "Message")], often[:20])
        + f"<details><summary>{count_text(len(found), 'failure')}, one by one</summary>{more}"
        + f"{table(head, each)}</details>"
    )


def table(head: Sequence[tuple[str, str]], rows: Sequence[str]) -> str:
    """Return a table with booktabs rules; `head` holds (kind, title), kind "text" or "num"."""
    titles = "".join(f'<th class="{kind}" scope="col">{escape(title)}</th>' for kind, title in head)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


def text_cell(text: str, *, anchor: str = "") -> str:
    """Return a cell with a name, cut when it is long; a link when there is something to lead to."""
    shown = f'<a href="#{anchor}">{escape(text)}</a>' if anchor else escape(text)
    return f'<td class="text" title="{escape(text)}">{shown}</td>'


def words_cell(text: str) -> str:
    """Return a cell with words that may take several lines."""
    return f'<td class="words">{escape(text)}</td>'


def number_cell(value: float, text: str, bounds: str = "", *, css: str = "") -> str:
    """Return a cell with a number, its interval in small print below; `data-value` is what sorting reads."""
    small = f"<small>{escape(bounds)}</small>" if bounds else ""
    data = "" if math.isnan(value) else f"{value:.6g}"
    return f'<td class="num {css}" data-value="{data}">{escape(text)}{small}</td>'.replace(
        ' class="num "', ' class="num"'
    )
