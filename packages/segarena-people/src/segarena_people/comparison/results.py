"""What a comparison found, as numbers; sheets, figures and sentences are made of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PASS_MARGIN = 0.05
"""A user passes who is told from a person at most so much better than two people from each other."""

ALL_PEOPLE = "everybody"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScope:
    """Which answers are held against each other: others differ too much to be one distribution.

    Attributes:
        kind: click, box, scribble.
        is_correction: of a mask that was shown; else the first prompt about an object.
        is_positive: on what is meant; else on what is not.
        label: what the objects are called; "" takes all together.
    """

    kind: str
    is_correction: bool = False
    is_positive: bool = True
    label: str = ""

    @property
    def title(self) -> str:
        """What texts call it."""
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
        """What one of the answers is called."""
        return {"scribble": "stroke"}.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its 95 % interval over images; NaN ends where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationResult:
    """How well a classifier tells two sets of answers to the same questions apart.

    Attributes:
        first, second: whose they are.
        n: answers of each.
        auc: with all features; 0.5 is guessing.
        coarse: with those that the width of a tool cannot fake; None where there are no others.
    """

    first: str
    second: str
    n: int
    auc: Estimate
    coarse: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSampleTest:
    """A two-sample test: its statistic, and how often such a difference comes by chance alone."""

    statistic: float
    p_value: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureResult:
    """One feature of a user's answers beside people's.

    Attributes:
        name: as the measures have it.
        people, user: medians.
        ks: the greatest difference of the two cumulative distributions.
        above: the chance that the user's is above the person's.
        n: answers of each.
        lost: by how much the classifier's AUC falls when its values are exchanged.
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
        """Whether the Kolmogorov-Smirnov test of two samples of n refuses at 1 % that they are alike."""
        return self.ks > 1.63 * math.sqrt(2 / self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserResult:
    """What was found of one simulated user.

    Attributes:
        user: as it was written.
        asked: how many questions were put.
        answered: to how many something of the kind was given.
        silent: to how many nothing was.
        refused: at how many the user raised an error; `why` is the first one.
        each: against each person, on the questions of that person.
        together: against all people at once.
        beyond: how much better the user is told from people than two people are; None where no two answered the same.
        features: each feature, the most telling first.
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
        """How well the user is told from people: the median over persons, or from all together; None if untested."""
        if self.each:
            return statistics.median(one.auc.value for one in self.each)
        return None if self.together is None else self.together.auc.value

    @property
    def beyond_people(self) -> Estimate | None:
        """How far above the ceiling the user is: above two people, or above 0.5 where no two answered the same."""
        if self.beyond is not None or self.together is None:
            return self.beyond
        auc = self.together.auc
        return Estimate(value=auc.value - 0.5, low=auc.low - 0.5, high=auc.high - 0.5)

    @property
    def apart_coarse(self) -> float | None:
        """The same with the coarse features; None where there are none."""
        coarse = [one.coarse.value for one in self.each if one.coarse is not None]
        if coarse:
            return statistics.median(coarse)
        if self.together is None or self.together.coarse is None:
            return None
        return self.together.coarse.value

    @property
    def n(self) -> int:
        """Answers of each side in what `apart` is of; 0 if untested."""
        compared = self.each or tuple(one for one in [self.together] if one is not None)
        return min((one.n for one in compared), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeResult:
    """What was found in one scope.

    Attributes:
        people: who answered, as tables call them.
        questions, groups, answers: how many there are; groups are images or patients.
        pairs: people against each other, two at a time.
        halves: where there are no pairs, one half of all answers against the other, a few times.
        users: each simulated user.
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
        """How well people are told from each other: the median over pairs; 0.5 where no two answered the same."""
        return self._median([one.auc for one in self.pairs])

    @property
    def ceiling_coarse(self) -> float:
        """The same with the coarse features."""
        return self._median([one.coarse for one in self.pairs])

    @staticmethod
    def _median(each: Sequence[Estimate | None]) -> float:
        values = [one.value for one in each if one is not None]
        return max(0.5, statistics.median(values)) if values else 0.5
