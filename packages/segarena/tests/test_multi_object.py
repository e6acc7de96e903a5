"""Several objects evaluated together, compared with each object alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from segarena import Target, VideoSample, VolumeSample
from segarena.comparison import Comparison
from segarena.errors import InvalidMask
from segarena.multi_object import (
    ObjectsComparison,
    ObjectsReference,
    compare_prediction,
    empty_comparison,
)

labels = npst.arrays(np.uint8, (2, 3, 4), elements=st.integers(0, 4))


@given(labels, labels, st.none() | npst.arrays(np.bool_, (2, 3, 4)))
def test_each_object_is_compared_as_a_mask_of_its_own(prediction, target, ignore):
    together = ObjectsComparison(prediction, ObjectsReference(target, 3, ignore))
    for number, one in enumerate(together.each(), 1):
        alone = Comparison.of(prediction == number, target == number, ignore)
        assert (one.intersection, one.union) == (alone.intersection, alone.union)


def test_a_bool_mask_means_the_first_object():
    target = np.array([[1, 2, 0]], dtype=np.uint8)
    together = ObjectsComparison(np.array([[True, True, False]]), ObjectsReference(target, 2))
    assert [(one.intersection, one.union) for one in together.each()] == [(1, 2), (0, 1)]


def test_other_shapes_and_types_are_refused():
    target = np.zeros((2, 3), dtype=np.uint8)
    with pytest.raises(InvalidMask, match="uint8 labels"):
        ObjectsReference(target.astype(np.int64), 1)
    with pytest.raises(InvalidMask, match=r"target's shape \(2, 3\), got \(3, 2\)"):
        ObjectsComparison(target.T, ObjectsReference(target, 1))


def test_what_is_remembered_is_computed_once():
    calls = []
    reference = ObjectsReference(np.zeros((2, 3), dtype=np.uint8), 1)
    together = ObjectsComparison(np.zeros((2, 3), dtype=np.uint8), reference)
    for keeper in (reference, together):
        assert [
            keeper.remember("key", lambda keeper=keeper: calls.append(keeper) or 7)
            for _ in range(2)
        ] == [7, 7]
    assert calls == [reference, together]
    assert reference.one(1) is reference.one(1)


def test_a_dialogue_begins_with_nothing_predicted_whatever_the_target_is():
    mask = np.ones((2, 3, 4), dtype=bool)
    volume = VolumeSample(id="v", voxels=np.zeros((2, 3, 4)), spacing_mm=(5.0, 1.0, 2.0))
    one = empty_comparison(volume, Target(id="a", mask=mask))
    assert (one.prediction_area, one.target_area, one.spacing_mm) == (0, 24, (5.0, 1.0, 2.0))
    assert compare_prediction(mask, one).spacing_mm == (5.0, 1.0, 2.0)
    video = VideoSample(id="w", frames=[np.zeros((3, 4, 3), np.uint8)] * 2, frame_shape=(3, 4))
    several = empty_comparison(video, Target(id="all", mask=np.full((2, 3, 4), 2, dtype=np.uint8)))
    assert (several.objects, several.prediction.max()) == (2, 0)
    assert compare_prediction(several.target, several).one(2).intersection == 24
