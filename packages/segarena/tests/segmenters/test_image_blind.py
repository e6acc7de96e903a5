"""The image-blind control, compared with the distance of every pixel to every prompt."""

import numpy as np

from segarena.dialogue import Dialogue
from segarena.prompts import Click
from segarena.samples import ImageSample
from segarena.segmenters.drawing import nearest_prompt
from segarena.segmenters.image_blind import ImageBlind

SHAPE = (30, 40)


def answer(shape, *clicks):
    segmenter = ImageBlind()
    image = np.random.default_rng(0).integers(0, 255, (*shape, 3), dtype=np.uint8)
    (prediction,) = segmenter.predict(
        segmenter.encode(ImageSample(id="noise", image=image)), [Dialogue(rounds=(tuple(clicks),))]
    )
    return prediction.mask


def test_each_pixel_goes_with_the_nearest_click_or_the_frame(rng):
    clicks = [
        Click((int(r), int(c)), is_positive=bool(k % 2))
        for k, (r, c) in enumerate(rng.integers(5, 25, (6, 2)))
    ]
    rows, columns = np.mgrid[:30, :40]
    away = [
        (rows - click.position[0]) ** 2 + (columns - click.position[1]) ** 2 for click in clicks
    ]
    edge = np.minimum(np.minimum(rows + 1, 30 - rows), np.minimum(columns + 1, 40 - columns)) ** 2
    signs = np.array([*(click.is_positive for click in clicks), False])
    every = np.stack([*away, edge])
    found, nearest_ = answer(SHAPE, *clicks), np.sort(every, axis=0)
    is_clear = nearest_[0] < nearest_[1]  # of equally near ones either may win
    np.testing.assert_array_equal(found[is_clear], signs[every.argmin(axis=0)][is_clear])
    assert found.dtype == np.bool_


def test_without_an_object_marked_nothing_is_segmented():
    assert not answer(SHAPE).any()
    assert not answer(SHAPE, Click((10, 10), is_positive=False)).any()


def test_several_objects_have_their_numbers():
    found = answer(SHAPE, Click((15, 10), object_id=1), Click((15, 30), object_id=2))
    assert (found.dtype, found[15, 10], found[15, 30], found[0, 0]) == (np.uint8, 1, 2, 0)


def test_large_images_are_filled_on_a_coarser_grid_and_keep_their_size(monkeypatch):
    exact = answer(SHAPE, Click((15, 20)))
    monkeypatch.setattr(nearest_prompt, "MOST_POINTS", 400)
    coarse = answer(SHAPE, Click((15, 20)))
    assert coarse.shape == SHAPE
    assert 0.7 < (coarse & exact).sum() / (coarse | exact).sum() < 1
