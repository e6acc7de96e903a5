"""Verdicts in sentences for readers who do not know classifiers."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from segarena_people.comparison.results import PASS_MARGIN, FeatureResult, ScopeResult, UserResult
from segarena_people.comparison.segmenter_ranking import SegmenterRanking

FEWEST_TO_PASS = 30
"""A user with fewer answers never passes: large differences could go unnoticed."""

Judgement: TypeAlias = Literal[
    "passes", "no difference seen", "unclear", "distinguishable", "not compared"
]


def user_verdict(found: ScopeResult, user: UserResult) -> str:
    """Return the verdict on a user in one scope, in one or two sentences."""
    if user.apart is None:
        return f"{user.user}: {_not_compared_reason(user, found)}."
    sentences = [_separation_sentence(found, user), _judgement_sentence(user)]
    if user.silent or user.refused:
        sentences.append(_missing_replies_sentence(user))
    return " ".join(sentences)


def judge_user(user: UserResult) -> Judgement:
    """Return the verdict on a user in a word or two.

    A user passes if its AUC exceeds that of two people by at most 0.05 and there are enough
    answers to detect a greater excess. A greater excess fails, unless its interval over images
    includes 0.05, so that it may be due to chance.
    """
    found = user.beyond_people
    if found is None:
        return "not compared"
    if found.value <= PASS_MARGIN:
        return "passes" if user.n >= FEWEST_TO_PASS else "no difference seen"
    return "unclear" if found.low <= PASS_MARGIN else "distinguishable"


def _separation_sentence(found: ScopeResult, user: UserResult) -> str:
    one = found.scope.one
    shown = f"Shown a {one} of a person and one of {user.user}, a classifier finds the person’s"
    share = f"{percent_text(user.apart)} of 100 cases"
    if user.apart is None or user.apart > 0.5:
        often = f"in {share}"
    else:
        often = f"no more often than by guessing, in {share}"
    return f"{shown} {often}{_interval_text(user)}; {_people_sentence(found)}"


def _people_sentence(found: ScopeResult) -> str:
    if found.pairs:
        return f"of two people it finds the right one in {percent_text(found.ceiling)} (50 is guessing)."
    return "50 is guessing. How well two people can be distinguished is unknown: no two answered the same."


def _judgement_sentence(user: UserResult) -> str:
    match judge_user(user):
        case "passes":
            return f"{user.user} passes: it is no easier to tell from a person than one more person would be."
        case "no difference seen":
            return (
                f"No difference is seen, but {user.n} answers show only large ones; "
                f"collect {FEWEST_TO_PASS} or more."
            )
        case "unclear":
            return f"Whether that is more than 5 of 100 above people, {user.n} answers of each cannot tell."
        case _:
            return f"{user.user} gives itself away{_clearest_feature_text(user)}."


def _clearest_feature_text(user: UserResult) -> str:
    clear = next((feature for feature in user.features if feature.is_clear), None)
    return "" if clear is None else f", above all by {describe_feature(clear)}"


def describe_feature(feature: FeatureResult) -> str:
    """Return a feature with both medians: "cover width (median 0.19, of people 0.62)"."""
    people, user = feature_medians(feature)
    return f"{feature_title(feature.name)} (median {short_number(user)}, of people {short_number(people)})"


def feature_medians(feature: FeatureResult) -> tuple[float, float]:
    """Return the medians of people and of the user; logarithmic lengths are converted back."""
    own = feature.people, feature.user
    return (math.exp(own[0]), math.exp(own[1])) if feature.name == "length" else own


def feature_title(feature: str) -> str:
    """Return the display name of a feature."""
    return feature.replace("_", " ")


def short_number(value: float) -> str:
    """Return a number with about two significant digits."""
    if abs(value) >= 10:
        decimals = 0
    else:
        decimals = 2 if abs(value) >= 0.1 or value == 0 else 3
    text = "–" if math.isnan(value) else f"{value:.{decimals}f}"
    return text.replace("-", "−")


def percent_text(share: float | None) -> str:
    """Return a share in whole per cent, without the per cent sign."""
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
            f"gave nothing at {user.silent} of {user.asked} questions ({share:.0f} %), where people did"
        )
    if user.refused:
        parts.append(f"raised an error at {user.refused} ({user.why})")
    return f"It {' and '.join(parts)}."


def _not_compared_reason(user: UserResult, found: ScopeResult) -> str:
    if user.refused == user.asked:
        return f"could not be asked ({user.why})"
    if not user.answered:
        return f"gave no {found.scope.one} when asked for {found.scope.title}"
    return f"answered {user.answered} of {user.asked} questions, too few to compare"


def ranking_verdict(one: SegmenterRanking) -> str:
    """Return a sentence on how a user ranks segmenters."""
    first, simulated = one.winners
    size = abs(one.mean_bias)
    way = "too high" if one.mean_bias > 0 else "too low"
    difference = f"{size:.2f} {way}" if size >= 0.005 else "the same"
    bias = f"{one.statistic} comes out {difference}"
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
