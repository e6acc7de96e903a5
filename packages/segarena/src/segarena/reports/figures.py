"""The figures about rounds and seconds; those about groups of targets are `segarena.reports.group_figures`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from segarena.reports.axes import nice_ticks, number
from segarena.reports.baselines import FLOOR_NOTE, with_floors
from segarena.reports.chart_series import (
    Figure,
    Series,
    chart_size_px,
    colour_numbers,
    make_figure,
    run_column_names,
    series_by_user,
)
from segarena.reports.charts import Bars, Curve, Whisker, bar_chart, interval_chart, line_chart
from segarena.reports.group_figures import group_figures
from segarena.reports.pages import Page
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import (
    curve_intervals,
    noc_counts,
    summary_metrics,
    summary_thresholds,
)
from segarena.reports.wording import count_text, metric_name, seconds_text
from segarena.roles import Statistic

MAX_NAMED_CURVES = 7
"""Curves of a chart that have bands and names."""

MAX_HISTOGRAMS = 6
"""Of more runs the seconds are a row each."""

TIME_BINS = 30
"""About how many bars the distribution of seconds has."""


def figures(own: Page) -> list[Figure]:
    """Return every general figure that the records have something for and the page does not leave out."""
    runs = own.usual_runs
    floors = own.usual_floors
    word = own.word
    left_out = own.leaves_out
    has_curves = runs[0].rounds > 1 and "curves" not in left_out
    metrics = dict.fromkeys(
        [*summary_metrics(runs[0])[:2], *(further.metric for further in runs[0].further)]
    )
    made = [_curves(runs, floors, metric, word) for metric in metrics] if has_curves else []
    made += [] if "noc" in left_out else [_noc(runs, floors, word)]
    made += [] if "seconds" in left_out else [_seconds(runs)]
    made += [] if "groups" in left_out else group_figures(runs)
    return fill_rows([one for one in made if one is not None])


def fill_rows(made: Sequence[Figure]) -> list[Figure]:
    """Return the figures so that narrow ones, two to a row, leave no gap before a wide one; else in their order."""
    rest = list(made)
    placed = list[Figure]()
    in_row = 0
    while rest:
        narrow = (index for index, one in enumerate(rest) if not one.is_wide)
        placed.append(rest.pop(next(narrow, 0) if in_row % 2 else 0))
        in_row = 0 if placed[-1].is_wide else in_row + 1
    return placed


def _curves(runs: Sequence[Run], floors: Sequence[Run], metric: str, word: str) -> Figure | None:
    panels = series_by_user(runs)
    if len(runs) == 1 and panels:
        panels = [("", list(chain.from_iterable(group for _, group in panels)))]
    name = metric_name(metric)
    charts: list[tuple[str, str]] = []
    for user, group in with_floors(panels, floors):
        curves = highlight_best([_mean_curve(series, metric) for series in group])
        highest = max(
            (y for curve in curves for y in (*curve.y, *(curve.high or ())) if math.isfinite(y)),
            default=1.0,
        )
        chart = line_chart(
            curves,
            title=f"{name} against {word}s {user}",
            x_label=f"{word}s",
            y_label=f"mean {name}",
            y_range=(0.0, max(1.0, highest)),
            marks=summary_thresholds(runs[0], metric),
            size_px=chart_size_px(len(panels), 330, max(len(series.label) for series in group)),
        )
        charts.append((user, chart))
    several = max((len(group) for _, group in panels), default=0)
    caption = f"Mean {name} over targets after each {word}; bands are 95 % intervals"
    marked = ", dashes the benchmark's thresholds" if summary_thresholds(runs[0], metric) else ""
    title = f"{name[:1].upper()}{name[1:]} against {word}s"
    return make_figure(title, f"{caption}{marked}.{_thin_text(several, floors)}", charts)


def highlight_best(curves: Sequence[Curve]) -> list[Curve]:
    """Return curves of which those beyond the best `MOST_CURVES` are faint; the best are highest on the average."""
    means = [
        statistics.fmean([y for y in curve.y if math.isfinite(y)] or [-math.inf])
        for curve in curves
    ]
    ranked = sorted(range(len(curves)), key=lambda place: -means[place])
    ranked = [place for place in ranked if not curves[place].is_floor]
    return [
        replace(curve, is_faint=place in ranked[MAX_NAMED_CURVES:])
        for place, curve in enumerate(curves)
    ]


def _thin_text(count: int, floors: Sequence[Run]) -> str:
    if count > MAX_NAMED_CURVES:
        best = f" The best {MAX_NAMED_CURVES} of each chart have names; the others are thin."
    else:
        best = ""
    return f"{best} {FLOOR_NOTE}" if floors else best


def _mean_curve(series: Series, metric: str) -> Curve:
    means = curve_intervals(series.run, series.user, metric)
    return Curve(
        label=series.label,
        colour=series.colour,
        x=range(1, len(means) + 1),
        y=[interval.mean for interval in means],
        low=[interval.low for interval in means],
        high=[interval.high for interval in means],
        is_floor=series.is_floor,
    )


def _noc(runs: Sequence[Run], floors: Sequence[Run], word: str) -> Figure | None:
    """Return bars with one run; with several, or a floor, how many targets are solved within each number of rounds."""
    statistic = next((s for s in reversed(runs[0].summary) if s.kind == "noc"), None)
    if statistic is None:
        return None
    panels = series_by_user(runs)
    goal = f"{metric_name(statistic.metric)} was at least {statistic.threshold:g}"
    if len(runs) > 1 or floors:
        thin = _thin_text(max((len(group) for _, group in panels), default=0), floors)
        caption = f"Share of dialogues in which {goal} within so many {word}s.{thin}"
        drawn = with_floors(panels, floors)
        charts = [
            (user, _solved_chart(group, statistic, word, len(panels))) for user, group in drawn
        ]
        return make_figure(f"Solved within so many {word}s", caption, charts)
    bars = [(user, _noc_bars(series, statistic)) for user, (series,) in panels]
    highest = max(chain.from_iterable(bar.heights for _, bar in bars), default=0.0)
    charts = [(user, _noc_chart(bar, runs[0], highest, word, len(panels))) for user, bar in bars]
    caption = f"How many {word}s it took until {goal}; “never”: not within {runs[0].rounds}."
    return make_figure(f"Distribution of {statistic.name}", caption, charts)


def _solved_chart(group: Sequence[Series], statistic: Statistic, word: str, panels: int) -> str:
    curves: list[Curve] = []
    for series in group:
        counts, never = noc_counts(series.run, series.user, statistic)
        shares = (100 * np.cumsum(counts) / max(1, int(counts.sum()) + never)).tolist()
        rounds = range(1, len(shares) + 1)
        curve = Curve(
            label=series.label, colour=series.colour, x=rounds, y=shares, low=shares, high=shares
        )
        curves.append(replace(curve, is_floor=series.is_floor))
    return line_chart(
        highlight_best(curves),
        title=f"solved within so many {word}s, {group[0].user}",
        x_label=f"{word}s",
        y_label="dialogues, %",
        y_range=(0.0, 100.0),
        size_px=chart_size_px(panels, 330, max(len(series.label) for series in group)),
    )


def _noc_bars(series: Series, statistic: Statistic) -> Bars:
    counts, never = noc_counts(series.run, series.user, statistic)
    total = max(1, int(counts.sum()) + never)
    shares = [100 * count / total for count in (*counts.tolist(), never)]
    return Bars(label=series.label, colour=series.colour, heights=shares)


def _noc_chart(bars: Bars, run: Run, highest: float, word: str, panels: int) -> str:
    return bar_chart(
        [bars],
        [*map(str, range(1, run.rounds + 1)), "never"],
        title=f"{word}s needed, {bars.label}",
        x_label=f"{word}s needed",
        y_label="dialogues, %",
        highest=highest,
        size_px=chart_size_px(panels, 250),
    )


def _seconds(runs: Sequence[Run]) -> Figure | None:
    coloured = zip(colour_numbers(runs), runs, strict=True)
    timed = [
        (colour, run)
        for colour, run in coloured
        if any(map(len, map(run.seconds_per_round, run.users)))
    ]
    if len(timed) > MAX_HISTOGRAMS:
        return _seconds_by_run(timed, runs)
    charts = [
        (run.label if len(runs) > 1 else "", _seconds_chart(run, colour, len(timed)))
        for colour, run in timed
    ]
    encodes = "; ".join(
        _encodes_text(run, is_named=len(runs) > 1)
        for run in runs
        if len(run.encode_seconds()) or run.encodings_read
    )
    caption = (
        "Seconds in the segmenter per prediction (its share of the batch), encoder apart; the last bar holds all "
        "slower ones."
    )
    return make_figure(
        "Seconds per prediction", f"{caption} Encoder: {encodes}." if encodes else caption, charts
    )


def _seconds_by_run(timed: Sequence[tuple[int, Run]], runs: Sequence[Run]) -> Figure | None:
    """Return a row for each run, the fastest first, a chart for each dataset."""
    columns = run_column_names(runs)
    charts: list[tuple[str, str]] = []
    for data in dict.fromkeys(run.data for _, run in timed):
        rows: list[Whisker] = []
        for colour, run in timed:
            if run.data == data:
                seconds = np.concatenate([run.seconds_per_round(user) for user in run.users])
                low, median, high = (
                    max(1e-6, float(np.quantile(seconds, share))) for share in (0.05, 0.5, 0.95)
                )
                note = seconds_text(median)
                label = columns[run]
                rows.append(
                    Whisker(label=label, colour=colour, value=median, low=low, high=high, note=note)
                )
        title = f"seconds per prediction on {data}"
        ends = (min(row.low for row in rows) / 1.3, max(row.high for row in rows) * 1.3)
        rows.sort(key=lambda row: row.value)
        chart = interval_chart(
            rows, title=title, x_label="seconds per prediction", x_range=ends, is_log=True
        )
        charts.append((data, chart))
    caption = (
        "Seconds in the segmenter per prediction (its share of the batch), encoder apart: the median, and where the "
        "middle nine tenths lie."
    )
    return make_figure("Seconds per prediction", caption, charts)


def _encodes_text(run: Run, *, is_named: bool) -> str:
    seconds = run.encode_seconds()
    name = f" ({run.label})" if is_named else ""
    median = f", median {seconds_text(float(np.median(seconds)))}" if len(seconds) else ""
    if run.encodings_read:
        read = f", {count_text(run.encodings_read, 'encoding')} read from the cache"
    else:
        read = ""
    return f"{count_text(len(seconds), 'pass', 'passes')}{name}{median}{read}"


def _seconds_chart(run: Run, colour: int, panels: int) -> str:
    seconds = np.concatenate([run.seconds_per_round(user) for user in run.users])
    top = float(np.quantile(seconds, 0.99)) or 1.0
    scale, unit = (1000.0, "ms") if top < 1 else (1.0, "s")
    edges = nice_ticks(0.0, scale * top, TIME_BINS)
    places = np.searchsorted(edges, scale * seconds, side="right") - 1
    shares = (100 * np.bincount(places, minlength=len(edges)) / len(seconds)).tolist()
    return bar_chart(
        [Bars(label=run.label, colour=colour, heights=shares)],
        [number(edge) for edge in edges],
        title=f"seconds per prediction, {run.label}",
        x_label=f"{unit} per prediction (median {seconds_text(float(np.median(seconds)))})",
        y_label="predictions, %",
        size_px=chart_size_px(panels, 250),
    )
