"""What came out, in sentences for somebody who has never heard of a classifier."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from segarena_people.comparison.results import PASS_MARGIN, FeatureResult, ScopeResult, UserResult
from segarena_people.comparison.segmenter_ranking import SegmenterRanking

FEWEST_TO_PASS = 30
"""Fewer answers of each side never let a user pass: too much would go unseen."""

Judgement: TypeAlias = Literal[
    "passes", "no difference seen", "unclear", "told apart", "not compared"
]


def user_verdict(found: ScopeResult, user: UserResult) -> str:
    """Return how a user came out in one scope, in one or two sentences."""
    if user.apart is None:
        return f"{user.user}: {_nothing(user, found)}."
    silence = _silence(user)
    return f"{_told(found, user)} {_judged(user)}{f' {silence}' if silence else ''}"


def judge_user(user: UserResult) -> Judgement:
    """Return how a user came out, in a word or two.

    Who is told from people at most 0.05 better than two people are passes, if there are answers enough to see more. Who
    is told apart better does not, unless that may be chance: the interval over images reaches down to 0.05.
    """
    found = user.beyond_people
    if found is None:
        return "not compared"
    if found.value <= PASS_MARGIN:
        return "passes" if user.n >= FEWEST_TO_PASS else "no difference seen"
    return "unclear" if found.low <= PASS_MARGIN else "told apart"


def _told(found: ScopeResult, user: UserResult) -> str:
    one = found.scope.one
    shown = f"Shown a {one} of a person and one of {user.user}, a classifier finds the person’s"
    share = f"{percent_text(user.apart)} of 100 cases"
    if user.apart is None or user.apart > 0.5:
        often = f"in {share}"
    else:
        often = f"no more often than by guessing, in {share}"
    return f"{shown} {often}{_bounds(user)}; {_between(found)}"


def _between(found: ScopeResult) -> str:
    if found.pairs:
        return f"of two people it finds the right one in {percent_text(found.ceiling)} (50 is guessing)."
    return (
        "50 is guessing. How well two people are told apart is not known: no two answered the same."
    )


def _judged(user: UserResult) -> str:
    match judge_user(user):
        case "passes":
            return f"{user.user} passes: it is no easier to tell from a person than one more person would be."
        case "no difference seen":
            return f"No difference is seen, but {user.n} answers show only large ones; collect {FEWEST_TO_PASS} or more."
        case "unclear":
            return f"Whether that is more than 5 of 100 above people, {user.n} answers of each cannot tell."
        case _:
            return f"{user.user} gives itself away{_why(user)}."


def _why(user: UserResult) -> str:
    told = next((feature for feature in user.features if feature.is_clear), None)
    return "" if told is None else f", above all by {describe_feature(told)}"


def describe_feature(feature: FeatureResult) -> str:
    """Return a feature with the medians of both: "cover width (median 0.19, of people 0.62)"."""
    people, user = feature_medians(feature)
    return f"{feature_title(feature.name)} (median {short_number(user)}, of people {short_number(people)})"


def feature_medians(feature: FeatureResult) -> tuple[float, float]:
    """Return the medians of people and of the user, of lengths without the logarithm."""
    own = feature.people, feature.user
    return (math.exp(own[0]), math.exp(own[1])) if feature.name == "length" else own


def feature_title(feature: str) -> str:
    """Return what a feature is called on the page."""
    return feature.replace("_", " ")


def short_number(value: float) -> str:
    """Return a number with about two digits that say something."""
    if abs(value) >= 10:
        decimals = 0
    else:
        decimals = 2 if abs(value) >= 0.1 or value == 0 else 3
    text = "–" if math.isnan(value) else f"{value:.{decimals}f}"
    return text.replace("-", "−")


def percent_text(share: float | None) -> str:
    """Return a share as whole per cent, without its sign."""
    return "–" if share is None or math.isnan(share) else f"{100 * share:.0f}"


def _bounds(user: UserResult) -> str:
    found = user.together
    if found is None or math.isnan(found.auc.low) or user.each:
        return ""
    return f" (95 % interval {percent_text(found.auc.low)} to {percent_text(found.auc.high)})"


def _silence(user: UserResult) -> str:
    parts: list[str] = []
    if user.silent:
        share = 100 * user.silent / user.asked
        parts.append(
            f"gave nothing at {user.silent} of {user.asked} questions ({share:.0f} %), where people did"
        )
    if user.refused:
        parts.append(f"raised an error at {user.refused} ({user.why})")
    return f"It {' and '.join(parts)}." if parts else ""


def _nothing(user: UserResult, found: ScopeResult) -> str:
    if user.refused == user.asked:
        return f"could not be asked ({user.why})"
    if not user.answered:
        return f"gave no {found.scope.one} when asked for {found.scope.title}"
    return f"answered {user.answered} of {user.asked} questions, too few to compare"


def ranking_verdict(one: SegmenterRanking) -> str:
    """Return what a user's ranking of segmenters comes to, in a sentence."""
    first, simulated = one.winners
    size = abs(one.mean_bias)
    way = "too high" if one.mean_bias > 0 else "too low"
    bias = f"{one.statistic} comes out {f'{size:.2f} {way}' if size >= 0.005 else 'the same'}"
    if len(one.segmenters) < 2:
        return f"With {one.user} in the place of people {bias} ({', '.join(one.segmenters)})."
    if math.isnan(one.tau.value):
        return f"With {one.user} in the place of people {bias}; segmenters cannot be ranked, for all come out alike."
    same = math.isclose(one.tau.value, 1.0)
    if same:
        order = "all stand in the same order"
    else:
        order = f"the order changes (τ {short_number(one.tau.value)})"
    won = "" if first == simulated else f": {simulated} is first, with people {first}"
    return f"With {one.user} in the place of people {order}{won}; {bias}."
