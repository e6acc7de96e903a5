from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage

from segarena.prompts import Box, Click, Lasso, Scribble
from segarena_people.rasterization import rasterize_prompts

SHAPE = (20, 30)


def test_nothing_given_is_nothing_drawn():
    assert not rasterize_prompts([], SHAPE).any()


def test_thin_lines_are_their_pixels():
    assert np.argwhere(rasterize_prompts([Scribble(((3.0, 4.0), (3.0, 7.0)))], SHAPE)).tolist() == [
        [3, c] for c in range(4, 8)
    ]
    assert np.argwhere(rasterize_prompts([Click((5, 6)), Click((2, 9, 1))], SHAPE)).tolist() == [
        [5, 6],
        [9, 1],
    ]
    assert rasterize_prompts([Scribble(((5.2, 6.4),))], SHAPE).sum() == 1


def test_a_box_is_the_outline_of_its_pixels_and_a_lasso_is_closed():
    box = rasterize_prompts([Box((2, 3), (6, 9))], SHAPE)
    filled = ndimage.binary_fill_holes(box)
    assert filled[2:6, 3:9].all()
    assert filled.sum() == 24
    assert not box[3:5, 4:8].any()
    lasso = rasterize_prompts([Lasso(((2.0, 3.0), (12.0, 3.0), (12.0, 20.0)))], SHAPE)
    assert ndimage.binary_fill_holes(lasso).sum() > lasso.sum()


@pytest.mark.parametrize("width", [1.5, 2, 3, 5, 8])
def test_a_pen_reaches_half_its_width(width, rng):
    points = rng.uniform(10, 40, (6, 2))
    drawn = rasterize_prompts([Scribble(tuple(map(tuple, points)))], (50, 60), width)
    steps = np.linspace(0, 1, 500)[:, None]
    line = np.concatenate([a + steps * (b - a) for a, b in pairwise(points)])
    distance = np.sqrt(
        ((np.indices((50, 60))[:, None] - line.T[:, :, None, None]) ** 2).sum(axis=0).min(axis=0)
    )
    assert not drawn[distance > width / 2 + 0.05].any()
    assert drawn[distance < width / 2 - 0.05].all()


def test_dots_and_ends_at_the_edge_are_cut_off():
    assert rasterize_prompts([Click((0, 0))], SHAPE, 3).sum() == 4
    assert rasterize_prompts([Scribble(((10.0, 15.0),))], SHAPE, 3).sum() == 9
