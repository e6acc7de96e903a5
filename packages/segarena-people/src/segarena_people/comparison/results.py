"""Results of a comparison, from which tables, figures and sentences are generated."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PASS_MARGIN = 0.05
"""A user passes if its AUC exceeds the AUC between two people by at most this much."""

ALL_PEOPLE = "everybody"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScope:
    """Scope: a set of answers similar enough to be compared as one distribution.

    Attributes:
        kind: "click", "box" or "scribble".
        is_correction: True for corrections of a mask, False for first prompts about an object.
        is_positive: True for prompts on the object, False for prompts on the background.
        label: label of the objects; "" for all objects together.
    """

    kind: str
    is_correction: bool = False
    is_positive: bool = True
    label: str = ""

    @property
    def title(self) -> str:
        """Title for texts and tables."""
        words = {
            "scribble": ("stroke", "strokes"),
            "click": ("click", "clicks"),
            "box": ("box", "boxes"),
        }[self.kind]
        when = "corrections" if self.is_correction else f"first {words[1]}"
        title = f"{when} by {words[0]}" if self.is_correction else when
        if not self.is_positive:
            title += ", off the object"
        if self.label:
            title += f": {self.label}"
        return title

    @property
    def one(self) -> str:
        """Noun for a single answer."""
        return {"scribble": "stroke"}.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Estimate with its 95 % interval over groups; the bounds are NaN if there is no interval."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationResult:
    """Result of a classifier that tries to tell apart two sets of answers.

    Attributes:
        first, second: names of the two sides.
        n: number of answers per side.
        auc: AUC with all features; 0.5 means guessing.
        coarse: AUC with the features that do not depend on the tool's width; None if no feature
            depends on it, or if this AUC was not computed.
    """

    first: str
    second: str
    n: int
    auc: Estimate
    coarse: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSampleTest:
    """Two-sample test: its statistic, p-value and sample size."""

    statistic: float
    p_value: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureResult:
    """Comparison of one feature between a user and people.

    Attributes:
        name: feature name.
        people, user: medians.
        ks: Kolmogorov-Smirnov distance.
        above: probability that the user's value is greater than the person's.
        n: number of answers per side.
        lost: permutation importance: decrease of the classifier's AUC when the values are
            permuted.
    """

    name: str
    people: float
    user: float
    ks: float
    above: float
    n: int
    lost: float = math.nan

    @property
    def is_clear(self) -> bool:
        """Whether a Kolmogorov-Smirnov test with n values per sample is significant at the 1 % level."""
        # 1.63 is the asymptotic critical value of the two-sample test at the 1 % level.
        return self.ks > 1.63 * math.sqrt(2 / self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserResult:
    """Results of one simulated user in a scope.

    Attributes:
        user: name of the user.
        asked: number of questions.
        answered: number of questions with a measurable reply.
        silent: number of questions without an error and without a measurable reply.
        refused: number of questions for which the user raised an error; `why` is the first message.
        each: separation from each person who is compared in pairs, on the questions of that person.
        together: separation from all people together; None if there are too few answers.
        beyond: AUC minus that between two people; None if no people are compared in pairs.
        features: comparison of each feature, largest difference first.
        tests: further two-sample tests by name.
        shift: measures of user shift by name, user minus people.
    """

    user: str
    asked: int
    answered: int
    silent: int = 0
    refused: int = 0
    why: str = ""
    each: tuple[SeparationResult, ...] = ()
    together: SeparationResult | None = None
    beyond: Estimate | None = None
    features: tuple[FeatureResult, ...] = ()
    tests: Mapping[str, TwoSampleTest] = field(default_factory=dict[str, TwoSampleTest])
    shift: Mapping[str, Estimate] = field(default_factory=dict[str, Estimate])

    @property
    def apart(self) -> float | None:
        """AUC of the user against people: the median over people, or for all people together; None if untested."""
        if self.each:
            return statistics.median(one.auc.value for one in self.each)
        return None if self.together is None else self.together.auc.value

    @property
    def beyond_people(self) -> Estimate | None:
        """AUC minus that between two people, or minus 0.5 if no people are compared in pairs; None if untested."""
        if self.beyond is not None or self.together is None:
            return self.beyond
        # Without pairs of people their AUC is unknown; use 0.5 (guessing), its lower limit.
        auc = self.together.auc
        return Estimate(
            value=auc.value - 0.5,
            low=auc.low - 0.5,
            high=auc.high - 0.5,
        )

    @property
    def apart_coarse(self) -> float | None:
        """AUC with the coarse features; None if there are none, or if untested."""
        coarse: list[float] = []
        for one in self.each:
            if one.coarse is not None:
                coarse.append(one.coarse.value)
        if coarse:
            return statistics.median(coarse)
        if self.together is None or self.together.coarse is None:
            return None
        return self.together.coarse.value

    @property
    def n(self) -> int:
        """Number of answers per side behind `apart`; 0 if untested."""
        compared = self.each
        if not compared and self.together is not None:
            compared = (self.together,)
        return min((one.n for one in compared), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeResult:
    """Results of one scope.

    Attributes:
        people: names of the people who answered.
        questions, groups, answers: number of each; groups are images or patients.
        pairs: separation of each pair of people.
        halves: separation of random halves of all answers, if there are no pairs.
        users: results of each simulated user.
    """

    scope: AnswerScope
    people: tuple[str, ...]
    questions: int
    groups: int
    answers: int
    pairs: tuple[SeparationResult, ...] = ()
    halves: tuple[SeparationResult, ...] = ()
    users: tuple[UserResult, ...] = ()

    @property
    def ceiling(self) -> float:
        """AUC between two people: the median over pairs, but at least 0.5; 0.5 without pairs."""
        return self._median([one.auc for one in self.pairs])

    @property
    def ceiling_coarse(self) -> float:
        """AUC between two people with the coarse features; at least 0.5, as for `ceiling`."""
        return self._median([one.coarse for one in self.pairs])

    @staticmethod
    def _median(each: Sequence[Estimate | None]) -> float:
        values: list[float] = []
        for one in each:
            if one is not None:
                values.append(one.value)
        # An AUC below 0.5 is due to chance alone.
        return max(0.5, statistics.median(values)) if values else 0.5
