"""Filter that keeps the valid clicks of a crowdsourced collection.

People are paid by the batch, and some click without looking. A batch is valid if at least 7 of its
10 clicks fall inside their objects. A click of a valid batch is valid if it falls inside its object
or at most one click radius away from it.

Source: RClicks, section 3.2. The authors published no code for this rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import grow_window
from segarena.errors import InvalidInput
from segarena.samples import Mask

if TYPE_CHECKING:
    import polars as pl


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class ValidClicks:
    """A click collection, split into valid and invalid clicks.

    Attributes:
        kept: the valid clicks, with columns and order unchanged.
        dropped: the invalid clicks, with a column `reason`: "batch" (too few clicks of the batch
            fall inside their objects) or "far" (the click is more than one radius from the object,
            or outside the image).
        batches: number of batches in the collection.
        dropped_batches: number of batches with too few clicks inside their objects.
    """

    kept: pl.DataFrame
    dropped: pl.DataFrame
    batches: int
    dropped_batches: int

    def __str__(self) -> str:
        is_far = self.dropped["reason"] == "far"
        far = self.dropped.filter(is_far).height
        return (
            f"kept {self.kept.height} of {self.kept.height + self.dropped.height} clicks; dropped "
            f"{self.dropped.height - far} in {self.dropped_batches} of {self.batches} batches, "
            f"and {far} clicks too far from their objects"
        )


def filter_valid(
    collection: pl.DataFrame,
    masks: Callable[[str], Mask],
    *,
    required_share: float = 0.7,
    radius_share: float = 0.01,
) -> ValidClicks:
    """Split a collection into valid clicks and invalid clicks, and record the reason for each invalid one.

    Args:
        collection: a clicks table with an additional column `batch`, which has the same value for
            all clicks that a person made in one task. Batches with fewer than 10 clicks need the
            same share of hits.
        masks: function from a full stem to the mask to click, bool (h, w), of the size given in the
            table.
        required_share: share of a batch's clicks that must fall inside their objects.
        radius_share: the click radius as a share of the image diagonal.

    Raises:
        InvalidInput: the column `batch` is missing, or a mask has a different size.
    """
    import polars as pl

    if "batch" not in collection.columns:
        raise InvalidInput(
            "a collection needs a column 'batch', which identifies clicks made in one task"
        )
    located = _locate(collection.with_row_index("_index"), masks, radius_share)
    shares = located.group_by("batch", maintain_order=True).agg(share=pl.col("_inside").mean())
    # The share is a ratio of small integers; the tolerance lets 7 / 10 pass 0.7 despite rounding.
    valid_batches = shares.filter(pl.col("share") >= required_share - 1e-9)["batch"]
    reason = (
        pl.when(~pl.col("batch").is_in(valid_batches.implode()))
        .then(pl.lit("batch"))
        .otherwise(pl.when(~pl.col("_near")).then(pl.lit("far")))
    )
    located = located.with_columns(reason=reason).drop("_index", "_inside", "_near")
    return ValidClicks(
        kept=located.filter(pl.col("reason").is_null()).drop("reason"),
        dropped=located.filter(pl.col("reason").is_not_null()),
        batches=shares.height,
        dropped_batches=shares.height - len(valid_batches),
    )


def _locate(
    table: pl.DataFrame,
    masks: Callable[[str], Mask],
    radius_share: float,
) -> pl.DataFrame:
    """Add the boolean columns `_inside` and `_near` to the table."""
    import polars as pl

    inside = np.zeros(table.height, dtype=np.bool_)
    near = np.zeros(table.height, dtype=np.bool_)
    for clicks in table.partition_by("full_stem", maintain_order=True):
        full_stem = clicks["full_stem"][0]
        mask = masks(full_stem)
        size = (clicks["h"][0], clicks["w"][0])
        if mask.shape != size:
            raise InvalidInput(
                f"{full_stem}: expected a mask of size {size}, as in the clicks table, got {mask.shape}"
            )
        rows = clicks["_index"].to_numpy()
        positions = clicks.select("y", "x").to_numpy()
        radius_px = radius_share * math.hypot(*mask.shape)
        inside[rows] = [is_near(mask, position, 0) for position in positions]
        near[rows] = [is_near(mask, position, radius_px) for position in positions]
    return table.with_columns(pl.Series("_inside", inside), pl.Series("_near", near))


def is_near(
    mask: Mask,
    position: Sequence[int] | NDArray[np.int64],
    radius_px: float,
) -> bool:
    """Test whether a (row, column) is in the image and within `radius_px` of the mask."""
    row = int(position[0])
    column = int(position[1])
    if not (0 <= row < mask.shape[0] and 0 <= column < mask.shape[1]):
        return False
    pixel = (slice(row, row + 1), slice(column, column + 1))
    window = grow_window(pixel, int(radius_px), mask.shape)
    rows, columns = np.nonzero(mask[window])
    row_offsets = rows + window[0].start - row
    column_offsets = columns + window[1].start - column
    squared_px = row_offsets**2 + column_offsets**2
    return bool(len(squared_px)) and float(squared_px.min()) <= radius_px**2
