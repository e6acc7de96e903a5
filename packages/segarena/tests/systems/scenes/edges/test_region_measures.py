import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.metrics import adapted_rand_error
from skimage.metrics import variation_of_information as skimage_information

from segarena.errors import InvalidInput, InvalidMask
from segarena.systems.scenes.edges.region_measures import (
    count_regions,
    rand_index,
    region_iou_table,
    segmentation_covering,
    shared_px,
    summarise_regions,
    variation_of_information,
)

LABELS = arrays(np.int32, (5, 6), elements=st.integers(0, 4))


def slow_covering(prediction, target):
    total = 0.0
    for label in np.unique(target):
        region = target == label
        best = max(
            (region & (prediction == other)).sum() / (region | (prediction == other)).sum()
            for other in np.unique(prediction)
        )
        total += best * region.sum()
    return total / target.size


@given(LABELS, LABELS)
def test_measures_are_those_of_their_definitions(prediction, target):
    shared = shared_px(prediction, target)
    assert segmentation_covering(shared) == pytest.approx(slow_covering(prediction, target))
    first, second = prediction.ravel(), target.ravel()
    upper = np.triu_indices(len(first), 1)
    joined = [(flat[:, None] == flat[None])[upper] for flat in (first, second)]
    assert rand_index(shared) == pytest.approx(np.mean(joined[0] == joined[1]))
    expected = sum(skimage_information(target, prediction))
    assert variation_of_information(shared) == pytest.approx(expected, abs=1e-12)


def test_equal_segmentations_are_perfect():
    labels = np.random.default_rng(0).integers(0, 5, (20, 20))
    shared = shared_px(labels, labels + 3)
    assert segmentation_covering(shared) == 1.0
    assert rand_index(shared) == 1.0
    assert variation_of_information(shared) == 0.0
    assert adapted_rand_error(labels + 1, labels + 1)[0] == 0.0


@given(LABELS, LABELS)
def test_large_labels_share_what_small_ones_do(prediction, target):
    expected = shared_px(prediction, target)
    np.testing.assert_array_equal(
        shared_px(prediction.astype(np.int64) * 10_000_000, target), expected
    )
    np.testing.assert_array_equal(
        region_iou_table(expected).max(axis=1) <= 1, np.ones(len(expected), bool)
    )


def test_counts_of_an_image_are_over_people():
    halves = np.repeat([1, 2], 8).reshape(4, 4)
    quarters = np.array([[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]])
    counts = count_regions([halves, quarters], [halves, quarters], thresholds=np.array([1.0, 2.0]))
    # Halves cover halves fully and quarters by half; quarters the other way round.
    assert (counts.covered / counts.area).tolist() == [0.75, 0.75]
    assert counts.best / counts.area == 1.0
    assert counts.reverse_covered.tolist() == [1.0, 1.0]
    assert counts.information.tolist() == [0.5, 0.5]


def test_the_summary_takes_the_best_threshold_for_all_and_for_each():
    halves, whole = np.repeat([1, 2], 8).reshape(4, 4), np.ones((4, 4), int)
    thresholds = np.array([1.0, 2.0])
    counts = [
        count_regions([halves, whole], [reference], thresholds=thresholds)
        for reference in (halves, whole)
    ]
    summary = summarise_regions(counts)
    assert summary.covering.ois == 1.0
    assert summary.covering.ods == 0.75
    assert summary.covering.threshold == 1.0
    assert summary.information.ods == 0.5
    assert summary.information.ois == 0.0
    assert summary.images[:, 0].tolist() == [1.0, 2.0]


def test_what_cannot_be_compared_is_said():
    labels = np.ones((3, 4), int)
    with pytest.raises(InvalidMask, match="same shape"):
        shared_px(labels, labels.T)
    with pytest.raises(InvalidMask, match="0 or more"):
        shared_px(labels - 2, labels)
    with pytest.raises(InvalidMask, match="whole numbers"):
        shared_px(labels * 0.5, labels)
    with pytest.raises(InvalidInput, match="annotator"):
        count_regions([labels], [], thresholds=np.array([0.5]))
    with pytest.raises(InvalidInput, match="region counts"):
        summarise_regions([])
