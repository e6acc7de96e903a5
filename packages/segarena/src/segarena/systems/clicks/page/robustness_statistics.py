"""The numbers of the rclicks report: groups against the base user, first clicks, hardness, correlations.

No formatting here. Source: RClicks, section 5 and appendix D.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from segarena.options import Protocol
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import TargetKey, image_clusters
from segarena.reports.wording import count_text
from segarena.roles import Statistic
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
from segarena.systems.clicks.page.run_values import (
    first_click_values,
    group_values,
    shared_targets,
    user_roles,
)

PUBLISHED_EPSILON = 1e-9
"""What the published code adds to the mean in the noise-to-signal ratio of real people."""

MIN_SEGMENTERS = 3
"""With two, every correlation is 1 or -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One statistic of one segmenter on one dataset over the clicking groups.

    Attributes:
        run: position of the run in the report.
        statistic: NoC, NoF or AuC.
        groups: base user, mean over groups and changes; relative changes of NoC, differences otherwise.
        nsr: deviation over mean, mean over instances; for AuC only.
        targets: instances.
        left_out: targets that not everyone finished.
    """

    run: int
    statistic: Statistic
    groups: GroupStatistics
    nsr: Interval | None
    targets: int
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstClickRow:
    """IoU after the first click of one kind of user.

    Attributes:
        run: position of the run in the report.
        who: "base", "groups", "real" or "sampled".
        mean, std, nsr: over an instance's clicks, then over instances; the base user clicks once, so has no std.
        to_real: the mean minus that of real people, instance by instance; None without real people.
        targets: instances.
        clicks: dialogues behind them.
        without: targets on which nobody clicked.
    """

    run: int
    who: str
    mean: Interval
    std: Interval | None
    nsr: Interval | None
    to_real: PairedDifference | None
    targets: int
    clicks: int
    without: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DatasetHardness:
    """How much the first click's place matters on each instance of a dataset, averaged over its runs.

    Attributes:
        dataset: as tables call it.
        runs: positions of its runs.
        who: "real", or "groups" where there are no real clicks.
        keys: the instances that all runs have.
        means, stds, nsr: of the IoU, one per instance.
    """

    dataset: str
    runs: tuple[int, ...]
    who: str
    keys: tuple[TargetKey, ...]
    means: NDArray[np.float64]
    stds: NDArray[np.float64]
    nsr: NDArray[np.float64]

    @property
    def ranking(self) -> list[int]:
        """Positions of the instances, the hardest first; of equals the one with the lower mean."""
        return sorted(range(len(self.keys)), key=lambda i: (-self.nsr[i], self.means[i]))


def group_rows(runs: Sequence[Run]) -> tuple[GroupRow, ...]:
    """Return a row per statistic and run, the runs of one statistic together."""
    kinds = ("noc", "nof", "auc")
    shown = [s for s in runs[0].summary if s.kind in kinds]
    chosen = sorted(shown, key=lambda s: (kinds.index(s.kind), s.threshold))
    rows: list[GroupRow] = []
    for statistic in chosen:
        rows += [_group_row(place, run, statistic) for place, run in enumerate(runs)]
    return tuple(rows)


def first_click_rows(runs: Sequence[Run]) -> tuple[FirstClickRow, ...]:
    """Return a row per run and kind of user, of the instances that all kinds of users of the run have."""
    return tuple(chain.from_iterable(_first_rows_of(place, run) for place, run in enumerate(runs)))


def dataset_hardness(runs: Sequence[Run]) -> tuple[DatasetHardness, ...]:
    """Return the hardness of each dataset's instances."""
    found: dict[str, dict[int, Run]] = {}
    for place, run in enumerate(runs):
        found.setdefault(run.data, {})[place] = run
    return tuple(_hardness(data, list(own.values()), list(own)) for data, own in found.items())


