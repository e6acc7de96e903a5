"""Verdicts as sentences for readers without a background in classifiers."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from segarena_people.comparison.results import PASS_MARGIN, FeatureResult, ScopeResult, UserResult
from segarena_people.comparison.segmenter_ranking import SegmenterRanking

FEWEST_TO_PASS = 30
"""A user with fewer answers never passes: even large differences could go undetected."""

Judgement: TypeAlias = Literal[
    "passes", "no difference seen", "unclear", "distinguishable", "not compared"
]


def user_verdict(found: ScopeResult, user: UserResult) -> str:
    """Return the verdict on a user in one scope, in a few sentences."""
    if user.apart is None:
        return f"{user.user}: {_not_compared_reason(user, found)}."
    sentences = [_separation_sentence(found, user), _judgement_sentence(user)]
    if user.silent or user.refused:
        sentences.append(_missing_replies_sentence(user))
    return " ".join(sentences)


def judge_user(user: UserResult) -> Judgement:
    """Return the verdict on a user in one or two words.

    A user passes if its AUC exceeds that between two people by at most 0.05, and if it has enough
    answers for a greater excess to be detected. A user with a greater excess is distinguishable,
    unless the interval of the excess includes 0.05, because then chance may explain it.
    """
    found = user.beyond_people
    if found is None:
        return "not compared"
    if found.value <= PASS_MARGIN:
        return "passes" if user.n >= FEWEST_TO_PASS else "no difference seen"
    return "unclear" if found.low <= PASS_MARGIN else "distinguishable"


def _separation_sentence(found: ScopeResult, user: UserResult) -> str:
    one = found.scope.one
    shown = f"Given a {one} by a person and one by {user.user}, a classifier finds the person’s"
    share = f"{percent_text(user.apart)} of 100 cases"
    if user.apart is None or user.apart > 0.5:
        often = f"in {share}"
    else:
        often = f"no more often than by guessing, in {share}"
    return f"{shown} {often}{_interval_text(user)}; {_people_sentence(found)}"


def _people_sentence(found: ScopeResult) -> str:
    if found.pairs:
        share = percent_text(found.ceiling)
        return f"between two people, it picks the right one in {share} of 100 (50 is guessing)."
    return (
        "50 is guessing. How well two people can be distinguished is unknown, because no two answered "
        "often enough for the same images or patients."
    )


def _judgement_sentence(user: UserResult) -> str:
    match judge_user(user):
        case "passes":
            return f"{user.user} passes: it is no easier to distinguish from a person than another person would be."
        case "no difference seen":
            return (
                f"No difference was found, but {user.n} answers can only reveal large ones; "
                f"collect {FEWEST_TO_PASS} or more."
            )
        case "unclear":
            return (
                f"With {user.n} answers per side, it is unclear whether this exceeds the value between "
                "people by more than 5 of 100."
            )
        case _:
            return f"{user.user} is distinguishable from people{_clearest_feature_text(user)}."


def _clearest_feature_text(user: UserResult) -> str:
    clear = next((feature for feature in user.features if feature.is_clear), None)
    return "" if clear is None else f", above all by {describe_feature(clear)}"


def describe_feature(feature: FeatureResult) -> str:
    """Describe a feature with both medians, as in "cover width (median 0.19, people 0.62)"."""
    people, user = feature_medians(feature)
    return f"{feature_title(feature.name)} (median {short_number(user)}, people {short_number(people)})"


def feature_medians(feature: FeatureResult) -> tuple[float, float]:
    """Return the medians of people and of the user; logarithmic features are converted back to lengths."""
    if feature.name == "length":
        return math.exp(feature.people), math.exp(feature.user)
    return feature.people, feature.user


def feature_title(feature: str) -> str:
    """Return a feature's display name."""
    return feature.replace("_", " ")


def short_number(value: float) -> str:
    """Return a number with 0 to 3 decimals, depending on its size; a dash for NaN."""
    if math.isnan(value):
        return "–"
    if abs(value) >= 10:
        decimals = 0
    elif abs(value) >= 0.1 or value == 0:
        decimals = 2
    else:
        decimals = 3
    return f"{value:.{decimals}f}".replace("-", "−")


def percent_text(share: float | None) -> str:
    """Return a share in whole per cent, without a per cent sign; a dash if there is none."""
    return "–" if share is None or math.isnan(share) else f"{100 * share:.0f}"


def _interval_text(user: UserResult) -> str:
    found = user.together
    if found is None or math.isnan(found.auc.low) or user.each:
        return ""
    return f" (95 % interval {percent_text(found.auc.low)} to {percent_text(found.auc.high)})"


def _missing_replies_sentence(user: UserResult) -> str:
    parts: list[str] = []
    if user.silent:
        share = 100 * user.silent / user.asked
        parts.append(
            f"gave no prompt for {user.silent} of {user.asked} questions ({share:.0f} %) that people answered"
        )
    if user.refused:
        parts.append(f"raised an error for {user.refused} questions ({user.why})")
    return f"It {' and '.join(parts)}."


def _not_compared_reason(user: UserResult, found: ScopeResult) -> str:
    if user.refused == user.asked:
        return f"raised an error for every question ({user.why})"
    if not user.answered:
        return f"gave no {found.scope.one} when asked for {found.scope.title}"
    return f"answered {user.answered} of {user.asked} questions, too few to compare"


def ranking_verdict(one: SegmenterRanking) -> str:
    """Return a sentence on how a user's ranking of segmenters differs from people's."""
    first, simulated = one.winners
    size = abs(one.mean_bias)
    way = "too high" if one.mean_bias > 0 else "too low"
    difference = f"{size:.2f} {way}" if size >= 0.005 else "the same"
    bias = f"{one.statistic} is {difference}"
    if len(one.segmenters) < 2:
        return f"With {one.user} instead of people, {bias} ({', '.join(one.segmenters)})."
    if math.isnan(one.tau.value):
        return (
            f"With {one.user} instead of people, {bias}; "
            "segmenters cannot be ranked, because all results are equal."
        )
    same = math.isclose(one.tau.value, 1.0)
    if same:
        order = "the order of the segmenters stays the same"
    else:
        order = f"the order changes (τ {short_number(one.tau.value)})"
    won = "" if first == simulated else f": {simulated} is first, with people {first}"
    return f"With {one.user} instead of people, {order}{won}; {bias}."
