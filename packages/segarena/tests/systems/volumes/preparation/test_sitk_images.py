import sys

import numpy as np
import pytest
import SimpleITK as sitk

from segarena.errors import InvalidImage, SampleInvalid, StoreError
from segarena.systems.volumes.preparation.sitk_images import (
    check_label_grid,
    image_to_labels,
    link_or_copy,
    read_image,
    to_smallest_type,
    write_labels,
)
from segarena.systems.volumes.preparation.sitk_images import write_image as write

OBLIQUE = (0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


def test_a_volume_comes_back_with_its_place(write_volume, tmp_path):
    voxels = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    image = read_image(
        write_volume(tmp_path / "a.nrrd", voxels, (0.5, 0.7, 3.0), (1.0, 2.0, 3.0), OBLIQUE)
    )
    written = tmp_path / "imagesTr" / "a_0000.nii.gz"
    write(image, written)
    again = read_image(written)
    assert np.array_equal(sitk.GetArrayFromImage(again), voxels)
    for fact in ("GetSpacing", "GetOrigin", "GetDirection"):
        assert np.allclose(getattr(again, fact)(), getattr(image, fact)(), atol=1e-6)
    assert [path.name for path in written.parent.iterdir()] == ["a_0000.nii.gz"]


@pytest.mark.parametrize("ending", [".nii", ".nii.gz", ".nrrd", ".mha"])
def test_a_truncated_volume_is_refused_in_every_format(write_volume, tmp_path, ending, capfd):
    voxels = np.random.default_rng(0).integers(0, 999, (9, 9, 9)).astype(np.int16)
    path = write_volume(tmp_path / f"a{ending}", voxels)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidImage, match="export"):
        read_image(path)


def test_a_fourth_axis_of_length_1_is_dropped_and_others_are_refused(tmp_path):
    for length in (1, 2):
        series = sitk.JoinSeries([sitk.Image(3, 4, 5, sitk.sitkInt16)] * length)
        sitk.WriteImage(series, str(tmp_path / f"{length}.nrrd"))
    assert read_image(tmp_path / "1.nrrd").GetSize() == (3, 4, 5)
    with pytest.raises(InvalidImage, match="three axes"):
        read_image(tmp_path / "2.nrrd")


def test_whole_floats_are_labels_and_others_are_not():
    assert image_to_labels(sitk.GetImageFromArray(np.array([[[0.0, 2.0]]])), "a").tolist() == [
        [[0, 2]]
    ]
    for odd in (1.5, np.nan, -1.0):
        with pytest.raises(SampleInvalid, match="expected"):
            image_to_labels(sitk.GetImageFromArray(np.array([[[0.0, odd]]])), "a")


def test_sizes_must_agree_and_other_headers_are_noted():
    image, label = sitk.Image(3, 4, 5, sitk.sitkInt16), sitk.Image(3, 4, 5, sitk.sitkUInt8)
    assert check_label_grid(label, image, "a") == ()
    label.SetSpacing((1, 1, 2))
    assert "header differs" in check_label_grid(label, image, "a")[0]
    with pytest.raises(SampleInvalid, match=r"expected the size of its image, \(3, 4, 5\)"):
        check_label_grid(sitk.Image(3, 4, 4, sitk.sitkUInt8), image, "a")


@pytest.mark.parametrize(("highest", "dtype"), [(255, "uint8"), (256, "uint16"), (65536, "uint32")])
def test_labels_take_the_smallest_type_that_holds_them(highest, dtype):
    assert to_smallest_type(np.array([0, highest])).dtype == dtype


def test_overlapping_classes_are_a_folder_that_replaces_the_old_one(tmp_path, read_array):
    image = sitk.Image(2, 1, 1, sitk.sitkInt16)
    one, both = np.array([[[1, 0]]], np.uint8), np.array([[[1, 1]]], np.uint8)
    write_labels({"A": one, "Old": one}, image, tmp_path / "case")
    write_labels({"A": one, "B": both}, image, tmp_path / "case")
    assert sorted(path.name for path in (tmp_path / "case").iterdir()) == ["A.nii.gz", "B.nii.gz"]
    assert read_array(tmp_path / "case" / "B.nii.gz").tolist() == [[[1, 1]]]
    assert [path.name for path in tmp_path.iterdir()] == ["case"]


def test_a_file_is_copied_where_it_cannot_be_linked(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("one")
    link_or_copy(tmp_path / "a", tmp_path / "linked" / "a")
    assert (tmp_path / "linked" / "a").samefile(tmp_path / "a")

    def refuse(*_):
        raise OSError(1, "not on this disk")

    monkeypatch.setattr(type(tmp_path), "hardlink_to", refuse)
    link_or_copy(tmp_path / "a", tmp_path / "copied" / "a")
    link_or_copy(tmp_path / "a", tmp_path / "copied" / "a")
    assert (tmp_path / "copied" / "a").read_text() == "one"
    assert not (tmp_path / "copied" / "a").samefile(tmp_path / "a")


def test_a_file_that_does_not_fit_is_an_oserror_and_gets_no_name(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(
        sys, "dont_write_bytecode", True
    )  # Python would keep a module that was cut off
    noise = np.random.default_rng(0).integers(0, 30_000, (20, 30, 30)).astype(np.int16)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, before[1]))
    try:
        with pytest.raises(StoreError, match="File too large"):
            write(sitk.GetImageFromArray(noise), tmp_path / "a_0000.nii.gz")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (tmp_path / "a_0000.nii.gz").exists()


def test_what_cannot_be_written_is_an_oserror(tmp_path):
    (tmp_path / "imagesTr").write_text("in the way")
    with pytest.raises(StoreError, match="imagesTr"):
        write(sitk.Image(2, 1, 1, sitk.sitkInt16), tmp_path / "imagesTr" / "a_0000.nii.gz")
