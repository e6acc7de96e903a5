"""Figures of one-shot runs: IoU by partition and level, and IoU against ease and salience."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.reports.chart_series import Figure, chart_size_px, make_figure
from segarena.reports.charts import Bars, Curve, bar_chart, line_chart
from segarena.statistics.intervals import Interval, bootstrap_mean
from segarena.systems.oneshot.page.run_pixel_counts import COGNIZANCE, SegmenterCounts
from segarena.systems.oneshot.pairs.pair_table import LEVELS, PARTITIONS, POOLED_LEVEL
from segarena.systems.oneshot.scoring.score_breakdown import level_table
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings

CURVE_BINS = 8
"""Maximum number of points of a curve; repeated values give fewer points."""

PARTS_CAPTION = (
    "Class mIoU, averaged over folds. At L4 to L6 the support does not show the class, so the "
    "correct answer is an empty mask and low is good."
)
CURVES_CAPTION = (
    "Mean IoU of query targets (a class in a query image) in up to eight bins; bands are 95 % "
    "intervals over these targets. Ease is the IoU that a reference method reaches on a target "
    "(“difficulty” in the table of pairs), salience the IoU of the target with the saliency map. "
    "Support-cognizance pairs are left out."
)

# Column and its axis label. "Difficulty" is the IoU of a reference method, so a high value means
# easy.
_ATTRIBUTE_WORDS = {"difficulty": "ease", "salience": "salience"}
# Title, column and order of the column's values.
_BAR_PANELS = (
    ("Query complexity", "partition", PARTITIONS),
    ("Support cognizance", "level", (*LEVELS[:4], POOLED_LEVEL, *LEVELS[4:])),
)


def toss_figures(
    segmenters: Sequence[SegmenterCounts],
    settings: ScoreSettings,
    colours: Mapping[str, int],
) -> list[Figure]:
    """Return all figures for which the counts have values, coloured by segmenter."""
    bars: list[tuple[str, str]] = []
    for title, column, order in _BAR_PANELS:
        bars.append((title, _bar_panel(segmenters, settings, column, order, colours)))
    curves: list[tuple[str, str]] = []
    for column, word in _ATTRIBUTE_WORDS.items():
        chart = _curve_panel(segmenters, column, word, colours)
        curves.append((f"IoU against {word}", chart))
    figures = (
        make_figure("IoU by partition and level", PARTS_CAPTION, bars),
        make_figure("IoU against ease and salience", CURVES_CAPTION, curves),
    )
    return [figure for figure in figures if figure is not None]


def _bar_panel(
    segmenters: Sequence[SegmenterCounts],
    settings: ScoreSettings,
    column: str,
    order: Sequence[str],
    colours: Mapping[str, int],
) -> str:
    means = [part_means(counts, settings, column) for counts in segmenters]
    known = set().union(*means)
    parts = [name for name in order if name in known]
    if not parts:
        return ""
    bars: list[Bars] = []
    for counts, own in zip(segmenters, means, strict=True):
        heights = [own.get(name, 0.0) for name in parts]
        colour = colours[counts.segmenter]
        bars.append(Bars(label=counts.segmenter, colour=colour, heights=heights))
    return bar_chart(
        bars,
        parts,
        title=f"IoU by {column}",
        x_label=column,
        y_label="class mIoU",
        highest=1.0,
        size_px=chart_size_px(2, 280),
    )


def part_means(
    counts: SegmenterCounts,
    settings: ScoreSettings,
    column: str,
) -> dict[str, float]:
    """Return class mIoU of each partition or level: the mean over folds if the tier has folds."""
    table = level_table(counts.counts, settings)
    of_parts = table.filter(pl.col(column).is_not_null())
    # The mean over folds is the row without a fold. Sorted last, it overwrites the rows of single
    # folds.
    ordered = of_parts.sort("fold", nulls_last=True)
    means: dict[str, float] = {}
    for name, miou in ordered.select(column, "miou").iter_rows():
        means[str(name)] = float(miou)
    return means


def _curve_panel(
    segmenters: Sequence[SegmenterCounts],
    column: str,
    word: str,
    colours: Mapping[str, int],
) -> str:
    curves: list[Curve] = []
    for counts in segmenters:
        x, y = target_values(counts, column)
        # A single distinct x gives one point, which is no curve.
        if len(np.unique(x)) > 1:
            curves.append(_binned_curve(counts.segmenter, colours[counts.segmenter], x, y))
    if not curves:
        return ""
    return line_chart(
        curves,
        title=f"IoU against {word}",
        x_label=word,
        y_label="mean IoU of query targets",
        x_range=(0.0, 1.0),
        size_px=chart_size_px(2, 330),
    )


def target_values(
    counts: SegmenterCounts, column: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the difficulty or salience of each query target, sorted, and the mean IoU of its pairs."""
    is_used = pl.col(column).is_not_null() & (pl.col("tier") != COGNIZANCE)
    # Single pairs have no accumulated IoU, so this is the mean over pairs with the "clamp" rule.
    iou = pl.col("intersection") / pl.max_horizontal("union", 1.0)
    rows = (
        counts.counts.filter(is_used)
        .with_columns(iou=iou)
        .group_by("class", "query")
        .agg(pl.col(column).mean(), pl.col("iou").mean())
        .sort(column, "class", "query")
    )
    x = rows[column].to_numpy().astype(np.float64)
    y = rows["iou"].to_numpy().astype(np.float64)
    return x, y


def equal_count_bins(x: NDArray[np.float64], count: int = CURVE_BINS) -> list[NDArray[np.intp]]:
    """Split sorted values into up to `count` bins of about equal size, and return the indices of each bin.

    Equal values always fall into the same bin. Up to `count` distinct values get a bin each.
    """
    is_run_start = np.diff(x, prepend=-math.inf)
    # If a bin ended between equal values, the result would depend on their order.
    run_starts = np.flatnonzero(is_run_start)
    edges: set[int] = set(run_starts.tolist())
    if len(run_starts) > count:
        # Each boundary moves to the nearest start of a run of equal values.
        edges = set()
        shares = np.linspace(0, len(x), count + 1)[1:-1]
        for share in shares:
            nearest = np.abs(run_starts - share).argmin()
            edges.add(int(run_starts[nearest]))
    inner_edges = sorted(edges - {0})
    bins = np.split(np.arange(len(x)), inner_edges)
    return [indices for indices in bins if len(indices)]


def _binned_curve(
    label: str,
    colour: int,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
) -> Curve:
    centres: list[float] = []
    means: list[Interval] = []
    for indices in equal_count_bins(x):
        centres.append(float(x[indices].mean()))
        # Each target contributes one value, so it is a cluster of its own.
        clusters = np.arange(len(indices))
        means.append(bootstrap_mean(y[indices], clusters))
    return Curve.from_intervals(label, colour, centres, means)
