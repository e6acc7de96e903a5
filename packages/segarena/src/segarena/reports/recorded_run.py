"""What the reports know of a run: its dialogues, read once from the run folder.

With `segarena.reports.round_table` this is the only module here that knows how records, timings and masks are laid out.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, compress, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.arrays.rle import decode_rle
from segarena.engine.store import RunFolder
from segarena.errors import InvalidInput, RunConflict
from segarena.records.configuration import RunConfiguration, move_data, plain_configuration
from segarena.records.failures import Failure, FailureCause, group_by_cause
from segarena.registry import names
from segarena.reports.display_names import dataset_names, distinct_names, metric_name, run_labels
from segarena.reports.round_table import (
    DialogueId,
    DialogueRecord,
    RoundTable,
    iterate_dialogues,
    read_rounds,
)
from segarena.roles import Statistic
from segarena.samples import Mask
from segarena.statistics.over_rounds import over_rounds

_ORDER = ["user", "repeat", "round"]
_FOLDERS_NAMED = 8
"""An error names so many folders of a group at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One run, ready to be counted.

    Attributes:
        label: what tables call it, different for each run of a report.
        segmenter: what the segmenter is called; the same for its runs on different datasets.
        data: what the dataset is called, different for different data.
        config: what run.json says.
        is_complete: whether every sample is done.
        done: how many samples are done.
        dialogues: all dialogues, failed ones too, in the order of samples, targets, users and repeats.
        table: the rounds of all dialogues.
        folder: where all this was read.
        thresholds: asked for beyond those of the benchmark.
        further: the last values of metrics beyond those of the benchmark, which all runs of the report have.
        trust: whether plug-ins from elsewhere may be built again; see `segarena.records.trust`.
        data_folder: where the dataset's files are now, as in `segarena.records.configuration.move_data`; None for where
            they were.
        computed: numbers that several tables and figures show, kept by `segarena.reports.run_statistics`.
    """

    label: str
    segmenter: str
    data: str
    config: RunConfiguration
    is_complete: bool
    done: int
    dialogues: tuple[DialogueRecord, ...]
    table: RoundTable = field(repr=False)
    folder: RunFolder = field(repr=False)
    thresholds: tuple[float, ...] = ()
    further: tuple[Statistic, ...] = ()
    trust: bool = False
    data_folder: str | None = None
    computed: dict[Hashable, Any] = field(
        default_factory=dict[Hashable, Any], init=False, repr=False
    )

    @property
    def rounds(self) -> int:
        """The most rounds a dialogue may have."""
        return self.config.rounds

    @property
    def dataset(self) -> str:
        """Name of the dataset plug-in."""
        return self.config.dataset.name

    def is_on_data_of(self, other: Run) -> bool:
        """Tell whether targets of one name are meant to be the same: one dataset at one place, or with equal data."""
        mine = self.config.dataset
        others = other.config.dataset
        is_one = mine.options == others.options or mine.fingerprint == others.fingerprint
        return mine.name == others.name and is_one

    @property
    def samples(self) -> Sequence[str]:
        """All sample ids, done or not."""
        return self.config.dataset.samples

    @cached_property
    def users(self) -> tuple[str, ...]:
        """Names of the users, in the order of the configuration."""
        return tuple(user.written for user in self.config.users)

    @cached_property
    def summary(self) -> tuple[Statistic, ...]:
        """The statistics of the benchmark's summary that this run has rounds for, and those of further metrics."""
        every = self.config.benchmark.summary
        known = {s.name for s in every}
        more = chain.from_iterable(map(_at_threshold, self.thresholds))
        shown = [*(s for s in more if s.name not in known), *every, *self.further]
        return tuple(s for s in shown if over_rounds(s.kind).needs_rounds(s) <= self.rounds)

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Names of the statistics that need more rounds than this run has."""
        kept = {statistic.name for statistic in self.summary}
        return tuple(s.name for s in self.config.benchmark.summary if s.name not in kept)

    @property
    def failures(self) -> tuple[DialogueRecord, ...]:
        """Dialogues (or whole samples, with an empty target) that went wrong."""
        return tuple(dialogue for dialogue in self.dialogues if dialogue.failure is not None)

    @cached_property
    def causes(self) -> list[FailureCause]:
        """Why dialogues went wrong, the most frequent cause first."""
        return group_by_cause(
            Failure(d.sample, d.target, d.user, d.failure or "") for d in self.failures
        )

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Which kinds of prompts the users gave who finished something."""
        return self.table.kinds_of({dialogue.user for dialogue in self.finished()})

    def curves(
        self, user: str, metric: str
    ) -> tuple[Sequence[DialogueRecord], NDArray[np.float64]]:
        """Return the dialogues of a user in which `metric` is defined in every round, and its values.

        The values are (dialogues, rounds); dialogues that ended early hold their last value.
        """
        column = self.table.metrics.get(metric)
        finished = self.finished(user)
        if column is None or not finished:
            return (), np.empty((0, self.rounds))
        firsts, lasts = np.array([(d.first, d.first + d.rounds - 1) for d in finished]).T
        held = column[np.minimum(firsts[:, None] + np.arange(self.rounds), lasts[:, None])]
        is_defined = np.atleast_1d(np.isfinite(held).all(axis=1))
        return tuple(compress(finished, is_defined.tolist())), held[is_defined]

    def targets(self, user: str | None = None) -> set[tuple[str, str, str]]:
        """Return (dataset, sample, target) of the dialogues that did not fail, of one user or of all."""
        return {
            (self.dataset, dialogue.sample, dialogue.target) for dialogue in self.finished(user)
        }

    def finished(self, user: str | None = None) -> tuple[DialogueRecord, ...]:
        """Return the dialogues that did not fail, of one user or of all."""
        return self._finished.get(user, ())

    @cached_property
    def _finished(self) -> dict[str | None, tuple[DialogueRecord, ...]]:
        groups: dict[str | None, list[DialogueRecord]] = {None: []}
        for dialogue in self.dialogues:
            if dialogue.failure is None and dialogue.rounds:
                groups[None].append(dialogue)
                groups.setdefault(dialogue.user, []).append(dialogue)
        return {user: tuple(group) for user, group in groups.items()}

    def about(self, sample: str, target: str, user: str) -> tuple[DialogueRecord, ...]:
        """Return the dialogues of one user about one target, failed ones too, by repeat."""
        return self._by_target.get((sample, target, user), ())

    @cached_property
    def _by_target(self) -> dict[tuple[str, str, str], tuple[DialogueRecord, ...]]:
        key = attrgetter("sample", "target", "user")
        return {names: tuple(group) for names, group in groupby(self.dialogues, key)}

    @cached_property
    def timings(self) -> pl.DataFrame:
        """Seconds per round; the encoder passes have round 0, encodings read from the cache a lower one."""
        return self.folder.timings().sort("sample", "target", *_ORDER)

    def seconds_per_round(self, user: str) -> NDArray[np.float64]:
        """Return the seconds of each round with `user`, ascending."""
        return self._seconds((pl.col("round") > 0) & (pl.col("user") == user))

    def encode_seconds(self) -> NDArray[np.float64]:
        """Return the seconds of each encoder pass, ascending; where each answer is one, of the answers."""
        return self._seconds(
            pl.col("round") > 0 if self.encodes_with_prompts else pl.col("round") == 0
        )

    @property
    def encodes_with_prompts(self) -> bool:
        """Whether every answer was a pass of the network, and encoding none."""
        return self.config.segmenter.encodes_with_prompts

    @property
    def encodings_read(self) -> int:
        """Samples whose encoding was read from the cache; no encoder pass was made for them."""
        return len(self._seconds(pl.col("round") < 0))

    def _seconds(self, which: pl.Expr) -> NDArray[np.float64]:
        return np.sort(self._timed.filter(which)["predict_s"].to_numpy().astype(np.float64))

    @cached_property
    def _timed(self) -> pl.DataFrame:
        return self.folder.read("timings", ["user", "round", "predict_s"])

    def masks_after(self, key: tuple[str, str], user: str, round_: int) -> list[Mask]:
        """Return the kept predictions of a user about a target (sample, target) after one round, by repeat."""
        rows = (
            sample_rows(self, "masks", key[0])
            .filter(target=key[1], user=user, round=round_)
            .sort("repeat")
        )
        return [decode_rle(row["rle"], tuple(row["shape"])) for row in rows.iter_rows(named=True)]

    def masks(self, key: DialogueId) -> dict[int, Mask]:
        """Return the kept predictions of one dialogue, by round."""
        sample, target, user, repeat = key
        rows = (
            sample_rows(self, "masks", sample)
            .filter(target=target, user=user, repeat=repeat)
            .sort("round")
        )
        return {
            row["round"]: decode_rle(row["rle"], tuple(row["shape"]))
            for row in rows.iter_rows(named=True)
        }


