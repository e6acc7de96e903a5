"""`segarena data prepare`."""

import json

import numpy as np
import pytest
import SimpleITK as sitk


@pytest.fixture
def pengwin(tmp_path):
    """Two patients of PENGWIN in downloads/pengwin, the second without labels."""
    for folder, names in (("images", ("001", "002")), ("labels", ("001",))):
        (tmp_path / "downloads" / "pengwin" / folder).mkdir(parents=True)
        for name in names:
            path = tmp_path / "downloads" / "pengwin" / folder / f"{name}.mha"
            sitk.WriteImage(sitk.GetImageFromArray(np.ones((2, 3, 4), np.uint8)), str(path))
    return tmp_path / "downloads" / "pengwin"


@pytest.mark.parametrize("arguments", [[], ["--list"]])
def test_without_a_name_the_ten_are_listed(segarena, arguments):
    answer = segarena("data", "prepare", *arguments)
    assert answer.exit_code == 0
    lines = [line for line in answer.stdout.splitlines() if not line.startswith(" ")]
    assert [line.split()[1] for line in lines] == [f"D{number}" for number in range(1, 11)]
    assert "zenodo.org/records/10927452" in answer.stdout


def test_one_is_listed_by_its_name(segarena):
    answer = segarena("data", "prepare", "segrap", "--list")
    assert "30 cases" in answer.stdout
    assert "pengwin" not in answer.stdout


def test_what_is_there_is_prepared_and_what_is_not_is_named(segarena, pengwin, tmp_path):
    answer = segarena("data", "prepare", "pengwin")
    assert answer.exit_code == 1
    assert "pengwin: 1 case with 1 object; the paper states 100 cases" in answer.stdout
    assert "1 failed:\n  002: no label of that name" in answer.stdout
    assert "--dataset \"nifti-folder(path='prepared/pengwin', labels='instance')\"" in answer.stdout
    assert (
        segarena(
            "data", "check-dataset", "nifti-folder(labels='instance')", "prepared/pengwin"
        ).exit_code
        == 0
    )
    assert (
        json.loads((tmp_path / "prepared" / "pengwin" / "prepared.json").read_text())["counts"][
            "prepared"
        ]
        == 1
    )


def test_a_limit_that_all_cases_pass_ends_with_0(segarena, pengwin):
    (pengwin / "images" / "002.mha").rename(pengwin / "labels" / "002.mha")
    sitk.WriteImage(
        sitk.GetImageFromArray(np.ones((2, 3, 4), np.uint8)), str(pengwin / "images" / "002.mha")
    )
    answer = segarena(
        "data", "prepare", "pengwin", "--from", pengwin, "--out", "mine", "--limit", 1
    )
    assert answer.exit_code == 0, answer.output
    assert "1 case with 1 object; the paper states 100 cases (--limit)" in answer.stdout


def test_nothing_to_prepare_ends_with_2(refused):
    assert "download it with --fetch (7.5 GB" in refused("data", "prepare", "pengwin")
    assert "did you mean 'pengwin'?" in refused("data", "prepare", "penguin")
    assert "save 2 .tcia manifests" in refused("data", "prepare", "rider_lung")


def test_fetching_what_needs_a_person_says_what_to_save(refused):
    assert "expected 2 .tcia manifests, found 0" in refused(
        "data", "prepare", "rider_lung", "--fetch"
    )
