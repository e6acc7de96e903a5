"""What the reports know of a run: its dialogues, read once from the run folder.

This is the only module here that knows how records, timings and masks are laid out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.arrays.rle import decode_rle
from segarena.engine.store import RunFolder
from segarena.errors import InvalidInput, RunConflict
from segarena.records.configuration import RunConfiguration, plain_configuration
from segarena.reports.naming import data_names, run_labels, told_apart
from segarena.roles import Statistic
from segarena.samples import Mask
from segarena.statistics.over_rounds import over_rounds

_KEYS = {"benchmark", "dataset", "sample", "target", "label", "attributes", "user", "repeat", "round"}
_NOT_METRICS = _KEYS | {"effort", "prompts", "failure"}
_ORDER = ["user", "repeat", "round"]

Key: TypeAlias = tuple[str, str, str, int]
"""Sample, target, user, repeat."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialogueRecord:
    """One dialogue as the records tell it.

    Attributes:
        key: sample, target, user, repeat.
        label: of the target.
        attributes: of the target.
        values: by metric column, one float per finished round; NaN where the metric was not defined.
        prompts, efforts: JSON text of the prompts of each finished round, and interactions spent so far.
        kinds: which kinds of prompts were given.
        failure: why it ended early, None when it did not.
    """

    key: Key
    label: str
    attributes: Mapping[str, Any]
    values: Mapping[str, tuple[float, ...]]
    prompts: tuple[str, ...]
    efforts: tuple[float, ...]
    kinds: frozenset[str]
    failure: str | None = None

    @property
    def sample(self) -> str:
        """Sample id."""
        return self.key[0]

    @property
    def target(self) -> str:
        """Target id; empty when the whole sample failed."""
        return self.key[1]

    @property
    def user(self) -> str:
        """Name of the user; empty when the whole sample failed."""
        return self.key[2]


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
        thresholds: asked for beyond those of the benchmark.
    """

    label: str
    segmenter: str
    data: str
    config: RunConfiguration
    is_complete: bool
    done: int
    dialogues: tuple[DialogueRecord, ...]
    folder: RunFolder = field(repr=False)
    thresholds: tuple[float, ...] = ()

    @property
    def rounds(self) -> int:
        """The most rounds a dialogue may have."""
        return self.config.rounds

    @property
    def dataset(self) -> str:
        """Name of the dataset plug-in."""
        return self.config.dataset.name

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
        """The statistics of the benchmark's summary that this run has rounds for."""
        every = self.config.benchmark.summary
        known = {s.name for s in every}
        more = [s for threshold in self.thresholds for s in _at_threshold(threshold) if s.name not in known]
        return tuple(s for s in [*more, *every] if over_rounds(s.kind).needs_rounds(s) <= self.rounds)

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Names of the statistics that need more rounds than this run has."""
        kept = {statistic.name for statistic in self.summary}
        return tuple(s.name for s in self.config.benchmark.summary if s.name not in kept)

    @property
    def failures(self) -> tuple[DialogueRecord, ...]:
        """Dialogues (or whole samples, with an empty target) that went wrong."""
        return tuple(dialogue for dialogue in self.dialogues if dialogue.failure is not None)

    def finished(self, user: str | None = None) -> tuple[DialogueRecord, ...]:
        """Return the dialogues that did not fail, of one user or of all."""
        return self._finished.get(user, ())

    @cached_property
    def _finished(self) -> dict[str | None, tuple[DialogueRecord, ...]]:
        groups: dict[str | None, list[DialogueRecord]] = {None: []}
        for dialogue in self.dialogues:
            if dialogue.failure is None and dialogue.values:
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
        rows = self.timings.filter((pl.col("round") > 0) & (pl.col("user") == user))
        return np.sort(rows["predict_s"].to_numpy().astype(np.float64))

    def encode_seconds(self) -> NDArray[np.float64]:
        """Return the seconds of each encoder pass, ascending."""
        return np.sort(self.timings.filter(pl.col("round") == 0)["predict_s"].to_numpy().astype(np.float64))

    @property
    def encodings_read(self) -> int:
        """Samples whose encoding was read from the cache; no encoder pass was made for them."""
        return self.timings.filter(pl.col("round") < 0).height

    @cached_property
    def _masks(self) -> pl.DataFrame:
        return self.folder.masks()

    def masks_after(self, key: tuple[str, str], user: str, round_: int) -> list[Mask]:
        """Return the kept predictions of a user about a target (sample, target) after one round, by repeat."""
        rows = self._masks.filter(sample=key[0], target=key[1], user=user, round=round_).sort("repeat")
        return [decode_rle(row["rle"], tuple(row["shape"])) for row in rows.iter_rows(named=True)]

    def masks(self, key: Key) -> dict[int, Mask]:
        """Return the kept predictions of one dialogue, by round."""
        sample, target, user, repeat = key
        rows = self._masks.filter(sample=sample, target=target, user=user, repeat=repeat).sort("round")
        return {row["round"]: decode_rle(row["rle"], tuple(row["shape"])) for row in rows.iter_rows(named=True)}


def read_runs(paths: Sequence[str | Path], *, thresholds: Sequence[float] = ()) -> tuple[Run, ...]:
    """Read run folders that belong in one report.

    Args:
        paths: of the run folders.
        thresholds: further ones; NoC and NoF at each are added to the summary.

    Raises:
        InvalidInput: no folder was named, or a threshold is not within (0, 1] or above where the dialogues stop.
        RunMissing: a folder holds no run.
        RunConflict: the runs followed different rules, so their numbers cannot stand side by side.
    """
    if not paths:
        raise InvalidInput("expected at least one run folder, got none")
    folders = [RunFolder.open(path) for path in paths]
    for folder in folders[1:]:
        _refuse_other_rules(folders[0], folder)
    for threshold in thresholds:
        _refuse_threshold(threshold, folders[0])
    segmenters = told_apart([folder.config.segmenter for folder in folders])
    data = data_names([folder.config.dataset for folder in folders])
    labels = run_labels(segmenters, data)
    return tuple(
        _read_run(folder, label=label, segmenter=segmenter, data=name, thresholds=tuple(thresholds))
        for folder, label, segmenter, name in zip(folders, labels, segmenters, data, strict=True)
    )


def _read_run(folder: RunFolder, *, label: str, segmenter: str, data: str, thresholds: tuple[float, ...]) -> Run:
    return Run(
        label=label,
        segmenter=segmenter,
        data=data,
        config=folder.config,
        is_complete=folder.is_complete,
        done=len(folder.samples) - len(folder.pending()),
        dialogues=tuple(_dialogues(folder.records(), folder.config)),
        folder=folder,
        thresholds=thresholds,
    )


def _dialogues(records: pl.DataFrame, config: RunConfiguration) -> Iterator[DialogueRecord]:
    metrics = [column for column in records.columns if column not in _NOT_METRICS]
    sample_order = {name: index for index, name in enumerate(config.dataset.samples)}
    user_order = {user.written: index for index, user in enumerate(config.users)}

    def place(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return (
            sample_order.get(row["sample"], len(sample_order)),
            row["sample"],
            row["target"],
            user_order.get(row["user"], len(user_order)),
            row["repeat"],
            row["round"],
        )

    rows = sorted(records.iter_rows(named=True), key=place)
    for key, group in groupby(rows, key=lambda row: (row["sample"], row["target"], row["user"], row["repeat"])):
        yield _dialogue(key, list(group), metrics)


def _dialogue(key: Key, rows: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> DialogueRecord:
    good = [row for row in rows if row["failure"] is None]
    return DialogueRecord(
        key=key,
        label=rows[0]["label"] or "",
        attributes=json.loads(rows[0]["attributes"] or "{}"),
        values={m: tuple(math.nan if row[m] is None else row[m] for row in good) for m in metrics} if good else {},
        prompts=tuple(row["prompts"] for row in good),
        efforts=tuple(float(row["effort"]) for row in good),
        kinds=frozenset(prompt["kind"] for row in good for prompt in json.loads(row["prompts"])),
        failure=next((row["failure"] for row in rows if row["failure"] is not None), None),
    )


def _refuse_other_rules(first: RunFolder, other: RunFolder) -> None:
    rules = [_rules(folder.config) for folder in (first, other)]
    if first.config.dataset.fingerprint != other.config.dataset.fingerprint:
        # Where people clicked belongs to the data, not to the rules.
        rules = [{**r, "options": {k: v for k, v in r["options"].items() if k != "clicks"}} for r in rules]
    for name in ("name", "protocol", "rounds", "stop_at", "options", "summary"):
        has, wants = rules[0][name], rules[1][name]
        if has != wants:
            raise RunConflict(
                f"{first.path} and {other.path} cannot share a report: benchmark {name} is {json.dumps(has)[:80]} "
                f"in the first, {json.dumps(wants)[:80]} in the second; report on them apart"
            )


def _rules(config: RunConfiguration) -> dict[str, Any]:
    plain = plain_configuration(config)
    return {**plain["benchmark"], "rounds": plain["rounds"]}


def _refuse_threshold(threshold: float, folder: RunFolder) -> None:
    stop = folder.config.benchmark.stop_at
    if not 0 < threshold <= 1:
        raise InvalidInput(f"threshold: expected a value above 0 and at most 1, got {threshold:g}")
    if stop is not None and stop[0] == "iou" and threshold > stop[1]:
        raise InvalidInput(f"threshold {threshold:g}: the dialogues of {folder.path} stop at an IoU of {stop[1]:g}")


def _at_threshold(threshold: float) -> tuple[Statistic, Statistic]:
    shown = f"{100 * threshold:g}"
    return (
        Statistic(name=f"NoC@{shown}", kind="noc", threshold=threshold, higher_is_better=False),
        Statistic(name=f"NoF@{shown}", kind="nof", threshold=threshold, higher_is_better=False),
    )
