"""Statistics of the rclicks report: groups, first clicks, hardness and correlations.

This module does no formatting. Source: RClicks, section 5 and appendix D.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.options import Protocol
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import TargetKey, image_clusters
from segarena.reports.wording import count_text
from segarena.statistics.correlations import CorrelationTable, correlation_table
from segarena.statistics.intervals import (
    Interval,
    PairedDifference,
    bootstrap_mean,
    paired_difference,
)
from segarena.systems.clicks.measures.group_statistics import (
    GroupStatistics,
    failure_statistics,
    group_means,
    group_statistics,
    group_stds,
)
from segarena.systems.clicks.measures.noise_to_signal import (
    first_click_statistics,
    instance_hardness,
    noise_to_signal,
)
from segarena.systems.clicks.page.robustness_run_values import (
    first_click_values,
    group_values,
    shared_targets,
    user_roles,
)

PUBLISHED_EPSILON = 1e-9
"""Value that the published code adds to the mean in the noise-to-signal ratio of real users."""

MIN_SEGMENTERS = 3
"""Minimum number of segmenters for correlations: with two, every correlation is 1 or -1."""


STATISTIC_ORDER = ("noc", "nof", "auc")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One statistic of one segmenter on one dataset across the clicking groups.

    Attributes:
        run: index of the run in the report.
        statistic: NoC, NoF or AuC.
        groups: values of the base user, mean over groups, and changes, which are relative for NoC
            and differences otherwise.
        nsr: ratio of standard deviation to mean, averaged over instances; for AuC only.
        targets: number of instances.
        left_out: number of targets that were excluded because at least one user did not finish
            them.
    """

    run: int
    statistic: Statistic
    groups: GroupStatistics
    nsr: Interval | None
    targets: int
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstClickRow:
    """IoU after the first click, for one kind of user.

    Attributes:
        run: index of the run in the report.
        user_kind: "base", "groups", "real" or "sampled".
        mean: mean over the clicks of an instance, averaged over instances.
        std: standard deviation over the clicks of an instance, averaged over instances; None for
            the base user, which clicks once.
        nsr: ratio of standard deviation to mean, averaged over instances; None for the base user.
        to_real: difference between this mean and that of real people, paired by instance; None
            without real people.
        targets: number of instances.
        clicks: number of averaged values: one per dialogue, or one per group and instance for "groups".
        without: number of targets that have no real click.
    """

    run: int
    user_kind: str
    mean: Interval
    std: Interval | None
    nsr: Interval | None
    to_real: PairedDifference | None
    targets: int
    clicks: int
    without: int


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class DatasetHardness:
    """Influence of the first click's position on each instance, averaged over the runs on a dataset.

    Attributes:
        dataset: name of the dataset as shown in tables.
        runs: indices of its runs in the report.
        user_kind: "real", or "groups" if there are no real clicks.
        keys: the instances that are in all runs.
        means: mean IoU per instance.
        stds: standard deviation of the IoU per instance.
        nsr: noise-to-signal ratio per instance.
    """

    dataset: str
    runs: tuple[int, ...]
    user_kind: str
    keys: tuple[TargetKey, ...]
    means: NDArray[np.float64]
    stds: NDArray[np.float64]
    nsr: NDArray[np.float64]

    @property
    def ranking(self) -> list[int]:
        """Indices of the instances, hardest first; ties are ordered by ascending mean."""
        return sorted(range(len(self.keys)), key=lambda i: (-self.nsr[i], self.means[i]))


def group_rows(runs: Sequence[Run]) -> tuple[GroupRow, ...]:
    """Return one row per statistic and run, grouped by statistic."""
    statistics = [each for each in runs[0].summary if each.kind in STATISTIC_ORDER]
    statistics.sort(key=lambda each: (STATISTIC_ORDER.index(each.kind), each.threshold))
    rows: list[GroupRow] = []
    for statistic in statistics:
        rows += [_group_row(index, run, statistic) for index, run in enumerate(runs)]
    return tuple(rows)


def first_click_rows(runs: Sequence[Run]) -> tuple[FirstClickRow, ...]:
    """Return one row per run and kind of user, over the instances that all kinds of users share."""
    rows: list[FirstClickRow] = []
    for index, run in enumerate(runs):
        rows += _first_click_rows_of(index, run)
    return tuple(rows)


