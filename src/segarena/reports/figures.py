"""The figures about rounds and seconds; those about groups of targets are `segarena.reports.groups`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from segarena.interfaces import Statistic
from segarena.reports.charts import Bars, Curve, bar_chart, line_chart
from segarena.reports.groups import group_figures
from segarena.reports.reading import Run
from segarena.reports.series import Figure, Series, figure, round_word, run_colours, series_by_user
from segarena.reports.tables import curve_intervals, metrics_of, noc_counts, thresholds_of
from segarena.reports.wording import HELD, metric_name, seconds_text

TIME_BINS = 30


def figures(runs: Sequence[Run]) -> list[Figure]:
    """Return every figure that the records have something for."""
    made = [*(_curves(runs, metric) for metric in metrics_of(runs[0])[:2]), _noc(runs), _seconds(runs)]
    return [*filter(None, made), *group_figures(runs)]


def _curves(runs: Sequence[Run], metric: str) -> Figure | None:
    panels = series_by_user(runs)
    if len(runs) == 1 and panels:
        panels = [("", [series for _, group in panels for series in group])]
    charts = [(user, _curve_chart(user, group, metric)) for user, group in panels]
    name, word = metric_name(metric), round_word(runs)
    caption = (
        f"Mean {name} over targets after each {word}, with its 95 % interval. {HELD} Dashed: the benchmark's "
        "thresholds."
    )
    return figure(f"{name} against {word}s", caption, charts)


def _curve_chart(user: str, group: Sequence[Series], metric: str) -> str:
    curves = [_curve(series, metric) for series in group]
    runs = [series.run for series in group]
    highs = [v for curve in curves for v in (*curve.y, *curve.high) if math.isfinite(v)]
    return line_chart(
        curves,
        title=f"{metric_name(metric)} against rounds {user}",
        x_label=f"{round_word(runs)}s",
        y_label=f"mean {metric_name(metric)}",
        y_range=(0.0, max(1.0, *highs) if highs else 1.0),
        marks=thresholds_of(runs[0], metric),
        size_px=(520, 300) if user else (720, 360),
    )


def _curve(series: Series, metric: str) -> Curve:
    means = curve_intervals(series.run, series.user, metric)
    return Curve(
        label=series.label,
        colour=series.colour,
        x=range(1, len(means) + 1),
        y=[interval.mean for interval in means],
        low=[interval.low for interval in means],
        high=[interval.high for interval in means],
    )


def _noc(runs: Sequence[Run]) -> Figure | None:
    statistic = next((s for s in reversed(runs[0].summary) if s.kind == "noc"), None)
    if statistic is None:
        return None
    word = round_word(runs)
    panels = [(user, [_noc_bars(series, statistic) for series in group]) for user, group in series_by_user(runs)]
    highest = max((h for _, bars in panels for bar in bars for h in bar.heights), default=0.0)
    charts = [
        (
            user,
            bar_chart(
                bars,
                [*map(str, range(1, runs[0].rounds + 1)), "never"],
                title=f"{statistic.name}, {user}",
                x_label=f"{word}s needed",
                y_label="dialogues, %",
                highest=highest,
            ),
        )
        for user, bars in panels
    ]
    caption = (
        f"How many {word}s it took until {metric_name(statistic.metric)} was at least {statistic.threshold:g}; "
        f"“never”: not within {runs[0].rounds}."
    )
    return figure(f"Distribution of {statistic.name}", caption, charts, run_colours(runs))


def _noc_bars(series: Series, statistic: Statistic) -> Bars:
    counts, never = noc_counts(series.run, series.user, statistic)
    total = max(1, int(counts.sum()) + never)
    shares = [100 * count / total for count in (*counts.tolist(), never)]
    return Bars(label=series.label, colour=series.colour, heights=shares)


def _seconds(runs: Sequence[Run]) -> Figure | None:
    charts = [(run.label if len(runs) > 1 else "", _seconds_chart(run, order)) for order, run in enumerate(runs)]
    encodes = "; ".join(_encodes_text(run, is_named=len(runs) > 1) for run in runs if len(run.encode_seconds()))
    caption = (
        "Seconds in the segmenter per prediction (its share of the batch), encoder apart. The last bar holds all "
        "that is slower."
    )
    return figure("Seconds per prediction", f"{caption} Encoder: {encodes}." if encodes else caption, charts)


def _encodes_text(run: Run, *, is_named: bool) -> str:
    seconds = run.encode_seconds()
    name = f" ({run.label})" if is_named else ""
    return f"{len(seconds)} passes{name}, median {seconds_text(float(np.median(seconds)))}"


def _seconds_chart(run: Run, colour: int) -> str:
    seconds = np.concatenate([run.seconds_per_round(user) for user in run.users])
    if not len(seconds):
        return ""
    top = float(np.quantile(seconds, 0.99)) or 1.0
    scale, unit = (1000.0, "ms") if top < 1 else (1.0, "s")
    places = np.minimum((seconds / top * TIME_BINS).astype(np.int64), TIME_BINS - 1)
    shares = (100 * np.bincount(places, minlength=TIME_BINS) / len(seconds)).tolist()
    return bar_chart(
        [Bars(label=run.label, colour=colour, heights=shares)],
        [f"{scale * top * k / TIME_BINS:.3g}" for k in range(TIME_BINS)],
        title=f"seconds per prediction, {run.label}",
        x_label=f"{unit} per prediction (median {seconds_text(float(np.median(seconds)))})",
        y_label="predictions, %",
        size_px=(520, 220),
    )