def measure_correlations(runs: Sequence[Run]) -> tuple[CorrelationTable | None, str]:
    """Return how measures go together over segmenters, mean over datasets; or None and the reason why not."""
    by_dataset: dict[str, dict[str, dict[str, float]]] = {}
    if len({run.segmenter for run in runs}) >= MIN_SEGMENTERS:
        for run in runs:
            by_dataset.setdefault(run.data, {})[run.segmenter] = run_measures(run)
    tables = list(by_dataset.values())
    segmenters = [name for name in (tables[0] if tables else ()) if _has_measures(name, tables)]
    if len(segmenters) < MIN_SEGMENTERS:
        return (
            None,
            "Correlations need at least three segmenters that have every measure on every dataset given.",
        )
    rows = [[table[segmenter] for segmenter in segmenters] for table in tables]
    shared = set(rows[0][0]).intersection(*chain(*rows))
    names = [name for name in rows[0][0] if name in shared]

    def columns(measures: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
        return {name: [one[name] for one in measures] for name in names}

    about = f"{len(segmenters)} segmenters on {count_text(len(tables), 'dataset')}"
    return correlation_table([columns(measures) for measures in rows]), about


def _has_measures(segmenter: str, tables: Sequence[Mapping[str, Mapping[str, float]]]) -> bool:
    """Tell whether a segmenter has measures on every dataset, and finite ones."""
    return all(
        segmenter in table and all(map(math.isfinite, table[segmenter].values()))
        for table in tables
    )


def run_measures(run: Run) -> dict[str, float]:
    """Return what is correlated: averages and robustness of NoC, NoF, AuC, and of IoU after first and last click."""
    found: dict[str, float] = {}
    for statistic in _last_thresholds(run):
        row = _group_row(0, run, statistic)
        name = statistic.name
        over = row.groups
        found |= {f"base {name}": over.base.mean, f"sample {name}": over.sample.mean}
        if statistic.kind == "at_round":
            continue
        found |= {f"std {name}": over.sample_std.mean, f"ASB {name}": over.asb.mean}
        found |= {f"AGR {name}": over.agr.mean, f"AHH {name}": over.ahh.mean}
        found |= {} if row.nsr is None else {f"NSR {name}": row.nsr.mean}
    for row in _first_rows_of(0, run):
        if row.std is not None and row.nsr is not None:
            means = {} if row.who == "groups" else {f"{row.who} IoU@1": row.mean.mean}
            found |= {**means, f"{row.who} NSR IoU@1": row.nsr.mean}
    return found


def ahh_protocol(run: Run) -> Protocol:
    """Return by which rules AHH is taken."""
    return "published" if run.config.benchmark.protocol == "published" else "careful"


def _group_row(place: int, run: Run, statistic: Statistic) -> GroupRow:
    values = group_values(run, statistic)
    images = image_clusters(values.keys).tolist()
    if statistic.kind == "nof":
        found = failure_statistics(values.groups, values.base, images)
    else:
        change = "ratio" if statistic.kind == "noc" else "difference"
        found = group_statistics(
            values.groups, values.base, images, change=change, protocol=ahh_protocol(run)
        )
    nsr = None
    if statistic.kind == "auc":
        ratios = noise_to_signal(group_stds(values.groups), group_means(values.groups))
        nsr = bootstrap_mean(ratios, images)
    return GroupRow(
        run=place,
        statistic=statistic,
        groups=found,
        nsr=nsr,
        targets=len(values.keys),
        left_out=values.left_out,
    )


def _first_rows_of(place: int, run: Run) -> list[FirstClickRow]:
    roles = user_roles(run)
    users = {
        "base": (roles.base,),
        "groups": roles.groups,
        "real": (roles.real,),
        "sampled": (roles.sampled,),
    }
    tables = {
        who: first_click_values(run, list(filter(None, of))) for who, of in users.items() if any(of)
    }
    keys = shared_targets(list(tables.values()))
    targets = {(d.sample, d.target) for d in run.dialogues if d.target}
    clicked = {(d.sample, d.target) for d in run.dialogues if d.user == roles.real}
    without = len(targets - clicked) if roles.real else 0
    epsilon = PUBLISHED_EPSILON if ahh_protocol(run) == "published" else 0.0
    images = image_clusters(keys)
    rows: list[FirstClickRow] = []
    for who, table in tables.items():
        ious = [table[key] for key in keys]
        # As published: the epsilon is for people, never for groups.
        found = first_click_statistics(
            ious, images.tolist(), epsilon=0.0 if who == "groups" else epsilon
        )
        against = None
        if who != "real" and "real" in tables:
            real = [tables["real"][key].mean() for key in keys]
            against = paired_difference([of_instance.mean() for of_instance in ious], real, images)
        rows.append(
            FirstClickRow(
                run=place,
                who=who,
                mean=found.mean,
                std=None if who == "base" else found.std,
                nsr=None if who == "base" else found.nsr,
                to_real=against,
                targets=len(keys),
                clicks=sum(map(len, ious)),
                without=without,
            )
        )
    return rows


def _hardness(data: str, runs: Sequence[Run], places: Sequence[int]) -> DatasetHardness:
    roles = [user_roles(run) for run in runs]
    is_real = all(one.real for one in roles)
    users = [[one.real or ""] if is_real else [*one.groups] for one in roles]
    tables = [first_click_values(run, of) for run, of in zip(runs, users, strict=True)]
    keys = shared_targets(tables)
    means = np.empty((len(tables), len(keys)))
    stds = np.empty((len(tables), len(keys)))
    for place, table in enumerate(tables):
        means[place] = [table[key].mean() for key in keys]
        stds[place] = [table[key].std() for key in keys]
    return DatasetHardness(
        dataset=data,
        runs=tuple(places),
        who="real" if is_real else "groups",
        keys=tuple(keys),
        means=means.mean(axis=0),
        stds=stds.mean(axis=0),
        nsr=instance_hardness(stds, means),
    )


def _last_thresholds(run: Run) -> list[Statistic]:
    """Return NoC and NoF at the highest threshold, AuC, and IoU after the first and the last round."""
    highest = {
        s.kind: s
        for s in sorted(run.summary, key=lambda s: s.threshold)
        if s.kind in ("noc", "nof", "auc")
    }
    ends = [
        Statistic(name=f"IoU@{k}", kind="at_round", round=k) for k in dict.fromkeys((1, run.rounds))
    ]
    return [*highest.values(), *ends]
