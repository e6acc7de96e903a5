"""Votes of several predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from segarena.dialogue import Dialogue
from segarena.errors import InvalidInput, InvalidMask, PluginInvalid, PredictionInvalid
from segarena.registry import build
from segarena.samples import ImageSample, Support
from segarena.segmenters.oneshot.support_voting import Votes, combine_votes


def test_vote_divides_by_the_most_votes_and_majority_by_the_number_of_masks():
    masks = [np.array([[1, 1, 0, 0]], bool), np.array([[1, 0, 1, 0]], bool)] + [
        np.zeros((1, 4), bool)
    ] * 3
    assert combine_votes(masks).tolist() == [
        [True, True, True, False]
    ]  # most 2 votes; 1 of 2 is enough
    assert combine_votes(masks, rule="majority").tolist() == [[False] * 4]  # 2 of 5 is not


def test_exact_half_counts_as_object():
    masks = [np.ones((1, 1), bool), np.zeros((1, 1), bool)]
    assert combine_votes(masks, rule="majority").all()


@given(arrays(bool, st.tuples(st.integers(1, 6), st.just(3), st.just(4))))
def test_vote_holds_the_majority_and_equals_a_slow_reference(stack):
    masks = list(stack)
    votes = [[sum(int(mask[i, j]) for mask in masks) for j in range(4)] for i in range(3)]
    most = max(1, *(max(row) for row in votes))
    assert combine_votes(masks).tolist() == [
        [count / most >= 0.5 for count in row] for row in votes
    ]
    assert (combine_votes(masks) >= combine_votes(masks, rule="majority")).all()


def test_bad_votes_are_refused():
    with pytest.raises(InvalidInput):
        combine_votes([])
    with pytest.raises(InvalidInput):
        combine_votes([np.zeros((1, 1), bool)], rule="x")
    with pytest.raises(InvalidMask):
        combine_votes([np.zeros((1, 1), bool), np.zeros((2, 1), bool)])


class Echo:
    """Answers each support with its own mask; notes how many supports each dialogue had."""

    prompt_kinds = frozenset({"support"})

    def __init__(self):
        self.asked = []

    def encode(self, sample):
        return sample.id

    def predict(self, encoded, dialogues):
        self.asked.append([len(dialogue.prompts) for dialogue in dialogues])
        return [dialogue.prompts[0].mask for dialogue in dialogues]


def support(bits, encoded=None):
    sample = ImageSample(id="s", image=np.zeros((1, 4, 3), np.uint8))
    return Support(sample=sample, mask=np.array([bits], bool), encoded=encoded)


def test_each_support_is_asked_about_by_itself_and_all_in_one_call():
    echo = Echo()
    dialogues = [
        Dialogue(rounds=((support([1, 1, 0, 0]), support([1, 0, 1, 0]), support([0, 0, 0, 1])),)),
        Dialogue(rounds=((support([0, 1, 0, 0], encoded=((1, 4), "s")),),)),
    ]
    for rule, first in (("vote", [[True] * 4]), ("majority", [[True, False, False, False]])):
        voter = Votes(segmenter=echo, rule=rule)
        encoded = voter.encode(ImageSample(id="q", image=np.zeros((1, 4, 3), np.uint8)))
        answers = voter.predict(encoded, dialogues)
        assert [answer.mask.tolist() for answer in answers] == [
            first,
            [[False, True, False, False]],
        ]
    assert echo.asked == [[1, 1, 1, 1]] * 2


def test_segmenters_that_do_not_fit_are_refused():
    class Clicked(Echo):
        prompt_kinds = frozenset({"click"})

    class Silent(Echo):
        def predict(self, encoded, dialogues):
            return []

    with pytest.raises(PluginInvalid, match="accepts supports"):
        Votes(segmenter=Clicked())
    with pytest.raises(PluginInvalid, match="expected one of 'vote', 'majority'"):
        build("segmenter", "votes(segmenter='nothing', rule='x')")
    with pytest.raises(PredictionInvalid, match="expected 1 predictions, got 0"):
        Votes(segmenter=Silent()).predict(
            ((1, 4), "q"), [Dialogue(rounds=((support([1, 0, 0, 0]),),))]
        )
