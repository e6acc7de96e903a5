import math

import pytest

from segarena_people.comparison.results import (
    AnswerScope,
    Estimate,
    FeatureResult,
    ScopeResult,
    SeparationResult,
    UserResult,
)
from segarena_people.comparison.verdict_sentences import judge_user, user_verdict


def user(auc, *, low=None, n=60, beyond=None, **given):
    auc = Estimate(value=auc, low=auc - 0.04 if low is None else low, high=min(1.0, auc + 0.04))
    together = SeparationResult(first="everybody", second="robot", n=n, auc=auc)
    return UserResult(user="robot", asked=n, answered=n, together=together, beyond=beyond, **given)


def scope(*pairs):
    found = [
        SeparationResult(first="a", second="b", n=60, auc=Estimate(value=value)) for value in pairs
    ]
    return ScopeResult(
        scope=AnswerScope(kind="scribble"),
        people=("a", "b"),
        questions=60,
        groups=60,
        answers=120,
        pairs=tuple(found),
    )


@pytest.mark.parametrize(
    ("one", "word"),
    [
        (user(0.54), "passes"),
        (user(0.54, n=20), "no difference seen"),
        (user(0.62), "distinguishable"),
        (user(0.62, low=0.54), "unclear"),
        (user(0.9, beyond=Estimate(value=0.04, low=-0.1, high=0.2)), "passes"),
        (user(0.9, beyond=Estimate(value=0.09, low=0.01, high=0.2)), "unclear"),
        (user(0.9, beyond=Estimate(value=0.09, low=0.06, high=0.2)), "distinguishable"),
        (UserResult(user="robot", asked=60, answered=0, silent=60), "not compared"),
    ],
)
def test_who_passes_is_at_most_five_of_a_hundred_above_people(one, word):
    assert judge_user(one) == word


def test_the_sentence_has_both_figures_and_what_gives_it_away():
    feature = FeatureResult(name="cover_width", people=0.62, user=0.19, ks=0.8, above=0.1, n=60)
    told = user_verdict(scope(0.8, 0.82, 0.9), user(0.93, features=(feature,), silent=6, refused=0))
    assert told.startswith(
        "Given a stroke by a person and one by robot, a classifier finds the person’s in 93 of 100"
    )
    assert "between two people, it picks the right one in 82 of 100" in told
    assert (
        "is distinguishable from people, above all by cover width (median 0.19, people 0.62)"
        in told
    )
    assert "gave no prompt for 6 of 60 questions (10 %) that people answered" in told


def test_a_feature_that_may_differ_by_chance_is_not_named():
    feature = FeatureResult(name="ends", people=2, user=3, ks=0.2, above=0.5, n=60, lost=math.nan)
    assert "above all" not in user_verdict(scope(0.6), user(0.93, features=(feature,)))


def test_who_could_not_be_asked_is_told_with_the_first_error():
    told = user_verdict(
        scope(0.6), UserResult(user="robot", asked=9, answered=0, refused=9, why="ValueError: no")
    )
    assert told == "robot: raised an error for every question (ValueError: no)."
