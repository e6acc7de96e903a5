"""A run as reports use it: its configuration and dialogues, read once from the run folder.

Most reports read records, timings and masks only through this module and
`segarena.reports.round_table`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.arrays.rle import decode_rle
from segarena.benchmark_rules import Statistic
from segarena.engine.run_folder import RunFolder
from segarena.errors import InvalidInput, RunConflict
from segarena.records.configuration import RunConfiguration, move_data, plain_configuration
from segarena.records.failures import LOADING_PREFIX, Failure, FailureCause, group_by_cause
from segarena.registry import lookup
from segarena.reports.custom_run_labels import labels_of_runs
from segarena.reports.display_names import dataset_names, distinct_names, metric_name, run_labels
from segarena.reports.round_table import (
    DialogueId,
    DialogueRecord,
    RoundTable,
    iterate_dialogues,
    read_rounds,
)
from segarena.samples import Mask
from segarena.statistics.round_statistics import find_statistic

_ORDER = ["user", "repeat", "round"]
_MAX_NAMED_FOLDERS = 8
"""An error message lists at most this many folders per group."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One run with its dialogues, the input of all statistics.

    Attributes:
        label: name of the run in tables, unique within a report.
        segmenter: display name of the segmenter; the same for its runs on different datasets.
        data: display name of the dataset; different data have different names.
        config: content of run.json.
        is_complete: whether every sample is done.
        done: number of samples that are done.
        dialogues: all dialogues, including failed ones, ordered by sample, target, user and repeat.
        table: the rounds of all dialogues.
        folder: the run folder.
        thresholds: thresholds that the caller requested in addition to those of the benchmark.
        further: final values of additional metrics, limited to those that all runs of the report
            have.
        trust: whether third-party plug-ins may be rebuilt; see `segarena.records.plugin_trust`.
        data_folder: current location of the dataset's files, as in
            `segarena.records.configuration.move_data`; None if they have not moved.
        computed: cache of statistics that several tables and figures use; see
            `segarena.reports.run_statistics`.
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
        """Maximum number of rounds per dialogue."""
        return self.config.rounds

    @property
    def dataset(self) -> str:
        """Name of the dataset plug-in."""
        return self.config.dataset.name

    def is_on_data_of(self, other: Run) -> bool:
        """Return whether equal target names in both runs denote equal targets.

        This is the case if both used the same dataset plug-in, with equal options or with equal
        fingerprints.
        """
        mine = self.config.dataset
        theirs = other.config.dataset
        if mine.name != theirs.name:
            return False
        return mine.options == theirs.options or mine.fingerprint == theirs.fingerprint

    @property
    def samples(self) -> Sequence[str]:
        """All sample ids, including those that are not done."""
        return self.config.dataset.samples

    @cached_property
    def users(self) -> tuple[str, ...]:
        """Names of the users, in the order of the configuration."""
        return tuple(user.written for user in self.config.users)

    @cached_property
    def summary(self) -> tuple[Statistic, ...]:
        """Statistics of requested thresholds, of the benchmark, and of additional metrics.

        Statistics that need more rounds than this run has are excluded, with one exception: a
        metric's value after its last round in the benchmark is replaced by its value after this
        run's last round.
        """
        own = self.config.benchmark.summary
        own_names = {statistic.name for statistic in own}
        candidates: list[Statistic] = []
        for threshold in self.thresholds:
            for statistic in _at_threshold(threshold):
                if statistic.name not in own_names:
                    candidates.append(statistic)
        candidates += [*_within_rounds(own, self.rounds), *self.further]
        summary: list[Statistic] = []
        for statistic in candidates:
            if find_statistic(statistic.kind).needs_rounds(statistic) <= self.rounds:
                summary.append(statistic)
        return tuple(summary)

    @property
    def statistic_names(self) -> tuple[str, ...]:
        """Names of the statistics of `summary`."""
        return tuple(statistic.name for statistic in self.summary)

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Names of the benchmark's statistics that need more rounds than this run has."""
        kept = self.statistic_names
        names = [statistic.name for statistic in self.config.benchmark.summary]
        return tuple(name for name in names if name not in kept)

    @property
    def failures(self) -> tuple[DialogueRecord, ...]:
        """Dialogues that failed; a failed sample is one dialogue with an empty target.

        Samples that could not be loaded are in `unloaded` instead, because they fail with every
        segmenter.
        """
        failed = [dialogue for dialogue in self.dialogues if dialogue.failure is not None]
        return tuple(dialogue for dialogue in failed if not _is_unloaded(dialogue))

    @property
    def unloaded(self) -> tuple[DialogueRecord, ...]:
        """Samples that the dataset could not load, as dialogues with an empty target."""
        return tuple(dialogue for dialogue in self.dialogues if _is_unloaded(dialogue))

    @cached_property
    def causes(self) -> list[FailureCause]:
        """Causes of failures, most frequent first."""
        failures: list[Failure] = []
        for dialogue in self.failures:
            message = dialogue.failure or ""
            failures.append(Failure(dialogue.sample, dialogue.target, dialogue.user, message))
        return group_by_cause(failures)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Kinds of prompts that users with a finished dialogue gave."""
        return self.table.kinds_of({dialogue.user for dialogue in self.finished()})

    def curves(
        self, user: str, metric: str
    ) -> tuple[Sequence[DialogueRecord], NDArray[np.float64]]:
        """Return a user's finished dialogues in which `metric` is finite in every round, and its values.

        The values have shape (dialogues, rounds). A dialogue that ended early repeats its last
        value in the remaining rounds.
        """
        column = self.table.metrics.get(metric)
        finished = self.finished(user)
        if column is None or not finished:
            return (), np.empty((0, self.rounds))
        firsts = np.array([dialogue.first for dialogue in finished])
        lasts = firsts + np.array([dialogue.rounds for dialogue in finished]) - 1
        rows = np.minimum(firsts[:, None] + np.arange(self.rounds), lasts[:, None])
        values = column[rows]
        is_defined = np.atleast_1d(np.isfinite(values).all(axis=1))
        defined = [finished[index] for index in np.flatnonzero(is_defined)]
        return tuple(defined), values[is_defined]

    def targets(self, user: str | None = None) -> set[tuple[str, str, str]]:
        """Return (dataset, sample, target) of finished dialogues, of one user or of all users."""
        targets: set[tuple[str, str, str]] = set()
        for dialogue in self.finished(user):
            targets.add((self.dataset, dialogue.sample, dialogue.target))
        return targets

    def target_count(self, user: str) -> int:
        """Return the number of targets with a finished dialogue of one user."""
        # Dialogues about a target are neighbours, so no set of all targets is needed.
        count = 0
        previous: DialogueRecord | None = None
        for dialogue in self.finished(user):
            if previous is None or dialogue.key[:2] != previous.key[:2]:
                count += 1
            previous = dialogue
        return count

    def finished(self, user: str | None = None) -> tuple[DialogueRecord, ...]:
        """Return the dialogues that have rounds and did not fail, of one user or of all users."""
        return self._finished.get(user, ())

    @cached_property
    def _finished(self) -> dict[str | None, tuple[DialogueRecord, ...]]:
        groups: dict[str | None, list[DialogueRecord]] = {None: []}
        for dialogue in self.dialogues:
            if dialogue.failure is None and dialogue.rounds:
                groups[None].append(dialogue)
                groups.setdefault(dialogue.user, []).append(dialogue)
        return {user: tuple(group) for user, group in groups.items()}

    def about(
        self,
        sample: str,
        target: str,
        user: str,
    ) -> tuple[DialogueRecord, ...]:
        """Return one user's dialogues about one target, failed ones included, ordered by repeat."""
        found: list[DialogueRecord] = []
        for index in range(self._first_of_sample.get(sample, 0), len(self.dialogues)):
            dialogue = self.dialogues[index]
            if dialogue.sample != sample:
                break
            if dialogue.target == target and dialogue.user == user:
                found.append(dialogue)
        return tuple(found)

    @cached_property
    def _first_of_sample(self) -> dict[str, int]:
        """Index of the first dialogue about each sample."""
        firsts: dict[str, int] = {}
        for index, dialogue in enumerate(self.dialogues):
            firsts.setdefault(dialogue.sample, index)
        return firsts

    @cached_property
    def timings(self) -> pl.DataFrame:
        """Seconds per round. Round 0 is an encoder pass; a negative round is an encoding from the cache."""
        return self.folder.timings().sort("sample", "target", *_ORDER)

    def seconds_per_round(self, user: str) -> NDArray[np.float64]:
        """Return the seconds of all rounds with `user`, sorted in ascending order."""
        return self._seconds((pl.col("round") > 0) & (pl.col("user") == user))

    def encode_seconds(self) -> NDArray[np.float64]:
        """Return the seconds of all encoder passes, sorted in ascending order.

        If the network runs as a whole for each prediction, these are the seconds of the
        predictions.
        """
        if self.encodes_with_prompts:
            is_encoder_pass = pl.col("round") > 0
        else:
            is_encoder_pass = pl.col("round") == 0
        return self._seconds(is_encoder_pass)

    @property
    def encodes_with_prompts(self) -> bool:
        """Whether the network ran as a whole for every prediction, without a separate encoder pass."""
        return self.config.segmenter.encodes_with_prompts

    @property
    def encodings_read(self) -> int:
        """Number of samples whose encoding came from the cache instead of an encoder pass."""
        return len(self._seconds(pl.col("round") < 0))

    def _seconds(self, condition: pl.Expr) -> NDArray[np.float64]:
        seconds = self._timed.filter(condition)["predict_s"]
        return np.sort(seconds.to_numpy().astype(np.float64))

    @cached_property
    def _timed(self) -> pl.DataFrame:
        return self.folder.read("timings", ["user", "round", "predict_s"])

    def masks_after(
        self,
        key: tuple[str, str],
        user: str,
        round_: int,
    ) -> list[Mask]:
        """Return a user's stored predictions for a target (sample, target) after a round.

        The list is ordered by repeat.
        """
        sample, target = key
        rows = sample_rows(self, "masks", sample)
        rows = rows.filter(target=target, user=user, round=round_)
        masks: list[Mask] = []
        for row in rows.sort("repeat").iter_rows(named=True):
            masks.append(_decode_mask(row))
        return masks

    def masks(self, key: DialogueId) -> dict[int, Mask]:
        """Return the stored predictions of one dialogue by round."""
        sample, target, user, repeat = key
        rows = sample_rows(self, "masks", sample)
        rows = rows.filter(target=target, user=user, repeat=repeat)
        masks: dict[int, Mask] = {}
        for row in rows.sort("round").iter_rows(named=True):
            round_ = row["round"]
            masks[round_] = _decode_mask(row)
        return masks


