"""Extracts of runs for boards: values per target, curves, and how the run was made.

An extract is JSON text of a few kilobytes for a hundred targets. Participants choose the names in
it, so pages must escape them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.capabilities import ignores_image
from segarena.errors import StoreError
from segarena.records.configuration import DatasetRecord, PluginRecord
from segarena.records.trust import restrict_plugins
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
"""Values; None where a value is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanCurve:
    """Mean over targets after each round with the ends of its interval."""

    mean: OptionalNumbers
    low: OptionalNumbers
    high: OptionalNumbers


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetColumns:
    """The targets of a run as columns with one value per target.

    Attributes:
        sample, target, label: as in the records.
        attributes: attributes of the target that are texts or numbers.
    """

    sample: tuple[str, ...]
    target: tuple[str, ...]
    label: tuple[str, ...]
    attributes: tuple[Mapping[str, str | float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """The data of one run that a board needs.

    Attributes:
        format: version of this format.
        rules: rules of the benchmark as JSON values; a board holds runs of equal rules only.
        words: words for a round, a target and a sample.
        decides: name of the statistic by which the benchmark ranks.
        summary: statistics of the benchmark.
        definitions: definition of each statistic in one sentence.
        segmenter: segmenter as in run.json.
        dataset: dataset as in run.json, without its samples.
        ignores_image: whether the segmenter is a control that ignores the image.
        users: names of the users.
        created, finished: times in ISO 8601; empty if unknown.
        samples, done: numbers of all samples and of those that are done.
        failures: number of failed dialogues by user.
        seconds: median seconds of a round by user.
        targets: targets with a finished dialogue.
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
    created: str
    finished: str
    samples: int
    done: int
    failures: Mapping[str, int]
    seconds: Mapping[str, float | None]
    targets: TargetColumns
    values: Mapping[str, Mapping[str, OptionalNumbers]]
    curves: Mapping[str, Mapping[str, MeanCurve]] = field(
        default_factory=dict[str, Mapping[str, MeanCurve]]
    )


def extract_of(run: str | Path) -> Extract:
    """Return the extract of a run folder without executing plug-ins that the folder names.

    Raises:
        RunMissing: there is no run.
        StoreError: its records are damaged.
    """
    with restrict_plugins(trust=False):
        own = page_of(read_runs([run]))
        return _extract(own, own.usual_runs[0])


def extract_text(extract: Extract) -> str:
    """Return an extract as JSON text; equal records and run.json give equal text."""
    return msgspec.json.encode(extract).decode()


def read_extract(text: str | bytes) -> Extract:
    """Return the extract of a text by `extract_text`.

    Raises:
        StoreError: the text is no extract or has another version, and must be created again.
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
    values: dict[str, Mapping[str, Mapping[TargetKey, float]]] = {}
    failures: dict[str, int] = {}
    seconds: dict[str, float | None] = {}
    curves: dict[str, Mapping[str, MeanCurve]] = {}
    for user in run.users:
        values[user] = {one.name: target_values(run, user, one) for one in run.summary}
        # A failed sample has no user; it counts once for each.
        failures[user] = sum(dialogue.user in (user, "") for dialogue in run.failures)
        seconds[user] = _median(run.seconds_per_round(user))
        curves[user] = dict(_curves(run, user))
    keys = _all_targets(values)
    return Extract(
        rules={**benchmark_rules(config), "more": further},
        words=(own.word, own.target_word, own.sample_word),
        decides=decides.name,
        summary=run.summary,
        definitions={one.name: statistic_definition(one, run) for one in run.summary},
        segmenter=config.segmenter,
        dataset=replace(config.dataset, samples=()),
        ignores_image=ignores_image(lookup("segmenter", config.segmenter.name)),
        users=run.users,
        created=config.created,
        finished=config.finished,
        samples=len(run.samples),
        done=run.done,
        failures=failures,
        seconds=seconds,
        targets=_target_names(run, keys),
        values={user: _columns(of_user, keys) for user, of_user in values.items()},
        curves=curves,
    )


def _all_targets(
    values: Mapping[str, Mapping[str, Mapping[TargetKey, float]]],
) -> list[TargetKey]:
    """Return the distinct targets in the values by user and statistic, in order of appearance."""
    keys: dict[TargetKey, None] = {}
    for of_user in values.values():
        for column in of_user.values():
            keys.update(dict.fromkeys(column))
    return list(keys)


def _columns(
    values: Mapping[str, Mapping[TargetKey, float]], keys: Sequence[TargetKey]
) -> dict[str, OptionalNumbers]:
    """Return the values of each statistic in the order of `keys`."""
    columns: dict[str, OptionalNumbers] = {}
    for name, by_target in values.items():
        columns[name] = _numbers(by_target.get(key) for key in keys)
    return columns


def _target_names(run: Run, keys: Sequence[TargetKey]) -> TargetColumns:
    # The last of several dialogues about a target wins; all agree on label and attributes.
    dialogues = {dialogue.key[:2]: dialogue for dialogue in run.finished()}
    labels: list[str] = []
    attributes: list[Mapping[str, str | float]] = []
    for key in keys:
        labels.append(dialogues[key].label)
        attributes.append(_plain_attributes(dialogues[key]))
    return TargetColumns(
        sample=tuple(sample for sample, _ in keys),
        target=tuple(target for _, target in keys),
        label=tuple(labels),
        attributes=tuple(attributes),
    )


def _plain_attributes(dialogue: DialogueRecord) -> dict[str, str | float]:
    """Return the attributes of a dialogue's target that are texts or numbers."""
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
        targets = [dialogue.key[:2] for dialogue in dialogues]
        keys = list(dict.fromkeys(targets))
        numbers = {key: number for number, key in enumerate(keys)}
        target_numbers = np.array([numbers[key] for key in targets])
        sums = np.zeros((len(keys), run.rounds))
        np.add.at(sums, target_numbers, values)
        repeats = np.bincount(target_numbers)
        curves = sums / repeats[:, None]
        yield metric, _curve(bootstrap_means(curves.T, image_clusters(keys)))


def _curve(means: Sequence[Interval]) -> MeanCurve:
    return MeanCurve(
        mean=_numbers(interval.mean for interval in means),
        low=_numbers(interval.low for interval in means),
        high=_numbers(interval.high for interval in means),
    )


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
