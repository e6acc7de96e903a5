"""Extracts of runs for boards: values per target, curves, and the configuration of the run.

An extract is JSON text, a few kilobytes for a hundred targets. Participants choose the names in it,
so pages must escape them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.errors import StoreError
from segarena.plugin_capabilities import ignores_image
from segarena.records.configuration import DatasetRecord, PluginRecord
from segarena.records.plugin_trust import restrict_plugins
from segarena.registry import lookup
from segarena.reports.pages import Page, page_of
from segarena.reports.recorded_run import Run, benchmark_rules, read_runs
from segarena.reports.round_table import DialogueRecord
from segarena.reports.run_statistics import (
    TargetKey,
    image_clusters,
    summary_metrics,
    target_values,
)
from segarena.reports.wording import statistic_definition
from segarena.statistics.intervals import Interval, bootstrap_means

EXTRACT_FORMAT = 1

OptionalNumbers = tuple[float | None, ...]
"""One value per target or round; None if the value is missing."""

_TargetValues: TypeAlias = Mapping[str, Mapping[TargetKey, float]]
"""Values of a run with one user, by statistic and target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanCurve:
    """Mean over targets after each round, with the bounds of its interval."""

    mean: OptionalNumbers
    low: OptionalNumbers
    high: OptionalNumbers


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetColumns:
    """The targets of a run as columns with one value per target.

    Attributes:
        sample, target, label: as in the run's records.
        attributes: attributes of the target that are strings or numbers.
    """

    sample: tuple[str, ...]
    target: tuple[str, ...]
    label: tuple[str, ...]
    attributes: tuple[Mapping[str, str | float], ...]

    @property
    def keys(self) -> list[TargetKey]:
        """Sample and target names of each target."""
        return list(zip(self.sample, self.target, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """The part of a run's data that a board needs.

    Attributes:
        format: version of this format.
        rules: rules of the benchmark as JSON values; all runs on a board have equal rules.
        words: words for a round, a target and a sample.
        decides: name of the statistic by which the benchmark ranks.
        summary: statistics of the benchmark, and final values of additional metrics.
        definitions: definition of each statistic in one sentence.
        segmenter: segmenter as in run.json.
        dataset: dataset as in run.json, without its samples.
        ignores_image: whether the segmenter is a control that ignores the image.
        users: names of the users.
        user_words: prompts of users in words, by name; without users that have no description.
        created, finished: times in ISO 8601; empty if unknown.
        samples, done: number of all samples, and of completed samples.
        failures: number of failed dialogues by user.
        unloaded: number of samples that the dataset could not load.
        seconds: median seconds per round by user; None if unknown.
        targets: targets with a value of at least one statistic.
        values: value for each target, averaged over repeats, by user and statistic.
        curves: curves by user and metric.
    """

    format: int = EXTRACT_FORMAT
    rules: Mapping[str, Any]
    words: tuple[str, str, str]
    decides: str
    summary: tuple[Statistic, ...]
    definitions: Mapping[str, str]
    segmenter: PluginRecord
    dataset: DatasetRecord
    ignores_image: bool
    users: tuple[str, ...]
    user_words: Mapping[str, str] = field(default_factory=dict[str, str])
    created: str
    finished: str
    samples: int
    done: int
    failures: Mapping[str, int]
    unloaded: int = 0
    seconds: Mapping[str, float | None]
    targets: TargetColumns
    values: Mapping[str, Mapping[str, OptionalNumbers]]
    curves: Mapping[str, Mapping[str, MeanCurve]] = field(
        default_factory=dict[str, Mapping[str, MeanCurve]]
    )


def extract_of(run: str | Path) -> Extract:
    """Build the extract of a run folder without executing third-party plug-ins that the folder names.

    Raises:
        RunMissing: the folder contains no run.
        StoreError: the records of the run are damaged.
    """
    with restrict_plugins(trust=False):
        own = page_of(read_runs([run]))
        return _extract(own, own.usual_runs[0])


def extract_text(extract: Extract) -> str:
    """Encode an extract as JSON; equal records and run.json give equal text."""
    return msgspec.json.encode(extract).decode()


def read_extract(text: str | bytes) -> Extract:
    """Decode an extract that `extract_text` encoded.

    Raises:
        StoreError: the text is not an extract, or has another version and must be created again.
    """
    try:
        found = msgspec.json.decode(text, type=Extract)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(
            f"extract of a run: {error}; create it again from the run folder"
        ) from error
    if found.format != EXTRACT_FORMAT:
        raise StoreError(
            f"extract of a run: expected format {EXTRACT_FORMAT}, got {found.format}; create it again"
        )
    return found


def _extract(own: Page, run: Run) -> Extract:
    config = run.config
    further = [statistic.name for statistic in run.further]
    decides = own.decides or run.summary[0]
    values: dict[str, _TargetValues] = {}
    failures: dict[str, int] = {}
    seconds: dict[str, float | None] = {}
    curves: dict[str, Mapping[str, MeanCurve]] = {}
    for user in run.users:
        values[user] = _values_of_user(run, user)
        # A failed sample has no user, so it counts once for each user.
        failed_with = [dialogue.user for dialogue in run.failures]
        failures[user] = failed_with.count(user) + failed_with.count("")
        seconds[user] = _median(run.seconds_per_round(user))
        curves[user] = dict(_curves(run, user))
    keys = _all_targets(values)
    columns: dict[str, Mapping[str, OptionalNumbers]] = {}
    for user, values_of_user in values.items():
        columns[user] = _columns(values_of_user, keys)
    definitions: dict[str, str] = {}
    for statistic in run.summary:
        definitions[statistic.name] = statistic_definition(statistic, run)
    return Extract(
        rules={**benchmark_rules(config), "more": further},
        words=(own.word, own.target_word, own.sample_word),
        decides=decides.name,
        summary=run.summary,
        definitions=definitions,
        segmenter=config.segmenter,
        dataset=replace(config.dataset, samples=()),
        ignores_image=ignores_image(lookup("segmenter", config.segmenter.name)),
        users=run.users,
        user_words=own.users_in_words,
        created=config.created,
        finished=config.finished,
        samples=len(run.samples),
        done=run.done,
        failures=failures,
        unloaded=len(run.unloaded),
        seconds=seconds,
        targets=_target_names(run, keys),
        values=columns,
        curves=curves,
    )


def _values_of_user(run: Run, user: str) -> _TargetValues:
    values: dict[str, Mapping[TargetKey, float]] = {}
    for statistic in run.summary:
        values[statistic.name] = target_values(run, user, statistic)
    return values


def _all_targets(values: Mapping[str, _TargetValues]) -> list[TargetKey]:
    """Return the distinct targets of all users and statistics, in order of first appearance."""
    keys: dict[TargetKey, None] = {}
    for values_of_user in values.values():
        for value_by_target in values_of_user.values():
            for key in value_by_target:
                keys[key] = None
    return list(keys)


def _columns(values: _TargetValues, keys: Sequence[TargetKey]) -> dict[str, OptionalNumbers]:
    """Return the values of each statistic in the order of `keys`."""
    columns: dict[str, OptionalNumbers] = {}
    for statistic, value_by_target in values.items():
        columns[statistic] = _numbers(map(value_by_target.get, keys))
    return columns


def _target_names(run: Run, keys: Sequence[TargetKey]) -> TargetColumns:
    # If there are several dialogues about a target, keep the last; all agree on label and
    # attributes.
    dialogues: dict[TargetKey, DialogueRecord] = {}
    for dialogue in run.finished():
        dialogues[dialogue.key[:2]] = dialogue
    samples: list[str] = []
    targets: list[str] = []
    labels: list[str] = []
    attributes: list[Mapping[str, str | float]] = []
    for key in keys:
        sample, target = key
        dialogue = dialogues[key]
        samples.append(sample)
        targets.append(target)
        labels.append(dialogue.label)
        attributes.append(_plain_attributes(dialogue))
    return TargetColumns(
        sample=tuple(samples),
        target=tuple(targets),
        label=tuple(labels),
        attributes=tuple(attributes),
    )


def _plain_attributes(dialogue: DialogueRecord) -> dict[str, str | float]:
    """Return the attributes of a dialogue's target that are strings or numbers."""
    return {
        name: value
        for name, value in dialogue.attributes.items()
        if isinstance(value, (str, float, int))
    }


def _curves(run: Run, user: str) -> Iterator[tuple[str, MeanCurve]]:
    """Yield (metric, mean curve over targets); repeats of a target are averaged first."""
    for metric in summary_metrics(run):
        dialogues, values = run.curves(user, metric)
        if not dialogues:
            continue
        # Targets get indices in order of first appearance; repeats share the index of their target.
        numbers: dict[TargetKey, int] = {}
        rows: list[int] = []
        for dialogue in dialogues:
            key = dialogue.key[:2]
            rows.append(numbers.setdefault(key, len(numbers)))
        sums = np.zeros((len(numbers), run.rounds))
        np.add.at(sums, rows, values)
        repeats = np.bincount(rows)
        curves = sums / repeats[:, None]
        clusters = image_clusters(list(numbers))
        yield metric, _curve(bootstrap_means(curves.T, clusters))


def _curve(means: Sequence[Interval]) -> MeanCurve:
    mean: list[float] = []
    low: list[float] = []
    high: list[float] = []
    for interval in means:
        mean.append(interval.mean)
        low.append(interval.low)
        high.append(interval.high)
    return MeanCurve(mean=_numbers(mean), low=_numbers(low), high=_numbers(high))


def _median(seconds: NDArray[np.float64]) -> float | None:
    return float(np.median(seconds)) if len(seconds) else None


def _numbers(values: Iterable[float | None]) -> OptionalNumbers:
    numbers: list[float | None] = []
    for value in values:
        # JSON has no NaN.
        if value is not None and math.isnan(value):
            value = None
        numbers.append(value)
    return tuple(numbers)
