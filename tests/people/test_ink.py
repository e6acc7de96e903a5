import numpy as np
import pytest
from scipy import ndimage

from segarena.people.ink import draw_ink
from segarena.prompts import Box, Click, Lasso, Scribble

SHAPE = (20, 30)


def test_nothing_given_is_nothing_drawn():
    assert not draw_ink([], SHAPE).any()


def test_thin_lines_are_their_pixels():
    assert np.argwhere(draw_ink([Scribble(((3.0, 4.0), (3.0, 7.0)))], SHAPE)).tolist() == [[3, c] for c in range(4, 8)]
    assert np.argwhere(draw_ink([Click((5, 6)), Click((2, 9, 1))], SHAPE)).tolist() == [[5, 6], [9, 1]]
    assert draw_ink([Scribble(((5.2, 6.4),))], SHAPE).sum() == 1


def test_a_box_is_the_outline_of_its_pixels_and_a_lasso_is_closed():
    box = draw_ink([Box((2, 3), (6, 9))], SHAPE)
    filled = ndimage.binary_fill_holes(box)
    assert filled[2:6, 3:9].all()
    assert filled.sum() == 24
    assert not box[3:5, 4:8].any()
    lasso = draw_ink([Lasso(((2.0, 3.0), (12.0, 3.0), (12.0, 20.0)))], SHAPE)
    assert ndimage.binary_fill_holes(lasso).sum() > lasso.sum()


@pytest.mark.parametrize("width", [2, 3, 5, 8])
def test_a_pen_is_as_wide_as_is_said(width):
    far = np.ones((60, 90), bool)
    far[30, 20:70] = False
    line = draw_ink([Scribble(((30.0, 20.0), (30.0, 69.0)))], far.shape, width)
    assert abs(line[:, 45].sum() - width) <= 1
    near = ndimage.distance_transform_edt(far)
    assert not line[near > width / 2 + 1].any()
    assert line[near < width / 2 - 1].all()
