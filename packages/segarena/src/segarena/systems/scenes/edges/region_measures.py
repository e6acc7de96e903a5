"""Region measures of two segmentations of one image: covering, Rand index, variation of information.

All of them are computed from one table: the number of pixels that each pair of regions shares.

Source: Arbelaez et al., TPAMI 2011, section 2; BSDS500, `evaluation_reg_image`, `collect_eval_reg`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput, InvalidMask

_LARGEST_TABLE = 1 << 20  # entries, 8 MB; labels of larger tables are renumbered first


def shared_px(prediction: NDArray[Any], target: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of pixels shared by each pair of regions of two label maps (H, W), int64 (I, J).

    Rows and columns are the labels that occur, in ascending order.

    Raises:
        InvalidMask: shapes differ, a map is empty, or labels are not integers of 0 or more.
    """
    if prediction.shape != target.shape or not prediction.size:
        raise InvalidMask(
            f"label maps: expected two of the same shape with pixels, got {prediction.shape} and {target.shape}"
        )
    if prediction.dtype.kind not in "iub" or target.dtype.kind not in "iub":
        raise InvalidMask(
            f"label maps: expected whole numbers, got {prediction.dtype} and {target.dtype}"
        )
    rows = _largest(prediction) + 1
    columns = _largest(target) + 1
    if rows * columns > _LARGEST_TABLE:
        prediction = np.unique(prediction, return_inverse=True)[1]
        target = np.unique(target, return_inverse=True)[1]
        rows = _largest(prediction) + 1
        columns = _largest(target) + 1
    flat = np.multiply(prediction, columns, dtype=np.int64)
    flat += target
    table = np.bincount(flat.reshape(-1), minlength=rows * columns).reshape(rows, columns)
    used_rows = table.any(axis=1)
    used_columns = table.any(axis=0)
    return table[used_rows][:, used_columns]


