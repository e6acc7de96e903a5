"""Statistics over rounds as plug-ins. Each is a class with values, a number format and a definition.

`segarena.Statistic(name=..., kind="noc", metric=..., ...)` names one in the summary of a benchmark. A package brings
a kind of its own as it brings a metric: a class under `@statistic("name")` in a module that it names in the entry
point group `segarena.plugins`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from segarena.benchmark_rules import Statistic
from segarena.registry import find_registered, register
from segarena.statistics.round_curves import (
    Values,
    area_over_all,
    area_over_last_five,
    area_under_curve,
    at_round,
    number_of_clicks,
    number_of_failures,
)


class RoundStatistic(ABC):
    """A kind of statistic over the rounds of a dialogue; a new kind must implement only `values`.

    Attributes:
        decimals: number of decimals printed.
        is_share: whether it is printed in per cent.
        has_threshold: whether it reads `statistic.threshold`, which charts then mark.
        sentence: definition without the name and without a full stop; by default the first line of the docstring.
            `{metric}`, `{rounds}`, `{steps}` from round to round, `{threshold}` and `{round}` are filled in.
        level: predicate for a segmenter with the mean `{value}`. Also filled in: `{name}`, `{metric}`, `{threshold}`
            and `{word}`, the word for a round.
        lead: predicate for a segmenter that is better by `{size}` than `{other}`.
    """

    decimals: int = 3
    is_share: bool = False
    has_threshold: bool = False
    sentence: str = ""
    level: str = "comes to {name} {value}"
    lead: str = "is {size} ahead of {other} in {name}"

    @abstractmethod
    def values(self, statistic: Statistic, values: ArrayLike, options: Mapping[str, Any]) -> Values:
        """Return the statistic of each dialogue.

        Args:
            statistic: as the benchmark names it.
            values: (dialogues, rounds) of the column that it reads, without NaN.
            options: those of the benchmark.
        """

    def definition(
        self, statistic: Statistic, metric: str, rounds: int, options: Mapping[str, Any]
    ) -> str:
        """Return `sentence` filled in; `metric` is the column as printed."""
        if not self.sentence:
            return (type(self).__doc__ or type(self).__name__).partition("\n")[0].rstrip(".")
        given = {"metric": metric, "rounds": rounds, "steps": max(1, rounds - 1)}
        return self.sentence.format(**given, threshold=statistic.threshold, round=statistic.round)

    def needs_rounds(self, statistic: Statistic) -> int:
        """Return how many rounds a run needs at least; with fewer the statistic is left out, and named."""
        return 1

    def text(self, value: float) -> str:
        """Return a value as printed; "–" for NaN."""
        if math.isnan(value):
            return "–"
        if self.is_share:
            return f"{100 * value:.{self.decimals}f} %"
        return f"{value:.{self.decimals}f}"


Kind = TypeVar("Kind", bound=type[RoundStatistic])


def statistic(name: str) -> Callable[[Kind], Kind]:
    """Register a class as the kind of statistic `name`.

    >>> type(find_statistic("noc")).__name__  # registered by @statistic("noc")
    'NumberOfClicks'
    """
    return register("statistic", name)


@cache
def find_statistic(kind: str) -> RoundStatistic:
    """Return the kind of statistic of that name.

    >>> find_statistic("nof").text(0.25)
    '25.0 %'

    Raises:
        UnknownPlugin: there is none; the message lists the near ones.
    """
    found: RoundStatistic = find_registered("statistic", kind)()
    return found


def statistic_values(
    statistic: Statistic, values: ArrayLike, options: Mapping[str, Any] | None = None
) -> Values:
    """Return `statistic` of each dialogue.

    >>> statistic_values(Statistic(name="IoU@2", kind="at_round", round=2), [[0.5, 0.9, 0.95]]).tolist()
    [0.9]

    Arguments and errors are those of the kind; without a benchmark there are no options.
    """
    return find_statistic(statistic.kind).values(statistic, values, options or {})


def define_statistic(
    statistic: Statistic, metric: str, rounds: int, options: Mapping[str, Any]
) -> str:
    """Return the sentence that defines a statistic of a benchmark, and which way is good.

    >>> define_statistic(Statistic(name="IoU@2", kind="at_round", round=2), "IoU", 20, {})
    'IoU@2: IoU after round 2. Higher is better.'
    """
    definition = find_statistic(statistic.kind).definition(statistic, metric, rounds, options)
    direction = "Higher" if statistic.higher_is_better else "Lower"
    return f"{statistic.name}: {definition}. {direction} is better."


@statistic("noc")
class NumberOfClicks(RoundStatistic):
    """The first round whose value reaches the threshold; the number of rounds when none does."""

    decimals = 2
    has_threshold = True
    level = "needs {value} {word}s for {metric} {threshold:g}"
    lead = "needs {size} fewer {word}s than {other} for {metric} {threshold:g}"
    sentence = (
        "number of rounds until {metric} is at least {threshold:g}; {rounds} when it never is"
    )

    def values(self, statistic: Statistic, values: ArrayLike, options: Mapping[str, Any]) -> Values:
        """Return NoC."""
        return number_of_clicks(values, statistic.threshold)


@statistic("nof")
class NumberOfFailures(RoundStatistic):
    """1 for a dialogue that never reaches the threshold, else 0; the mean is the share that failed."""

    decimals = 1
    is_share = True
    has_threshold = True

    def values(self, statistic: Statistic, values: ArrayLike, options: Mapping[str, Any]) -> Values:
        """Return NoF; the benchmark's option `solved_at_last` says what reaching it in the last round is."""
        last = "failure" if options.get("solved_at_last") == "failure" else "solved"
        return number_of_failures(values, statistic.threshold, solved_at_last=last)

    def definition(
        self, statistic: Statistic, metric: str, rounds: int, options: Mapping[str, Any]
    ) -> str:
        """Say what is not reached, and how to get to the count that papers print."""
        is_failure = options.get("solved_at_last") == "failure"
        if is_failure:
            also = " (one that gets there only in the last round counts as a failure, as published)"
        else:
            also = ""
        return (
            f"share of targets whose {metric} does not reach {statistic.threshold:g} within {rounds} rounds{also}; "
            "times the number of targets it is the count that papers print"
        )