def dataset_hardness(runs: Sequence[Run]) -> tuple[DatasetHardness, ...]:
    """Return the hardness of the instances of each dataset."""
    by_dataset: dict[str, dict[int, Run]] = {}
    for index, run in enumerate(runs):
        by_dataset.setdefault(run.data, {})[index] = run
    hardness: list[DatasetHardness] = []
    for dataset, own in by_dataset.items():
        hardness.append(_hardness(dataset, list(own.values()), list(own)))
    return tuple(hardness)


def measure_correlations(runs: Sequence[Run]) -> tuple[CorrelationTable | None, str]:
    """Return the correlations between measures over segmenters, averaged over datasets, and their description.

    With too few segmenters, the table is None and the description gives the reason.
    """
    by_dataset: dict[str, dict[str, dict[str, float]]] = {}
    if len({run.segmenter for run in runs}) >= MIN_SEGMENTERS:
        for run in runs:
            by_dataset.setdefault(run.data, {})[run.segmenter] = run_measures(run)
    tables = list(by_dataset.values())
    candidates = tables[0] if tables else {}
    segmenters = [name for name in candidates if _has_measures(name, tables)]
    if len(segmenters) < MIN_SEGMENTERS:
        reason = "Correlations need at least three segmenters with every measure on every dataset."
        return None, reason
    rows = [[table[segmenter] for segmenter in segmenters] for table in tables]
    shared = set(rows[0][0])
    for row in rows:
        shared.intersection_update(*row)
    names = [name for name in rows[0][0] if name in shared]

    def columns(of_segmenters: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
        return {name: [measures[name] for measures in of_segmenters] for name in names}

    about = f"{len(segmenters)} segmenters on {count_text(len(tables), 'dataset')}"
    return correlation_table([columns(row) for row in rows]), about


def _has_measures(segmenter: str, tables: Sequence[Mapping[str, Mapping[str, float]]]) -> bool:
    """Test whether a segmenter has finite values of all measures on every dataset."""
    for table in tables:
        if segmenter not in table:
            return False
        if not all(math.isfinite(value) for value in table[segmenter].values()):
            return False
    return True


def run_measures(run: Run) -> dict[str, float]:
    """Return the measures between which correlations are computed, by name.

    They are the averages and the robustness statistics of NoC, NoF, AuC, and of the IoU after the
    first and the last click.
    """
    measures: dict[str, float] = {}
    for statistic in _correlated_statistics(run):
        row = _group_row(0, run, statistic)
        name = statistic.name
        groups = row.groups
        measures[f"base {name}"] = groups.base.mean
        measures[f"sample {name}"] = groups.sample.mean
        if statistic.kind == "at_round":
            continue
        measures[f"std {name}"] = groups.sample_std.mean
        measures[f"ASB {name}"] = groups.asb.mean
        measures[f"AGR {name}"] = groups.agr.mean
        measures[f"AHH {name}"] = groups.ahh.mean
        if row.nsr is not None:
            measures[f"NSR {name}"] = row.nsr.mean
    for row in _first_click_rows_of(0, run):
        if row.std is None or row.nsr is None:
            continue
        # The groups' mean IoU@1 is already included as `sample` of the statistic IoU@1.
        if row.user_kind != "groups":
            measures[f"{row.user_kind} IoU@1"] = row.mean.mean
        measures[f"{row.user_kind} NSR IoU@1"] = row.nsr.mean
    return measures


def ahh_protocol(run: Run) -> Protocol:
    """Return the protocol that determines how AHH is computed."""
    return "published" if run.config.benchmark.protocol == "published" else "careful"


def _group_row(
    run_index: int,
    run: Run,
    statistic: Statistic,
) -> GroupRow:
    values = group_values(run, statistic)
    images = image_clusters(values.keys).tolist()
    if statistic.kind == "nof":
        statistics = failure_statistics(values.groups, values.base, images)
    else:
        change = "ratio" if statistic.kind == "noc" else "difference"
        statistics = group_statistics(
            values.groups, values.base, images, change=change, protocol=ahh_protocol(run)
        )
    nsr = None
    if statistic.kind == "auc":
        ratios = noise_to_signal(group_stds(values.groups), group_means(values.groups))
        nsr = bootstrap_mean(ratios, images)
    return GroupRow(
        run=run_index,
        statistic=statistic,
        groups=statistics,
        nsr=nsr,
        targets=len(values.keys),
        left_out=values.left_out,
    )


def _first_click_rows_of(run_index: int, run: Run) -> list[FirstClickRow]:
    roles = user_roles(run)
    users_by_kind: dict[str, list[str]] = {
        "base": [roles.base] if roles.base else [],
        "groups": list(roles.groups),
        "real": [roles.real] if roles.real else [],
        "sampled": [roles.sampled] if roles.sampled else [],
    }
    tables: dict[str, dict[TargetKey, NDArray[np.float64]]] = {}
    for kind, users in users_by_kind.items():
        if users:
            tables[kind] = first_click_values(run, users)
    keys = shared_targets(list(tables.values()))
    without = _count_unclicked(run, roles.real) if roles.real else 0
    people_epsilon = PUBLISHED_EPSILON if ahh_protocol(run) == "published" else 0.0
    images = image_clusters(keys)
    rows: list[FirstClickRow] = []
    for kind, table in tables.items():
        ious = [table[key] for key in keys]
        # The published code adds its epsilon for real users, but never for groups.
        epsilon = 0.0 if kind == "groups" else people_epsilon
        statistics = first_click_statistics(ious, images.tolist(), epsilon=epsilon)
        difference = None
        if kind != "real" and "real" in tables:
            means = [of_instance.mean() for of_instance in ious]
            real_means = [tables["real"][key].mean() for key in keys]
            difference = paired_difference(means, real_means, images)
        has_deviation = kind != "base"
        row = FirstClickRow(
            run=run_index,
            user_kind=kind,
            mean=statistics.mean,
            std=statistics.std if has_deviation else None,
            nsr=statistics.nsr if has_deviation else None,
            to_real=difference,
            targets=len(keys),
            clicks=sum(len(values) for values in ious),
            without=without,
        )
        rows.append(row)
    return rows


def _count_unclicked(run: Run, real_user: str) -> int:
    """Return the number of targets that have no real click."""
    targets = {(each.sample, each.target) for each in run.dialogues if each.target}
    clicked = {(each.sample, each.target) for each in run.dialogues if each.user == real_user}
    return len(targets - clicked)


def _hardness(
    dataset: str,
    runs: Sequence[Run],
    run_indices: Sequence[int],
) -> DatasetHardness:
    roles = [user_roles(run) for run in runs]
    has_real_clicks = all(each.real for each in roles)
    tables: list[dict[TargetKey, NDArray[np.float64]]] = []
    for run, of_run in zip(runs, roles, strict=True):
        users = [of_run.real or ""] if has_real_clicks else list(of_run.groups)
        tables.append(first_click_values(run, users))
    keys = shared_targets(tables)
    means = np.empty((len(tables), len(keys)))
    stds = np.empty((len(tables), len(keys)))
    for index, table in enumerate(tables):
        means[index] = [table[key].mean() for key in keys]
        stds[index] = [table[key].std() for key in keys]
    return DatasetHardness(
        dataset=dataset,
        runs=tuple(run_indices),
        user_kind="real" if has_real_clicks else "groups",
        keys=tuple(keys),
        means=means.mean(axis=0),
        stds=stds.mean(axis=0),
        nsr=instance_hardness(stds, means),
    )


def _correlated_statistics(run: Run) -> list[Statistic]:
    """Return NoC and NoF at the highest threshold, AuC, and IoU after the first and the last round."""
    by_kind: dict[str, Statistic] = {}
    for statistic in sorted(run.summary, key=lambda each: each.threshold):
        if statistic.kind in STATISTIC_ORDER:
            by_kind[statistic.kind] = statistic
    rounds = dict.fromkeys((1, run.rounds))
    ious = [Statistic(name=f"IoU@{k}", kind="at_round", round=k) for k in rounds]
    return [*by_kind.values(), *ious]