def _is_unloaded(dialogue: DialogueRecord) -> bool:
    """Return whether a dialogue represents a sample that could not be loaded."""
    failure = dialogue.failure or ""
    return not dialogue.target and failure.startswith(LOADING_PREFIX)


@lru_cache(maxsize=8)
def sample_rows(
    run: Run,
    table: str,
    sample: str,
) -> pl.DataFrame:
    """Read the rows of "masks" or "parts" for one sample.

    They are read one sample at a time, because those of all samples may not fit into memory.
    """
    return run.folder.read(table, only=[run.folder.samples.index(sample)])


def _decode_mask(row: Mapping[str, Any]) -> Mask:
    return decode_rle(row["rle"], tuple(row["shape"]))


def read_runs(
    paths: Sequence[str | Path],
    *,
    thresholds: Sequence[float] = (),
    trust: bool = False,
    data: str | Path | None = None,
    labels: Sequence[str] = (),
) -> tuple[Run, ...]:
    """Read the run folders of one report.

    Args:
        paths: the run folders.
        thresholds: additional thresholds; the summary then contains NoC and NoF at each of them.
        trust: see `segarena.records.plugin_trust`.
        data: current location of the dataset's files if they have moved: a folder, or
            "OPTION=FOLDER" if several options of the dataset may contain it. Only for runs on one
            dataset.
        labels: names for runs in place of their own, see `segarena.reports.custom_run_labels`.

    Raises:
        InvalidInput: `paths` is empty; `data` was given for several datasets, or without the option
            that it belongs to; a label names no run; or a threshold is outside (0, 1] or above the
            value at which the dialogues stop.
        RunMissing: a folder contains no run.
        RunConflict: the runs used different rules, so their results cannot be compared.
    """
    if not paths:
        raise InvalidInput("expected at least one run folder, got none")
    folders = [RunFolder.open(path) for path in paths]
    _refuse_other_rules(folders)
    for threshold in thresholds:
        _refuse_threshold(threshold, folders[0])
    for folder, given in zip(folders, labels_of_runs(paths, labels), strict=True):
        if given:
            named = replace(folder.config.segmenter, label=given)
            folder.config = replace(folder.config, segmenter=named)
    segmenters = distinct_names([folder.config.segmenter for folder in folders])
    data_names = dataset_names([folder.config.dataset for folder in folders])
    if data is not None:
        _refuse_data_location(str(data), folders[0], data_names)
    labels = run_labels(segmenters, data_names)
    runs: list[Run] = []
    for folder, label, segmenter, name in zip(folders, labels, segmenters, data_names, strict=True):
        run = _read_run(
            folder,
            label=label,
            segmenter=segmenter,
            data=name,
            thresholds=tuple(thresholds),
            trust=trust,
            data_folder=None if data is None else str(data),
        )
        runs.append(run)
    further = _shared_additional_statistics(runs)
    if not further:
        return tuple(runs)
    return tuple(replace(run, further=further) for run in runs)


