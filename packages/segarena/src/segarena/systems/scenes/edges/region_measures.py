"""Two segmentations of one image, region by region: covering, Rand index, variation of information, region matching.

Everything is read from one table: how many pixels two regions share.

Source: Arbelaez et al., TPAMI 2011, section 2; BSDS500, `evaluation_reg_image`, `collect_eval_reg`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput, InvalidMask

_LARGEST_TABLE = 1 << 20  # places, 8 MB; labels beyond that are renumbered first


def shared_px(prediction: NDArray[Any], target: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many pixels region i of one label map (H, W) shares with region j of the other, int64 (I, J).

    Rows and columns are the labels that occur, in ascending order.

    Raises:
        InvalidMask: shapes differ, no pixels, or not whole numbers of 0 or more.
    """
    if prediction.shape != target.shape or not prediction.size:
        raise InvalidMask(
            f"label maps: expected two of one shape with pixels, got {prediction.shape} and {target.shape}"
        )
    if prediction.dtype.kind not in "iub" or target.dtype.kind not in "iub":
        raise InvalidMask(
            f"label maps: expected whole numbers, got {prediction.dtype} and {target.dtype}"
        )
    rows = _largest(prediction) + 1
    columns = _largest(target) + 1
    if rows * columns > _LARGEST_TABLE:
        prediction, target = (
            np.unique(labels, return_inverse=True)[1] for labels in (prediction, target)
        )
        rows = _largest(prediction) + 1
        columns = _largest(target) + 1
    both = np.multiply(prediction, columns, dtype=np.int64)
    both += target
    table = np.bincount(both.reshape(-1), minlength=rows * columns).reshape(rows, columns)
    return table[table.any(axis=1)][:, table.any(axis=0)]


def region_iou_table(shared: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the IoU of every two regions from their shared pixels, (I, J)."""
    union = shared.sum(axis=1)[:, None] + shared.sum(axis=0)[None] - shared
    return shared / union


def segmentation_covering(shared: NDArray[np.int64]) -> float:
    """Return how well the target (columns) is covered: the best IoU of each of its regions, weighted by area."""
    areas = shared.sum(axis=0)
    return float((region_iou_table(shared).max(axis=0) * areas).sum() / areas.sum())


def rand_index(shared: NDArray[np.int64]) -> float:
    """Return the share of pairs of pixels that both maps join or both separate; 1 for one pixel."""
    n = float(shared.sum())
    pairs = n * (n - 1) / 2
    squares = (float((shared.sum(axis=axis, dtype=np.float64) ** 2).sum()) for axis in (0, 1))
    apart = sum(squares) / 2 - float((shared.astype(np.float64) ** 2).sum())
    return 1 - apart / pairs if pairs else 1.0  # one pixel has no pair to disagree on


def variation_of_information(shared: NDArray[np.int64]) -> float:
    """Return how many bits one map lacks to tell the other, both ways added; 0 for equal ones."""
    joint = shared / shared.sum()
    # Rounding can make it slightly negative for equal maps.
    return max(
        0.0, 2 * _entropy(joint.ravel()) - _entropy(joint.sum(axis=0)) - _entropy(joint.sum(axis=1))
    )


@dataclass(frozen=True, slots=True, eq=False)
class RegionCounts:
    """One image's segmentations at T thresholds against several people.

    Attributes:
        thresholds: (T,).
        covered: (T,), the best IoU of each target region times its area, added over regions and people.
        area: pixels of all target regions.
        best: the same sum with the best segmentation for each region.
        given_covered: (T,), the other way round: the best IoU of each region given with any region of any person,
            weighted by area.
        rand: (T,), Rand index, mean over the people.
        information: (T,), variation of information in bits, mean over the people.
    """

    thresholds: NDArray[np.float64]
    covered: NDArray[np.float64]
    area: float
    best: float
    given_covered: NDArray[np.float64]
    rand: NDArray[np.float64]
    information: NDArray[np.float64]


def count_regions(
    segmentations: Sequence[NDArray[Any]],
    references: Sequence[NDArray[Any]],
    *,
    thresholds: NDArray[np.float64],
) -> RegionCounts:
    """Return the region measures of one image: label maps (H, W), one per threshold, against those of several people.

    Raises:
        InvalidInput: nothing to compare, or another number of thresholds.
        InvalidMask: as `shared_px`.
    """
    if not references or not segmentations or len(segmentations) != len(thresholds):
        raise InvalidInput(
            f"expected a segmentation per threshold and people to compare with, got {len(segmentations)} "
            f"segmentations, {len(thresholds)} thresholds, {len(references)} people"
        )
    tables: list[list[NDArray[np.int64]]] = []
    best_ious: list[NDArray[np.float64]] = []
    rand: list[float] = []
    information: list[float] = []
    for segmentation in segmentations:
        row = [shared_px(segmentation, reference) for reference in references]
        tables.append(row)
        best_ious.append(np.concatenate([region_iou_table(table).max(axis=0) for table in row]))
        rand.append(float(np.mean([rand_index(table) for table in row])))
        information.append(float(np.mean([variation_of_information(table) for table in row])))
    areas = np.concatenate([table.sum(axis=0) for table in tables[0]]).astype(np.float64)
    return RegionCounts(
        thresholds=np.asarray(thresholds, dtype=np.float64),
        covered=np.array([(best * areas).sum() for best in best_ious]),
        area=float(areas.sum()),
        best=float((np.max(best_ious, axis=0) * areas).sum()),
        given_covered=np.array([_given_covered(row) for row in tables]),
        rand=np.array(rand),
        information=np.array(information),
    )


class BestThreshold(NamedTuple):
    """What a measure reaches: the best threshold for the set, the value there (ods), and with one per image (ois)."""

    threshold: float
    ods: float
    ois: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegionSummary:
    """What segmentations reach on a set.

    Attributes:
        covering: pooled over the regions of all images.
        covering_best: with the best segmentation for each single region.
        rand: Rand index, mean over images.
        information: variation of information in bits, mean over images; the best is the lowest.
        curve: rows of threshold, covering, Rand index, variation of information.
        images: per image its best threshold, covering there, and the covering the other way round there.
    """

    covering: BestThreshold
    covering_best: float
    rand: BestThreshold
    information: BestThreshold
    curve: NDArray[np.float64]
    images: NDArray[np.float64]


def summarise_regions(counts: Sequence[RegionCounts]) -> RegionSummary:
    """Return the summary of a set of images, one or more, all with as many thresholds."""
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
        images.append((one.thresholds[best], one.covered[best] / one.area, one.given_covered[best]))
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
    thresholds: NDArray[np.float64], values: NDArray[np.float64], at: int, ois: Any
) -> BestThreshold:
    return BestThreshold(float(thresholds[at]), float(values[at]), float(ois))


def _given_covered(tables: Sequence[NDArray[np.int64]]) -> float:
    areas = tables[0].sum(axis=1)
    return float(
        (np.max([region_iou_table(table).max(axis=1) for table in tables], axis=0) * areas).sum()
        / areas.sum()
    )


def _largest(labels: NDArray[Any]) -> int:
    if labels.dtype.kind == "i" and int(labels.min()) < 0:
        raise InvalidMask(f"label maps: expected numbers of 0 or more, got {int(labels.min())}")
    return int(labels.max())


def _entropy(shares: NDArray[np.float64]) -> float:
    present = shares[shares > 0]
    return float(-(present * np.log2(present)).sum())
