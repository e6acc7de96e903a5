"""Dialogues, which grow by prompts and answers and are all that a segmenter receives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from segarena import Box, Click, Dialogue, Prediction
from segarena.dialogue import as_prediction
from segarena.errors import PredictionInvalid

FIRST, SECOND = Click((1, 1)), Click((2, 2), is_positive=False)


def test_a_new_dialogue_is_silent():
    dialogue = Dialogue()
    assert dialogue.prompts == ()
    assert dialogue.effort == 0
    assert not dialogue.previous_mask((2, 3)).any()
    assert dialogue.previous_mask((2, 3)).shape == (2, 3)


def test_asking_and_answering_leave_the_dialogue_before_as_it_was():
    before = Dialogue().ask((FIRST,))
    prediction = Prediction(mask=np.ones((2, 3), dtype=bool), logits=np.arange(3))
    after = before.answer(prediction).ask((SECOND, Box((0, 0), (1, 1))))
    assert before.rounds == ((FIRST,),)
    assert before.previous is None
    assert after.rounds == ((FIRST,), (SECOND, Box((0, 0), (1, 1))))
    assert after.previous is prediction
    assert after.previous_mask((2, 3)).all()


def test_prompts_come_in_the_order_given_and_clicks_are_those_among_them():
    dialogue = Dialogue(rounds=((FIRST, Box((0, 0), (1, 1))), (SECOND,)))
    assert dialogue.prompts == (FIRST, Box((0, 0), (1, 1)), SECOND)
    assert dialogue.clicks == (FIRST, SECOND)
    assert dialogue.effort == 1 + 2 + 1


@given(
    npst.arrays(np.bool_, npst.array_shapes(min_dims=2, max_dims=3, max_side=5)),
    st.sampled_from("?BHifd"),
)
def test_a_bare_array_of_zeros_and_ones_is_a_prediction(mask, dtype):
    prediction = as_prediction(mask.astype(dtype), mask.shape)
    assert prediction.mask.dtype == np.bool_
    assert (prediction.mask == mask).all()
    assert prediction.logits is None


def test_logits_and_score_of_a_prediction_are_kept():
    logits = np.arange(4.0)
    prediction = as_prediction(Prediction(mask=np.ones((2, 2)), logits=logits, score=0.5), (2, 2))
    assert prediction.logits is logits
    assert prediction.score == 0.5
    assert prediction.mask.dtype == np.bool_


def test_several_objects_are_answered_with_labels():
    labels = np.array([[0, 1], [2, 255]])
    prediction = as_prediction(labels, (2, 2), objects=2)
    assert prediction.mask.dtype == np.uint8
    assert (prediction.mask == labels).all()


@pytest.mark.parametrize(
    ("answer", "objects", "message"),
    [
        (np.zeros((2, 3)), 1, r"answer: expected a mask of shape \(2, 2\), got \(2, 3\)"),
        (np.full((2, 2), np.nan), 1, "contains NaN or infinity; return a bool mask"),
        (np.full((2, 2), np.inf), 1, "contains NaN or infinity"),
        (
            np.full((2, 2), 0.5),
            1,
            "expected a bool mask, got other float64 values; threshold it first",
        ),
        (
            np.full((2, 2), 2, dtype=np.uint8),
            1,
            "expected a bool mask, got uint8 with the values 2; thr",
        ),
        (np.full((2, 2), -1), 1, "expected a bool mask, got int64 with the values -1; thr"),
        (np.full((2, 2), 256), 2, "got int64 with the values 256; return the label of each"),
        (np.full((2, 2), 1.5), 2, "expected labels 0..255, got other float64 values"),
        (np.full((2, 2), "x"), 1, "expected a bool mask, got other"),
        (None, 1, r"expected a mask of shape \(2, 2\), got None; return an array"),
    ],
)
def test_an_answer_that_is_no_mask_is_refused_with_a_reason(answer, objects, message):
    with pytest.raises(PredictionInvalid, match=message):
        as_prediction(answer, (2, 2), objects=objects, name="answer")
