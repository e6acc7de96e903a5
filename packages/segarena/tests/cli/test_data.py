"""`segarena data check`."""

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
    answer = segarena("data", "check", "demo")
    assert answer.exit_code == 0
    assert "10 readable samples" in answer.stdout


def test_an_error_in_the_data_is_named_and_ends_with_1(segarena, photos):
    answer = segarena("data", "check", "folder", "photos")
    assert answer.exit_code == 1
    assert "two.png: image without mask" in " ".join(answer.stdout.split())


def test_a_folder_in_order_ends_with_0(segarena, photos):
    (photos / "images" / "two.png").unlink()
    answer = segarena("data", "check", "folder", "photos")
    assert answer.exit_code == 0, answer.output
    assert "1 target" in answer.stdout


def test_options_may_be_written_beside_the_path(segarena, photos):
    answer = segarena("data", "check", "folder(unpaired='skip')", "photos")
    assert answer.exit_code == 0, answer.output


def test_nothing_to_look_at_ends_with_2(refused):
    assert "nowhere/images: expected a folder with images, found none" in refused(
        "data", "check", "folder", "nowhere"
    )
    assert "missing a required argument: 'path'" in refused("data", "check", "folder")
    assert "did you mean 'folder'" in refused("data", "check", "foldre", "photos")
