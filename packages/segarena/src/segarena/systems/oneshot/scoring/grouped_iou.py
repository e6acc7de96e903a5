"""IoU of groups of pairs, with bootstrap resampling of query images.

The bootstrap resamples query images, because pairs with the same query are not independent. A
resample weights the pixel sums of each query image by how often it was drawn, so one sparse matrix
product computes all groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import draw_counts
from segarena.systems.oneshot.scoring.score_settings import (
    EmptyUnionRule,
    ScoreSettings,
    VoidRule,
)

# Constants that the TOSS scripts and PFENet add to the union to avoid division by 0.
_UNION_EPSILON = {"toss": 1e-7, "pfenet": 1e-10}


@dataclass(frozen=True, slots=True, eq=False)
class GroupedIou:
    """IoU of each group of pairs.

    Attributes:
        groups: one row per group: its key columns, and the counts `pairs` and `queries`.
        iou: (groups, 1 + repeats); column 0 is the estimate, the others are bootstrap values; NaN
            where a resample contains no pair of the group.
    """

    groups: pl.DataFrame
    iou: NDArray[np.float64]

    def items(self) -> Iterator[tuple[dict[str, Any], NDArray[np.float64]]]:
        """Yield the row of each group with its IoU values, (1 + repeats,)."""
        return zip(self.groups.iter_rows(named=True), self.iou, strict=True)


def compute_grouped_iou(
    counts: pl.DataFrame,
    by: Sequence[str],
    settings: ScoreSettings,
    *,
    is_background: bool = False,
) -> GroupedIou:
    """Compute the IoU of each combination of values in the columns `by`, sorted by these columns.

    Args:
        counts: a table of counts.
        by: columns that define the groups.
        settings: rules for void pixels, empty unions and aggregation; bootstrap repeats and seed.
        is_background: compute the IoU of the background instead of the object.

    Raises:
        InvalidInput: the counts lack a column that the settings need.
    """
    intersection, union = _select_pixels(counts, settings.void, is_background=is_background)
    if settings.aggregate == "per_pair":
        # With ones as the union, the ratio of the sums below is the mean IoU over pairs.
        intersection = _divide(intersection, union, settings.empty_union)
        union = np.ones(counts.height)
    pixels = counts.select(*by, "query").with_columns(intersection=intersection, union=union)
    cells = pixels.group_by(*by, "query").agg(pl.col("intersection", "union").sum(), pairs=pl.len())
    groups = cells.group_by(by).agg(pl.col("pairs").sum(), queries=pl.len()).sort(by)
    group_indices = groups.select(by).with_row_index("group_index")
    cells = cells.join(group_indices, on=by, nulls_equal=True).sort("group_index", "query")
    intersections, unions = _bootstrap_sums(cells, groups.height, settings.repeats, settings.seed)
    if settings.aggregate == "per_pair":
        undefined = np.full_like(intersections, np.nan)
        iou = np.divide(intersections, unions, out=undefined, where=unions > 0)
        return GroupedIou(groups, iou)
    # If the group has pixels, a union of 0 means that the resample contains none of its pairs.
    # Otherwise the rule for empty unions applies.
    has_union = unions[:, :1] > 0
    ratios = _divide(intersections, unions, settings.empty_union)
    return GroupedIou(groups, np.where((unions == 0) & has_union, np.nan, ratios))


def _select_pixels(
    counts: pl.DataFrame,
    void: VoidRule,
    *,
    is_background: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the intersection and union of each pair under a rule for void pixels."""
    intersection = counts["intersection"].to_numpy()
    union = counts["union"].to_numpy()
    # `union` excludes void pixels. As background, those that are predicted become false positives.
    if void == "background":
        union = union + _required_column(counts, "predicted_void_px", "void background")
    # In the scripts, a label of 255 makes label + output > 0, so every void pixel enters the union,
    # but label == 1 keeps it out of the intersection.
    elif void == "script":
        union = union + _required_column(counts, "void_px", "void script")
    if not is_background:
        return intersection, union
    frame = _required_column(counts, "frame_px", "FB-IoU")
    if void == "ignore":
        frame = frame - _required_column(counts, "void_px", "FB-IoU")
    # For the background, the roles are swapped: its intersection is everything outside the union.
    return frame - union, frame - intersection


def _required_column(
    counts: pl.DataFrame,
    column: str,
    purpose: str,
) -> NDArray[np.float64]:
    if counts[column].null_count():
        raise InvalidInput(
            f"{purpose} needs the column {column} of every pair; run with the metric void, or add "
            "the column"
        )
    return counts[column].to_numpy()


def _bootstrap_sums(
    cells: pl.DataFrame,
    group_count: int,
    repeats: int,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of intersections and of unions, each (groups, 1 + repeats)."""
    # scipy.sparse takes long to import, and `segarena toss --help` needs none of it.
    from scipy.sparse import csr_array

    # Query images are resampled rather than rows, because rows share them.
    queries = cells["query"].rank("dense").to_numpy().astype(np.int64) - 1
    query_count = int(queries.max(initial=-1)) + 1
    coordinates = (cells["group_index"].to_numpy().astype(np.int64), queries)
    shape = (group_count, query_count)
    # A sparse matrix, because each query image belongs to few groups.
    matrices: list[Any] = []
    for name in ("intersection", "union"):
        values = cells[name].to_numpy()
        matrices.append(csr_array((values, coordinates), shape=shape))
    estimate = np.ones((query_count, 1))
    blocks = [[matrix @ estimate] for matrix in matrices]
    rng = np.random.default_rng(seed)
    for times in draw_counts(query_count, repeats, rng):
        # A transposed array would be copied to contiguous memory in each product; this copies it
        # once.
        columns = np.ascontiguousarray(times.T)
        for matrix, own_blocks in zip(matrices, blocks, strict=True):
            own_blocks.append(matrix @ columns)
    return np.hstack(blocks[0]), np.hstack(blocks[1])


def _divide(
    intersection: NDArray[np.float64],
    union: NDArray[np.float64],
    rule: EmptyUnionRule,
) -> NDArray[np.float64]:
    if rule == "clamp":
        return intersection / np.maximum(union, 1)
    return intersection / (union + _UNION_EPSILON[rule])
