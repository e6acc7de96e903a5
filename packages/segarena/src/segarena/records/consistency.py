"""What the records of a run must agree on among themselves, whatever was judged."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from segarena.abilities import ChecksValues

_DIALOGUE = ["sample", "target", "user", "repeat"]
_ROUND = [*_DIALOGUE, "round"]


def contradictions(
    records: pl.DataFrame,
    rounds: int,
    metrics: Iterable[ChecksValues] = (),
    parts: pl.DataFrame | None = None,
) -> dict[str, str]:
    """Return the samples whose records contradict themselves, with the first thing that is wrong.

    In a dialogue rounds are counted from 1 without a gap, up to `rounds`; a sample that could not be used has the one
    round 0. What else must hold the metrics say.

    Args:
        records: of a run.
        rounds: the most a dialogue may have.
        metrics: those of the run that know what their values must agree on.
        parts: what metrics said of each object and frame.
    """
    found: dict[str, str] = {}
    order = pl.int_range(1, pl.len() + 1).over(_DIALOGUE)
    is_out = (pl.col("round") != order) | (pl.col("round") > rounds)
    for row in records.filter(pl.col("target") != "").filter(is_out).iter_rows(named=True):
        found.setdefault(row["sample"], f"{_place(row)} is out of order")
    values = _arrays(records)
    if parts is not None and parts.height:
        means = _arrays(_means_of_parts(records, parts))
    else:
        means = {}
    for metric in metrics:
        if not set(metric.columns) <= values.keys():
            continue  # nothing was judged by it
        is_wrong = metric.contradicts(values, means)
        for row in records.filter(pl.Series(is_wrong)).iter_rows(named=True):
            told = ", ".join(
                f"{name} {row[name]:.4g}" for name in metric.columns if row[name] is not None
            )
            found.setdefault(
                row["sample"], f"{_place(row)}: {told} contradict one another or their parts"
            )
    return found


def _place(row: dict[str, object]) -> str:
    return f"target {row['target']}, user {row['user']}: round {row['round']}"


def _means_of_parts(records: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Return the mean of the parts of each round, in the order of the records; null where there are none."""
    values = [name for name, kind in parts.schema.items() if kind == pl.Float64]
    means = parts.group_by(_ROUND).agg(pl.col(values).mean())
    return records.select(_ROUND).join(means, on=_ROUND, how="left", maintain_order="left")


def _arrays(frame: pl.DataFrame) -> dict[str, np.ndarray]:
    return {
        name: frame[name].to_numpy() for name, kind in frame.schema.items() if kind == pl.Float64
    }