def _read_run(folder: RunFolder, **attributes: Any) -> Run:
    table, dialogue_rows = read_rounds(folder)
    pending = len(folder.pending())
    return Run(
        config=folder.config,
        is_complete=not pending,
        done=len(folder.samples) - pending,
        dialogues=tuple(iterate_dialogues(table, dialogue_rows)),
        table=table,
        folder=folder,
        **attributes,
    )


def _within_rounds(summary: Sequence[Statistic], rounds: int) -> list[Statistic]:
    """Return the statistics, with final metric values taken after `rounds` if their own round is later."""
    last_rounds: dict[str, int] = {}
    for statistic in summary:
        if statistic.kind == "at_round":
            before = last_rounds.get(statistic.metric, 0)
            last_rounds[statistic.metric] = max(before, statistic.round)
    names = {statistic.name for statistic in summary}
    moved: list[Statistic] = []
    for statistic in summary:
        is_last = statistic.round == last_rounds.get(statistic.metric)
        if statistic.kind == "at_round" and is_last and statistic.round > rounds:
            name = f"{statistic.name.rpartition('@')[0]}@{rounds}"
            if name not in names:
                statistic = replace(statistic, name=name, round=rounds)
        moved.append(statistic)
    return moved


def _additional_statistics(run: Run) -> list[Statistic]:
    """Return the final value of each metric that the benchmark's summary does not use."""
    summarized = {statistic.metric for statistic in run.config.benchmark.summary}
    factories: list[Any] = [lookup("metric", used.name) for used in run.config.metrics]
    known = [factory for factory in factories if factory]
    shown: list[str] = []
    lower_is_better: set[str] = set()
    for metric in known:
        shown += getattr(metric, "shown", metric.columns)
        lower_is_better.update(getattr(metric, "lower_is_better", ()))
    if None in factories:
        # A metric defined in a file is not imported for a report; take the remaining columns as its
        # columns.
        registered: set[str] = set(chain.from_iterable(metric.columns for metric in known))
        shown += [column for column in run.table.metrics if column not in registered]
    found: list[Statistic] = []
    for column in dict.fromkeys(shown):
        if column in summarized or column not in run.table.metrics:
            continue
        statistic = Statistic(
            name=f"{metric_name(column)}@{run.rounds}",
            kind="at_round",
            metric=column,
            round=run.rounds,
            higher_is_better=column not in lower_is_better,
        )
        found.append(statistic)
    return found


