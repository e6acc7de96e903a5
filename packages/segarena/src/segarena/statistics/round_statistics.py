"""Statistics over rounds as plug-ins: classes that compute values and define format and description.

`segarena.Statistic(name=..., kind="noc", metric=..., ...)` refers to one in the summary of a
benchmark. A package adds its own kinds like its own metrics: by a class under `@statistic("name")`
in a module that it names in the entry point group `segarena.plugins`.
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
    """A kind of statistic over the rounds of a dialogue; a new kind needs to implement only `values`.

    Attributes:
        decimals: number of decimals printed.
        is_share: whether the value is printed in per cent.
        has_threshold: whether the statistic uses `statistic.threshold`, which charts then mark.
        sentence: definition without the name and without a full stop; by default the first line of
            the docstring. `{metric}`, `{rounds}`, `{steps}` (one less than rounds, at least 1),
            `{threshold}` and `{round}` are filled in.
        level: the rest of a sentence about one segmenter, with its mean as `{value}`. Also filled in: `{name}`,
            `{metric}`, `{threshold}`, `{steps}` (one less than rounds, at least 1), and `{word}`,
            the word for a round.
        lead: the rest of a sentence about a segmenter that is better than `{other}` by `{size}`.
        gap: a difference of `{size}` with its unit, as in "ahead by 2.67 clicks".

    In `level`, `lead` and `gap`, the interval follows the number within `{value}` and `{size}`.
    """

    decimals: int = 3
    is_share: bool = False
    has_threshold: bool = False
    sentence: str = ""
    level: str = "has {name} {value}"
    lead: str = "is {size} ahead of {other} in {name}"
    gap: str = "{size}"

    @abstractmethod
    def values(
        self,
        statistic: Statistic,
        values: ArrayLike,
        options: Mapping[str, Any],
    ) -> Values:
        """Return the statistic of each dialogue.

        Args:
            statistic: the statistic as the benchmark declares it.
            values: (dialogues, rounds) of its metric column, without NaN.
            options: options of the benchmark.
        """

    def definition(
        self,
        statistic: Statistic,
        metric: str,
        rounds: int,
        options: Mapping[str, Any],
    ) -> str:
        """Return `sentence` with its fields filled in; without a sentence, the first line of the docstring."""
        if not self.sentence:
            docstring = type(self).__doc__ or type(self).__name__
            first_line, _, _ = docstring.partition("\n")
            return first_line.rstrip(".")
        return self.sentence.format(
            metric=metric,
            rounds=rounds,
            steps=max(1, rounds - 1),
            threshold=statistic.threshold,
            round=statistic.round,
        )

    def needs_rounds(self, statistic: Statistic) -> int:
        """Return the number of rounds that a run needs, by default 1.

        Reports of shorter runs omit the statistic and say so.
        """
        return 1

    def text(self, value: float) -> str:
        """Format a value, in per cent if `is_share`; "–" for NaN."""
        if math.isnan(value):
            return "–"
        if self.is_share:
            return f"{100 * value:.{self.decimals}f} %"
        return f"{value:.{self.decimals}f}"


Kind = TypeVar("Kind", bound=type[RoundStatistic])


def statistic(name: str) -> Callable[[Kind], Kind]:
    """Return a decorator that registers a class as the kind of statistic `name`.

    >>> type(find_statistic("noc")).__name__  # registered by @statistic("noc")
    'NumberOfClicks'
    """
    return register("statistic", name)


@cache
def find_statistic(kind: str) -> RoundStatistic:
    """Return the kind of statistic with this name.

    >>> find_statistic("nof").text(0.25)
    '25.0 %'

    Raises:
        UnknownPlugin: the kind is unknown; the message lists similar names.
    """
    found: RoundStatistic = find_registered("statistic", kind)()
    return found


def statistic_values(
    statistic: Statistic,
    values: ArrayLike,
    options: Mapping[str, Any] | None = None,
) -> Values:
    """Return `statistic` of each dialogue.

    >>> statistic_values(Statistic(name="IoU@2", kind="at_round", round=2), [[0.5, 0.9, 0.95]]).tolist()
    [0.9]

    `options` are the benchmark's options, by default none. `RoundStatistic.values` describes the arguments and the
    result. Each kind of statistic raises its own errors.
    """
    return find_statistic(statistic.kind).values(statistic, values, options or {})


def define_statistic(
    statistic: Statistic,
    metric: str,
    rounds: int,
    options: Mapping[str, Any],
) -> str:
    """Return the sentence that defines a statistic of a benchmark and says which direction is better.

    >>> define_statistic(Statistic(name="IoU@2", kind="at_round", round=2), "IoU", 20, {})
    'IoU@2: IoU after round 2. Higher is better.'
    """
    definition = find_statistic(statistic.kind).definition(statistic, metric, rounds, options)
    direction = "Higher" if statistic.higher_is_better else "Lower"
    return f"{statistic.name}: {definition}. {direction} is better."


@statistic("noc")
class NumberOfClicks(RoundStatistic):
    """The first round whose value reaches the threshold; the number of rounds if none does."""

    decimals = 2
    has_threshold = True
    level = "has {name} {value}"
    lead = "needs {size} fewer {word}s than {other} for {metric} {threshold:g}"
    gap = "{size} {word}s"
    sentence = (
        "number of rounds until {metric} is at least {threshold:g}; {rounds} when it never is"
    )

    def values(
        self,
        statistic: Statistic,
        values: ArrayLike,
        options: Mapping[str, Any],
    ) -> Values:
        """Return NoC."""
        return number_of_clicks(values, statistic.threshold)


@statistic("nof")
class NumberOfFailures(RoundStatistic):
    """1 for a dialogue that never reaches the threshold, else 0; the mean is the failure rate."""

    decimals = 1
    is_share = True
    has_threshold = True

    def values(
        self,
        statistic: Statistic,
        values: ArrayLike,
        options: Mapping[str, Any],
    ) -> Values:
        """Return NoF; the benchmark's `solved_at_last` decides whether a success in the last round counts."""
        if options.get("solved_at_last") == "failure":
            return number_of_failures(values, statistic.threshold, solved_at_last="failure")
        return number_of_failures(values, statistic.threshold)

    def definition(
        self,
        statistic: Statistic,
        metric: str,
        rounds: int,
        options: Mapping[str, Any],
    ) -> str:
        """Define the failure, and describe how to obtain the count that papers print."""
        is_failure = options.get("solved_at_last") == "failure"
        if is_failure:
            also = " (a target that reaches it only in the last round counts as a failure, as published)"
        else:
            also = ""
        return (
            f"share of targets whose {metric} does not reach {statistic.threshold:g} within {rounds} rounds{also}; "
            "multiplied by the number of targets, it is the count that papers print"
        )


