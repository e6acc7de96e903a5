"""What the records of timed video runs come to: the summary against time of each segmenter, and of each sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import polars as pl

from segarena.options import as_protocol
from segarena.reports.gallery import open_run_dataset
from segarena.reports.recorded_run import DialogueRecord, Run
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
    """What one user and segmenter did, against the clock.

    Attributes:
        run: the run.
        user: who drew.
    """

    run: Run
    user: str

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.run.label if len(self.run.users) == 1 else f"{self.run.label}, {self.user}"

    @property
    def metric(self) -> str:
        """The column that the robot looks at and that the curve shows."""
        return METRIC_COLUMNS[self.run.config.benchmark.options["metric"]]

    @cached_property
    def report(self) -> pl.DataFrame:
        """The challenge's table; dialogues that failed are left out."""
        failed = _rounds([dialogue for dialogue in self._dialogues if dialogue.failure is not None])
        parts = (
            self.run.folder.parts()
            .filter(pl.col("user") == self.user)
            .join(failed, on=_KEYS[:3], how="anti")
        )
        return report_table(parts, self.run.timings, self.run.label)

    def scores(self, metric: str) -> list[SampleScore]:
        """Return the score of each sample, also of those never answered in time."""
        return [*sample_scores(self.report, metric), *self._late]

    @cached_property
    def rounds(self) -> int:
        """The most interactions with a sample; where time alone ends dialogues, the most that there were."""
        most = self.run.rounds
        if most == BY_TIME_ALONE:
            return max([1, *(dialogue.rounds for dialogue in self._dialogues)])
        return most

    @cached_property
    def horizon(self) -> CurveEnd:
        """Where the curve ends."""
        rules = self.run.config.benchmark
        return CurveEnd(
            seconds_per_object=rules.options["seconds_per_object"],
            protocol=as_protocol(rules.protocol),
        )

    @cached_property
    def summary(self) -> VideoSummary:
        """The curve."""
        return video_summary(self.scores(self.metric), rounds=self.rounds, horizon=self.horizon)

    @property
    def shown_until_s(self) -> float:
        """How far the curve is drawn: somewhat past the last interaction."""
        return min(float(self.summary.time_s.max()), 1.2 * float(self.summary.time_s[-2])) or 1.0

    @cached_property
    def intervals(self) -> VideoIntervals:
        """How sure it is."""
        return video_intervals(
            self.scores(self.metric),
            rounds=self.rounds,
            horizon=self.horizon,
            until_s=self.shown_until_s,
        )

    @cached_property
    def dropped(self) -> int:
        """How many answers came too late."""
        return self._dropped.height

    @cached_property
    def _dropped(self) -> pl.DataFrame:
        """The rounds that took time and left no record: answers that came too late."""
        mine = self.run.timings.filter(pl.col("user") == self.user).select(_KEYS)
        return mine.join(_rounds(self._dialogues), on=_KEYS, how="anti")

    @property
    def _dialogues(self) -> list[DialogueRecord]:
        return [dialogue for dialogue in self.run.dialogues if dialogue.user == self.user]

    @cached_property
    def _late(self) -> list[SampleScore]:
        """Samples without an answer in time; how many objects they have, only the data tell."""
        timings = self.run.timings
        asked = timings.filter(pl.col("user") == self.user)["sample"]
        encoded = timings.filter(pl.col("user") == "", pl.col("target") == "")["sample"].unique(
            maintain_order=True
        )
        never = encoded.filter(
            ~encoded.is_in([*asked, *(dialogue.sample for dialogue in self.run.dialogues)])
        )
        first = self._dropped.filter(pl.col("round") == 1)
        lost = [
            *first.select("sample", "repeat").iter_rows(),
            *((sample, None) for sample in never),
        ]
        dataset = open_run_dataset(self.run)[0] if lost else None
        return list(
            chain.from_iterable(_unanswered(dataset, sample, repeat) for sample, repeat in lost)
        )


def _unanswered(dataset: Dataset | None, sequence: str, repeat: int | None) -> list[SampleScore]:
    """Return the scores of one person's sample, or of all people's when `repeat` is None."""
    sample = None if dataset is None else dataset.load(sequence)
    if sample is not None:
        objects = max([1, *(target.objects for target in sample.targets)])
    else:
        objects = 1
    people = max(1, len(getattr(sample, "scribbles", ())))
    return [
        unanswered(sequence, number + 1, objects)
        for number in (range(people) if repeat is None else (repeat,))
    ]


def timed_runs(runs: Sequence[Run]) -> list[TimedRun]:
    """Return each run with each of its users, in the order of the runs."""
    timed: list[TimedRun] = []
    for run in runs:
        timed += [TimedRun(run, user) for user in run.users]
    return timed


def _rounds(dialogues: Sequence[DialogueRecord]) -> pl.DataFrame:
    lines: list[tuple[str, str, int, int]] = []
    for dialogue in dialogues:
        sample, target, _, person = dialogue.key
        lines += [(sample, target, person, number + 1) for number in range(max(1, dialogue.rounds))]
    kinds = (pl.String, pl.String, pl.Int32, pl.Int32)
    return pl.DataFrame(lines, schema=list(zip(_KEYS, kinds, strict=True)), orient="row")
