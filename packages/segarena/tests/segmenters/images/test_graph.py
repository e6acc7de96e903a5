from __future__ import annotations

import numpy as np
import pytest

from segarena.dialogue import Dialogue, Prediction
from segarena.prompts import Box, Click
from segarena.samples import ImageSample
from segarena.segmenters.images.graph import GraphSegmenter


def walls(bumps):
    """A row of nine pixels, each its own superpixel, grey steps of these heights between them."""
    row = np.concatenate(([100], 100 + np.cumsum(bumps))).astype(np.uint8)
    return ImageSample(id="walls", image=np.repeat(row[None, :, None], 3, axis=2))


def segment(segmenter, sample, *clicks):
    return segmenter.predict(segmenter.encode(sample), [Dialogue((clicks,))])[0].mask[0]


def test_along_equal_steps_the_border_of_two_clicks_lies_half_way():
    # No restarts and a threshold of one half: the probability falls linearly from 1 to 0, as voltage does.
    segmenter = GraphSegmenter(
        restart=0.0, threshold=0.5, radius_px=0, band_px=0, border_weight=0.0
    )
    mask = segment(segmenter, walls([0] * 8), Click((0, 0)), Click((0, 7), is_positive=False))
    assert mask.tolist() == [True] * 4 + [False] * 5


def test_one_strong_step_is_where_the_border_of_two_clicks_lies():
    segmenter = GraphSegmenter(
        restart=0.0, threshold=0.5, radius_px=0, band_px=0, border_weight=0.0
    )
    mask = segment(
        segmenter, walls([1, 1, 1, 1, 1, 90, 1, 1]), Click((0, 0)), Click((0, 8), is_positive=False)
    )
    assert mask.tolist() == [True] * 6 + [False] * 3


def test_a_higher_threshold_never_gives_more():
    rng = np.random.default_rng(0)
    sample = ImageSample(id="noise", image=rng.integers(90, 130, (40, 60, 3)).astype(np.uint8))
    areas = []
    for threshold in (0.1, 0.2, 0.3, 0.4):
        segmenter = GraphSegmenter(threshold=threshold, band_px=0)
        dialogue = Dialogue(((Click((20, 30)),),))
        areas.append(
            np.count_nonzero(segmenter.predict(segmenter.encode(sample), [dialogue])[0].mask)
        )
    assert areas == sorted(areas, reverse=True)
    assert areas[0] > areas[-1]


@pytest.mark.parametrize("superpixels", [4, 40])
def test_clicks_of_both_kinds_in_one_superpixel_split_it_where_they_are_equally_near(superpixels):
    sample = ImageSample(id="flat", image=np.full((40, 60, 3), 90, np.uint8))
    segmenter = GraphSegmenter(superpixels=superpixels, radius_px=0, band_px=0)
    graph = segmenter.encode(sample).graph
    pixels = graph.pixels(int(graph.labels[20, 30]))
    rows, columns = np.divmod(pixels, 60)
    row = int(np.median(rows))
    inside = columns[rows == row]
    left, right = int(inside[0]), int(inside[-1])
    assert left < right
    encoded = segmenter.encode(sample)
    dialogue = Dialogue(((Click((row, left)), Click((row, right), is_positive=False)),))
    mask = segmenter.predict(encoded, [dialogue])[0].mask
    assert np.array_equal(mask[rows, columns], np.abs(columns - left) <= np.abs(columns - right))


def halves(step):
    """Return a photograph of two flat halves that differ by a grey step, and the mask of the left one."""
    image = np.full((120, 160, 3), 100, np.uint8)
    image[:, 80:] += np.uint8(step)
    left = np.zeros((120, 160), bool)
    left[:, :80] = True
    return ImageSample(id="halves", image=image), left


def answer(sample, rounds, previous, **options):
    segmenter = GraphSegmenter(**options)
    dialogue = Dialogue(tuple(rounds), Prediction(previous))
    return segmenter.predict(segmenter.encode(sample), [dialogue])[0].mask


def test_a_click_beside_the_border_of_a_good_mask_does_not_add_the_background():
    sample, left = halves(2)
    rounds = [(Click((60, 40)),), (Click((60, 84)),)]
    far = answer(sample, rounds, left, local=False)
    assert np.count_nonzero(far & ~left) > 0.5 * left.sum()
    near = answer(sample, rounds, left)
    assert near[60, 84]
    assert not (left & ~near).any()
    rows, columns = np.nonzero(near & ~left)
    assert np.hypot(rows - 60, columns - 84).max() <= 15


def test_a_negative_click_beside_the_border_of_a_good_mask_does_not_remove_it():
    sample, left = halves(2)
    rounds = [(Click((60, 4)),), (Click((60, 76), is_positive=False),)]
    far = answer(sample, rounds, left, local=False)
    assert np.count_nonzero(left & ~far) > 0.1 * left.sum()
    near = answer(sample, rounds, left)
    assert not near[60, 76]
    assert not (near & ~left).any()
    rows, columns = np.nonzero(left & ~near)
    assert np.hypot(rows - 60, columns - 76).max() <= 15


def test_a_click_deep_in_an_error_reaches_three_times_as_far_as_it_is_deep():
    sample, left = halves(0)
    small = left.copy()
    small[:, 40:] = False
    rounds = [(Click((60, 10)),), (Click((60, 120)),)]
    mask = answer(sample, rounds, small)
    # 80 pixels from the mask: all of the photograph is within reach.
    np.testing.assert_array_equal(mask, answer(sample, rounds, small, local=False))


def test_prompts_that_show_the_whole_object_change_the_whole_mask():
    sample, left = halves(2)
    rounds = [(Click((60, 40)),), (Box((0, 0), (120, 160)),)]
    whole = answer(sample, rounds, left, local=False)
    np.testing.assert_array_equal(answer(sample, rounds, left), whole)
