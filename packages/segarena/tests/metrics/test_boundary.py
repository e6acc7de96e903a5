from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.ndimage import binary_erosion, gaussian_filter

from segarena.comparison import Comparison, Reference
from segarena.metrics import boundary
from segarena.metrics.boundary import BoundaryIou, boundary_iou
from segarena.registry import build


@pytest.fixture(params=["whole small images", "windows"], autouse=True)
def way(request, monkeypatch):
    """Compute the bands of small images in both ways: of the whole image, and of windows as in large ones."""
    if request.param == "windows":
        monkeypatch.setattr(boundary, "is_small_image", lambda shape, width_px: False)
    return request.param


def by_full_frames(prediction, target, ignore, ratio=0.02):
    """Return the bands of the full masks within a border of zeros; ignored pixels are removed last."""
    iterations = max(1, round(ratio * math.sqrt(sum(n * n for n in target.shape))))

    def band(mask):
        eroded = binary_erosion(np.pad(mask, 1), np.ones((3,) * mask.ndim), iterations=iterations)
        return mask & ~eroded[(slice(1, -1),) * mask.ndim] & ~ignore

    first, second = band(prediction), band(target)
    return np.count_nonzero(first & second), np.count_nonzero(first | second)


def blob(rng, shape):
    field = gaussian_filter(rng.random(shape), 4)
    return field > np.quantile(field, rng.random())


def test_equals_full_frame_computation_on_random_blobs():
    rng = np.random.default_rng(3)
    for trial in range(160):
        shape = tuple(rng.integers(1, 70, 2))
        prediction, target, ignore = (blob(rng, shape) for _ in range(3))
        ignore &= trial % 2 == 0
        ratio = float(rng.choice([0.001, 0.02, 0.05]))
        comparison = Comparison(prediction, Reference(target, ignore if trial % 4 else None))
        used = ignore if trial % 4 else np.zeros(shape, dtype=bool)
        record = BoundaryIou(dilation_ratio=ratio)(comparison)
        both, either = by_full_frames(prediction, target, used, ratio)
        assert (record["boundary_intersection"], record["boundary_union"]) == (both, either)
        assert record["boundary_iou"] == (both / either if either else 1.0)
        assert tuple(record) == BoundaryIou.columns


def test_objects_anywhere_in_a_wide_frame_are_compared_where_they_lie():
    """Bands are packed from a multiple of 64 pixels on, so offsets of a word and more must not matter."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        prediction, target, ignore = np.zeros((3, 20, 300), dtype=bool)
        for mask in (prediction, target):
            first = int(rng.integers(0, 300))
            row = int(rng.integers(0, 20))
            mask[row : row + rng.integers(0, 21), first : first + rng.integers(0, 200)] = True
        ignore[:, rng.integers(0, 300) :] = rng.random() < 0.5
        comparison = Comparison.of(prediction, target, ignore)
        record = BoundaryIou()(comparison)
        both, either = by_full_frames(prediction, target, ignore)
        assert (record["boundary_intersection"], record["boundary_union"]) == (both, either)


@pytest.mark.parametrize("stops", [(191, 192), (192, 193), (255, 256), (192, 192)])
def test_masks_that_end_at_and_before_the_end_of_a_word_are_compared(stops):
    masks = np.zeros((2, 10, 300), dtype=bool)
    for mask, stop in zip(masks, stops, strict=True):
        mask[:, 3:stop] = True
    prediction, target = masks
    record = BoundaryIou()(Comparison.of(prediction, target))
    both, either = by_full_frames(prediction, target, np.zeros_like(target))
    assert (record["boundary_intersection"], record["boundary_union"]) == (both, either)


def test_edge_of_an_ignored_region_is_no_edge_of_the_object():
    target = np.zeros((100, 100), dtype=bool)
    target[10:90, 10:90] = True
    ignore = np.zeros_like(target)
    ignore[:, 40:60] = True
    record = BoundaryIou()(Comparison.of(target, target, ignore))
    ring = 80 * 80 - 74 * 74  # round(0.02 * 141.4) = 3 pixels wide
    assert record["boundary_union"] == ring - 2 * 3 * 20
    assert record["boundary_iou"] == 1.0


def test_frame_border_is_an_edge():
    full = np.ones((100, 100), dtype=bool)
    assert BoundaryIou()(Comparison.of(full, full))["boundary_union"] == 100**2 - 94**2


def test_shifted_square_has_the_boundary_iou_counted_by_hand():
    target, prediction = np.zeros((2, 40, 30), dtype=bool)
    target[10:20, 10:20] = True  # width of the band: round(0.02 * 50) = 1, a ring of 36 pixels
    prediction[10:20, 11:21] = True
    # The rings share the top and bottom rows, 9 pixels each; left and right sides lie beside each other.
    assert boundary_iou(prediction, target) == 18 / (36 + 36 - 18)


def test_volume_is_judged_with_its_own_diagonal():
    rng = np.random.default_rng(8)
    prediction, target = (blob(rng, (20, 30, 40)) for _ in range(2))
    both, either = by_full_frames(prediction, target, np.zeros_like(target), 0.05)
    assert boundary_iou(prediction, target, dilation_ratio=0.05) == both / either


def test_two_empty_masks_give_one_or_as_asked():
    empty = np.zeros((5, 5), dtype=bool)
    assert boundary_iou(empty, empty) == 1.0
    assert math.isnan(boundary_iou(empty, empty, empty=math.nan))
    assert math.isnan(
        build("metric", "boundary_iou(empty='nan')")(Comparison.of(empty, empty))["boundary_iou"]
    )
    assert boundary_iou(~empty, empty) == boundary_iou(empty, ~empty) == 0.0


def test_target_band_is_computed_once(monkeypatch, way):
    calls = []
    name = "inner_band" if way == "windows" else "unpacked_band"
    original = getattr(boundary, name)
    monkeypatch.setattr(
        boundary, name, lambda mask, width: calls.append(1) or original(mask, width)
    )
    reference = Reference(np.eye(50, dtype=bool))
    for _ in range(3):
        BoundaryIou()(Comparison(np.ones((50, 50), dtype=bool), reference))
    assert len(calls) == 1 + 3


def test_bands_of_different_width_are_kept_apart():
    comparison = Comparison.of(np.ones((100, 100)), np.ones((100, 100)))
    for ratio, inner in ((0.02, 94), (0.05, 86)):
        record = BoundaryIou(dilation_ratio=ratio)(comparison)
        assert record["boundary_intersection"] == record["boundary_union"] == 100**2 - inner**2