@statistic("auc")
class AreaUnderCurve(RoundStatistic):
    """The area under the curve over all rounds by trapezoids, divided by their number less one."""

    sentence = "area under the curve of {metric} over rounds 1 to {rounds} by trapezoids, divided by {steps}"

    def values(self, statistic: Statistic, values: ArrayLike, options: Mapping[str, Any]) -> Values:
        """Return AuC."""
        return area_under_curve(values)


@statistic("auc_all")
class AreaOverAll(RoundStatistic):
    """The area under the curve over all rounds by trapezoids, as a sum."""

    def values(self, statistic: Statistic, values: ArrayLike, options: Mapping[str, Any]) -> Values:
        """Return the sum of the trapezoids."""
        return area_over_all(values)

    def definition(
        self, statistic: Statistic, metric: str, rounds: int, options: Mapping[str, Any]
    ) -> str:
        """Say over which rounds, and how much it can be."""
        return f"sum of the trapezoids under the curve of {metric} over rounds 1 to {rounds}, at most {rounds - 1}"


@statistic("auc_last_five")
class AreaOverLastFive(RoundStatistic):
    """The area under the curve over the last five rounds by trapezoids, as a sum."""

    sentence = (
        "sum of the trapezoids under the curve of {metric} over the last five rounds, at most 4"
    )

    def values(self, statistic: Statistic, values: ArrayLike, options: Mapping[str, Any]) -> Values:
        """Return the sum of the trapezoids."""
        return area_over_last_five(values)

    def needs_rounds(self, statistic: Statistic) -> int:
        """Return 5."""
        return 5


@statistic("at_round")
class AtRound(RoundStatistic):
    """The value after a round."""

    sentence = "{metric} after round {round}"

    def values(self, statistic: Statistic, values: ArrayLike, options: Mapping[str, Any]) -> Values:
        """Return the value after `statistic.round`."""
        return at_round(values, statistic.round)

    def needs_rounds(self, statistic: Statistic) -> int:
        """Return that round."""
        return statistic.round
