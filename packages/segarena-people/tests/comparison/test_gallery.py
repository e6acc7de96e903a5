import numpy as np
import pytest
from people_users import Boxer, write_people

from segarena_people.collection import Collection
from segarena_people.comparison.answer_features import MeasuredAnswer, measure_person
from segarena_people.comparison.gallery import build_cards, build_guessing_pairs
from segarena_people.comparison.results import AnswerScope, ScopeResult, UserResult
from segarena_people.comparison.user_comparison import PEOPLE, UserComparison


@pytest.fixture
def found(tmp_path):
    """Two people who drew boxes around twelve objects of two labels; a user drew the same, but none the first time."""
    people = {"anna": Boxer(), "ben": Boxer()}
    answers = tuple(
        Collection.open(write_people(tmp_path / "p", people, images=12, labels=("leaf", "<i>")))
    )
    measured = [measure_person(given) for given in answers]
    comparison = UserComparison(
        name="p", terms="", path="", users=("copy",), scopes=(), notes=(), answers=answers,
        measured={PEOPLE: measured, "copy": [MeasuredAnswer(values=None, refusal="no"), *measured[1:]]},
    )  # fmt: skip
    one = ScopeResult(
        scope=AnswerScope(kind="box"), people=("anna", "ben"), questions=12, groups=12, answers=24,
        users=(UserResult(user="copy", asked=24, answered=23),),
    )  # fmt: skip
    return comparison, one


def test_every_card_has_all_people_and_users_about_one_goal(found):
    cards = build_cards(*found)
    assert [[pane.who for pane in card.panes] for card in cards] == [["anna", "ben", "copy"]] * len(
        cards
    )
    assert {card.title for card in cards} == {"leaf", "<i>"}
    assert cards[0].panes[2].note == ("refused" if cards[0].where == "image-0" else "")


def test_the_answer_to_a_riddle_is_where_the_persons_drawing_is(found):
    comparison, one = found
    comparison.measured["copy"][1:] = [
        MeasuredAnswer(values=np.zeros(4), prompts=(Boxer,)[:0]) for _ in range(23)
    ]
    riddles = build_guessing_pairs(comparison, one, "copy", count=6)
    for riddle in riddles:
        person = riddle.first if "left" in riddle.answer else riddle.second
        other = riddle.second if "left" in riddle.answer else riddle.first
        assert "frame" in person.svg  # the copy has drawn nothing
        assert "frame" not in other.svg
    assert {"left" in riddle.answer for riddle in riddles} == {True, False}