def _refuse_data_location(
    data: str,
    folder: RunFolder,
    data_names: Sequence[str],
) -> None:
    """Raise `InvalidInput` if the runs are on several datasets, or if their dataset has no option for `data`."""
    distinct = list(dict.fromkeys(data_names))
    if len(distinct) > 1:
        raise InvalidInput(f"data: expected runs on one dataset, got {', '.join(distinct)}")
    # Raises an error if the dataset has no such option; the result is not needed yet.
    move_data(folder.config.dataset, data)


def _shared_additional_statistics(runs: Sequence[Run]) -> tuple[Statistic, ...]:
    """Return the final values of additional metrics that all runs have."""
    first, *others = [_additional_statistics(run) for run in runs]
    shared: list[Statistic] = []
    for statistic in first:
        if all(statistic in statistics for statistics in others):
            shared.append(statistic)
    return tuple(shared)


def _refuse_other_rules(folders: Sequence[RunFolder]) -> None:
    """Raise `RunConflict` unless all runs used the same rules; the message groups the runs by rules."""
    groups: list[list[RunFolder]] = []
    for folder in folders:
        for group in groups:
            if not _rule_conflict(group[0], folder):
                group.append(folder)
                break
        else:
            groups.append([folder])
    if len(groups) > 1:
        commands = [f"segarena report {_shell_paths(group)}" for group in groups]
        raise RunConflict(
            f"these {len(folders)} runs followed {len(groups)} different sets of rules and cannot "
            f"share a report: {_rule_conflict(groups[0][0], groups[1][0])}. "
            f"Report on each set separately: {'; or '.join(commands)}"
        )


