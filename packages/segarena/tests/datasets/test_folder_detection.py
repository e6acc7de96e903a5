"""Detection of the dataset that reads a folder."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segarena.datasets.dataset_spec import dataset_spec
from segarena.datasets.folder import Folder
from segarena.datasets.folder_detection import detect_dataset
from segarena.errors import DatasetMissing
from segarena.systems.volumes.datasets.nifti_folder import NiftiFolder


def photograph(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((4, 5, 3), np.uint8)).save(path)


def empty_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_masks_in_folders_of_classes_are_one_shot_data(tmp_path):
    photograph(tmp_path / "images/one.jpg")
    photograph(tmp_path / "images/two.jpg")
    photograph(tmp_path / "masks/apple/one.png")
    photograph(tmp_path / "masks/leaf/two.png")
    assert str(detect_dataset(tmp_path).spec) == f"oneshot-folder(path={str(tmp_path)!r})"


@pytest.mark.parametrize(
    ("image", "mask"),
    [
        ("images/one.jpg", "masks/one.png"),
        ("images/one.jpg", "masks/one/apple.png"),
        ("images/city/one.jpg", "masks/city/one.png"),
    ],
)
def test_masks_of_single_images_are_not_one_shot_data(tmp_path, image, mask):
    photograph(tmp_path / image)
    photograph(tmp_path / mask)
    assert detect_dataset(tmp_path).spec.reference == "folder"


@pytest.mark.parametrize(("images", "labels"), [("images", "labels"), ("imagesTr", "labelsTr")])
def test_volumes_with_labels(tmp_path, images, labels):
    empty_file(tmp_path / images / "case_0000.nii.gz")
    empty_file(tmp_path / labels / "case.nii.gz")
    detected = detect_dataset(tmp_path)
    assert detected.spec.reference == "nifti-folder"
    assert detected.layout == f"volumes in {images}/ with labels in {labels}/"


def test_videos_in_frames_and_masks(tmp_path):
    photograph(tmp_path / "frames/cat/0.jpg")
    photograph(tmp_path / "masks/cat/0.png")
    assert dataset_spec(str(tmp_path)).reference == "video-folder"


@pytest.mark.parametrize("has_scribbles", [False, True])
def test_videos_in_folders_by_resolution(tmp_path, has_scribbles):
    photograph(tmp_path / "JPEGImages/480p/cat/00000.jpg")
    photograph(tmp_path / "Annotations/480p/cat/00000.png")
    options = f"path={str(tmp_path)!r}, frames='JPEGImages/480p', masks='Annotations/480p'"
    if has_scribbles:
        empty_file(tmp_path / "Scribbles/cat/001.json")
        options += ", scribbles='Scribbles'"
    assert str(detect_dataset(tmp_path).spec) == f"video-folder({options})"


@pytest.mark.parametrize("level", ["photos/images", "."])
@pytest.mark.parametrize("read", [detect_dataset, lambda path: Folder(path=str(path))])
def test_a_folder_too_deep_or_too_high_gets_the_right_one_as_a_hint(tmp_path, level, read):
    photograph(tmp_path / "photos/images/one.jpg")
    photograph(tmp_path / "photos/masks/one.png")
    with pytest.raises(
        DatasetMissing, match=r"photos has photographs in images/ .*use -d \"folder"
    ):
        read(tmp_path / level)


def test_scans_given_to_the_dataset_of_photographs_name_the_dataset_of_scans(tmp_path):
    empty_file(tmp_path / "images/case.nii.gz")
    empty_file(tmp_path / "labels/case.nii.gz")
    with pytest.raises(DatasetMissing, match=r"volumes in images/ .*use -d \"nifti-folder"):
        Folder(path=str(tmp_path))


@pytest.mark.parametrize("level", ["scans/images", "."])
def test_scans_in_a_folder_too_deep_or_too_high_get_the_right_one_as_a_hint(tmp_path, level):
    empty_file(tmp_path / "scans/images/case.nii.gz")
    empty_file(tmp_path / "scans/labels/case.nii.gz")
    with pytest.raises(DatasetMissing, match=r"scans has volumes in images/ .*use -d \"nifti-f"):
        NiftiFolder(path=str(tmp_path / level))


def test_other_folders_are_rejected_with_the_layouts(tmp_path):
    photograph(tmp_path / "one.jpg")
    with pytest.raises(DatasetMissing, match=r"masks/CLASS/ .*labels/ next to it"):
        detect_dataset(tmp_path)