@lru_cache(maxsize=8)
def sample_rows(run: Run, table: str, sample: str) -> pl.DataFrame:
    """Return the rows of "masks" or "parts" about one sample; those of all samples may not fit into memory."""
    return run.folder.read(table, only=[run.folder.samples.index(sample)])


def read_runs(
    paths: Sequence[str | Path],
    *,
    thresholds: Sequence[float] = (),
    trust: bool = False,
    data: str | Path | None = None,
) -> tuple[Run, ...]:
    """Read run folders that belong in one report.

    Args:
        paths: of the run folders.
        thresholds: further ones; NoC and NoF at each are added to the summary.
        trust: see `segarena.records.trust`.
        data: where the dataset's files are now, if they moved: a folder, or "OPTION=FOLDER" where the dataset has
            several options that may be it; for runs on one dataset.

    Raises:
        InvalidInput: no folder was named, `data` for several datasets or one where it does not say which option it
            is, or a threshold is not within (0, 1] or above where the dialogues stop.
        RunMissing: a folder holds no run.
        RunConflict: the runs followed different rules, so their numbers cannot stand side by side.
    """
    if not paths:
        raise InvalidInput("expected at least one run folder, got none")
    folders = [RunFolder.open(path) for path in paths]
    _refuse_other_rules(folders)
    for threshold in thresholds:
        _refuse_threshold(threshold, folders[0])
    segmenters = distinct_names([folder.config.segmenter for folder in folders])
    names = dataset_names([folder.config.dataset for folder in folders])
    if data is not None:
        if len(set(names)) > 1:
            raise InvalidInput(
                f"data: expected runs on one dataset, got {', '.join(dict.fromkeys(names))}"
            )
        move_data(folders[0].config.dataset, str(data))
    given: dict[str, Any] = {
        "thresholds": tuple(thresholds),
        "trust": trust,
        "data_folder": None if data is None else str(data),
    }
    labels = run_labels(segmenters, names)
    runs = tuple(
        _read_run(folder, label=label, segmenter=segmenter, data=name, **given)
        for folder, label, segmenter, name in zip(folders, labels, segmenters, names, strict=True)
    )
    found = [_further(run) for run in runs]
    further = tuple(one for one in found[0] if all(one in others for others in found))
    return tuple(replace(run, further=further) for run in runs) if further else runs


