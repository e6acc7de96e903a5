"""Valid samples, images and masks, and messages for invalid ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from segarena import ImageSample, Target, VideoSample, VolumeSample
from segarena.errors import InvalidImage, InvalidInput, InvalidMask
from segarena.samples import as_image, as_mask, check_sample

SHAPES = npst.array_shapes(min_dims=2, max_dims=3, max_side=6)


def grey(shape=(4, 6)):
    return np.zeros((*shape, 3), dtype=np.uint8)


def test_grey_pixels_are_repeated_over_three_channels():
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    image = as_image(pixels)
    assert image.shape == (3, 4, 3)
    assert all((image[:, :, channel] == pixels).all() for channel in range(3))


def test_alpha_is_dropped_and_colours_stay():
    pixels = np.arange(3 * 4 * 4, dtype=np.uint8).reshape(3, 4, 4)
    image = as_image(pixels)
    assert (image == pixels[:, :, :3]).all()
    assert image.flags["C_CONTIGUOUS"]


def test_rgb_is_taken_as_it_is():
    pixels = np.arange(3 * 4 * 3, dtype=np.uint8).reshape(3, 4, 3)
    assert (as_image(pixels) == pixels).all()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            np.zeros((4, 6, 3), dtype=np.uint16),
            r"photo: expected 8-bit pixels \(uint8\), got uint16; scale it",
        ),
        (np.zeros((4, 6, 3)), "expected 8-bit pixels"),
        (np.zeros((4, 6), dtype=bool), "expected 8-bit pixels"),
        (np.zeros((4, 6, 2), dtype=np.uint8), r"got shape \(4, 6, 2\)"),
        (np.zeros(4, dtype=np.uint8), r"got shape \(4,\)"),
        (np.zeros((0, 6, 3), dtype=np.uint8), r"got shape \(0, 6, 3\)"),
        (np.zeros((2, 4, 6, 3), dtype=np.uint8), r"got shape \(2, 4, 6, 3\)"),
    ],
)
def test_what_is_no_8_bit_image_is_refused(array, message):
    with pytest.raises(InvalidImage, match=message):
        as_image(array, name="photo")


@given(
    npst.arrays(np.bool_, SHAPES),
    st.sampled_from([np.bool_, np.uint8, np.int64, np.float32, np.float64]),
)
def test_zeros_and_ones_of_any_number_type_are_the_same_mask(mask, dtype):
    result = as_mask(mask.astype(dtype), mask.shape)
    assert result.dtype == np.bool_
    assert (result == mask).all()


@given(npst.arrays(np.int16, SHAPES, elements=st.integers(-300, 300)))
def test_a_mask_is_refused_exactly_when_it_holds_another_value_than_0_and_1(values):
    if set(values.ravel().tolist()) <= {0, 1}:
        assert (as_mask(values) == (values != 0)).all()
    else:
        with pytest.raises(InvalidMask, match="expected only 0 and 1, got values"):
            as_mask(values)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.full((2, 2), np.nan), "drawn: contains NaN or infinity"),
        (np.full((2, 2), np.inf), "drawn: contains NaN or infinity"),
        (np.full((2, 2), 0.5), r"got values \[0.5\]...; threshold it first"),
        (np.full((2, 2), 255, dtype=np.uint8), r"got values \[255\]"),
        (np.array([["a", "b"]]), "expected bool or numbers 0 and 1, got dtype <U1"),
        (np.zeros((2, 2), dtype=complex), "got dtype complex128"),
    ],
)
def test_what_is_no_mask_is_refused_with_a_reason(array, message):
    with pytest.raises(InvalidMask, match=message):
        as_mask(array, name="drawn")


def test_a_mask_of_another_shape_is_refused_with_both_shapes():
    with pytest.raises(InvalidMask, match=r"expected shape \(3, 4\), got \(4, 3\)"):
        as_mask(np.zeros((4, 3), dtype=bool), (3, 4))


def test_an_invalid_input_is_a_value_error_too():
    with pytest.raises(ValueError, match="expected shape"):
        as_mask(np.zeros((4, 3), dtype=bool), (3, 4))


def test_a_bool_mask_is_one_object_and_labels_are_as_many_as_the_highest():
    assert Target(id="t", mask=np.zeros((2, 2), dtype=bool)).objects == 1
    assert Target(id="t", mask=np.array([[0, 3], [1, 0]], dtype=np.uint8)).objects == 3
    assert Target(id="t", mask=np.zeros((0, 2), dtype=np.uint8)).objects == 0


def test_the_shape_of_a_sample_is_that_of_its_masks():
    assert ImageSample(id="i", image=grey((4, 6))).shape == (4, 6)
    assert VolumeSample(id="v", voxels=np.zeros((2, 4, 6)), spacing_mm=(5.0, 1.0, 1.0)).shape == (
        2,
        4,
        6,
    )
    assert VideoSample(id="f", frames=[grey()] * 7, frame_shape=(4, 6)).shape == (7, 4, 6)


def test_a_sample_whose_targets_fit_passes():
    mask = np.zeros((4, 6), dtype=bool)
    targets = (Target(id="a", mask=mask, ignore=mask), Target(id="b", mask=mask.astype(np.uint8)))
    check_sample(ImageSample(id="s", image=grey(), targets=targets))


@pytest.mark.parametrize(
    ("targets", "error", "message"),
    [
        (
            [Target(id="a", mask=np.zeros((4, 5), dtype=bool))],
            InvalidMask,
            r"sample s, target a: expected a mask in the shape of the sample, \(4, 6\), got \(4, 5\)",
        ),
        (
            [Target(id="a", mask=np.zeros((4, 6)))],
            InvalidMask,
            "expected a bool mask or uint8 labels, got float64",
        ),
        (
            [
                Target(
                    id="a", mask=np.zeros((4, 6), dtype=bool), ignore=np.zeros((1, 6), dtype=bool)
                )
            ],
            InvalidMask,
            "target a, ignore: expected shape",
        ),
        (
            [Target(id="a", mask=np.full((4, 6), 255, dtype=np.uint8))],
            InvalidMask,
            "expected labels 0 to 254, got 255; set ignored",
        ),
        (
            [Target(id="a", mask=np.zeros((4, 6), dtype=bool))] * 2,
            InvalidInput,
            "two targets have the id 'a'; rename one of them",
        ),
        (
            [Target(id=3, mask=np.zeros((4, 6), dtype=bool))],
            InvalidInput,
            r"sample s, a target: expected text as id, got int; convert it with str\(\)",
        ),
        (
            [Target(id="a", mask=np.zeros((4, 6), dtype=bool), label=None)],
            InvalidInput,
            "sample s, target a: expected text as label, got NoneType",
        ),
        (
            [Target(id="a", mask=np.zeros((4, 6), dtype=bool), attributes={3: "x"})],
            InvalidInput,
            "expected text as the name of an attribute, got int",
        ),
        (
            [Target(id="a", mask=np.zeros((4, 6), dtype=bool), attributes={"area": [1, 2]})],
            InvalidInput,
            "expected text or a number as attribute area, got list",
        ),
        (
            [Target(id="a", mask=np.zeros((4, 6), dtype=bool), attributes=None)],
            InvalidInput,
            "expected a dictionary as attributes, got NoneType",
        ),
    ],
)
def test_a_target_that_does_not_fit_is_named(targets, error, message):
    with pytest.raises(error, match=message):
        check_sample(ImageSample(id="s", image=grey(), targets=tuple(targets)))


@pytest.mark.parametrize(
    ("sample", "error", "message"),
    [
        (None, InvalidInput, "expected a sample, such as segarena.ImageSample, got NoneType"),
        (ImageSample(id=3, image=grey()), InvalidInput, "sample 3: expected text as id, got int"),
        (
            ImageSample(id="s", image=[[0]]),
            InvalidInput,
            "sample s: expected a NumPy array as image, got list",
        ),
        (
            ImageSample(id="s", image=np.zeros((4, 6, 3), dtype=np.float32)),
            InvalidImage,
            r"sample s: expected an image of uint8 \(H, W, 3\), got float32 \(4, 6, 3\)",
        ),
        (
            ImageSample(id="s", image=np.zeros((3, 4, 6), dtype=np.uint8)),
            InvalidImage,
            r"got uint8 \(3, 4, 6\)",
        ),
        (
            ImageSample(id="s", image=grey(), targets=Target(id="a", mask=np.zeros((4, 6), bool))),
            InvalidInput,
            "sample s: expected a tuple of targets, got Target",
        ),
        (
            ImageSample(id="s", image=grey(), targets=(None,)),
            InvalidInput,
            "sample s: expected a Target in targets, got NoneType",
        ),
        (
            ImageSample(id="s", image=grey(), targets=(Target(id="a", mask=[[True]]),)),
            InvalidInput,
            "sample s, target a: expected a NumPy array as mask, got list",
        ),
        (
            VolumeSample(id="v", voxels=None, spacing_mm=(1.0, 1.0, 1.0)),
            InvalidInput,
            "sample v: expected a NumPy array as voxels, got NoneType",
        ),
    ],
)
def test_what_a_dataset_returned_in_place_of_a_sample_is_named(sample, error, message):
    with pytest.raises(error, match=message):
        check_sample(sample)
