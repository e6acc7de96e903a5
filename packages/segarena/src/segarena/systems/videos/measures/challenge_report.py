"""Report table of a video challenge, one row per interaction, object and frame, and scores computed from it.

Source: DAVIS Interactive Challenge, package `davisinteractive` 1.0.4, whose reports have the same
columns.
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
"""The columns of a report, in order. Frames are counted from 0; people, interactions and objects
from 1. Timing is in seconds, the same in all rows of an interaction."""

_ROUND = ("sample", "target", "user", "repeat", "round")


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class SampleScore:
    """Quality and time of the predictions for one sample: a sequence with the first scribbles of one person.

    Attributes:
        sequence: name of the sequence.
        scribble_idx: index of the person who drew the first scribbles, from 1.
        quality: (objects, interactions), means over frames; NaN for a missing interaction. It has
            no columns if there was no prediction within the time limit.
        seconds: (interactions,), time of each prediction; NaN if it is missing.
    """

    sequence: str
    scribble_idx: int
    quality: NDArray[np.float64]
    seconds: NDArray[np.float64]

    @property
    def objects(self) -> int:
        """Number of objects."""
        return len(self.quality)


def unanswered(
    sequence: str,
    scribble_idx: int,
    objects: int,
) -> SampleScore:
    """Return the score of a sample without any prediction."""
    return SampleScore(
        sequence=sequence,
        scribble_idx=scribble_idx,
        quality=np.empty((objects, 0)),
        seconds=np.empty(0),
    )


def report_table(
    parts: pl.DataFrame,
    timings: pl.DataFrame,
    session_id: str = "",
) -> pl.DataFrame:
    """Return the report of one user and segmenter, computed from the tables `parts` and `timings` of a run.

    The time for encoding a sample is part of the first interaction, as for the challenge's
    participants. The columns are `REPORT_COLUMNS`, and the rows are in the order of `parts`;
    timings of other users are ignored.
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
        # Repeats count from 0, but the challenge's scribble files and reports count from 1.
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
    """Return the score of each sample by one of `METRICS`, in the order of the report.

    Raises:
        InvalidInput: unknown metric.
    """
    if metric not in METRICS:
        raise InvalidInput(f"metric: expected one of {', '.join(METRICS)}, got {metric!r}")
    # Average over the frames of each object first, as the published summary does.
    keys = ("sequence", "scribble_idx")
    groups = report.group_by(*keys, "interaction", "object_id", maintain_order=True)
    # The time of an interaction is repeated in all its rows, so its mean is the time itself.
    means = groups.agg(pl.col(metric, "timing").mean())
    scores: list[SampleScore] = []
    for key, rows in means.group_by(*keys, maintain_order=True):
        scores.append(_score(str(key[0]), int(str(key[1])), rows, metric))
    return scores


def _score(
    sequence: str,
    scribble_idx: int,
    rows: pl.DataFrame,
    metric: str,
) -> SampleScore:
    interaction: NDArray[Any] = rows["interaction"].to_numpy()
    object_id: NDArray[Any] = rows["object_id"].to_numpy()
    # Ids are numbered from 1 without gaps.
    objects = object_id.max()
    interactions = interaction.max()
    # NaN marks interactions without a row; 0 would count them as failures.
    quality = np.full((objects, interactions), np.nan)
    seconds = np.full(interactions, np.nan)
    quality[object_id - 1, interaction - 1] = rows[metric].to_numpy()
    seconds[interaction - 1] = rows["timing"].to_numpy()
    return SampleScore(
        sequence=sequence,
        scribble_idx=scribble_idx,
        quality=quality,
        seconds=seconds,
    )
