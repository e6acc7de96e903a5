"""IoU of groups of pairs, with bootstrap draws of query images.

The bootstrap resamples query images, because pairs share them. The sums of a group in a draw are
its sums per query times how often the draw has each query: one sparse product for all groups.
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

# Added to the union by the TOSS scripts and by PFENet, to avoid dividing by 0.
_UNION_EPSILON = {"toss": 1e-7, "pfenet": 1e-10}


@dataclass(frozen=True, slots=True, eq=False)
class GroupedIou:
    """IoU of each group of pairs.

    Attributes:
        groups: one row per group: the columns of its key, `pairs` and `queries` (counts).
        iou: (groups, 1 + repeats); column 0 is the estimate, the others are bootstrap draws; NaN
            where a draw has no pair of the group.
    """

    groups: pl.DataFrame
    iou: NDArray[np.float64]

    def items(self) -> Iterator[tuple[dict[str, Any], NDArray[np.float64]]]:
        """Yield the row of each group with its IoU, (1 + repeats,)."""
        return zip(self.groups.iter_rows(named=True), self.iou, strict=True)


def compute_grouped_iou(
    counts: pl.DataFrame,
    by: Sequence[str],
    settings: ScoreSettings,
    *,
    is_background: bool = False,
) -> GroupedIou:
    """Compute the IoU of each combination of values of the columns `by`; groups are sorted.

    Args:
        counts: a table of counts.
        by: columns whose values make a group.
        settings: rules for void pixels, empty unions and aggregation; repeats and seed.
        is_background: compute the IoU of the background instead of the object.

    Raises:
        InvalidInput: the counts lack a column that the settings need.
    """
    intersection, union = _select_pixels(counts, settings.void, is_background=is_background)
    if settings.aggregate == "per_pair":
        # The mean over pairs is a sum of IoU over a sum of ones.
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
    # A union of 0 means a draw without pairs only where the group has pixels at all; otherwise
    # the rule for empty unions applies.
    has_union = unions[:, :1] > 0
    ratios = _divide(intersections, unions, settings.empty_union)
    return GroupedIou(groups, np.where((unions == 0) & has_union, np.nan, ratios))


def _select_pixels(
    counts: pl.DataFrame, void: VoidRule, *, is_background: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intersection and union of each pair under a rule for void pixels."""
    intersection = counts["intersection"].to_numpy()
    union = counts["union"].to_numpy()
    if void == "background":
        union = union + _required_column(counts, "predicted_void_px", "void background")
    elif void == "script":
        union = union + _required_column(counts, "void_px", "void script")
    if not is_background:
        return intersection, union
    frame = _required_column(counts, "frame_px", "FB-IoU")
    if void == "ignore":
        frame = frame - _required_column(counts, "void_px", "FB-IoU")
    return frame - union, frame - intersection


def _required_column(counts: pl.DataFrame, column: str, purpose: str) -> NDArray[np.float64]:
    if counts[column].null_count():
        raise InvalidInput(
            f"{purpose} needs the column {column} of every pair; run with the metric void, or add "
            "the column"
        )
    return counts[column].to_numpy()


def _bootstrap_sums(
    cells: pl.DataFrame, group_count: int, repeats: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of intersections and of unions, each (groups, 1 + repeats)."""
    # scipy.sparse takes long to import; `segarena toss --help` needs none of it.
    from scipy.sparse import csr_array

    queries = cells["query"].rank("dense").to_numpy().astype(np.int64) - 1
    query_count = int(queries.max(initial=-1)) + 1
    coordinates = (cells["group_index"].to_numpy().astype(np.int64), queries)
    shape = (group_count, query_count)
    matrices = [
        csr_array((cells[name].to_numpy(), coordinates), shape=shape)
        for name in ("intersection", "union")
    ]
    estimate = np.ones((query_count, 1))
    blocks = [[matrix @ estimate] for matrix in matrices]
    rng = np.random.default_rng(seed)
    for times in draw_counts(query_count, repeats, rng):
        # Made contiguous once here, not once in each product.
        columns = np.ascontiguousarray(times.T)
        for matrix, own_blocks in zip(matrices, blocks, strict=True):
            own_blocks.append(matrix @ columns)
    return np.hstack(blocks[0]), np.hstack(blocks[1])


def _divide(
    intersection: NDArray[np.float64], union: NDArray[np.float64], rule: EmptyUnionRule
) -> NDArray[np.float64]:
    if rule == "clamp":
        return intersection / np.maximum(union, 1)
    return intersection / (union + _UNION_EPSILON[rule])
