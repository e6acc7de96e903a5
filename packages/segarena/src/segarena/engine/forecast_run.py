"""What a few samples of a run came to, and how many targets the others have."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from segarena.engine.rows import CACHE_READ_ROUND, ENCODER_PASS_ROUND
from segarena.engine.sample_job import SampleResult
from segarena.engine.store import RunFolder
from segarena.records.parquet_tables import parquet_bytes, seal_parquet
from segarena.roles import Dataset

MAX_COUNTING_S = 10.0
"""So long, targets are counted at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedSample:
    """What one timed sample came to; where a part of it was held, what all of it would have come to.

    Attributes:
        targets: targets that were talked about.
        seconds: from loading to writing.
        model_s: of these, in the segmenter: encoding and predicting.
        load_s: of these, for loading.
        before_s: of these, for the encoding, made or read. Like loading, it does not grow with the rounds.
        encodes: encoder passes, 0 or 1.
        rounds: predictions.
        rounds_at_most: predictions if every dialogue went on to the last round.
        records_bytes: of records and timings.
        masks_bytes: of kept masks.
    """

    targets: int
    seconds: float
    model_s: float
    load_s: float = 0.0
    before_s: float
    encodes: int
    rounds: int
    rounds_at_most: int
    records_bytes: int
    masks_bytes: int

    def at_most(self) -> TimedSample:
        """Return what it would have come to, had every dialogue gone on to the last round."""
        return self.times(self.rounds_at_most / self.rounds) if self.rounds else self

    def times(self, factor: float) -> TimedSample:
        """Return what it would have come to with `factor` times as much said about the same encoding."""
        encode_s = self.before_s if self.encodes else 0.0
        once_s = self.load_s + self.before_s
        return replace(
            self,
            seconds=once_s + (self.seconds - once_s) * factor,
            model_s=encode_s + (self.model_s - encode_s) * factor,
        )


def read_timed_sample(folder: RunFolder, held: SampleResult) -> TimedSample:
    """Return what a sample that was held left in `folder`."""
    sample = pl.col("sample") == folder.samples[held.index]
    records, timings, masks = (
        folder.read(table).filter(sample) for table in ("records", "timings", "masks")
    )
    talked = records.filter(pl.col("target") != "").height > 0
    opened = held.opened
    whole = 1 / held.opened.share
    encoded, read = (
        timings.filter(pl.col("round") == round_)
        for round_ in (ENCODER_PASS_ROUND, CACHE_READ_ROUND)
    )
    seen = TimedSample(
        targets=opened.targets if talked else 0,
        seconds=held.seconds,
        model_s=_seconds(timings) - _seconds(read),
        load_s=opened.load_s,
        before_s=_seconds(encoded) + _seconds(read),
        encodes=encoded.height,
        rounds=round(whole * records.filter(pl.col("failure").is_null()).height),
        rounds_at_most=opened.rounds_at_most if talked else 0,
        records_bytes=round(
            whole * sum(len(seal_parquet(parquet_bytes(rows))) for rows in (records, timings))
        ),
        masks_bytes=round(whole * len(seal_parquet(parquet_bytes(masks)))),
    )
    return seen.times(whole)


def count_targets(
    dataset: Dataset,
    samples: Sequence[str],
    clock: Callable[[], float] = time.monotonic,
    *,
    within_s: float = MAX_COUNTING_S,
) -> float:
    """Return how many targets a sample has on average, from those that can be loaded `within_s`, in any order.

    A sample that cannot be used has none.
    """
    counts: list[int] = []
    until = clock() + within_s
    order: list[int] = np.random.default_rng(0).permutation(len(samples)).tolist()
    for place in order:
        try:
            counts.append(len(dataset.load(samples[place]).targets))
        except Exception:
            counts.append(0)
        if clock() >= until:
            break
    return sum(counts) / len(counts)


def _seconds(timings: pl.DataFrame) -> float:
    return float(timings["predict_s"].sum())
