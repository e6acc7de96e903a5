"""`segarena data check-dataset`."""

import json

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def photos(tmp_path):
    """A folder with two images; the first has a mask."""
    for folder in ("images", "masks"):
        (tmp_path / "photos" / folder).mkdir(parents=True)
    pixels = np.zeros((20, 30, 3), dtype=np.uint8)
    mask = np.zeros((20, 30), dtype=np.uint8)
    mask[5:12, 8:20] = 255
    for name in ("one", "two"):
        Image.fromarray(pixels).save(tmp_path / "photos" / "images" / f"{name}.png")
    Image.fromarray(mask).save(tmp_path / "photos" / "masks" / "one.png")
    return tmp_path / "photos"


def test_the_demo_data_are_in_order(segarena):
    answer = segarena("data", "check-dataset", "demo")
    assert answer.exit_code == 0
    assert "10 readable photographs" in answer.stdout


def test_an_error_in_the_data_is_named_and_ends_with_1(segarena, photos):
    answer = segarena("data", "check-dataset", "folder", "photos")
    assert answer.exit_code == 1
    assert "two.png: image without mask" in " ".join(answer.stdout.split())


def test_a_folder_in_order_ends_with_0(segarena, photos):
    (photos / "images" / "two.png").unlink()
    answer = segarena("data", "check-dataset", "folder", "photos")
    assert answer.exit_code == 0, answer.output
    assert "1 target" in answer.stdout


def test_options_may_be_written_beside_the_path(segarena, photos):
    answer = segarena("data", "check-dataset", "folder(unpaired='skip')", "photos")
    assert answer.exit_code == 0, answer.output


def test_nothing_to_look_at_ends_with_2(refused):
    assert "nowhere/images: expected a folder with images, found none" in refused(
        "data", "check-dataset", "folder", "nowhere"
    )
    assert "missing a required argument: 'path'" in refused("data", "check-dataset", "folder")
    assert "did you mean 'folder'" in refused("data", "check-dataset", "foldre", "photos")


def test_a_folder_is_taken_by_its_layout(segarena, photos):
    (photos / "images" / "two.png").unlink()
    answer = segarena("data", "check-dataset", "photos")
    assert answer.exit_code == 0, answer.output
    first, *_ = answer.stdout.splitlines()
    assert first == "dataset: folder(path='photos'): photographs in images/ with masks in masks/"
    assert "1 target" in answer.stdout


def test_a_path_needs_no_quotes(segarena, photos):
    (photos / "images" / "two.png").unlink()
    answer = segarena("data", "check-dataset", "folder(path=photos)")
    assert answer.exit_code == 0, answer.output


def test_a_run_takes_a_folder_and_says_how(segarena, photos):
    (photos / "images" / "two.png").unlink()
    (photos / "images").rename(photos / "JPEGImages")
    answer = segarena(
        *("run", "clicks", "-s", "everything", "-d", "photos", "--rounds", 1, "-w", 0, "-o", "out")
    )
    assert answer.exit_code == 0, answer.output
    assert "dataset: folder(path='photos', images='JPEGImages')" in answer.stderr
    run = json.loads((photos.parent / "out" / "run.json").read_text())
    assert run["dataset"]["name"] == "folder"
    assert run["dataset"]["samples"] == ["one"]


def test_a_folder_of_an_unknown_layout_is_told_the_known_ones(refused, tmp_path):
    (tmp_path / "things").mkdir()
    said = refused("data", "check-dataset", "things")
    assert "expected one of these layouts: images/ with masks/ next to it" in said
    assert "sbd(path='things')" in said


def test_a_dataset_comes_before_a_folder_of_its_name(segarena, photos):
    photos.rename(photos.parent / "demo")
    answer = segarena("data", "check-dataset", "demo")
    assert "10 readable photographs" in answer.stdout