def region_iou_table(shared: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the IoU of each pair of regions, (I, J), from a table of shared pixels."""
    areas = shared.sum(axis=1)[:, None]
    target_areas = shared.sum(axis=0)[None]
    union = areas + target_areas - shared
    return shared / union


def segmentation_covering(shared: NDArray[np.int64]) -> float:
    """Return the covering of the target (columns): the mean best IoU of its regions, weighted by area."""
    areas = shared.sum(axis=0)
    best = region_iou_table(shared).max(axis=0)
    return float((best * areas).sum() / areas.sum())


def rand_index(shared: NDArray[np.int64]) -> float:
    """Return the Rand index: the share of pixel pairs that both maps join or both separate; 1 for a single pixel."""
    n = float(shared.sum())
    pairs = n * (n - 1) / 2
    if not pairs:
        return 1.0  # a single pixel has no pair to disagree on
    row_sums = shared.sum(axis=1, dtype=np.float64)
    column_sums = shared.sum(axis=0, dtype=np.float64)
    row_squares = float((row_sums**2).sum())
    column_squares = float((column_sums**2).sum())
    squares = float((shared.astype(np.float64) ** 2).sum())
    disagreements = (column_squares + row_squares) / 2 - squares
    return 1 - disagreements / pairs


def variation_of_information(shared: NDArray[np.int64]) -> float:
    """Return the variation of information in bits: the sum of both conditional entropies; 0 for equal maps."""
    joint = shared / shared.sum()
    joint_entropy = _entropy(joint.ravel())
    target_entropy = _entropy(joint.sum(axis=0))
    prediction_entropy = _entropy(joint.sum(axis=1))
    # Rounding errors can make the sum slightly negative for equal maps.
    return max(0.0, 2 * joint_entropy - target_entropy - prediction_entropy)


@dataclass(frozen=True, slots=True, eq=False)
class RegionCounts:
    """Region measures of one image's segmentations at T thresholds against several annotators.

    Attributes:
        thresholds: (T,).
        covered: (T,), the best IoU of each target region times its area, summed over regions and
            annotators.
        area: number of pixels of all target regions.
        best: the same sum, with the best segmentation chosen separately for each region.
        reverse_covered: (T,), the best IoU of each segmented region with any region of any
            annotator, averaged with the areas of the segmented regions as weights.
        rand: (T,), Rand index, mean over the annotators.
        information: (T,), variation of information in bits, mean over the annotators.
    """

    thresholds: NDArray[np.float64]
    covered: NDArray[np.float64]
    area: float
    best: float
    reverse_covered: NDArray[np.float64]
    rand: NDArray[np.float64]
    information: NDArray[np.float64]


def count_regions(
    segmentations: Sequence[NDArray[Any]],
    references: Sequence[NDArray[Any]],
    *,
    thresholds: NDArray[np.float64],
) -> RegionCounts:
    """Compute the region measures of one image.

    Args:
        segmentations: label maps (H, W), one per threshold.
        references: label maps (H, W) of several annotators.
        thresholds: (T,), one per segmentation.

    Raises:
        InvalidInput: there are no segmentations or references, or the number of thresholds
            differs.
        InvalidMask: see `shared_px`.
    """
    if not references or not segmentations or len(segmentations) != len(thresholds):
        raise InvalidInput(
            f"expected one segmentation per threshold and at least one annotator, got {len(segmentations)} "
            f"segmentations, {len(thresholds)} thresholds, {len(references)} annotators"
        )
    best_ious: list[NDArray[np.float64]] = []
    reverse_covered: list[float] = []
    rand: list[float] = []
    information: list[float] = []
    target_areas: list[NDArray[np.int64]] = []
    for segmentation in segmentations:
        tables: list[NDArray[np.int64]] = []
        best_of_each: list[NDArray[np.float64]] = []
        target_areas = []  # the same for every segmentation
        rand_of_each: list[float] = []
        information_of_each: list[float] = []
        for reference in references:
            table = shared_px(segmentation, reference)
            tables.append(table)
            best_of_each.append(region_iou_table(table).max(axis=0))
            target_areas.append(table.sum(axis=0))
            rand_of_each.append(rand_index(table))
            information_of_each.append(variation_of_information(table))
        best_ious.append(np.concatenate(best_of_each))
        reverse_covered.append(_reverse_covering(tables))
        rand.append(float(np.mean(rand_of_each)))
        information.append(float(np.mean(information_of_each)))
    areas = np.concatenate(target_areas).astype(np.float64)
    covered = [(best * areas).sum() for best in best_ious]
    best_of_all = np.max(best_ious, axis=0)
    return RegionCounts(
        thresholds=np.asarray(thresholds, dtype=np.float64),
        covered=np.array(covered),
        area=float(areas.sum()),
        best=float((best_of_all * areas).sum()),
        reverse_covered=np.array(reverse_covered),
        rand=np.array(rand),
        information=np.array(information),
    )


class BestThreshold(NamedTuple):
    """Best values of a measure on a set of images.

    Attributes:
        threshold: the best threshold for the whole set.
        ods: the value at this threshold (optimal dataset scale).
        ois: the value with the best threshold of each image (optimal image scale).
    """

    threshold: float
    ods: float
    ois: float


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class RegionSummary:
    """Region measures of a detector on a set of images.

    Attributes:
        covering: covering, pooled over the regions of all images.
        covering_best: covering with the best segmentation for each single region.
        rand: Rand index, mean over images.
        information: variation of information in bits, mean over images; lower is better.
        curve: rows of threshold, covering, Rand index, variation of information.
        images: for each image, its best threshold with the covering and the reverse covering
            there.
    """

    covering: BestThreshold
    covering_best: float
    rand: BestThreshold
    information: BestThreshold
    curve: NDArray[np.float64]
    images: NDArray[np.float64]


def summarise_regions(counts: Sequence[RegionCounts]) -> RegionSummary:
    """Summarize the counts of one or more images, all with the same number of thresholds."""
    if not counts or len({len(one.thresholds) for one in counts}) != 1:
        raise InvalidInput(
            "region counts: expected one image or more, all at the same number of thresholds"
        )
    thresholds = counts[0].thresholds
    area = sum(one.area for one in counts)
    covered = np.sum([one.covered for one in counts], axis=0) / area
    rand = np.mean([one.rand for one in counts], axis=0)
    information = np.mean([one.information for one in counts], axis=0)
    images: list[tuple[float, float, float]] = []
    for one in counts:
        best = int(one.covered.argmax())
        covering = one.covered[best] / one.area
        images.append((one.thresholds[best], covering, one.reverse_covered[best]))
    covering_ois = sum(one.covered.max() for one in counts) / area
    rand_ois = np.mean([one.rand.max() for one in counts])
    information_ois = np.mean([one.information.min() for one in counts])
    return RegionSummary(
        covering=_best(thresholds, covered, int(covered.argmax()), covering_ois),
        covering_best=sum(one.best for one in counts) / area,
        rand=_best(thresholds, rand, int(rand.argmax()), rand_ois),
        information=_best(thresholds, information, int(information.argmin()), information_ois),
        curve=np.stack([thresholds, covered, rand, information], axis=1),
        images=np.array(images),
    )


def _best(
    thresholds: NDArray[np.float64],
    values: NDArray[np.float64],
    index: int,
    ois: Any,
) -> BestThreshold:
    return BestThreshold(float(thresholds[index]), float(values[index]), float(ois))


def _reverse_covering(tables: Sequence[NDArray[np.int64]]) -> float:
    """Return the covering of a segmentation by the regions of all annotators."""
    areas = tables[0].sum(axis=1)
    best_of_each = [region_iou_table(table).max(axis=1) for table in tables]
    best = np.max(best_of_each, axis=0)
    covered = (best * areas).sum()
    return float(covered / areas.sum())


def _largest(labels: NDArray[Any]) -> int:
    if labels.dtype.kind == "i" and int(labels.min()) < 0:
        raise InvalidMask(f"label maps: expected numbers of 0 or more, got {int(labels.min())}")
    return int(labels.max())


def _entropy(shares: NDArray[np.float64]) -> float:
    present = shares[shares > 0]
    return float(-(present * np.log2(present)).sum())
