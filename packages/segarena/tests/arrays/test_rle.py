from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segarena.arrays.rle import decode_rle, encode_labels_rle, encode_rle, run_lengths
from segarena.errors import InvalidMask

shapes = st.one_of(
    hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=7),
    st.tuples(st.integers(1, 3), st.integers(100, 700)),
)
masks = shapes.flatmap(lambda shape: hnp.arrays(np.bool_, shape))


def slow_encode(mask) -> bytes:
    lengths, current, run = [], False, 0
    for value in mask.flatten().tolist():
        if value != current:
            lengths.append(run)
            current, run = value, 0
        run += 1
    lengths.append(run)
    out = bytearray()
    for length in lengths:
        while length >= 128:
            out.append(length % 128 + 128)
            length //= 128
        out.append(length)
    return bytes(out)


@given(
    shapes.flatmap(
        lambda shape: hnp.arrays(np.uint8, shape, elements=st.sampled_from([0, 1, 2, 7, 255]))
    )
)
def test_labels_are_encoded_as_each_of_their_masks_is(labels):
    expected = {
        label: encode_rle(labels == label) for label in (1, 2, 7, 255) if (labels == label).any()
    }
    assert encode_labels_rle(labels) == expected


@given(masks)
def test_encoding_equals_a_pixel_by_pixel_encoder(mask):
    assert encode_rle(mask) == slow_encode(mask)


@given(masks)
def test_decoding_gives_the_mask_back(mask):
    decoded = decode_rle(encode_rle(mask), mask.shape)
    assert decoded.dtype == np.bool_
    assert decoded.shape == mask.shape
    assert np.array_equal(decoded, mask)


@given(masks)
def test_never_more_than_one_byte_per_pixel_plus_one(mask):
    assert len(encode_rle(mask)) <= mask.size + 1


def test_known_bytes():
    mask = np.zeros((2, 200), dtype=bool)
    mask[0, 3:] = True
    mask[1, :1] = True
    # 3 off, 198 = 0b1_1000110 on, 199 = 0b1_1000111 off
    assert encode_rle(mask) == bytes([3, 0b1100_0110, 1, 0b1100_0111, 1])


@pytest.mark.parametrize("size", [127, 128, 16383, 16384, 2097151, 2097152])
def test_lengths_around_the_byte_borders(size):
    on = np.ones(size, dtype=bool)
    assert np.array_equal(decode_rle(encode_rle(on), on.shape), on)
    assert run_lengths(on).tolist() == [0, size]


def test_views_with_strides_are_read_in_row_major_order():
    mask = np.random.default_rng(0).random((9, 11)) > 0.5
    assert encode_rle(mask.T) == encode_rle(np.ascontiguousarray(mask.T))


def test_a_mask_without_axes():
    assert decode_rle(encode_rle(np.array(True)), ()).item() is True


@pytest.mark.parametrize("shape", [(3, 3), (2, 2), (10,), ()])
def test_lengths_of_another_size_are_refused(shape):
    with pytest.raises(InvalidMask, match="got a different number"):
        decode_rle(encode_rle(np.ones((2, 3), dtype=bool)), shape)


def test_no_data_is_refused_for_a_mask_with_pixels():
    with pytest.raises(InvalidMask):
        decode_rle(b"", (2,))


@pytest.mark.parametrize("data", [b"\x80", b"\x01\xff", b"\xff" * 10 + b"\x01"])
def test_damaged_data_is_refused(data):
    with pytest.raises(InvalidMask, match="damaged"):
        decode_rle(data, (4,))


def test_sides_below_0_are_refused_though_their_product_fits():
    with pytest.raises(InvalidMask, match="got a different number"):
        decode_rle(encode_rle(np.ones((2, 3), dtype=bool)), (-2, -3))


def test_a_mask_of_more_pixels_than_a_volume_may_have_is_not_made():
    with pytest.raises(InvalidMask, match="expected at most 2,147,483,648 voxels"):
        decode_rle(b"\x80\x80\x80\x80\x40", (2**20, 2**14))  # one run of 2 ** 34


def test_lengths_whose_sum_wraps_around_are_refused():
    huge = b"\xff" * 8 + b"\x7f"  # 2 ** 63 - 1
    with pytest.raises(InvalidMask, match="got a different number"):
        decode_rle(huge + huge + b"\x06", (4,))


def test_numbers_other_than_zero_and_one_are_refused():
    with pytest.raises(InvalidMask):
        encode_rle(np.array([0, 2], dtype=np.uint8))