def _read_run(folder: RunFolder, **named: Any) -> Run:
    table = read_rounds(folder)
    pending = len(folder.pending())
    return Run(
        config=folder.config,
        is_complete=not pending,
        done=len(folder.samples) - pending,
        dialogues=tuple(iterate_dialogues(table)),
        table=table,
        folder=folder,
        **named,
    )


def _further(run: Run) -> list[Statistic]:
    """Return the last value of each metric of which the benchmark's summary says nothing."""
    known = {statistic.metric for statistic in run.config.benchmark.summary}
    found: list[Any] = [names("metric").get(used.name) for used in run.config.metrics]
    built_in: set[str] = set(chain.from_iterable(metric.columns for metric in found if metric))
    # What is left are the columns of metrics that are a file, which nothing is imported for.
    if None in found:
        more = [tuple(column for column in run.table.metrics if column not in built_in)]
    else:
        more = []
    shown = [*(getattr(metric, "shown", metric.columns) for metric in found if metric), *more]
    lower: set[str] = set(
        chain.from_iterable(getattr(metric, "lower_is_better", ()) for metric in found if metric)
    )
    return [
        Statistic(
            name=f"{metric_name(column)}@{run.rounds}",
            kind="at_round",
            metric=column,
            round=run.rounds,
            higher_is_better=column not in lower,
        )
        for column in dict.fromkeys(chain.from_iterable(shown))
        if column not in known and column in run.table.metrics
    ]


