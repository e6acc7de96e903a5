"""Consistency checks within the records of a run, independent of the data."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from segarena.plugin_capabilities import ValueChecker

_DIALOGUE = ["sample", "target", "user", "repeat"]
_ROUND = [*_DIALOGUE, "round"]


def contradictions(
    records: pl.DataFrame,
    rounds: int,
    metrics: Iterable[ValueChecker] = (),
    parts: pl.DataFrame | None = None,
) -> dict[str, str]:
    """Return the samples with contradictory records, and the first contradiction of each.

    The rounds of a dialogue are numbered from 1 without a gap, up to `rounds`; an unusable sample
    has the single round 0. Metrics define further conditions.

    Args:
        records: records of a run.
        rounds: limit of rounds in a dialogue.
        metrics: metrics of the run that can check their own values.
        parts: metric values of each object and frame.
    """
    found: dict[str, str] = {}
    expected_round = pl.int_range(1, pl.len() + 1).over(_DIALOGUE)
    is_out_of_order = (pl.col("round") != expected_round) | (pl.col("round") > rounds)
    dialogues = records.filter(pl.col("target") != "")
    for row in dialogues.filter(is_out_of_order).iter_rows(named=True):
        found.setdefault(row["sample"], f"{_round_name(row)} is out of order")
    values = _float_columns(records)
    means: dict[str, np.ndarray] = {}
    if parts is not None and parts.height:
        means = _float_columns(_means_of_parts(records, parts))
    for metric in metrics:
        # If every dialogue of a run failed, its metrics have no columns.
        if not set(metric.columns) <= values.keys():
            continue
        is_wrong = metric.contradicts(values, means)
        for row in records.filter(pl.Series(is_wrong)).iter_rows(named=True):
            names = [name for name in metric.columns if row[name] is not None]
            listed = ", ".join(f"{name} {row[name]:.4g}" for name in names)
            message = f"{_round_name(row)}: {listed} contradict one another or their parts"
            found.setdefault(row["sample"], message)
    return found


def _round_name(row: dict[str, object]) -> str:
    return f"target {row['target']}, user {row['user']}: round {row['round']}"


def _means_of_parts(records: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Return the mean over the parts of each round, in the order of the records; null without parts."""
    values = [name for name, kind in parts.schema.items() if kind == pl.Float64]
    means = parts.group_by(_ROUND).agg(pl.col(values).mean())
    rounds = records.select(_ROUND)
    # The result is compared with the records row by row, but joins do not preserve order by
    # default.
    return rounds.join(means, on=_ROUND, how="left", maintain_order="left")


def _float_columns(frame: pl.DataFrame) -> dict[str, np.ndarray]:
    names = [name for name, kind in frame.schema.items() if kind == pl.Float64]
    return {name: frame[name].to_numpy() for name in names}
