"""Which clicks of a collection count.

People are paid by the batch, and some click anywhere. A batch counts when at least 7 of its 10 clicks fall inside
their object; a click of it counts when it falls inside or not farther than one click radius from it.

Source: RClicks, section 3.2. No code for this rule is published.
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValidClicks:
    """A collection with the clicks that do not count set apart.

    Attributes:
        kept: the valid clicks, columns and order as given.
        dropped: the others, with a column `reason`: "batch" (too few of its batch inside) or "far" (farther than one
            radius from the object, or outside the image).
        batches: batches in the collection.
        dropped_batches: batches in which too few clicks were inside.
    """

    kept: pl.DataFrame
    dropped: pl.DataFrame
    batches: int
    dropped_batches: int

    def __str__(self) -> str:
        far = self.dropped.filter(self.dropped["reason"] == "far").height
        return (
            f"kept {self.kept.height} of {self.kept.height + self.dropped.height} clicks; dropped "
            f"{self.dropped.height - far} in {self.dropped_batches} of {self.batches} batches, and {far} far clicks"
        )


def filter_valid(
    collection: pl.DataFrame,
    masks: Callable[[str], Mask],
    *,
    required_share: float = 0.7,
    radius_share: float = 0.01,
) -> ValidClicks:
    """Return the clicks of a collection that count, and the others with the reason.

    Args:
        collection: a clicks table with one more column, `batch`: which clicks were made together. A batch of fewer
            than 10 is judged by the same share.
        masks: full stem to what was to be clicked, bool (h, w) of the table's w and h.
        required_share: how much of a batch must fall inside.
        radius_share: the click radius as a share of the image diagonal.

    Raises:
        InvalidInput: no column `batch`, or a mask of another size.
    """
    import polars as pl

    if "batch" not in collection.columns:
        raise InvalidInput(
            "a collection needs a column 'batch' that says which clicks were made in one go"
        )
    judged = _judge(collection.with_row_index("_index"), masks, radius_share)
    shares = judged.group_by("batch", maintain_order=True).agg(share=pl.col("_inside").mean())
    # The share is a ratio of small whole numbers: 7 / 10 must pass 0.7 whatever the last bit says.
    good = shares.filter(pl.col("share") >= required_share - 1e-9)["batch"]
    reason = (
        pl.when(~pl.col("batch").is_in(good.implode()))
        .then(pl.lit("batch"))
        .otherwise(pl.when(~pl.col("_near")).then(pl.lit("far")))
    )
    judged = judged.with_columns(reason=reason).drop("_index", "_inside", "_near")
    return ValidClicks(
        kept=judged.filter(pl.col("reason").is_null()).drop("reason"),
        dropped=judged.filter(pl.col("reason").is_not_null()),
        batches=shares.height,
        dropped_batches=shares.height - len(good),
    )


def _judge(table: pl.DataFrame, masks: Callable[[str], Mask], radius_share: float) -> pl.DataFrame:
    """Return the table with `_inside` and `_near`."""
    import polars as pl

    inside = np.zeros(table.height, dtype=np.bool_)
    near = np.zeros(table.height, dtype=np.bool_)
    for clicks in table.partition_by("full_stem", maintain_order=True):
        mask = masks(clicks["full_stem"][0])
        size = (clicks["h"][0], clicks["w"][0])
        if mask.shape != size:
            raise InvalidInput(
                f"{clicks['full_stem'][0]}: its clicks are for a size of {size}, the mask has {mask.shape}"
            )
        rows = clicks["_index"].to_numpy()
        positions = clicks.select("y", "x").to_numpy()
        radius_px = radius_share * math.hypot(*mask.shape)
        inside[rows] = [is_near(mask, position, 0) for position in positions]
        near[rows] = [is_near(mask, position, radius_px) for position in positions]
    return table.with_columns(pl.Series("_inside", inside), pl.Series("_near", near))


def is_near(mask: Mask, position: Sequence[int] | NDArray[np.int64], radius_px: float) -> bool:
    """Tell whether a click at (row, column) is on the image, and within `radius_px` of a pixel of the mask."""
    row, column = (int(p) for p in position)
    if not (0 <= row < mask.shape[0] and 0 <= column < mask.shape[1]):
        return False
    window = grow_window(
        (slice(row, row + 1), slice(column, column + 1)), int(radius_px), mask.shape
    )
    rows, columns = np.nonzero(mask[window])
    away = (rows + window[0].start - row) ** 2 + (columns + window[1].start - column) ** 2
    return bool(len(away)) and float(away.min()) <= radius_px**2
