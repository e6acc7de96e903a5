from __future__ import annotations

import cv2
import numpy as np
import pytest

from segarena.errors import DatasetError, InvalidInput, PluginInvalid
from segarena.systems.oneshot.pairs.image_sources import ClassMask
from segarena.systems.oneshot.tier_building.item_measures import (
    appearance_measure,
    colour_texture_histogram,
    difficulty_measure,
    index_measure,
    mask_iou,
    salience_measure,
)


class One:
    """One image with one mask."""

    def __init__(self, mask, image=None, ignore=None):
        self._mask = ClassMask(mask=np.asarray(mask, bool), ignore=ignore)
        self._image = np.zeros((*self._mask.mask.shape, 3), np.uint8) if image is None else image

    def image(self, image):
        return self._image

    def mask(self, label, image):
        return self._mask


def test_size_and_place_of_a_mask():
    mask = np.zeros((20, 40), bool)
    mask[5:15, 10:30] = True
    mask[9, 15:25] = False
    found = index_measure(One(mask), min_area_px=0)("a", "i")
    assert (found["height"], found["width"], found["area_px"], found["components"]) == (
        20,
        40,
        190,
        1,
    )
    assert found["box_share"] == 0.25
    assert found["centredness"] == 1.0
    assert found["left_out"] == ""


def test_a_pixel_in_the_corner_is_hardly_central_and_two_make_two_parts():
    mask = np.zeros((100, 100), bool)
    mask[0, 0] = True
    assert index_measure(One(mask), min_area_px=0)("a", "i")["centredness"] == pytest.approx(0.01)
    mask[99, 99] = True
    assert index_measure(One(mask), min_area_px=0)("a", "i")["components"] == 2


def test_the_hash_knows_every_pixel_of_image_and_mask():
    mask = np.ones((4, 5), bool)
    hashes = {index_measure(One(mask), min_area_px=0)("a", "i")["sha256"]}
    image = np.zeros((4, 5, 3), np.uint8)
    image[3, 4, 2] = 1
    hashes.add(index_measure(One(mask, image), min_area_px=0)("a", "i")["sha256"])
    other = mask.copy()
    other[0, 0] = False
    hashes.add(index_measure(One(other), min_area_px=0)("a", "i")["sha256"])
    assert len(hashes) == 3


def test_what_cannot_be_used_says_why(squares):
    source = squares()
    source.broken = {"red1"}
    measure = index_measure(source, min_area_px=100)
    assert measure("red", "red1")["left_out"] == "mask of red1 is broken"
    assert (
        index_measure(source, min_area_px=1000)("red", "red0")["left_out"]
        == "224 pixels are fewer than 1000"
    )
    assert (
        index_measure(One(np.zeros((3, 3))), min_area_px=0)("a", "i")["left_out"]
        == "the mask is empty"
    )
    wrong = One(np.ones((3, 3)), np.zeros((4, 4, 3), np.uint8))
    assert (
        "expected (4, 4), got (3, 3)" in index_measure(wrong, min_area_px=0)("a", "i")["left_out"]
    )


def test_salience_is_the_overlap_with_what_stands_out(squares, tmp_path):
    source = squares()
    strong, faint = (
        salience_measure(source, "boundary-contrast", threshold=0.5)("red", name)
        for name in ("red0", "red1")
    )
    assert strong["salience"] > 0.8 > 0.4 > faint["salience"]
    values = np.zeros((48, 64), np.uint8)
    values[source.mask("red", "red0").mask] = 200
    values[0] = 255  # 64 pixels beside the square of 224
    cv2.imwrite(str(tmp_path / "red0.png"), values)
    measure = salience_measure(source, str(tmp_path), threshold=0.5)
    assert measure("red", "red0")["salience"] == pytest.approx(224 / (224 + 64))