def _refuse_other_rules(folders: Sequence[RunFolder]) -> None:
    """Raise `RunConflict` unless all runs followed the same rules; it names the groups that did."""
    groups: list[list[RunFolder]] = []
    for folder in folders:
        alike = next((group for group in groups if not _clash(group[0], folder)), None)
        if alike is None:
            groups.append([folder])
        else:
            alike.append(folder)
    if len(groups) > 1:
        apart = "; or ".join(f"segarena report {_named(group)}" for group in groups)
        raise RunConflict(
            f"these {len(folders)} runs followed {len(groups)} different sets of rules and cannot share a report: "
            f"{_clash(groups[0][0], groups[1][0])}. Report on each apart: {apart}"
        )


def _named(group: Sequence[RunFolder]) -> str:
    """Return run folders as a shell takes them, the first ones of many."""
    shown = " ".join(shlex.quote(str(folder.path)) for folder in group[:_FOLDERS_NAMED])
    more = len(group) - _FOLDERS_NAMED
    return f"{shown} ... ({more} more)" if more > 0 else shown


def _clash(first: RunFolder, other: RunFolder) -> str:
    """Return in what the rules of two runs differ; empty when they are the same."""
    rules = [benchmark_rules(folder.config) for folder in (first, other)]
    if first.config.dataset.fingerprint != other.config.dataset.fingerprint:
        # Where people clicked belongs to the data, not to the rules.
        for one in rules:
            one["options"] = {
                name: value for name, value in one["options"].items() if name != "clicks"
            }
    return rule_difference(rules[0], rules[1], str(first.path), str(other.path))


def rule_difference(one: Mapping[str, Any], two: Mapping[str, Any], first: str, second: str) -> str:
    """Return in what the rules of two runs differ, which are called `first` and `second`; empty when in nothing."""
    for name in ("name", "protocol", "rounds", "stop_at", "options", "summary"):
        has = one.get(name)
        wants = two.get(name)
        if has != wants:
            return f"benchmark {name} is {json.dumps(has)[:80]} in {first}, {json.dumps(wants)[:80]} in {second}"
    return ""


def benchmark_rules(config: RunConfiguration) -> dict[str, Any]:
    """Return the rules of a benchmark, as JSON has them, and the rounds."""
    plain = plain_configuration(replace(config, dataset=replace(config.dataset, samples=())))
    return {**plain["benchmark"], "rounds": plain["rounds"]}


def _refuse_threshold(threshold: float, folder: RunFolder) -> None:
    stop = folder.config.benchmark.stop_at
    if not 0 < threshold <= 1:
        raise InvalidInput(f"threshold: expected a value above 0 and at most 1, got {threshold:g}")
    if stop is not None and stop[0] == "iou" and threshold > stop[1]:
        raise InvalidInput(
            f"threshold {threshold:g}: the dialogues of {folder.path} stop at an IoU of {stop[1]:g}"
        )


def _at_threshold(threshold: float) -> tuple[Statistic, Statistic]:
    shown = f"{100 * threshold:g}"
    return (
        Statistic(name=f"NoC@{shown}", kind="noc", threshold=threshold, higher_is_better=False),
        Statistic(name=f"NoF@{shown}", kind="nof", threshold=threshold, higher_is_better=False),
    )
