from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import distance_transform_edt, gaussian_filter

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid
from segarena.prompts import Box, Click
from segarena.registry import build
from segarena.roles import Turn
from segarena.samples import ImageSample, Target, VolumeSample
from segarena.users.centre import CentreClicker


def turn_for(prediction, target, ignore=None, clicks=()):
    if target.ndim == 2:
        sample = ImageSample(id="s", image=np.zeros((*target.shape, 3), dtype=np.uint8))
    else:
        sample = VolumeSample(id="s", voxels=np.zeros(target.shape), spacing_mm=(1.0, 1.0, 1.0))
    return Turn(
        sample=sample,
        target=Target(id="t", mask=target, ignore=ignore),
        dialogue=Dialogue(
            rounds=tuple((click,) for click in clicks), previous=Prediction(prediction)
        ),
        comparison=Comparison(prediction, Reference(target, ignore)),
        rng=np.random.default_rng(0),
    )


def depth_by_pairs(mask):
    padded = np.pad(mask, 1)
    zeros = np.argwhere(~padded)
    pixels = np.argwhere(mask) + 1
    squared = np.zeros(mask.shape, dtype=np.int64)
    if len(pixels):
        squared[mask] = ((pixels[:, None, :] - zeros[None, :, :]) ** 2).sum(axis=2).min(axis=1)
    return squared


def depth_by_transform(mask):
    inner = (slice(1, -1),) * mask.ndim
    return np.rint(distance_transform_edt(np.pad(mask, 1))[inner] ** 2).astype(np.int64)


def published_click(prediction, target, ignore, clicked, depth):
    """The rules, step by step, on full frames; distances as squared integers."""
    missing = depth(target & ~prediction & ~ignore)
    surplus = depth(~target & prediction & ~ignore)
    for position in clicked:
        missing[position] = surplus[position] = 0
    is_positive = bool(missing.max() > surplus.max())
    chosen = missing if is_positive else surplus
    position = tuple(int(i) for i in np.argwhere(chosen == chosen.max())[0])
    return Click(position, is_positive=is_positive)


def random_case(rng):
    shape = tuple(rng.integers(1, 40, 2))
    kind = rng.integers(5)
    if kind == 0:
        prediction, target = rng.random((2, *shape)) < rng.random((2, 1, 1))
    elif kind == 1:
        fields = [gaussian_filter(rng.random(shape), 3) for _ in range(2)]
        prediction, target = (field > np.quantile(field, rng.random()) for field in fields)
    elif kind == 2:  # one object, slightly displaced: thin errors of both kinds and many ties
        rows, columns = np.indices(shape)
        target = (abs(rows - shape[0] // 2) < shape[0] // 4) & (
            abs(columns - shape[1] // 2) < shape[1] // 4
        )
        prediction = np.roll(target, rng.integers(-3, 4, 2), axis=(0, 1))
    elif kind == 3:  # empty or full
        prediction, target = (np.full(shape, rng.random() < 0.5) for _ in range(2))
    else:  # squares of one size, in both kinds of error
        blocks = np.kron(
            rng.integers(0, 4, (shape[0] // 4 + 1, shape[1] // 4 + 1)), np.ones((4, 4), dtype=int)
        )
        prediction = blocks % 2 == 1
        target = blocks // 2 == 1
    ignore = rng.random(target.shape) < rng.choice([0.0, 0.1, 1.0], p=[0.5, 0.45, 0.05])
    return prediction, target, ignore


@pytest.mark.long
def test_clicks_equal_the_published_rule_over_hundreds_of_masks_and_several_rounds():
    rng = np.random.default_rng(61)
    user = CentreClicker(when_solved="published")
    signs = []
    for _ in range(250):
        prediction, target, ignore = random_case(rng)
        clicks = []
        for _ in range(4):
            expected = published_click(
                prediction, target, ignore, [click.position for click in clicks], depth_by_transform
            )
            assert user.next(turn_for(prediction, target, ignore, clicks)) == (expected,)
            clicks.append(expected)
        signs.append(expected.is_positive)
    assert 20 < sum(signs) < 230


@st.composite
def cases(draw):
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=8))
    masks = [draw(hnp.arrays(np.bool_, shape)) for _ in range(3)]
    positions = st.tuples(*(st.integers(0, n - 1) for n in shape))
    return masks, draw(st.lists(positions, max_size=5))


@given(cases())
def test_clicks_equal_the_published_rule_counted_pair_by_pair(case):
    (prediction, target, ignore), clicked = case
    expected = published_click(prediction, target, ignore, clicked, depth_by_pairs)
    turn = turn_for(prediction, target, ignore, [Click(position) for position in clicked])
    assert CentreClicker(when_solved="published").next(turn) == (expected,)


@given(cases())
def test_dialogue_stops_exactly_when_every_error_pixel_is_clicked(case):
    (prediction, target, ignore), clicked = case
    errors = (prediction != target) & ~ignore
    for position in clicked:
        errors[position] = False
    turn = turn_for(prediction, target, ignore, [Click(position) for position in clicked])
    assert (CentreClicker().next(turn) is None) == (not errors.any())


def test_first_click_is_the_centre_of_the_target():
    target = np.zeros((9, 12), dtype=bool)
    target[2:7, 3:8] = True
    assert CentreClicker().next(turn_for(np.zeros_like(target), target)) == (
        Click((4, 5), is_positive=True),
    )


def test_tie_between_missing_and_surplus_gives_a_negative_click():
    target, prediction = np.zeros((2, 5, 12), dtype=bool)
    target[1:4, 1:4] = prediction[1:4, 7:10] = True
    assert CentreClicker().next(turn_for(prediction, target)) == (Click((2, 8), is_positive=False),)
    target[1:4, 0:5] = target[0:5, 1:4] = True
    assert CentreClicker().next(turn_for(prediction, target)) == (Click((2, 2), is_positive=True),)


def test_next_best_pixels_follow_while_the_prediction_stays_the_same():
    target = np.zeros((20, 20), dtype=bool)
    target[5:12, 5:12] = True
    clicks = []
    for _ in range(4):
        clicks.extend(CentreClicker().next(turn_for(np.zeros_like(target), target, None, clicks)))
    assert [click.position for click in clicks] == [(8, 8), (7, 7), (7, 8), (7, 9)]


def test_prompts_other_than_clicks_forbid_no_pixel():
    target = np.ones((3, 3), dtype=bool)
    turn = turn_for(np.zeros_like(target), target, None, [Box((1, 1), (2, 2))])
    assert CentreClicker().next(turn) == (Click((1, 1)),)


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5)])
def test_solved_target_stops_or_gets_the_published_click_again_and_again(shape):
    target = np.zeros(shape, dtype=bool)
    target[1] = True
    again = Click((0,) * len(shape), is_positive=False)
    assert CentreClicker().next(turn_for(target, target)) is None
    published = build("user", "centre(when_solved='published')")
    assert published.next(turn_for(target, target)) == (again,)
    assert published.next(turn_for(target, target, None, [again, again])) == (again,)


def test_volumes_are_clicked_at_their_deepest_voxel():
    rng = np.random.default_rng(4)
    for _ in range(30):
        prediction, target, ignore = rng.random((3, 6, 7, 8)) < [[[[0.2]]], [[[0.9]]], [[[0.01]]]]
        expected = published_click(prediction, target, ignore, [], depth_by_transform)
        assert CentreClicker().next(turn_for(prediction, target, ignore)) == (expected,)


def test_unknown_option_values_are_refused():
    with pytest.raises(PluginInvalid, match="when_solved: expected one of 'stop', 'published'"):
        build("user", "centre(when_solved='never')")