@statistic("solved")
class SolvedWithin(RoundStatistic):
    """1 for a dialogue that reaches the threshold within `round` rounds, else 0; the mean is the solved share."""

    decimals = 1
    is_share = True
    has_threshold = True
    sentence = "share of targets whose {metric} reaches {threshold:g} within {round} rounds"

    def values(
        self,
        statistic: Statistic,
        values: ArrayLike,
        options: Mapping[str, Any],
    ) -> Values:
        """Return 1 for solved, 0 for unsolved."""
        return 1 - number_of_failures(values, statistic.threshold, limit=statistic.round)

    def needs_rounds(self, statistic: Statistic) -> int:
        """Return the last round that counts."""
        return statistic.round


@statistic("restricted_noc")
class RestrictedClicks(RoundStatistic):
    """Clicks within the first `round` rounds: NoC, or `round` for a dialogue that is not solved by then.

    The mean is the restricted mean of survival analysis: the area under the curve of the unsolved
    share from 0 to `round`. With all rounds it equals NoC.
    """

    decimals = 2
    has_threshold = True
    gap = "{size} {word}s"
    sentence = (
        "mean number of rounds until {metric} is at least {threshold:g}, restricted to {round}: the area under the "
        "curve of unsolved targets over the first {round} rounds"
    )

    def values(
        self,
        statistic: Statistic,
        values: ArrayLike,
        options: Mapping[str, Any],
    ) -> Values:
        """Return the smaller of NoC and `round`."""
        return number_of_clicks(values, statistic.threshold, limit=statistic.round)

    def needs_rounds(self, statistic: Statistic) -> int:
        """Return the last round that counts."""
        return statistic.round


@statistic("auc")
class AreaUnderCurve(RoundStatistic):
    """The trapezoidal area under the curve over all rounds, divided by the number of rounds minus one."""

    sentence = "area under the curve of {metric} over rounds 1 to {rounds} by trapezoids, divided by {steps}"

    def values(
        self,
        statistic: Statistic,
        values: ArrayLike,
        options: Mapping[str, Any],
    ) -> Values:
        """Return AuC."""
        return area_under_curve(values)


@statistic("auc_all")
class AreaOverAll(RoundStatistic):
    """The trapezoidal area under the curve over all rounds, as a sum."""

    level = "has {name} {value} of at most {steps}"

    def values(
        self,
        statistic: Statistic,
        values: ArrayLike,
        options: Mapping[str, Any],
    ) -> Values:
        """Return the trapezoidal area."""
        return area_over_all(values)

    def definition(
        self,
        statistic: Statistic,
        metric: str,
        rounds: int,
        options: Mapping[str, Any],
    ) -> str:
        """Define the area by its rounds and its maximum."""
        return f"sum of the trapezoids under the curve of {metric} over rounds 1 to {rounds}, at most {rounds - 1}"


@statistic("auc_last_five")
class AreaOverLastFive(RoundStatistic):
    """The trapezoidal area under the curve over the last five rounds, as a sum."""

    level = "has {name} {value} of at most 4"
    sentence = (
        "sum of the trapezoids under the curve of {metric} over the last five rounds, at most 4"
    )

    def values(
        self,
        statistic: Statistic,
        values: ArrayLike,
        options: Mapping[str, Any],
    ) -> Values:
        """Return the sum of the trapezoids."""
        return area_over_last_five(values)

    def needs_rounds(self, statistic: Statistic) -> int:
        """Return 5, the number of rounds in the sum."""
        return 5


@statistic("at_round")
class AtRound(RoundStatistic):
    """The value after a round."""

    sentence = "{metric} after round {round}"

    def values(
        self,
        statistic: Statistic,
        values: ArrayLike,
        options: Mapping[str, Any],
    ) -> Values:
        """Return the value after `statistic.round`."""
        return at_round(values, statistic.round)

    def needs_rounds(self, statistic: Statistic) -> int:
        """Return `statistic.round`."""
        return statistic.round
