"""IoU of groups of pairs, and what it would be had other query images been drawn.

The bootstrap resamples query images, because rows share them. A group's sums under a draw are its sums per query
times how often each was drawn: one sparse product for all groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import times_drawn
from segarena.systems.oneshot.scoring.score_settings import EmptyUnionRule, ScoreSettings, VoidRule

_ADDED = {"toss": 1e-7, "pfenet": 1e-10}


@dataclass(frozen=True, slots=True, eq=False)
class GroupedIou:
    """IoU of each group.

    Attributes:
        groups: one row per group: the columns it was made by, `pairs` and `queries`.
        iou: (groups, 1 + repeats); first as it is, then one per draw; NaN where a draw has no pair of the group.
    """

    groups: pl.DataFrame
    iou: NDArray[np.float64]

    def items(self) -> Iterator[tuple[dict[str, Any], NDArray[np.float64]]]:
        """Yield each group with its IoU."""
        return zip(self.groups.iter_rows(named=True), self.iou, strict=True)


def compute_grouped_iou(
    counts: pl.DataFrame, by: Sequence[str], settings: ScoreSettings, *, is_background: bool = False
) -> GroupedIou:
    """Return the IoU of each group of pairs, that is, of each combination of the columns `by`; groups are sorted.

    `is_background` gives the IoU of what is not the object.

    Raises:
        InvalidInput: the counts lack what the settings need.
    """
    inter, union = _pixels(counts, settings.void, is_background=is_background)
    if settings.aggregate == "per_pair":
        inter = _divide(inter, union, settings.empty_union)
        union = np.ones(counts.height)
    keyed = counts.select(*by, "query").with_columns(inter=inter, union=union)
    cells = keyed.group_by(*by, "query").agg(pl.col("inter", "union").sum(), pairs=pl.len())
    groups = cells.group_by(by).agg(pl.col("pairs").sum(), queries=pl.len()).sort(by)
    cells = cells.join(groups.select(by).with_row_index("place"), on=by, nulls_equal=True).sort(
        "place", "query"
    )
    sums = _drawn(cells, groups.height, settings.repeats, settings.seed)
    if settings.aggregate == "per_pair":
        total, pairs = sums
        return GroupedIou(
            groups, np.divide(total, pairs, out=np.full_like(total, np.nan), where=pairs > 0)
        )
    # A union of 0 is a draw without pairs only where the group has pixels at all; otherwise the rule for it applies.
    has_union = sums[1][:, 0] > 0
    ratios = _divide(*sums, settings.empty_union)
    return GroupedIou(groups, np.where((sums[1] == 0) & has_union[:, None], np.nan, ratios))


def _pixels(
    counts: pl.DataFrame, void: VoidRule, *, is_background: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    inter = counts["intersection"].to_numpy()
    union = counts["union"].to_numpy()
    if void != "ignore":
        union = union + _known(
            counts, "predicted_void_px" if void == "background" else "void_px", f"void {void}"
        )
    if is_background:
        frame = _known(counts, "frame_px", "FB-IoU") - (
            _known(counts, "void_px", "FB-IoU") if void == "ignore" else 0
        )
        return frame - union, frame - inter
    return inter, union


def _known(counts: pl.DataFrame, column: str, what: str) -> NDArray[np.float64]:
    if counts[column].null_count():
        raise InvalidInput(
            f"{what} needs the column {column} of every pair; run with the metric void, or give it"
        )
    return counts[column].to_numpy()


def _drawn(
    cells: pl.DataFrame, groups: int, repeats: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of each group, (groups, 1 + repeats)."""
    from scipy.sparse import csr_array

    queries = cells["query"].rank("dense").to_numpy().astype(np.int64) - 1
    count = int(queries.max(initial=-1)) + 1
    place = (cells["place"].to_numpy().astype(np.int64), queries)
    parts = [
        csr_array((cells[name].to_numpy(), place), shape=(groups, count))
        for name in ("inter", "union")
    ]
    sums = [[part @ np.ones((count, 1))] for part in parts]
    rng = np.random.default_rng(seed)
    for times in times_drawn(count, repeats, rng):
        columns = np.ascontiguousarray(times.T)  # once, not once in each product
        for part, kept in zip(parts, sums, strict=True):
            kept.append(part @ columns)
    return np.hstack(sums[0]), np.hstack(sums[1])


def _divide(
    inter: NDArray[np.float64], union: NDArray[np.float64], empty_union: EmptyUnionRule
) -> NDArray[np.float64]:
    if empty_union == "clamp":
        return inter / np.maximum(union, 1)
    return inter / (union + _ADDED[empty_union])
