"""What the records of a run must agree on among themselves, whatever was judged."""

from __future__ import annotations

import polars as pl

_DIALOGUE = ["sample", "target", "user", "repeat"]
_TOLERANCE = 1e-9


def contradictions(records: pl.DataFrame, rounds: int) -> dict[str, str]:
    """Return the samples whose records contradict themselves, with the first thing that is wrong.

    In a dialogue rounds are counted from 1 without a gap, up to `rounds`; a sample that could not be used has the one
    round 0. Where intersection and union are recorded, the IoU is their quotient.
    """
    found: dict[str, str] = {}
    order = pl.int_range(1, pl.len() + 1).over(_DIALOGUE)
    is_out = (pl.col("round") != order) | (pl.col("round") > rounds)
    out_of_order = records.filter(pl.col("target") != "").filter(is_out)
    for row in out_of_order.iter_rows(named=True):
        found.setdefault(
            row["sample"], f"target {row['target']}, user {row['user']}: round {row['round']} is out of order"
        )
    if {"iou", "intersection", "union"} <= set(records.columns):
        expected = pl.col("intersection") / pl.col("union")
        wrong = records.filter((pl.col("union") > 0) & ((pl.col("iou") - expected).abs() > _TOLERANCE))
        for row in wrong.iter_rows(named=True):
            found.setdefault(
                row["sample"],
                f"target {row['target']}, user {row['user']}, round {row['round']}: IoU {row['iou']:.4g}, "
                f"but {row['intersection']:g} of {row['union']:g} px",
            )
    return found
