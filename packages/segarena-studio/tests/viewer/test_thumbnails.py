"""Thumbnails: the colour that stands in for one while it loads."""

import cv2
import numpy as np
import pytest

from segarena_studio.viewer.thumbnails import dominant_colour


def test_the_dominant_colour_is_that_of_most_pixels_and_not_the_mean():
    picture = np.zeros((40, 60, 3), np.uint8)
    picture[:, :40] = (200, 80, 16)  # blue, green, red
    picture[:, 40:] = (10, 20, 250)
    _, data = cv2.imencode(".png", picture)
    assert dominant_colour(data.tobytes()) == "#1050c8"


def test_a_thumbnail_that_is_no_picture_is_refused():
    with pytest.raises(ValueError, match="expected a picture"):
        dominant_colour(b"no picture")
