"""`check` of your own photographs: copies, names that look the same, names that differ in case."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from PIL import Image

from segarena.datasets.file_names import NameIndex, confusable_names
from segarena.datasets.folder import Folder
from segarena.errors import SampleInvalid

COMPOSED = unicodedata.normalize("NFC", "straße-grün")
DECOMPOSED = unicodedata.normalize("NFD", "straße-grün")


def photograph(path, seed, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (8, 9, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, **options)


def mask(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.zeros((8, 9), dtype=np.uint8)
    values[:rows] = 255
    Image.fromarray(values).save(path)


def remarks(found):
    """Return the findings of a dataset that are not errors, except its counts."""
    findings = found.check()
    assert not [finding.message for finding in findings if finding.is_error]
    return [finding.message for finding in findings[:-1]]


def test_equal_pixels_are_named_whatever_the_file(tmp_path):
    photograph(tmp_path / "images" / "a.png", 1)
    photograph(tmp_path / "images" / "b.png", 1, compress_level=0)
    photograph(tmp_path / "images" / "c.bmp", 1)
    photograph(tmp_path / "images" / "d.png", 2)
    for name in "abcd":
        mask(tmp_path / "masks" / f"{name}.png", 3)
    (said,) = remarks(Folder(path=str(tmp_path)))
    assert said.startswith("samples with the same pixels as an earlier one (2)")
    assert "b = a, c = a" in said


def test_a_mask_that_occurs_twice_in_an_image_is_named(tmp_path):
    photograph(tmp_path / "images" / "a.png", 1)
    photograph(tmp_path / "images" / "b.png", 2)
    for name, rows in (("a__cat", 3), ("a__dog", 3), ("a__sky", 2), ("b__cat", 3)):
        mask(tmp_path / "masks" / f"{name}.png", rows)
    (said,) = remarks(Folder(path=str(tmp_path)))
    assert said.startswith("targets with the same mask as another target of their sample (1)")
    assert "dog = cat in a" in said


def test_names_that_differ_in_case_are_named(tmp_path):
    for number, name in enumerate(("A", "a", "b/c", "B/c")):
        photograph(tmp_path / "images" / f"{name}.png", number)
        mask(tmp_path / "masks" / f"{name}.png", number + 1)
    if len(Folder(path=str(tmp_path)).sample_ids) < 4:
        pytest.skip("this file system ignores case")
    images, masks = remarks(Folder(path=str(tmp_path)))
    assert "names that differ only in upper and lower case" in images
    assert "images/A.png and images/a.png" in images
    assert "masks/B/c.png and masks/b/c.png" in masks


@pytest.mark.parametrize(("image", "masked"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
@pytest.mark.parametrize("ending", ["", "__ohr", "/ohr"])
def test_masks_are_matched_across_unicode_forms_and_it_is_said(tmp_path, image, masked, ending):
    photograph(tmp_path / "images" / f"{image}.png", 1)
    mask(tmp_path / "masks" / f"{masked}{ending}.png", 3)
    found = Folder(path=str(tmp_path))
    assert found.sample_ids == (image,)
    assert [target.id for target in found.load(image).targets] == [ending.strip("_/") or "object"]
    (said,) = remarks(found)
    assert said.startswith("names of 1 masks have other Unicode forms (NFC, NFD)")
    assert found.assumptions([image]) == (said,), "a run records it"


def test_both_forms_of_a_name_are_told_apart_and_named(tmp_path):
    for number, name in enumerate((COMPOSED, DECOMPOSED)):
        photograph(tmp_path / "images" / f"{name}.png", number)
        mask(tmp_path / "masks" / f"{name}.png", number + 1)
    found = Folder(path=str(tmp_path))
    if len(found.sample_ids) < 2:
        pytest.skip("this file system normalizes names")
    said = remarks(found)
    assert len(said) == 2
    assert all(
        "names with composed and with decomposed letters (NFC and NFD), which look the same (1)"
        in one
        for one in said
    )
    for number, name in enumerate((COMPOSED, DECOMPOSED)):
        assert found.load(name).targets[0].mask.sum() == 9 * (number + 1)


def test_a_mask_that_looks_like_two_images_belongs_to_neither(tmp_path):
    forms = ("\u212bx", "\u00c5x", "A\u030ax")  # Angstrom sign, A with ring, A and ring
    index = NameIndex(forms[:2])
    assert index.find(forms[0]) == forms[0]
    assert index.find(forms[2]) is None
    for number, name in enumerate(forms[:2]):
        photograph(tmp_path / "images" / f"{name}.png", number)
    mask(tmp_path / "masks" / f"{forms[2]}.png", 2)
    found = Folder(path=str(tmp_path))
    if len(found.sample_ids) < 3:
        pytest.skip("this file system normalizes names")
    with pytest.raises(SampleInvalid, match="mask without image"):
        found.load(forms[2])


def test_the_longest_image_name_owns_a_mask_in_any_unicode_form(tmp_path):
    photograph(tmp_path / "images" / "a.png", 1)
    photograph(tmp_path / "images" / f"a__{DECOMPOSED}.png", 2)
    mask(tmp_path / "masks" / "a.png", 1)
    mask(tmp_path / "masks" / f"a__{COMPOSED}.png", 2)
    found = Folder(path=str(tmp_path))
    assert len(found.load("a").targets) == 1
    assert found.load(f"a__{DECOMPOSED}").targets[0].mask.sum() == 18


def test_ordinary_names_are_not_remarked_on():
    assert list(confusable_names(["a.png", "b/a.png", "ä.png", "c/a.png"])) == []
