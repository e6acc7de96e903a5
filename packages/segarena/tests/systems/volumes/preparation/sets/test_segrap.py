import json
import zipfile

import numpy as np
import pytest

from segarena.errors import DatasetError
from segarena.systems.volumes.preparation.sets.segrap import SEGRAP_ORGANS


def patient(write_volume, raw, name, organs):
    write_volume(raw / "images" / name / "image.nii.gz", np.zeros((2, 3, 4), np.int16))
    write_volume(raw / "images" / name / "image_contrast.nii.gz", np.zeros((2, 3, 4), np.int16))
    for organ, mask in organs.items():
        write_volume(raw / "labels" / name / f"{organ}.nii.gz", np.asarray(mask, np.uint8))


def whole_and_part():
    whole = np.zeros((2, 3, 4))
    whole[:, 0] = 1
    part = whole.copy()
    part[0] = 0
    return whole, part


def test_overlapping_organs_are_files_of_their_own(tmp_path, write_volume, prepared, read_array):
    brain, stem = whole_and_part()
    patient(
        write_volume,
        tmp_path / "raw",
        "segrap_0001",
        {"BrainStem": stem, "Brain": brain, "Chiasm": 0 * stem},
    )
    result, summary = prepared("segrap")
    assert summary["counts"]["objects"] == {"all": 2}
    folder = tmp_path / "out" / "labelsTr" / "segrap_0001"
    assert sorted(path.name for path in folder.iterdir()) == ["Brain.nii.gz", "BrainStem.nii.gz"]
    assert np.array_equal(read_array(folder / "Brain.nii.gz"), brain)
    assert np.array_equal(read_array(folder / "BrainStem.nii.gz"), stem)
    assert result.cases[0].notes[0].startswith("without Chiasm, TemporalLobe_L")
    told = json.loads((tmp_path / "out" / "dataset.json").read_text())
    assert (told["kind"], told["layout"]) == ("organ", "file-per-class")
    assert (told["labels"]["Brain"], told["labels"]["Trachea"], len(told["labels"])) == (1, 45, 46)


def test_the_first_thirty_in_sorted_order_take_part(tmp_path, write_volume, prepared):
    brain, _ = whole_and_part()
    for number in reversed(range(32)):
        patient(
            write_volume,
            tmp_path / "raw",
            f"segrap_{number:04d}",
            {"Brain": brain} if number != 4 else {},
        )
    result, _ = prepared("segrap")
    assert len(result.cases) == 29
    assert result.failed == {"segrap_0004": "no organs for this image"}
    assert sorted(result.left_out) == ["segrap_0030", "segrap_0031"]


def test_the_archives_open_with_the_password_alone(tmp_path, write_volume, prepared):
    pyzipper = pytest.importorskip("pyzipper")
    brain, _ = whole_and_part()
    patient(write_volume, tmp_path / "made", "segrap_0000", {"Brain": brain})
    (tmp_path / "raw").mkdir()
    for folder, name in (
        ("images", "SegRap2023_Training_Set_120cases.zip"),
        ("labels", "SegRap2023_Training_Set_120cases_Update_Labels(Task001).zip"),
    ):
        with pyzipper.AESZipFile(
            tmp_path / "raw" / name, "w", zipfile.ZIP_STORED, encryption=pyzipper.WZ_AES
        ) as out:
            out.setpassword(b"made up")
            for path in sorted((tmp_path / "made" / folder).rglob("*.nii.gz")):
                out.write(path, path.relative_to(tmp_path / "made").as_posix())
    with pytest.raises(DatasetError, match="is encrypted"):
        prepared("segrap")
    with pytest.raises(DatasetError, match="is the password right"):
        prepared("segrap", password="wrong")
    result, _ = prepared("segrap", password="made up")
    assert [case.id for case in result.cases] == ["segrap_0000"]


def test_there_are_45_organs():
    assert len(SEGRAP_ORGANS) == len(set(SEGRAP_ORGANS)) == 45


def test_nifti_folder_reads_the_files_as_classes(tmp_path, write_volume, prepared):
    from segarena.systems.volumes.datasets.nifti_folder import NiftiFolder

    whole, part = whole_and_part()
    patient(write_volume, tmp_path / "raw", "segrap_0001", {"BrainStem": part, "Brain": whole})
    prepared("segrap")
    sample = NiftiFolder(path=str(tmp_path / "out")).load("segrap_0001")
    assert {target.id: int(target.mask.sum()) for target in sample.targets} == {
        "Brain": 8,
        "BrainStem": 4,
    }
