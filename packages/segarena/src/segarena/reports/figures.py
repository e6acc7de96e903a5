"""Figures about rounds and seconds; figures about groups of targets are in `segarena.reports.group_figures`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from segarena.benchmark_rules import Statistic
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
from segarena.reports.display_names import metric_name
from segarena.reports.group_figures import group_figures
from segarena.reports.pages import Page
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import (
    curve_intervals,
    noc_counts,
    summary_metrics,
    summary_thresholds,
)
from segarena.reports.wording import count_text, seconds_text

MAX_NAMED_CURVES = 7
"""Maximum number of curves in a chart that have bands and labels."""

MAX_HISTOGRAMS = 6
"""With more runs, timings are drawn as one row per run instead of one histogram per run."""

TIME_BINS = 30
"""Approximate number of bars in a histogram of seconds."""


def figures(own: Page) -> list[Figure]:
    """Return the general figures that have data and that the page does not omit."""
    runs = own.usual_runs
    floors = own.usual_floors
    word = own.word
    left_out = own.leaves_out
    has_curves = runs[0].rounds > 1 and "curves" not in left_out
    metrics = [*summary_metrics(runs[0])[:2]]
    metrics += [statistic.metric for statistic in runs[0].further]
    made: list[Figure | None] = []
    if has_curves:
        made += [_curves(runs, floors, metric, word) for metric in dict.fromkeys(metrics)]
    if "noc" not in left_out:
        made.append(_noc(runs, floors, word))
    if "seconds" not in left_out:
        made.append(_seconds(runs))
    if "groups" not in left_out:
        made += group_figures(runs)
    return fill_rows([one for one in made if one is not None])


def fill_rows(made: Sequence[Figure]) -> list[Figure]:
    """Order the figures so that narrow ones, two per row, leave no gap before a wide one.

    Otherwise, the figures keep their order.
    """
    rest = list(made)
    placed = list[Figure]()
    in_row = 0
    while rest:
        index = 0
        if in_row % 2:
            # The row is half full: move the next narrow figure forward, if there is one.
            narrow = (index for index, one in enumerate(rest) if not one.is_wide)
            index = next(narrow, 0)
        placed.append(rest.pop(index))
        in_row = 0 if placed[-1].is_wide else in_row + 1
    return placed


def _curves(
    runs: Sequence[Run],
    floors: Sequence[Run],
    metric: str,
    word: str,
) -> Figure | None:
    panels = series_by_user(runs)
    if len(runs) == 1 and panels:
        # All users of a single run share a chart.
        series_of_all = [series for _, group in panels for series in group]
        panels = [("", series_of_all)]
    name = metric_name(metric)
    thresholds = summary_thresholds(runs[0], metric)
    charts: list[tuple[str, str]] = []
    for user, group in with_floors(panels, floors):
        curves = highlight_best([_mean_curve(series, metric) for series in group])
        longest_label = max(len(series.label) for series in group)
        chart = line_chart(
            curves,
            title=f"{name} against {word}s {user}",
            x_label=f"{word}s",
            y_label=f"mean {name}",
            y_range=(0.0, max(1.0, highest_value(curves))),
            marks=thresholds,
            size_px=chart_size_px(len(panels), 330, longest_label),
        )
        charts.append((user, chart))
    caption = f"Mean {name} over targets after each {word}; bands show 95 % intervals"
    if thresholds:
        caption += ", dashed lines the thresholds of the benchmark"
    note = _thin_lines_note(_most_series(panels), floors)
    title = f"{name[:1].upper()}{name[1:]} against {word}s"
    return make_figure(title, f"{caption}.{note}", charts)


def highlight_best(curves: Sequence[Curve]) -> list[Curve]:
    """Make all curves faint except floors and the `MAX_NAMED_CURVES` curves with the greatest mean height."""
    heights: dict[int, float] = {}
    for index, curve in enumerate(curves):
        if not curve.is_floor:
            heights[index] = _mean_height(curve)
    best_first = sorted(heights, key=lambda index: -heights[index])
    faint = set(best_first[MAX_NAMED_CURVES:])
    highlighted: list[Curve] = []
    for index, curve in enumerate(curves):
        highlighted.append(replace(curve, is_faint=index in faint))
    return highlighted


def _mean_height(curve: Curve) -> float:
    finite = [y for y in curve.y if math.isfinite(y)]
    return statistics.fmean(finite) if finite else -math.inf


def _most_series(panels: Sequence[tuple[str, Sequence[Series]]]) -> int:
    """Return the largest number of series in any chart."""
    return max((len(group) for _, group in panels), default=0)


def highest_value(curves: Sequence[Curve]) -> float:
    """Return the highest finite value of curves and their bands; 1 if there is none."""
    values: list[float] = []
    for curve in curves:
        values += [*curve.y, *curve.high]
    finite = [value for value in values if math.isfinite(value)]
    return max(finite, default=1.0)


def _thin_lines_note(count: int, floors: Sequence[Run]) -> str:
    if count > MAX_NAMED_CURVES:
        best = f" Each chart labels the best {MAX_NAMED_CURVES} curves; the others are thin."
    else:
        best = ""
    return f"{best} {FLOOR_NOTE}" if floors else best


def _mean_curve(series: Series, metric: str) -> Curve:
    means = curve_intervals(series.run, series.user, metric)
    return Curve.from_intervals(
        series.label, series.colour, range(1, len(means) + 1), means, is_floor=series.is_floor
    )


def _noc(
    runs: Sequence[Run],
    floors: Sequence[Run],
    word: str,
) -> Figure | None:
    """Draw the NoC (number of clicks): histograms for one run, cumulative shares for several runs or floors."""
    counted = [statistic for statistic in runs[0].summary if statistic.kind == "noc"]
    if not counted:
        return None
    # Requested thresholds come before those of the benchmark, of which the last one is the hardest.
    statistic = counted[-1]
    panels = series_by_user(runs)
    goal = f"{metric_name(statistic.metric)} was at least {statistic.threshold:g}"
    if len(runs) > 1 or floors:
        note = _thin_lines_note(_most_series(panels), floors)
        caption = f"Share of dialogues in which {goal} within a given number of {word}s.{note}"
        charts: list[tuple[str, str]] = []
        for user, group in with_floors(panels, floors):
            charts.append((user, _solved_chart(group, statistic, word, len(panels))))
        return make_figure(f"Solved within a number of {word}s", caption, charts)
    bars = [(user, _noc_bars(series, statistic)) for user, (series,) in panels]
    # The charts of all users share one axis range.
    highest = max((max(bar.heights) for _, bar in bars), default=0.0)
    charts = [(user, _noc_chart(bar, runs[0], highest, word, len(panels))) for user, bar in bars]
    caption = f"Number of {word}s until {goal}; “never”: not within {runs[0].rounds}."
    return make_figure(f"Distribution of {statistic.name}", caption, charts)


def _solved_chart(
    group: Sequence[Series],
    statistic: Statistic,
    word: str,
    panels: int,
) -> str:
    curves: list[Curve] = []
    for series in group:
        counts, never = noc_counts(series.run, series.user, statistic)
        total = max(1, int(counts.sum()) + never)
        shares = (100 * np.cumsum(counts) / total).tolist()
        curve = Curve(
            label=series.label,
            colour=series.colour,
            x=range(1, len(shares) + 1),
            y=shares,
            low=shares,
            high=shares,
            is_floor=series.is_floor,
        )
        curves.append(curve)
    longest_label = max(len(series.label) for series in group)
    return line_chart(
        highlight_best(curves),
        title=f"solved within a number of {word}s, {group[0].user}",
        x_label=f"{word}s",
        y_label="dialogues, %",
        y_range=(0.0, 100.0),
        size_px=chart_size_px(panels, 330, longest_label),
    )


def _noc_bars(series: Series, statistic: Statistic) -> Bars:
    counts, never = noc_counts(series.run, series.user, statistic)
    all_counts = [*counts.tolist(), never]
    # A user without a finished dialogue gets bars of height 0.
    total = max(1, sum(all_counts))
    shares = [100 * count / total for count in all_counts]
    return Bars(label=series.label, colour=series.colour, heights=shares)


def _noc_chart(
    bars: Bars,
    run: Run,
    highest: float,
    word: str,
    panels: int,
) -> str:
    categories = [str(number) for number in range(1, run.rounds + 1)]
    return bar_chart(
        [bars],
        [*categories, "never"],
        title=f"{word}s needed, {bars.label}",
        x_label=f"{word}s needed",
        y_label="dialogues, %",
        highest=highest,
        size_px=chart_size_px(panels, 250),
    )


def _seconds(runs: Sequence[Run]) -> Figure | None:
    timed: list[tuple[int, Run]] = []
    for colour, run in zip(colour_numbers(runs), runs, strict=True):
        if _has_timings(run):
            timed.append((colour, run))
    if len(timed) > MAX_HISTOGRAMS:
        return _seconds_by_run(timed, runs)
    has_several = len(runs) > 1
    charts: list[tuple[str, str]] = []
    for colour, run in timed:
        heading = run.label if has_several else ""
        charts.append((heading, _seconds_chart(run, colour, len(timed))))
    encodes: list[str] = []
    for run in runs:
        if len(run.encode_seconds()) or run.encodings_read:
            encodes.append(_encodes_text(run, is_named=has_several))
    caption = (
        "Segmenter seconds per prediction (a batch is divided evenly), without the encoder; the last bar holds all "
        "slower predictions."
    )
    if encodes:
        caption = f"{caption} Encoder: {'; '.join(encodes)}."
    return make_figure("Seconds per prediction", caption, charts)


def _has_timings(run: Run) -> bool:
    return any(len(run.seconds_per_round(user)) for user in run.users)


def _seconds_by_run(timed: Sequence[tuple[int, Run]], runs: Sequence[Run]) -> Figure | None:
    """Draw one chart per dataset with one row per run, fastest run first."""
    columns = run_column_names(runs)
    rows_by_data: dict[str, list[Whisker]] = {}
    for colour, run in timed:
        row = _seconds_whisker(run, colour, columns[run])
        rows_by_data.setdefault(run.data, []).append(row)
    charts: list[tuple[str, str]] = []
    for data, rows in rows_by_data.items():
        lowest = min(row.low for row in rows)
        highest = max(row.high for row in rows)
        chart = interval_chart(
            sorted(rows, key=lambda row: row.value),
            title=f"seconds per prediction on {data}",
            x_label="seconds per prediction",
            x_range=(lowest / 1.3, highest * 1.3),
            is_log=True,
        )
        charts.append((data, chart))
    caption = (
        "Segmenter seconds per prediction (a batch is divided evenly), without the encoder: the median and the range "
        "of the middle 90 %."
    )
    return make_figure("Seconds per prediction", caption, charts)


def _seconds_whisker(
    run: Run,
    colour: int,
    label: str,
) -> Whisker:
    seconds = np.concatenate([run.seconds_per_round(user) for user in run.users])
    quantiles = np.quantile(seconds, (0.05, 0.5, 0.95))
    # The axis is logarithmic, so replace zeros by a microsecond.
    low, median, high = np.maximum(1e-6, quantiles).tolist()
    return Whisker(
        label=label,
        colour=colour,
        value=median,
        low=low,
        high=high,
        note=seconds_text(median),
    )


def _encodes_text(run: Run, *, is_named: bool) -> str:
    seconds = run.encode_seconds()
    text = count_text(len(seconds), "pass", "passes")
    if is_named:
        text += f" ({run.label})"
    if len(seconds):
        text += f", median {seconds_text(float(np.median(seconds)))}"
    if run.encodings_read:
        text += f", {count_text(run.encodings_read, 'encoding')} read from the cache"
    return text


def _seconds_chart(
    run: Run,
    colour: int,
    panels: int,
) -> str:
    seconds = np.concatenate([run.seconds_per_round(user) for user in run.users])
    # The slowest 1 % must not compress the other bars, so the last bar collects them.
    top = float(np.quantile(seconds, 0.99)) or 1.0
    scale, unit = (1000.0, "ms") if top < 1 else (1.0, "s")
    edges = nice_ticks(0.0, scale * top, TIME_BINS)
    bins = np.searchsorted(edges, scale * seconds, side="right") - 1
    shares = (100 * np.bincount(bins, minlength=len(edges)) / len(seconds)).tolist()
    median = seconds_text(float(np.median(seconds)))
    return bar_chart(
        [Bars(label=run.label, colour=colour, heights=shares)],
        [number(edge) for edge in edges],
        title=f"seconds per prediction, {run.label}",
        x_label=f"{unit} per prediction (median {median})",
        y_label="predictions, %",
        size_px=chart_size_px(panels, 250),
    )
