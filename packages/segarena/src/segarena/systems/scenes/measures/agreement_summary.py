"""Summary of agreement over a set of images: medians with intervals, histograms, human performance.

Intervals resample images with all their annotations, because pairs from one image are not
independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from segarena.statistics.bootstrap import draw_units, percentile_interval
from segarena.statistics.intervals import Interval
from segarena.systems.scenes.edges.edge_summary import f_measure
from segarena.systems.scenes.measures.agreement import ImageAgreement

BINS = 20
"""Number of histogram bins in the range 0..1."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class AgreementSummary:
    """Agreement over a set of images; a measure without values is NaN with n = 0.

    The value of a measure is the `mean` of its interval.

    Attributes:
        images: number of images.
        annotations: number of annotations.
        pairs: number of pairs of annotators, over all images.
        regions, edges: median F over all pairs.
        order: share of overlapping pairs of regions whose depth order agrees, over all images.
        names: share of matched regions with the same name, among those with a name in both
            annotations.
        precision, recall: edges of one annotator against all others, mean over annotators and
            images.
        human_f: F of these two means.
        region_histogram, edge_histogram: number of pairs by F, in `BINS` bins over 0..1; the last
            bin includes 1.
    """

    images: int
    annotations: int
    pairs: int
    regions: Interval
    edges: Interval
    order: Interval
    names: Interval
    precision: Interval
    recall: Interval
    human_f: Interval
    region_histogram: NDArray[np.int64]
    edge_histogram: NDArray[np.int64]


def summarise_agreement(
    images: Sequence[ImageAgreement], *, repeats: int = 1000
) -> AgreementSummary:
    """Summarize the agreement over a set of images; 95 % intervals use `repeats` bootstrap samples."""
    regions: list[NDArray[np.float64]] = []
    edges: list[NDArray[np.float64]] = []
    order: list[NDArray[np.float64]] = []
    names: list[NDArray[np.float64]] = []
    humans: list[NDArray[np.float64]] = []
    for image in images:
        pairs = image.pairs
        regions.append(_finite([pair.regions for pair in pairs]))
        edges.append(_finite([pair.edges for pair in pairs]))
        same_orders = [(pair.order_same, pair.order_pairs) for pair in pairs]
        same_names = [(pair.names_same, pair.names) for pair in pairs]
        order.append(_defined(same_orders))
        names.append(_defined(same_names))
        rates = [(human.precision, human.recall) for human in image.humans]
        humans.append(np.array(rates).reshape(-1, 2))
    # All intervals share one generator, so their values depend on the order of the calls below.
    interval = partial(_interval, rng=np.random.default_rng(0), repeats=repeats)
    return AgreementSummary(
        images=len(images),
        annotations=sum(image.annotators for image in images),
        pairs=sum(len(image.pairs) for image in images),
        regions=interval(regions, _median),
        edges=interval(edges, _median),
        order=interval(order, _share),
        names=interval(names, _share),
        precision=interval(humans, _mean_precision),
        recall=interval(humans, _mean_recall),
        human_f=interval(humans, _f_of_means),
        region_histogram=_histogram(regions),
        edge_histogram=_histogram(edges),
    )


def _interval(
    groups: list[NDArray[np.float64]],
    value: Callable[[NDArray[np.float64]], float],
    *,
    rng: np.random.Generator,
    repeats: int,
) -> Interval:
    """Compute a value from the rows of all images, with an interval, which is NaN for fewer than two images."""
    images = [group for group in groups if len(group)]
    if not images:
        return Interval(math.nan, math.nan, math.nan, 0)
    rows = np.concatenate(images)
    if len(images) < 2:
        return Interval(value(rows), math.nan, math.nan, len(rows))
    values: list[float] = []
    # Images are resampled, not rows, because pairs from one image share annotators.
    for batch in draw_units(len(images), repeats, rng):
        for drawn in batch:
            sample = np.concatenate([images[index] for index in drawn])
            values.append(value(sample))
    low, high = percentile_interval(values, 0.95)
    return Interval(value(rows), low, high, len(rows))


def _median(values: NDArray[np.float64]) -> float:
    return float(np.median(values))


def _share(rows: NDArray[np.float64]) -> float:
    same, total = rows.sum(axis=0)
    return float(same / total)


def _mean_precision(rows: NDArray[np.float64]) -> float:
    return float(rows[:, 0].mean())


def _mean_recall(rows: NDArray[np.float64]) -> float:
    return float(rows[:, 1].mean())


def _f_of_means(rows: NDArray[np.float64]) -> float:
    precision, recall = rows.mean(axis=0)
    return f_measure(float(precision), float(recall))


def _defined(rows: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the rows (same, all) whose second count is not 0."""
    defined = [row for row in rows if row[1]]
    return np.array(defined, dtype=np.float64).reshape(-1, 2)


def _finite(values: list[float]) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    return array[np.isfinite(array)]


def _histogram(groups: list[NDArray[np.float64]]) -> NDArray[np.int64]:
    values = np.concatenate(groups) if groups else np.zeros(0)
    counts, _ = np.histogram(values, bins=BINS, range=(0.0, 1.0))
    return counts
