"""Results of a comparison, from which sheets, figures and sentences are made."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PASS_MARGIN = 0.05
"""Largest excess of a user's AUC over that of two people with which the user passes."""

ALL_PEOPLE = "everybody"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScope:
    """Set of answers that are similar enough to be compared as one distribution.

    Attributes:
        kind: click, box, scribble.
        is_correction: whether they correct a mask; else they are first prompts about an object.
        is_positive: whether they mark the object; else they mark what is not the object.
        label: label of the objects; "" for all objects together.
    """

    kind: str
    is_correction: bool = False
    is_positive: bool = True
    label: str = ""

    @property
    def title(self) -> str:
        """Title in texts and tables."""
        words = {
            "scribble": ("stroke", "strokes"),
            "click": ("click", "clicks"),
            "box": ("box", "boxes"),
        }[self.kind]
        when = "corrections" if self.is_correction else f"first {words[1]}"
        what = f"{when} by {words[0]}" if self.is_correction else when
        where = "" if self.is_positive else ", off the object"
        return f"{what}{where}{f': {self.label}' if self.label else ''}"

    @property
    def one(self) -> str:
        """Noun for one of the answers."""
        return {"scribble": "stroke"}.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Estimate with its 95 % interval over images; NaN bounds where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationResult:
    """Separability of two sets of answers to the same questions by a classifier.

    Attributes:
        first, second: names of the two sides.
        n: answers of each side.
        auc: AUC with all features; 0.5 is guessing.
        coarse: AUC with the features that do not depend on the tool's width; None where all do not.
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
        name: name in the measures.
        people, user: medians.
        ks: Kolmogorov-Smirnov distance.
        above: probability that the user's value is above the person's.
        n: answers of each side.
        lost: permutation importance: decrease of the classifier's AUC when the values are
            exchanged.
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
        """Whether the Kolmogorov-Smirnov test of two samples of size n is significant at 1 %."""
        # 1.63 is the asymptotic critical value at 1 %.
        return self.ks > 1.63 * math.sqrt(2 / self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserResult:
    """Results of one simulated user in a scope.

    Attributes:
        user: name of the user.
        asked: number of questions.
        answered: number of questions with a measurable reply.
        silent: number of questions without a reply.
        refused: number of questions at which the user raised an error; `why` is the first one.
        each: separation from each person, on the questions of that person.
        together: separation from all people together.
        beyond: AUC minus that of two people; None where no two people answered the same.
        features: comparison of each feature, the one that differs most first.
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
        """AUC of the user against people: the median over persons, or that of all together; None if untested."""
        if self.each:
            return statistics.median(one.auc.value for one in self.each)
        return None if self.together is None else self.together.auc.value

    @property
    def beyond_people(self) -> Estimate | None:
        """AUC above that of two people, or above 0.5 where no two people answered the same."""
        if self.beyond is not None or self.together is None:
            return self.beyond
        auc = self.together.auc
        return Estimate(value=auc.value - 0.5, low=auc.low - 0.5, high=auc.high - 0.5)

    @property
    def apart_coarse(self) -> float | None:
        """AUC with the coarse features; None where there are none."""
        coarse = [one.coarse.value for one in self.each if one.coarse is not None]
        if coarse:
            return statistics.median(coarse)
        if self.together is None or self.together.coarse is None:
            return None
        return self.together.coarse.value

    @property
    def n(self) -> int:
        """Answers of each side behind `apart`; 0 if untested."""
        compared = self.each or tuple(one for one in [self.together] if one is not None)
        return min((one.n for one in compared), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeResult:
    """Results of one scope.

    Attributes:
        people: names of the people who answered.
        questions, groups, answers: their numbers; groups are images or patients.
        pairs: separation of each two people.
        halves: where there are no pairs, separation of random halves of all answers.
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
        """AUC of two people: the median over pairs; 0.5 where no two people answered the same."""
        return self._median([one.auc for one in self.pairs])

    @property
    def ceiling_coarse(self) -> float:
        """AUC of two people with the coarse features."""
        return self._median([one.coarse for one in self.pairs])

    @staticmethod
    def _median(each: Sequence[Estimate | None]) -> float:
        values = [one.value for one in each if one is not None]
        return max(0.5, statistics.median(values)) if values else 0.5
