"""Failures and final quality beside the number of clicks (NoC), and sentences about disagreements between them.

A low mean number of clicks does not imply few failures, because an unsolved target counts only as
the limit of rounds. Nor does it imply anything about the quality of the final mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from segarena.benchmark_rules import Statistic
from segarena.reports.display_names import metric_name
from segarena.reports.recorded_run import Run
from segarena.reports.wording import value_text


@dataclass(frozen=True, slots=True)
class Companions:
    """Statistics that complement a NoC; None if the summary lacks them.

    Attributes:
        failures: share of targets that do not reach the threshold of the NoC in its metric.
        final: value of the metric of the NoC after the last round of the run.
    """

    failures: Statistic | None
    final: Statistic | None

    def all(self) -> list[Statistic]:
        """Return the statistics that exist."""
        return [one for one in (self.failures, self.final) if one is not None]


def companions_of(
    statistic: Statistic,
    summary: Sequence[Statistic],
    rounds: int,
) -> Companions:
    """Return the companions of a NoC in a summary; none for another kind of statistic.

    Args:
        statistic: the NoC.
        summary: statistics of the benchmark.
        rounds: number of rounds of the run; a value after an earlier round is not the final one.
    """
    failures: Statistic | None = None
    final: Statistic | None = None
    if statistic.kind != "noc":
        return Companions(None, None)
    for other in summary:
        if other.metric != statistic.metric:
            continue
        if other.kind == "nof" and other.threshold == statistic.threshold:
            failures = other
        if other.kind == "at_round" and other.round == rounds:
            final = other
    return Companions(failures, final)


def companions_of_run(run: Run, statistic: Statistic) -> Companions:
    """Return the companions of a NoC, even those that the run's summary does not contain."""
    if statistic.kind != "noc":
        return Companions(None, None)
    found = companions_of(statistic, run.summary, run.rounds)
    metric = statistic.metric
    failures = Statistic(
        name="failures",
        kind="nof",
        metric=metric,
        threshold=statistic.threshold,
        higher_is_better=False,
    )
    name = f"{metric_name(metric)}@{run.rounds}"
    final = Statistic(
        name=name,
        kind="at_round",
        metric=metric,
        round=run.rounds,
        higher_is_better=True,
    )
    return Companions(found.failures or failures, found.final or final)


def is_worse(
    statistic: Statistic,
    value: float,
    other: float,
) -> bool:
    """Return whether a value is worse than another after rounding for print; False for NaN."""
    if value_text(statistic, value) == value_text(statistic, other):
        return False
    return value < other if statistic.higher_is_better else value > other


def against_text(
    statistic: Statistic,
    value: float,
    other: float,
    *,
    is_named: bool,
) -> str:
    """Return "(IoU@20 0.799 against 0.854)", or without the name "(32.6 % against 23.9 %)"."""
    name = f"{statistic.name} " if is_named else ""
    return f"({name}{value_text(statistic, value)} against {value_text(statistic, other)})"


def worse_texts(
    companions: Companions,
    values: Sequence[float],
    others: Sequence[float],
) -> list[str]:
    """Return predicates that state in which companion statistics a run is worse than another run.

    Args:
        companions: the statistics.
        values: the run's value of each of `companions.all()`.
        others: the other run's values.
    """
    texts: list[str] = []
    for statistic, value, other in zip(companions.all(), values, others, strict=True):
        if not is_worse(statistic, value, other):
            continue
        if statistic is companions.failures:
            text = against_text(statistic, value, other, is_named=False)
            texts.append(f"fails more often {text}")
        else:
            text = against_text(statistic, value, other, is_named=True)
            texts.append(f"ends lower {text}")
    return texts


def best_elsewhere_text(
    companions: Companions,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
) -> str:
    """Name the runs with the fewest failures and with the highest final quality, except the first run.

    Empty if the first run is best in both.

    Args:
        companions: the statistics.
        names: names of the runs, first the one with the best NoC.
        values: value of each run, for each statistic of `companions.all()`.
    """
    predicates: dict[str, list[str]] = {}
    less = "less" if len(names) == 2 else "least"
    high = "higher" if len(names) == 2 else "highest"
    for statistic, row in zip(companions.all(), values, strict=True):
        best = 0
        for index, value in enumerate(row):
            if is_worse(statistic, row[best], value):
                best = index
        if best == 0:
            continue
        if statistic is companions.failures:
            text = against_text(statistic, row[best], row[0], is_named=False)
            predicate = f"fails {less} often {text}"
        else:
            text = against_text(statistic, row[best], row[0], is_named=True)
            predicate = f"ends {high} {text}"
        predicates.setdefault(names[best], []).append(predicate)
    return " and ".join(f"{name} {' and '.join(texts)}" for name, texts in predicates.items())


def threshold_text(statistic: Statistic, metric: str) -> str:
    """Return the threshold of a NoC as text, such as "IoU 0.9"."""
    return f"{metric} {statistic.threshold:g}"


def solved_text(
    solved: int,
    total: int,
    noun: str,
) -> str:
    """Describe how many targets were solved: "31 of 46 targets", "all 46 targets" or "none of 46 targets"."""
    plural = noun if total == 1 else f"{noun}s"
    if total == 1:
        return f"the only {noun}" if solved else f"none of 1 {noun}"
    if solved == total:
        return f"all {total} {plural}"
    if solved == 0:
        return f"none of {total} {plural}"
    return f"{solved} of {total} {plural}"
