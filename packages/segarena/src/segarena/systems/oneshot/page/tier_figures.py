"""The figures of one-shot runs: IoU by partition and level, and against how easy and salient a query is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.reports.chart_series import Figure, chart_size_px, make_figure
from segarena.reports.charts import Bars, Curve, bar_chart, line_chart
from segarena.statistics.intervals import bootstrap_mean
from segarena.systems.oneshot.page.run_counts import COGNIZANCE, SegmenterCounts
from segarena.systems.oneshot.pairs.pair_table import LEVELS, PARTITIONS, POOLED_LEVEL
from segarena.systems.oneshot.scoring.score_breakdown import level_table
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings

CURVE_BINS = 8
"""About how many points a curve has; fewer where values repeat."""

PARTS_CAPTION = (
    "Class mIoU, averaged over folds. At L4 to L6 the support does not show the class, so the right answer is an empty "
    "mask and low is good."
)
CURVES_CAPTION = (
    "Mean IoU of query targets, a class in a query image, in up to eight bins; bands are 95 % intervals over them. "
    "Ease is the IoU that a reference method reaches on it (“difficulty” in the table of pairs), salience the IoU of "
    "the target with the saliency map. Support-cognizance pairs are left out."
)


def toss_figures(
    base: Sequence[SegmenterCounts], settings: ScoreSettings, colours: Mapping[str, int]
) -> list[Figure]:
    """Return every figure that the pairs have something for, each segmenter in its colour."""
    parts = [
        (title, _bars(base, settings, column, order, colours)) for title, column, order in _PARTS
    ]
    against = [
        (f"IoU against {word}", _curves(base, name, word, colours)) for name, word in _FACTS.items()
    ]
    made = (
        make_figure("IoU by partition and level", PARTS_CAPTION, parts),
        make_figure("IoU against ease and salience", CURVES_CAPTION, against),
    )
    return [one for one in made if one is not None]


_FACTS = {"difficulty": "ease", "salience": "salience"}
"""Columns of the pairs, and what they say: the difficulty of a pair is an IoU, so high is easy."""
_PARTS = (
    ("Query complexity", "partition", PARTITIONS),
    ("Support cognizance", "level", (*LEVELS[:4], POOLED_LEVEL, *LEVELS[4:])),
)


def _bars(
    base: Sequence[SegmenterCounts],
    settings: ScoreSettings,
    column: str,
    order: Sequence[str],
    colours: Mapping[str, int],
) -> str:
    values = [part_means(entry, settings, column) for entry in base]
    there = set().union(*values)
    shown = [name for name in order if name in there]
    if not shown:
        return ""
    bars: list[Bars] = []
    for entry, own in zip(base, values, strict=True):
        heights = [own.get(name, 0.0) for name in shown]
        bars.append(Bars(label=entry.segmenter, colour=colours[entry.segmenter], heights=heights))
    labels = {"title": f"IoU by {column}", "x_label": column, "y_label": "class mIoU"}
    return bar_chart(bars, shown, **labels, highest=1.0, size_px=chart_size_px(2, 280))


def part_means(entry: SegmenterCounts, settings: ScoreSettings, column: str) -> dict[str, float]:
    """Return class mIoU of each partition or level, the mean over folds where there are any."""
    table = level_table(entry.counts, settings).filter(pl.col(column).is_not_null())
    rows = table.sort(
        "fold", nulls_last=True
    )  # the mean over folds has none, and so overwrites them
    return {str(name): float(value) for name, value in rows.select(column, "miou").iter_rows()}


def _curves(
    base: Sequence[SegmenterCounts], name: str, word: str, colours: Mapping[str, int]
) -> str:
    found = [(entry.segmenter, query_values(entry, name)) for entry in base]
    known = [(segmenter, x, y) for segmenter, (x, y) in found if len(set(x.tolist())) > 1]
    if not known:
        return ""
    return line_chart(
        [_curve(segmenter, colours[segmenter], x, y) for segmenter, x, y in known],
        title=f"IoU against {word}",
        x_label=word,
        y_label="mean IoU of query targets",
        x_range=(0.0, 1.0),
        size_px=chart_size_px(2, 330),
    )


def query_values(
    entry: SegmenterCounts, name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return difficulty or salience of each class in each query image, and the mean IoU of its pairs; sorted."""
    counts = entry.counts.filter(pl.col(name).is_not_null() & (pl.col("tier") != COGNIZANCE))
    rows = (
        counts.with_columns(iou=pl.col("intersection") / pl.max_horizontal("union", 1.0))
        .group_by("class", "query")
        .agg(pl.col(name).mean(), pl.col("iou").mean())
        .sort(name, "class", "query")
    )
    return rows[name].to_numpy().astype(np.float64), rows["iou"].to_numpy().astype(np.float64)


def equal_count_bins(x: NDArray[np.float64], count: int = CURVE_BINS) -> list[NDArray[np.intp]]:
    """Return the places of sorted values in up to `count` bins of about equal size; equal values are never parted."""
    starts = np.flatnonzero(np.diff(x, prepend=-math.inf))
    wanted = np.linspace(0, len(x), count + 1)[1:-1]
    edges = starts.tolist()
    if len(starts) > count:
        edges = [int(starts[np.abs(starts - place).argmin()]) for place in wanted]
    return [part for part in np.split(np.arange(len(x)), sorted({*edges} - {0})) if len(part)]


def _curve(label: str, colour: int, x: NDArray[np.float64], y: NDArray[np.float64]) -> Curve:
    bins = equal_count_bins(x)
    means = [bootstrap_mean(y[part], np.arange(len(part))) for part in bins]
    return Curve(
        label=label,
        colour=colour,
        x=[float(x[part].mean()) for part in bins],
        y=[one.mean for one in means],
        low=[one.low for one in means],
        high=[one.high for one in means],
    )