def test_difficulty_from_a_table(squares, tmp_path):
    file = tmp_path / "ious.csv"
    file.write_text("class,image,iou\nred,red0,0.75\n")
    measure = difficulty_measure(squares(), str(file))
    assert measure("red", "red0") == {"difficulty": 0.75}
    assert measure("red", "red1") == {"difficulty": None}
    for text, message in (
        ("class,iou\na,1\n", "class, image, iou"),
        ("class,image,iou\na,b,75\n", "of 0 to 1"),
    ):
        file.write_text(text)
        with pytest.raises(DatasetError, match=message):
            difficulty_measure(squares(), str(file))


def test_a_table_without_a_column_names_the_column(squares, tmp_path):
    file = tmp_path / "iou.csv"
    file.write_text("class,image\nx,y\n")
    with pytest.raises(
        DatasetError, match=r"expected columns class, image, iou; missing: iou$"
    ) as caught:
        difficulty_measure(squares(), str(file))
    assert "KeyError" not in str(caught.value)


def test_difficulty_from_predicted_masks(squares, tmp_path):
    source = squares()
    (tmp_path / "red").mkdir()
    cv2.imwrite(str(tmp_path / "red" / "red0.png"), np.full((48, 64), 255, np.uint8))
    measure = difficulty_measure(source, str(tmp_path))
    assert measure("red", "red0")["difficulty"] == pytest.approx(224 / (48 * 64))
    assert measure("red", "red2")["difficulty"] is None


def test_difficulty_from_a_segmenter_that_is_shown_the_item_itself(squares):
    source = squares()
    copied = difficulty_measure(source, "copy-support-mask")
    assert copied("red", "red0")["difficulty"] == 1
    seen = difficulty_measure(source, "superpixel-prototypes(superpixels=60)")
    assert seen("red", "red0")["difficulty"] > seen("red", "red1")["difficulty"]
    with pytest.raises(PluginInvalid, match="accepts supports"):
        difficulty_measure(source, "grabcut")
    with pytest.raises(InvalidInput, match="no such path"):
        difficulty_measure(source, "predictions/none")


def test_void_pixels_count_nowhere():
    mask, ignore = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    mask[:2], ignore[1:3] = True, True
    assert mask_iou(np.ones((4, 4), bool), ClassMask(mask=mask, ignore=ignore)) == 0.5
    assert mask_iou(~mask & mask, ClassMask(mask=mask & ~mask)) == 0


def test_looks_are_unit_vectors_alike_for_one_colour(squares):
    source = squares()
    measure = appearance_measure(source, "colour-texture")
    red, other, blue = (
        np.array(measure(*item)["looks"])
        for item in (("red", "red0"), ("red", "red2"), ("blue", "blue0"))
    )
    assert np.linalg.norm(red) == pytest.approx(1)
    assert red @ other > 0.95
    assert red @ blue < 0.8


def test_a_histogram_counts_the_masks_pixels_alone():
    image = np.zeros((10, 10, 3), np.uint8)
    image[:, 5:] = 255
    mask = np.zeros((10, 10), bool)
    mask[:, :5] = True
    black = colour_texture_histogram(image, mask)
    assert black.shape == (266,)
    assert (black[:256] > 0).sum() == 1
    assert (colour_texture_histogram(image, mask | ~mask)[:256] ** 2).max() == pytest.approx(0.5)


def test_looks_may_be_a_function_of_a_file(squares, tmp_path):
    (tmp_path / "mine.py").write_text(
        "def mean(crop):\n    return crop.mean((0, 1))\n\ndef none(crop):\n    return [0]\n"
    )
    red = np.array(
        appearance_measure(squares(), f"{tmp_path}/mine.py:mean")("red", "red0")["looks"]
    )
    assert red.argmax() == 0
    with pytest.raises(InvalidInput, match="not all 0"):
        appearance_measure(squares(), f"{tmp_path}/mine.py:none")("red", "red0")
    with pytest.raises(InvalidInput, match="expected colour-texture"):
        appearance_measure(squares(), "clip")
