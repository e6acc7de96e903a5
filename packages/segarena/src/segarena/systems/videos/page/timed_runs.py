"""Timed video runs from their records: summary and intervals over time, for each run and user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from segarena.options import parse_protocol
from segarena.reports.dialogue_gallery import open_run_dataset
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.roles import Dataset
from segarena.systems.videos.benchmarks.davis import BY_TIME_ALONE, METRIC_COLUMNS
from segarena.systems.videos.measures.challenge_report import (
    SampleScore,
    report_table,
    sample_scores,
    unanswered,
)
from segarena.systems.videos.measures.challenge_summary import (
    CurveEnd,
    VideoIntervals,
    VideoSummary,
    video_intervals,
    video_summary,
)

_KEYS = ("sample", "target", "repeat", "round")


@dataclass(frozen=True, eq=False)
class TimedRun:
    """Predictions for one user in one run, with their times.

    Attributes:
        run: the run.
        user: name of the user.
    """

    run: Run
    user: str

    @property
    def label(self) -> str:
        """Name in tables."""
        if len(self.run.users) == 1:
            return self.run.label
        return f"{self.run.label}, {self.user}"

    @property
    def metric(self) -> str:
        """Metric by which the robot chooses frames and which the curve shows."""
        return METRIC_COLUMNS[self.run.config.benchmark.options["metric"]]

    @cached_property
    def report(self) -> pl.DataFrame:
        """The challenge's table, without failed dialogues."""
        failed = [dialogue for dialogue in self._dialogues if dialogue.failure is not None]
        all_parts = self.run.folder.parts()
        own_parts = all_parts.filter(pl.col("user") == self.user)
        # Keyed by sample, target and repeat: a failed dialogue is excluded from all rounds.
        dialogue_key = _KEYS[:3]
        parts = own_parts.join(_rounds(failed), on=dialogue_key, how="anti")
        return report_table(parts, self.run.timings, self.run.label)

    def scores(self, metric: str) -> list[SampleScore]:
        """Return the score of each sample, including samples without a prediction within the time limit."""
        return [*sample_scores(self.report, metric), *self._late]

    @cached_property
    def rounds(self) -> int:
        """Limit on interactions with a sample; the highest actual number if only time ends dialogues."""
        most = self.run.rounds
        if most == BY_TIME_ALONE:
            return max([1, *(dialogue.rounds for dialogue in self._dialogues)])
        return most

    @cached_property
    def horizon(self) -> CurveEnd:
        """Rule for the end of the curve."""
        rules = self.run.config.benchmark
        return CurveEnd(
            seconds_per_object=rules.options["seconds_per_object"],
            protocol=parse_protocol(rules.protocol),
        )

    @cached_property
    def summary(self) -> VideoSummary:
        """Curve against time."""
        return video_summary(self.scores(self.metric), rounds=self.rounds, horizon=self.horizon)

    @property
    def shown_until_s(self) -> float:
        """End of the time axis of charts: a little after the last interaction, or the end of the curve if earlier."""
        last_interaction_s = float(self.summary.time_s[-2])
        end_s = float(self.summary.time_s.max())
        # The time limit may end the curve long after the last prediction; that level rest is not
        # shown.
        return min(end_s, _SHOWN_BEYOND * last_interaction_s) or 1.0

    @cached_property
    def intervals(self) -> VideoIntervals:
        """Bootstrap intervals of the summary."""
        return video_intervals(
            self.scores(self.metric),
            rounds=self.rounds,
            horizon=self.horizon,
            until_s=self.shown_until_s,
        )

    @cached_property
    def dropped(self) -> int:
        """Number of predictions that were dropped because they came after the time limit."""
        return self._dropped.height

    @cached_property
    def _dropped(self) -> pl.DataFrame:
        """Return the rounds with a time but without a record: predictions after the time limit."""
        timings = self.run.timings
        own_timings = timings.filter(pl.col("user") == self.user)
        recorded = _rounds(self._dialogues)
        return own_timings.select(_KEYS).join(recorded, on=_KEYS, how="anti")

    @property
    def _dialogues(self) -> list[DialogueRecord]:
        return [dialogue for dialogue in self.run.dialogues if dialogue.user == self.user]

    @cached_property
    def _late(self) -> list[SampleScore]:
        """Return the scores of samples without a prediction in time; only the dataset knows their number of objects."""
        timings = self.run.timings
        prompted = timings.filter(pl.col("user") == self.user)["sample"]
        # The encoder pass of a sample belongs to no user and no target.
        is_encoding = (pl.col("user") == "") & (pl.col("target") == "")
        encoded = timings.filter(is_encoding)["sample"].unique(maintain_order=True)
        begun = [*prompted, *(dialogue.sample for dialogue in self.run.dialogues)]
        never_prompted = encoded.filter(~encoded.is_in(begun))
        first_dropped = self._dropped.filter(pl.col("round") == 1).select("sample", "repeat")
        lost: list[tuple[str, int | None]] = list(first_dropped.iter_rows())
        lost += [(sample, None) for sample in never_prompted]
        if not lost:
            return []
        # The dataset is opened only here, because loading videos is slow.
        dataset = open_run_dataset(self.run)[0]
        scores: list[SampleScore] = []
        for sample, repeat in lost:
            scores += _unanswered(dataset, sample, repeat)
        return scores


def _unanswered(
    dataset: Dataset | None,
    sequence: str,
    repeat: int | None,
) -> list[SampleScore]:
    """Return the score of one person's sample, or those of all people's samples if `repeat` is None."""
    sample = None if dataset is None else dataset.load(sequence)
    objects = 1
    if sample is not None:
        for target in sample.targets:
            objects = max(objects, target.objects)
    if repeat is not None:
        return [unanswered(sequence, repeat + 1, objects)]
    people = max(1, len(getattr(sample, "scribbles", ())))
    return [unanswered(sequence, person + 1, objects) for person in range(people)]


def timed_runs(runs: Sequence[Run]) -> list[TimedRun]:
    """Return each run with each of its users, in the order of the runs."""
    timed: list[TimedRun] = []
    for run in runs:
        timed += [TimedRun(run, user) for user in run.users]
    return timed


def _rounds(dialogues: Sequence[DialogueRecord]) -> pl.DataFrame:
    """Return one row per round with the columns `_KEYS`; a dialogue without rounds gets one row."""
    rows: list[tuple[str, str, int, int]] = []
    for dialogue in dialogues:
        sample, target, _, repeat = dialogue.key
        for index in range(max(1, dialogue.rounds)):
            rows.append((sample, target, repeat, index + 1))
    types = (pl.String, pl.String, pl.Int32, pl.Int32)
    # Explicit column types, because an empty table would otherwise have no types for the join.
    schema = list(zip(_KEYS, types, strict=True))
    return pl.DataFrame(rows, schema=schema, orient="row")


# End of the time axis of charts, as a multiple of the time of the last interaction.
_SHOWN_BEYOND = 1.2
