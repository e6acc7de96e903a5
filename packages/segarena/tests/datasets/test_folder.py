"""Your own photographs and masks: pairing, names of targets, and all errors."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from segarena.datasets.folder import Folder
from segarena.errors import DatasetError, DatasetMissing, PluginInvalid, SampleInvalid
from segarena.registry import build
from segarena.roles import Dataset


def photograph(path, rows=6, columns=8):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(
        np.random.default_rng((rows, columns)).integers(0, 256, (rows, columns, 3), dtype=np.uint8)
    ).save(path)


def mask(path, values=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    default = np.zeros((6, 8), dtype=np.uint8)
    default[2:4, 1:5] = 255
    Image.fromarray(default if values is None else np.asarray(values, dtype=np.uint8)).save(path)


@pytest.fixture
def root(tmp_path):
    photograph(tmp_path / "images" / "a.png")
    mask(tmp_path / "masks" / "a.png")
    return tmp_path


def test_folder_is_a_dataset_named_after_its_folder(root):
    found = build("dataset", f"folder(path={str(root)!r})")
    assert isinstance(found, Dataset)
    assert found.name == root.name
    assert Folder(path=str(root), name="mine").name == "mine"


def test_one_mask_gives_the_target_object(root):
    sample = Folder(path=str(root)).load("a")
    (target,) = sample.targets
    assert sample.image.shape == (6, 8, 3)
    assert target.id == "object"
    assert target.mask[2:4, 1:5].all()
    assert target.mask.sum() == 8
    assert target.ignore is None
    assert target.attributes == {"size": "large"}


def test_objects_in_files_of_their_own_are_called_after_them(root):
    photograph(root / "images" / "city" / "b__1.jpg")
    mask(root / "masks" / "city" / "b__1__dog.png")
    mask(root / "masks" / "city" / "b__1" / "cat.png")
    found = Folder(path=str(root))
    assert found.sample_ids == ("a", "city/b__1")
    assert {target.id for target in found.load("city/b__1").targets} == {"dog", "cat"}


def test_the_longest_image_name_owns_a_mask(root):
    photograph(root / "images" / "a__b.png")
    mask(root / "masks" / "a__b__c.png")
    found = Folder(path=str(root))
    assert [target.id for target in found.load("a").targets] == ["object"]
    assert [target.id for target in found.load("a__b").targets] == ["c"]


def test_values_in_object_files_are_named_with_both(root):
    photograph(root / "images" / "b.png")
    mask(root / "masks" / "b__left.png", np.eye(6, 8) * 3)
    mask(root / "masks" / "a.png", np.eye(6, 8) * 7)
    found = Folder(path=str(root), encoding="index")
    assert [target.id for target in found.load("b").targets] == ["left/3"]
    assert [target.id for target in found.load("a").targets] == ["7"]


def test_ignored_pixels_of_several_files_are_joined(root):
    values = np.zeros((6, 8))
    values[0, 0], values[5, 5] = 255, 1
    mask(root / "masks" / "a.png", values)
    mask(root / "masks" / "a__other.png", values[::-1])
    target, other = Folder(path=str(root), ignore_value=255).load("a").targets
    assert target.mask.sum() == other.mask.sum() == 1
    assert sorted(zip(*map(list, np.nonzero(target.ignore)), strict=True)) == [(0, 0), (5, 0)]


def test_objects_smaller_than_asked_are_no_targets(root):
    values = np.zeros((6, 8))
    values[0, :2], values[3, :5] = 1, 2
    mask(root / "masks" / "a.png", values)
    assert [
        t.id for t in Folder(path=str(root), encoding="index", min_area_px=3).load("a").targets
    ] == ["2"]
    found = Folder(path=str(root), encoding="index", min_area_px=9)
    assert found.load("a").targets == ()
    assert "no targets" in next(finding.message for finding in found.check() if finding.is_error)


def test_samples_are_in_order_of_their_path(root):
    for name in ("b/2.png", "b/10.png", "C.png"):
        photograph(root / "images" / name)
        mask(root / "masks" / name)
    assert Folder(path=str(root)).sample_ids == ("C", "a", "b/10", "b/2")


def test_a_missing_folder_is_named_with_the_layout(tmp_path):
    with pytest.raises(
        DatasetMissing,
        match=r"images: expected a folder with images, found none; the layout is PATH",
    ):
        Folder(path=str(tmp_path))
    photograph(tmp_path / "images" / "a.png")
    with pytest.raises(DatasetMissing, match=r"masks: expected a folder with masks, found none"):
        Folder(path=str(tmp_path))


def test_a_folder_without_images_is_missing_them(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "masks").mkdir()
    with pytest.raises(DatasetMissing, match=r"images: expected image files .*, found none"):
        Folder(path=str(tmp_path))


def test_two_images_of_one_name_are_refused(root):
    photograph(root / "images" / "a.jpg")
    with pytest.raises(
        DatasetError, match=r"a.png and .*a.jpg: expected one image of this name, got two"
    ):
        Folder(path=str(root))


def test_two_masks_of_one_object_are_refused(root):
    mask(root / "masks" / "a.bmp")
    with pytest.raises(
        SampleInvalid, match=r"a.png: object 'object' has a mask in another file too"
    ):
        Folder(path=str(root)).load("a")


def test_files_without_partner_fail_to_load_and_are_named_by_the_check(root):
    photograph(root / "images" / "lonely.png")
    mask(root / "masks" / "orphan.png")
    found = Folder(path=str(root))
    assert found.sample_ids == ("a", "lonely", "orphan")
    with pytest.raises(
        SampleInvalid, match=r"sample 'lonely': .*lonely.png: image without mask; expected one in"
    ):
        found.load("lonely")
    with pytest.raises(SampleInvalid, match=r"sample 'orphan': .*orphan.png: mask without image"):
        found.load("orphan")
    assert [finding.is_error for finding in found.check()] == [True, True, False]


def test_files_without_partner_can_be_skipped(root):
    photograph(root / "images" / "lonely.png")
    mask(root / "masks" / "orphan.png")
    found = Folder(path=str(root), unpaired="skip")
    assert found.sample_ids == ("a",)
    odd, counts = found.check()
    assert not odd.is_error
    assert "images or masks without a counterpart are skipped (2)" in odd.message
    assert "lonely.png" in odd.message
    assert "orphan.png" in odd.message
    assert (
        "1 target (1 large) in 1 readable photograph; image sides 6 to 8 pixels" in counts.message
    )


def test_bad_options_are_refused_at_once(root):
    with pytest.raises(
        PluginInvalid, match="unpaired: expected one of 'error', 'skip'; got 'ignore'"
    ):
        build("dataset", f"folder(path={str(root)!r}, unpaired='ignore')")
    with pytest.raises(
        PluginInvalid, match="encoding: expected one of 'binary', 'index', 'colour'; got 'png'"
    ):
        build("dataset", f"folder(path={str(root)!r}, encoding='png')")


def _truncate(root):
    path = root / "images" / "a.png"
    path.write_bytes(path.read_bytes()[:60])


def _alpha(root):
    Image.fromarray(np.zeros((6, 8, 4), dtype=np.uint8)).save(root / "masks" / "a.png")


def _palette(root):
    image = Image.new("P", (8, 6), 1)
    image.putpalette([255, 255, 255, 0, 0, 0])
    image.save(root / "masks" / "a.png")


@pytest.mark.parametrize(("spoil", "message"), [
    (_truncate, r"sample 'a': .*a.png: expected a readable image file, got: .*; copy or export it again"),
    (lambda root: (root / "masks" / "a.png").write_text("no"), r"masks.a.png: expected a readable image file"),
    (lambda root: (root / "images" / "a.png").unlink(), r"images.a.png: expected an image file here, got none"),
    (lambda root: mask(root / "masks" / "a.png", np.ones((6, 7))), r"of a.png, 8 x 6 pixels, got 7 x 6; resize"),
    (lambda root: mask(root / "masks" / "a.png", np.ones((8, 6))), r"8 x 6 pixels, got 6 x 8; .* 90 degrees"),
    (lambda root: mask(root / "masks" / "a.png", np.zeros((6, 8))), r"expected at least one object pixel, got none"),
    (lambda root: mask(root / "masks" / "a.png", np.arange(48).reshape(6, 8)), r"'binary' expects 0 and one other"),
    (_alpha, r"expected an opaque mask, got one with transparent pixels"),
    (_palette, r"expected a palette whose colour 0 alone is black"),
])  # fmt: skip
def test_a_bad_sample_says_which_file_and_why(root, spoil, message):
    found = Folder(path=str(root))
    spoil(root)
    with pytest.raises(SampleInvalid, match=message) as caught:
        found.load("a")
    assert "\n" not in str(caught.value)
    assert next(finding for finding in found.check() if finding.is_error).message == str(
        caught.value
    )


def test_an_unknown_sample_names_the_near_ones(root):
    photograph(root / "images" / "street.png")
    mask(root / "masks" / "street.png")
    with pytest.raises(SampleInvalid, match=r"has no sample 'streets'; did you mean 'street'\?"):
        Folder(path=str(root)).load("streets")
    with pytest.raises(SampleInvalid, match="see sample_ids"):
        Folder(path=str(root)).load("zzzzzz")


def test_construction_decodes_nothing(root):
    (root / "images" / "a.png").write_bytes(b"")
    assert Folder(path=str(root)).sample_ids == ("a",)