def _shell_paths(group: Sequence[RunFolder]) -> str:
    """Return the shell-quoted paths of run folders, abbreviated if there are many."""
    shown = " ".join(shlex.quote(str(folder.path)) for folder in group[:_MAX_NAMED_FOLDERS])
    more = len(group) - _MAX_NAMED_FOLDERS
    return f"{shown} ... ({more} more)" if more > 0 else shown


def _rule_conflict(first: RunFolder, other: RunFolder) -> str:
    """Describe the first difference between the rules of two runs; empty if they are equal."""
    first_rules = benchmark_rules(first.config)
    other_rules = benchmark_rules(other.config)
    if first.config.dataset.fingerprint != other.config.dataset.fingerprint:
        # Recorded human clicks are part of the data, not of the rules.
        for rules in (first_rules, other_rules):
            options = dict(rules["options"])
            options.pop("clicks", None)
            rules["options"] = options
    return rule_difference(first_rules, other_rules, str(first.path), str(other.path))


def rule_difference(
    one: Mapping[str, Any],
    two: Mapping[str, Any],
    first: str,
    second: str,
) -> str:
    """Describe the first difference between two sets of rules; empty if they are equal.

    `first` and `second` are the names of the two runs in the message.
    """
    for name in ("name", "protocol", "rounds", "stop_at", "options", "summary"):
        own = one.get(name)
        other = two.get(name)
        if own != other:
            own_text = json.dumps(own)[:80]
            other_text = json.dumps(other)[:80]
            return f"benchmark {name} is {own_text} in {first}, {other_text} in {second}"
    return ""


def benchmark_rules(config: RunConfiguration) -> dict[str, Any]:
    """Return the rules of a run's benchmark as JSON values, including the number of rounds."""
    plain = plain_configuration(replace(config, dataset=replace(config.dataset, samples=())))
    return {**plain["benchmark"], "rounds": plain["rounds"]}


def _refuse_threshold(threshold: float, folder: RunFolder) -> None:
    stop = folder.config.benchmark.stop_at
    if not 0 < threshold <= 1:
        raise InvalidInput(f"threshold: expected a value above 0 and at most 1, got {threshold:g}")
    if stop is not None and stop[0] == "iou" and threshold > stop[1]:
        raise InvalidInput(
            f"threshold: expected at most {stop[1]:g}, the IoU at which the dialogues of {folder.path} "
            f"stop, got {threshold:g}"
        )


def _at_threshold(threshold: float) -> tuple[Statistic, Statistic]:
    """Return the statistics NoC (number of clicks) and NoF (number of failures) at a threshold."""
    percent = f"{100 * threshold:g}"
    return (
        Statistic(
            name=f"NoC@{percent}",
            kind="noc",
            threshold=threshold,
            higher_is_better=False,
        ),
        Statistic(
            name=f"NoF@{percent}",
            kind="nof",
            threshold=threshold,
            higher_is_better=False,
        ),
    )
