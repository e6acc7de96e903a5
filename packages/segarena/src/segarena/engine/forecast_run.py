"""Measurements for a forecast: the cost of a few samples, and the target counts of further ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from segarena.engine.rows import CACHE_READ_ROUND, ENCODER_PASS_ROUND
from segarena.engine.run_folder import RunFolder
from segarena.engine.sample_job import SampleResult
from segarena.records.parquet_tables import parquet_bytes, seal_parquet
from segarena.roles import Dataset

MAX_COUNTING_S = 10.0
"""Time limit in seconds for counting targets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedSample:
    """Cost of one sample, extrapolated if only a part of the sample was run.

    Attributes:
        targets: number of targets with a dialogue.
        seconds: duration from loading to writing.
        model_s: part of `seconds` spent in the segmenter, encoding and predicting.
        load_s: part of `seconds` spent on loading.
        before_s: part of `seconds` spent on computing or reading the encoding. Like `load_s`, it
            does not grow with the number of rounds.
        encodes: number of encoder passes; 0 if the encoding came from the cache.
        rounds: number of predictions.
        rounds_at_most: predictions if every dialogue continues to the last round.
        records_bytes: size of records and timings.
        masks_bytes: size of the stored masks.
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
        """Return the cost if every dialogue continues to the last round."""
        return self.times(self.rounds_at_most / self.rounds) if self.rounds else self

    def times(self, factor: float) -> TimedSample:
        """Return the cost with durations for `factor` times as many predictions.

        Loading and encoding take as long as before, and all fields other than durations are unchanged.
        """
        encode_s = self.before_s if self.encodes else 0.0
        constant_s = self.load_s + self.before_s
        return replace(
            self,
            seconds=constant_s + (self.seconds - constant_s) * factor,
            model_s=encode_s + (self.model_s - encode_s) * factor,
        )


def read_timed_sample(folder: RunFolder, result: SampleResult) -> TimedSample:
    """Return the cost of a sample from its rows in `folder`."""
    is_sample = pl.col("sample") == folder.samples[result.index]
    records = folder.read("records").filter(is_sample)
    timings = folder.read("timings").filter(is_sample)
    masks = folder.read("masks").filter(is_sample)
    opened = result.opened
    has_dialogues = records.filter(pl.col("target") != "").height > 0
    # Scale the part that was run to the whole sample.
    scale = 1 / opened.share
    encoded = timings.filter(pl.col("round") == ENCODER_PASS_ROUND)
    read = timings.filter(pl.col("round") == CACHE_READ_ROUND)
    answered = records.filter(pl.col("failure").is_null()).height
    sample = TimedSample(
        targets=opened.targets if has_dialogues else 0,
        seconds=result.seconds,
        model_s=_total_s(timings) - _total_s(read),
        load_s=opened.load_s,
        before_s=_total_s(encoded) + _total_s(read),
        encodes=encoded.height,
        rounds=round(scale * answered),
        rounds_at_most=opened.rounds_at_most if has_dialogues else 0,
        records_bytes=round(scale * (_file_size(records) + _file_size(timings))),
        masks_bytes=round(scale * _file_size(masks)),
    )
    return sample.times(scale)


def count_targets(
    dataset: Dataset,
    samples: Sequence[str],
    clock: Callable[[], float] = time.monotonic,
    *,
    within_s: float = MAX_COUNTING_S,
) -> float:
    """Return the mean number of targets of the samples that can be loaded within `within_s` seconds.

    Samples are loaded in random order, at least one. An unusable sample has no targets.
    """
    counts: list[int] = []
    until = clock() + within_s
    order: list[int] = np.random.default_rng(0).permutation(len(samples)).tolist()
    for index in order:
        try:
            sample = dataset.load(samples[index])
            counts.append(len(sample.targets))
        # Datasets are plug-ins, so any exception is possible.
        except Exception:
            counts.append(0)
        if clock() >= until:
            break
    return sum(counts) / len(counts)


def _total_s(timings: pl.DataFrame) -> float:
    return float(timings["predict_s"].sum())


def _file_size(frame: pl.DataFrame) -> int:
    return len(seal_parquet(parquet_bytes(frame)))
