"""Meaning of mask pixels under each declared encoding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from segarena.datasets.mask_encodings import DecodedMask, MaskEncoding, size_class, to_targets
from segarena.errors import InvalidMask, PluginInvalid


def mask_file(folder, array, name="m.png"):
    Image.fromarray(np.asarray(array, dtype=np.uint8)).save(folder / name)
    return folder / name


@pytest.mark.parametrize("value", [1, 128, 255])
def test_binary_object_is_every_pixel_that_is_not_zero(tmp_path, value):
    objects = MaskEncoding().read(mask_file(tmp_path, [[0, value], [value, 0]]))
    assert {name: mask.tolist() for name, mask in objects.masks.items()} == {
        "": [[False, True], [True, False]]
    }
    assert objects.ignore is None


def test_binary_mask_with_a_third_value_is_refused(tmp_path):
    path = mask_file(tmp_path, [[0, 3, 7, 9, 250, 255]])
    expected = r"m.png: encoding 'binary' expects 0 and one other value, got 0 and 5 others \(3, 7, 9, 250, ...\)"
    with pytest.raises(InvalidMask, match=expected):
        MaskEncoding().read(path)


def test_threshold_decides_soft_masks(tmp_path):
    path = mask_file(tmp_path, [[0, 3, 127, 128, 250, 255]])
    assert MaskEncoding(threshold=128).read(path).masks[""].tolist() == [
        [False, False, False, True, True, True]
    ]


def test_ignored_value_is_no_object(tmp_path):
    path = mask_file(tmp_path, [[0, 1, 255]])
    objects = MaskEncoding(ignore_value=255).read(path)
    assert objects.masks[""].tolist() == [[False, True, False]]
    assert objects.ignore.tolist() == [[False, False, True]]


def test_ignore_is_none_where_no_pixel_has_the_value(tmp_path):
    assert MaskEncoding(ignore_value=255).read(mask_file(tmp_path, [[0, 1]])).ignore is None


def test_index_objects_are_in_ascending_order(tmp_path):
    objects = MaskEncoding(kind="index", ignore_value=255).read(
        mask_file(tmp_path, [[10, 2, 0], [255, 2, 10]])
    )
    assert list(objects.masks) == ["2", "10"]
    assert objects.masks["10"].tolist() == [[True, False, False], [False, False, True]]
    assert objects.ignore.tolist() == [[False, False, False], [True, False, False]]


def test_sixteen_bit_index_masks_keep_large_numbers(tmp_path):
    path = tmp_path / "m.png"
    Image.fromarray(np.array([[0, 26001, 26002]], dtype=np.uint16)).save(path)
    assert list(MaskEncoding(kind="index").read(path).masks) == ["26001", "26002"]


def test_sixteen_bit_binary_mask_with_many_values_is_refused(tmp_path):
    path = tmp_path / "m.png"
    Image.fromarray(np.array([[0, 500, 65535]], dtype=np.uint16)).save(path)
    with pytest.raises(
        InvalidMask, match=r"expects 0 and one other value, got 0 and 2 others \(500, 65535\)"
    ):
        MaskEncoding().read(path)


@pytest.mark.parametrize("ignore", ["#0000ff", 0x0000FF])
def test_colours_are_objects_and_black_is_background(tmp_path, ignore):
    path = mask_file(tmp_path, [[(255, 0, 0), (0, 0, 0), (1, 2, 3), (0, 0, 255)]])
    objects = MaskEncoding(kind="colour", ignore_value=ignore).read(path)
    assert list(objects.masks) == ["#010203", "#ff0000"]
    assert objects.masks["#ff0000"].tolist() == [[True, False, False, False]]
    assert objects.ignore.tolist() == [[False, False, False, True]]


@pytest.mark.parametrize("kind", ["binary", "index", "colour"])
def test_mask_without_object_pixel_is_refused(tmp_path, kind):
    with pytest.raises(InvalidMask, match=r"m.png: expected at least one object pixel, got none"):
        MaskEncoding(kind=kind).read(mask_file(tmp_path, np.zeros((3, 4))))


def test_mask_of_ignored_pixels_alone_has_no_object(tmp_path):
    with pytest.raises(InvalidMask, match="expected at least one object pixel, got none"):
        MaskEncoding(ignore_value=255).read(mask_file(tmp_path, [[0, 255]]))


@pytest.mark.parametrize("kind", ["index", "colour"])
def test_lossy_mask_is_refused_where_values_are_names(tmp_path, kind):
    with pytest.raises(
        InvalidMask, match=r"m.jpg: expected a lossless mask for encoding .* got .jpg"
    ):
        MaskEncoding(kind=kind).read(mask_file(tmp_path, np.ones((8, 8)), "m.jpg"))


def test_negative_index_is_refused(tmp_path):
    path = tmp_path / "m.tif"
    Image.fromarray(np.array([[0, -1, 3]], dtype=np.int32)).save(path)
    with pytest.raises(InvalidMask, match=r"m.tif: expected values from 0 on, got -1"):
        MaskEncoding(kind="index").read(path)


@pytest.mark.parametrize(("options", "message"), [
    ({"kind": "index", "threshold": 3}, "only with encoding='binary'"),
    ({"threshold": 0}, "expected a threshold of at least 1"),
    ({"ignore_value": 0}, "0 is the background"),
    ({"ignore_value": "#ffffff"}, "expected a number"),
    ({"kind": "colour", "ignore_value": "white"}, "#rrggbb"),
    ({"kind": "colour", "ignore_value": "#zzzzzz"}, "#rrggbb"),
])  # fmt: skip
def test_options_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(PluginInvalid, match=message):
        MaskEncoding(**options)


@given(
    values=arrays(
        np.uint8, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(0, 4)
    )
)
def test_index_objects_cover_exactly_what_is_not_background(tmp_path_factory, values):
    path = mask_file(tmp_path_factory.mktemp("m"), values)
    if not values.any():
        with pytest.raises(InvalidMask):
            MaskEncoding(kind="index").read(path)
        return
    masks = MaskEncoding(kind="index").read(path).masks
    rebuilt = sum(int(name) * mask for name, mask in masks.items())
    np.testing.assert_array_equal(rebuilt, values)


def test_size_is_a_share_of_the_image():
    mask = np.zeros((100, 100), dtype=bool)
    for rows, columns, size in (
        (9, 11, "small"),
        (10, 10, "medium"),
        (9, 111, "medium"),
        (10, 100, "large"),
    ):
        mask[:] = False
        mask.ravel()[: rows * columns] = True
        assert size_class(mask) == size


def test_targets_carry_id_label_size_and_ignore():
    mask, ignore = np.ones((2, 2), dtype=bool), np.zeros((2, 2), dtype=bool)
    named, alone = to_targets(DecodedMask({"3": mask, "": mask}, ignore), labels={"3": "cat"})
    assert (named.id, named.label, named.attributes["size"]) == ("3", "cat", "large")
    assert (alone.id, alone.label) == ("object", "")
    assert named.ignore is ignore
