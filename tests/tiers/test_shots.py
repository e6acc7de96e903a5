"""Votes of several predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from segarena.errors import InvalidInput, InvalidMask
from segarena.tiers.shots import vote


def test_vote_divides_by_the_most_votes_and_majority_by_the_number_of_masks():
    masks = [np.array([[1, 1, 0, 0]], bool), np.array([[1, 0, 1, 0]], bool)] + [np.zeros((1, 4), bool)] * 3
    assert vote(masks).tolist() == [[True, True, True, False]]  # most 2 votes; 1 of 2 is enough
    assert vote(masks, rule="majority").tolist() == [[False] * 4]  # 2 of 5 is not


def test_exact_half_counts_as_object():
    masks = [np.ones((1, 1), bool), np.zeros((1, 1), bool)]
    assert vote(masks, rule="majority").all()


@given(arrays(bool, st.tuples(st.integers(1, 6), st.just(3), st.just(4))))
def test_vote_holds_the_majority_and_equals_a_slow_reference(stack):
    masks = list(stack)
    votes = [[sum(int(mask[i, j]) for mask in masks) for j in range(4)] for i in range(3)]
    most = max(1, *(max(row) for row in votes))
    assert vote(masks).tolist() == [[count / most >= 0.5 for count in row] for row in votes]
    assert (vote(masks) >= vote(masks, rule="majority")).all()


def test_bad_votes_are_refused():
    with pytest.raises(InvalidInput):
        vote([])
    with pytest.raises(InvalidInput):
        vote([np.zeros((1, 1), bool)], rule="x")
    with pytest.raises(InvalidMask):
        vote([np.zeros((1, 1), bool), np.zeros((2, 1), bool)])
