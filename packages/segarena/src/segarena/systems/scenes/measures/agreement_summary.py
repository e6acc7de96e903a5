"""Agreement over a set of images: medians with intervals, histograms, human performance.

Images are resampled for the intervals, with all their annotators: pairs of one image are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from segarena.statistics.bootstrap import percentile_interval, units_drawn
from segarena.statistics.intervals import Interval
from segarena.systems.scenes.edges.edge_summary import f_measure
from segarena.systems.scenes.measures.agreement import ImageAgreement

BINS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AgreementSummary:
    """Agreement over a set; what was not measured is NaN with n 0. The `mean` of an interval holds the value.

    Attributes:
        pairs: of annotators, over all images.
        regions, edges: median F over all pairs.
        order: share of pairs of regions in the same order, over all pairs of all images.
        names: share of matched regions with the same name.
        precision, recall: of one annotator against the rest, mean over annotators and images.
        human_f: F of those two means.
        region_histogram, edge_histogram: pairs by F, `BINS` bins over 0..1, the last one with 1.
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
    """Return the agreement over a set of images; `repeats` are the bootstrap samples of its 95 % intervals."""
    # One generator for all, in this order: the intervals are the same everywhere.
    interval = partial(_interval, rng=np.random.default_rng(0), repeats=repeats)
    regions, edges, order, names, humans = ([] for _ in range(5))
    for image in images:
        pairs = image.pairs
        regions.append(_finite([pair.regions for pair in pairs]))
        edges.append(_finite([pair.edges for pair in pairs]))
        order.append(_counts([(pair.order_same, pair.order_pairs) for pair in pairs]))
        names.append(_counts([(pair.names_same, pair.names) for pair in pairs]))
        humans.append(
            np.array([(human.precision, human.recall) for human in image.humans]).reshape(-1, 2)
        )
    return AgreementSummary(
        images=len(images),
        annotations=sum(image.annotators for image in images),
        pairs=sum(len(image.pairs) for image in images),
        regions=interval(regions, _median),
        edges=interval(edges, _median),
        order=interval(order, _share),
        names=interval(names, _share),
        precision=interval(humans, lambda rows: float(rows[:, 0].mean())),
        recall=interval(humans, lambda rows: float(rows[:, 1].mean())),
        human_f=interval(humans, lambda rows: f_measure(*map(float, rows.mean(axis=0)))),
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
    kept = [group for group in groups if len(group)]
    if not kept:
        return Interval(math.nan, math.nan, math.nan, 0)
    rows = np.concatenate(kept)
    if len(kept) < 2:
        return Interval(value(rows), math.nan, math.nan, len(rows))
    ends = np.cumsum([len(group) for group in kept])
    places = [np.arange(end - len(group), end) for end, group in zip(ends, kept, strict=True)]
    values: list[float] = []
    for drawn in units_drawn(len(kept), repeats, rng):
        for images in drawn:
            rows_of_draw = np.concatenate([places[image] for image in images])
            values.append(value(rows[rows_of_draw]))
    return Interval(value(rows), *percentile_interval(values, 0.95), len(rows))


def _median(values: NDArray[np.float64]) -> float:
    return float(np.median(values))


def _share(rows: NDArray[np.float64]) -> float:
    same, total = rows.sum(axis=0)
    return float(same / total)


def _counts(rows: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Return (same, all) of each pair that has any."""
    return np.array([row for row in rows if row[1]], dtype=np.float64).reshape(-1, 2)


def _finite(values: list[float]) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    return array[np.isfinite(array)]


def _histogram(groups: list[NDArray[np.float64]]) -> NDArray[np.int64]:
    values = np.concatenate(groups) if groups else np.zeros(0)
    return np.histogram(values, bins=BINS, range=(0.0, 1.0))[0]
