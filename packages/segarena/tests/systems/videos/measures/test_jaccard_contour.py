"""J and F, compared with the definition: Euclidean distances to the other contour, pixel by pixel."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import ndimage

from segarena.arrays.contours import contour_radius_px
from segarena.arrays.label_edges import label_edges
from segarena.comparison import Comparison
from segarena.errors import InvalidInput, InvalidMask, PluginInvalid
from segarena.multi_object import ObjectsComparison, ObjectsReference
from segarena.registry import build
from segarena.systems.videos.measures.jaccard_contour import JaccardContourMetric, jaccard_contour
from segarena.systems.videos.measures.recall_decay import decay, recall


def slow_contour(mask):
    """The border rules, pixel by pixel."""
    rows, columns = mask.shape
    edge = np.zeros_like(mask)
    for r in range(rows):
        for c in range(columns):
            east = mask[r, c + 1] if c + 1 < columns else None
            south = mask[r + 1, c] if r + 1 < rows else None
            diagonal = mask[r + 1, c + 1] if east is not None and south is not None else None
            edge[r, c] = any(
                other is not None and other != mask[r, c] for other in (east, south, diagonal)
            )
    return edge


def slow_pair(prediction, target, radius):
    union = (prediction | target).sum()
    jaccard = (prediction & target).sum() / union if union else 1.0
    a, b = slow_contour(prediction), slow_contour(target)
    if not (a.any() and b.any()):
        return jaccard, float(a.any() == b.any())
    precision = (ndimage.distance_transform_edt(~b)[a] <= radius).mean()
    recalled = (ndimage.distance_transform_edt(~a)[b] <= radius).mean()
    return jaccard, 2 * precision * recalled / (
        precision + recalled
    ) if precision + recalled else 0.0


labels = npst.arrays(
    np.uint8,
    st.tuples(st.just(2), st.integers(1, 9), st.integers(1, 9)),
    elements=st.integers(0, 3),
)


@st.composite
def stacks(draw):
    """Two stacks of labels of one shape: noise, or filled rectangles that often touch borders and fill frames."""
    target = draw(labels)
    prediction = draw(npst.arrays(np.uint8, target.shape, elements=st.integers(0, 3)))
    if draw(st.booleans()):
        for stack in (target, prediction):
            stack[:] = 0
            for frame, number in np.ndindex(2, 2):
                r, c = (
                    sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n))))
                    for n in stack.shape[1:]
                )
                stack[frame, r[0] : r[1], c[0] : c[1]] = number + 1
    return prediction, target


@given(stacks(), st.integers(1, 4))
def test_every_object_and_frame_equals_the_definition(drawn, radius):
    prediction, target = drawn
    values = jaccard_contour(prediction, target, objects=3, bound_share=radius)
    for frame, number in np.ndindex(2, 3):
        expected = slow_pair(prediction[frame] == number + 1, target[frame] == number + 1, radius)
        assert (values.jaccard[number, frame], values.contour[number, frame]) == expected


@pytest.mark.parametrize("seed", range(4))
def test_larger_smooth_objects_equal_the_definition(seed):
    rng = np.random.default_rng(seed)
    smooth = ndimage.gaussian_filter(rng.normal(size=(2, 2, 90, 130)), (0, 0, 9, 9))
    prediction, target = ((stack > 0.3 * stack.std()).astype(np.uint8) for stack in smooth)
    values = jaccard_contour(prediction, target)
    radius = math.ceil(0.008 * math.hypot(90, 130))
    expected = [slow_pair(p == 1, t == 1, radius) for p, t in zip(prediction, target, strict=True)]
    assert np.array_equal(np.stack([values.jaccard[0], values.contour[0]], axis=1), expected)


@given(npst.arrays(np.bool_, npst.array_shapes(min_dims=2, max_dims=2, max_side=7)))
def test_contours_follow_the_border_rules(mask):
    assert np.array_equal(label_edges(mask), slow_contour(mask))


def test_radii_of_the_challenge():
    sizes = {
        (480, 854): 8,
        (480, 910): 9,
        (480, 911): 9,
        (480, 1130): 10,
        (480, 1138): 10,
        (480, 1152): 10,
    }
    assert {shape: contour_radius_px(shape) for shape in sizes} == sizes
    assert contour_radius_px((480, 854), 3) == 3


FULL, EMPTY = np.ones((1, 6, 8), dtype=bool), np.zeros((1, 6, 8), dtype=bool)
LESS = FULL.copy()
LESS[..., -1] = False


@pytest.mark.parametrize(
    ("prediction", "target", "jaccard", "f"),
    [
        (EMPTY, EMPTY, 1, 1),
        (EMPTY, FULL, 0, 1),
        (LESS, FULL, 42 / 48, 0),
        (FULL, FULL, 1, 1),
    ],
)
def test_frames_that_are_filled_or_empty(prediction, target, jaccard, f):
    values = jaccard_contour(prediction, target.astype(np.uint8), objects=1)
    assert (values.jaccard.item(), values.contour.item()) == (jaccard, f)


def test_one_pixel_hit_or_missed_by_one():
    target, beside = np.zeros((1, 30, 30), np.uint8), np.zeros((1, 30, 30), np.uint8)
    target[0, 10, 10], beside[0, 10, 11] = 1, 1
    assert (
        jaccard_contour(target, target).jaccard.item(),
        jaccard_contour(target, target).contour.item(),
    ) == (1, 1)
    assert (
        jaccard_contour(beside, target).jaccard.item(),
        jaccard_contour(beside, target).contour.item(),
    ) == (0, 1)


def test_void_is_removed_or_is_background():
    target = np.zeros((1, 6, 8), np.uint8)
    target[0, :, :4] = 1
    prediction = target.copy()
    prediction[0, :, 4:6] = 1
    void = np.zeros((1, 6, 8), dtype=bool)
    void[0, :, 4:6] = True
    judged = ObjectsComparison(prediction, ObjectsReference(target, 1, void))
    assert JaccardContourMetric()(judged)["jaccard"] == 1.0
    assert JaccardContourMetric(void="background")(judged)["jaccard"] == 4 / 6


def test_excluded_pixels_of_a_target_are_no_object():
    target = np.zeros((1, 6, 8), np.uint8)
    target[0, :, :4] = 1
    target[0, 0, 7] = 255
    nothing = jaccard_contour(target * 0, target)
    assert (nothing.jaccard.shape, nothing.jaccard.item()) == ((1, 1), 0)
    predicted = np.where(target == 255, 1, target)
    assert jaccard_contour(predicted, target).jaccard.item() == 1
    assert jaccard_contour(predicted, target, void="background").jaccard.item() == 24 / 25
    also = np.zeros(target.shape, dtype=bool)
    also[0, 0, 0] = True
    predicted[0, 0, 0] = 0
    assert jaccard_contour(predicted, target, also).jaccard.item() == 1
    assert jaccard_contour(predicted, target).jaccard.item() == 23 / 24


@pytest.mark.parametrize("value", [-1, 257, 1.5, math.nan])
def test_labels_are_not_wrapped_around_or_cut_off(value):
    fine = np.ones((1, 2, 2), np.uint8)
    other = np.array([[[1, 1], [1, value]]])
    for name, pair in {"target": (fine, other), "prediction": (other, fine)}.items():
        with pytest.raises(
            InvalidMask, match=f"{name}: expected whole numbers 0 to 255, got {value:g}"
        ):
            jaccard_contour(*pair)
    same = jaccard_contour(fine.astype(np.int64), fine.astype(float))
    assert same.jaccard.item() == 1
    assert (
        jaccard_contour(np.full((1, 2, 2), 7), fine).jaccard.item() == 0
    )  # a label that no object has


def test_the_record_is_the_mean_over_objects_and_frames_and_the_parts_are_each():
    rng = np.random.default_rng(0)
    target, prediction = rng.integers(0, 3, (2, 3, 12, 14), dtype=np.uint8)
    judged = ObjectsComparison(prediction, ObjectsReference(target, 2))
    metric = JaccardContourMetric()
    parts, values = metric.parts(judged), metric(judged)
    assert parts["jaccard"].shape == (2, 3)
    assert values["jaccard"] == pytest.approx(parts["jaccard"].mean())
    assert values["j_and_f"] == pytest.approx(
        (parts["jaccard"].mean() + parts["contour"].mean()) / 2
    )


def test_a_single_object_is_judged_as_one():
    rng = np.random.default_rng(1)
    prediction, target = rng.random((2, 3, 12, 14)) > 0.5
    one = JaccardContourMetric()(Comparison.of(prediction, target))
    several = jaccard_contour(prediction, target.astype(np.uint8))
    assert (one["jaccard"], one["contour"]) == (several.jaccard.mean(), several.contour.mean())


def test_nothing_to_judge_and_other_options_are_refused():
    with pytest.raises(InvalidInput, match="at least one object"):
        jaccard_contour(EMPTY, EMPTY)
    with pytest.raises(PluginInvalid, match="'ignore', 'background'"):
        build("metric", "jaccard-contour(void='maybe')")


def test_recall_and_decay_by_hand():
    values = [1.0, 0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1]  # quarters: frames 0-2, 2-4, 4-6, 6-8
    assert recall(values) == 4 / 9
    assert decay(values) == pytest.approx(0.9 - 0.2)
    assert decay([0.7]) == 0.0
    # Of seven frames the quarters end at 1, 2.5, 4, 5.5 and 7, halves rounded up: frames 1 to 3 and 6 to 7.
    assert decay([0.9, 0.8, 0.1, 0, 0, 0.4, 0.2]) == pytest.approx(0.6 - 0.3)


def test_decay_of_long_videos_is_wrong_as_published_and_right_otherwise():
    values = np.linspace(1, 0, 401)
    assert decay(values) == pytest.approx(0.75)
    # Points 0, 100, 200, 300, 400 in 8 bits: 0, 100, 200, 44, 144.
    assert decay(values, protocol="published") == pytest.approx(
        values[:101].mean() - values[44:145].mean()
    )


@pytest.mark.parametrize("values", [[], [[0.5, 0.5]]])
def test_statistics_of_no_frames_are_refused(values):
    with pytest.raises(InvalidInput, match="one value per frame"):
        recall(values)


def test_where_nothing_is_void_both_rules_share_one_judgement():
    labels = np.zeros((1, 6, 8), dtype=np.uint8)
    labels[0, 2:4, 2:6] = 1
    judged = ObjectsComparison(labels, ObjectsReference(labels, 1))
    assert JaccardContourMetric(void="background").of(judged) is JaccardContourMetric().of(judged)
    with_void = ObjectsComparison(labels, ObjectsReference(labels, 1, labels == 1))
    assert JaccardContourMetric(void="background").of(with_void) is not JaccardContourMetric().of(
        with_void
    )
