"""The table of a video challenge: a row per interaction, object and frame; and what it says of each sample.

Source: DAVIS Interactive Challenge, its package `davisinteractive` 1.0.4, whose reports have the same columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import InvalidInput

METRICS = ("jaccard", "contour", "j_and_f")

REPORT_COLUMNS = {
    "session_id": pl.String,
    "sequence": pl.String,
    "scribble_idx": pl.Int64,
    "interaction": pl.Int64,
    "object_id": pl.Int64,
    "frame": pl.Int64,
    **dict.fromkeys(METRICS, pl.Float64),
    "timing": pl.Float64,
}
"""The columns of a report, in order. Frames count from 0, everything else from 1; timing is in seconds, the same in all
rows of an interaction."""

_ROUND = ("sample", "target", "user", "repeat", "round")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleScore:
    """What the answers about one sample came to: a sequence, begun from the scribbles of one person.

    Attributes:
        sequence: its name.
        scribble_idx: which person's scribbles, from 1.
        quality: (objects, interactions), means over frames; NaN where an interaction is missing. Without a column
            where no answer came in time.
        seconds: (interactions,), what each answer took; NaN where it is missing.
    """

    sequence: str
    scribble_idx: int
    quality: NDArray[np.float64]
    seconds: NDArray[np.float64]

    @property
    def objects(self) -> int:
        """How many objects are judged."""
        return len(self.quality)


def unanswered(sequence: str, scribble_idx: int, objects: int) -> SampleScore:
    """Return the score of a sample about which no answer came."""
    return SampleScore(
        sequence=sequence,
        scribble_idx=scribble_idx,
        quality=np.empty((objects, 0)),
        seconds=np.empty(0),
    )


def report_table(parts: pl.DataFrame, timings: pl.DataFrame, session_id: str = "") -> pl.DataFrame:
    """Return the report of what one user and segmenter did, from the tables `parts` and `timings` of a run.

    What encoding a sample took is part of the first interaction, where the challenge's participants do it too. The
    columns are `COLUMNS`, the rows in the order of `parts`; timings of other users are not looked at.
    """
    if not parts.height:
        return pl.DataFrame(schema=REPORT_COLUMNS)
    encoding = (
        timings.filter(pl.col("user") == "")
        .group_by("sample")
        .agg(encode_s=pl.col("predict_s").sum())
    )
    timed = timings.filter(pl.col("user") != "").join(encoding, on="sample", how="left")
    timed = timed.with_columns(
        timing=pl.col("predict_s")
        + pl.when(pl.col("round") == 1).then(pl.col("encode_s").fill_null(0.0)).otherwise(0.0)
    )
    joined = parts.join(
        timed.select(*_ROUND, "timing"), on=_ROUND, how="left", maintain_order="left"
    )
    return joined.select(
        pl.lit(session_id).alias("session_id"),
        pl.col("sample").alias("sequence"),
        (pl.col("repeat") + 1).alias("scribble_idx"),
        pl.col("round").alias("interaction"),
        pl.col("object").alias("object_id"),
        "frame",
        "jaccard",
        "contour",
        (0.5 * pl.col("jaccard") + 0.5 * pl.col("contour")).alias("j_and_f"),
        "timing",
    ).cast(pl.Schema(REPORT_COLUMNS))


def sample_scores(report: pl.DataFrame, metric: str = "j_and_f") -> list[SampleScore]:
    """Return what each sample of a report came to, in its order, by one of `METRICS`.

    Raises:
        InvalidInput: another metric.
    """
    if metric not in METRICS:
        raise InvalidInput(f"metric: expected one of {', '.join(METRICS)}, got {metric!r}")
    keys = ("sequence", "scribble_idx")
    means = report.group_by(*keys, "interaction", "object_id", maintain_order=True).agg(
        pl.col(metric, "timing").mean()
    )
    groups = means.group_by(*keys, maintain_order=True)
    return [_score(str(key[0]), int(str(key[1])), rows, metric) for key, rows in groups]


def _score(sequence: str, scribble_idx: int, rows: pl.DataFrame, metric: str) -> SampleScore:
    columns: dict[str, NDArray[Any]] = {name: rows[name].to_numpy() for name in rows.columns}
    rounds = columns["interaction"]
    number = columns["object_id"]
    quality = np.full((number.max(), rounds.max()), np.nan)
    seconds = np.full(rounds.max(), np.nan)
    quality[number - 1, rounds - 1] = columns[metric]
    seconds[rounds - 1] = columns["timing"]
    return SampleScore(
        sequence=sequence, scribble_idx=scribble_idx, quality=quality, seconds=seconds
    )
