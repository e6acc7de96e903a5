from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import distance_transform_edt

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput, PluginInvalid
from segarena.prompts import Click
from segarena.registry import build
from segarena.roles import Turn
from segarena.samples import ImageSample, Target
from segarena.systems.clicks.sampling.error_weights import DepthMap, uniform_map
from segarena.systems.clicks.sampling.weighted_draws import SamplingWeights
from segarena.systems.clicks.users.map_clicker import MapClicker
from segarena.users.centre import CentreClicker


def draw_between(weights, low, high, uniform):
    return SamplingWeights(weights).draw(low, high, uniform)


def draw_published(weights, low, high, uniform):
    return SamplingWeights(weights).draw_published(low, high, uniform)


whole_weights = st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any)
bounds = st.tuples(st.integers(0, 9), st.integers(1, 10)).filter(lambda pair: pair[0] < pair[1])


class GivenMap:
    def __init__(self, values):
        self.values = np.asarray(values)
        self.seen = []

    def __call__(self, sample, target, error):
        self.seen.append((sample, target, error))
        return self.values


class Fixed:
    """Replaces the generator by one uniform number."""

    def __init__(self, uniform):
        self.uniform = uniform

    def random(self):
        return self.uniform


def turn_for(prediction, target, *, ignore=None, clicks=(), rng=None):
    prediction = np.asarray(prediction, dtype=bool)
    target = np.asarray(target, dtype=bool)
    return Turn(
        sample=ImageSample(id="s", image=np.zeros((*target.shape, 3), dtype=np.uint8)),
        target=Target(id="t", mask=target, ignore=ignore),
        dialogue=Dialogue(
            rounds=tuple((click,) for click in clicks), previous=Prediction(prediction)
        ),
        comparison=Comparison(prediction, Reference(target, ignore)),
        rng=rng or np.random.default_rng(0),
    )


def published_group(weights, low, high):
    """Return the kept pixels, in whole numbers and exact fractions, step by step."""
    ordered = sorted(weights)
    total = sum(ordered)
    sums = [sum(ordered[: i + 1]) for i in range(len(ordered))]
    first = next(i for i, value in enumerate(sums) if value >= total * low)
    last = next((i for i, value in enumerate(sums) if value > total * high), len(sums) - 1)
    return [ordered[first] <= value <= ordered[last] for value in weights]


def mass_between(weights, low, high):
    """Return the share of each pixel's mass between the bounds, in exact fractions."""
    total = Fraction(sum(weights))
    below = Fraction(0)
    parts = [Fraction(0)] * len(weights)
    for i in sorted(range(len(weights)), key=lambda i: (weights[i], i)):
        above = below + weights[i]
        parts[i] = max(Fraction(0), min(above, high * total) - max(below, low * total))
        below = above
    return parts


def shares_drawn(draw, weights, low, high, count=2000):
    """Return the frequency of each index for evenly spaced uniform numbers."""
    drawn = [
        draw(np.asarray(weights, dtype=np.float64), low, high, (k + 0.5) / count)
        for k in range(count)
    ]
    return np.bincount(drawn, minlength=len(weights)) / count


@pytest.mark.long
@given(whole_weights, bounds)
def test_exact_groups_share_boundary_pixels_by_mass(weights, tenths):
    low = Fraction(tenths[0], 10)
    high = Fraction(tenths[1], 10)
    parts = mass_between(weights, low, high)
    expected = [float(part / sum(parts)) for part in parts]
    assert shares_drawn(draw_between, weights, float(low), float(high), 500) == pytest.approx(
        expected, abs=0.005
    )


@given(whole_weights, bounds)
def test_published_groups_keep_whole_pixels_and_their_equals(weights, tenths):
    low = tenths[0] / 16
    high = tenths[1] / 10 if tenths[1] == 10 else tenths[1] / 16
    if low >= high:
        return
    kept = published_group(weights, Fraction(low), Fraction(high))
    mass = np.where(kept, weights, 0)
    if mass.sum():
        assert shares_drawn(draw_published, weights, low, high, 500) == pytest.approx(
            mass / mass.sum(), abs=0.005
        )


@pytest.mark.long
def test_ten_exact_groups_together_are_the_whole_map():
    weights = np.random.default_rng(1).random(50)
    groups = [shares_drawn(draw_between, weights, k / 10, (k + 1) / 10, 700) for k in range(10)]
    assert np.mean(groups, axis=0) == pytest.approx(weights / weights.sum(), abs=1e-3)
    assert all((share > 0).sum() < 25 for share in groups)


def test_uniform_map_is_split_exactly_but_never_in_the_published_groups():
    weights = [1] * 10
    assert shares_drawn(draw_between, weights, 0.2, 0.4).tolist() == [
        0,
        0,
        0.5,
        0.5,
        0,
        0,
        0,
        0,
        0,
        0,
    ]
    assert shares_drawn(draw_published, weights, 0.2, 0.4).tolist() == [0.1] * 10


@pytest.mark.parametrize("draw", [draw_between, draw_published])
def test_whole_map_is_drawn_in_row_major_order_like_a_weighted_choice(draw):
    weights = np.random.default_rng(2).random(200) ** 4
    for seed in range(50):
        expected = np.random.RandomState(seed).choice(200, p=weights / weights.sum())
        assert draw(weights, 0.0, 1.0, np.random.RandomState(seed).random_sample()) == expected


@pytest.mark.parametrize("draw", [draw_between, draw_published])
@given(
    weights=whole_weights, uniform=st.sampled_from([0.0, math.nextafter(1.0, 0.0)]), tenths=bounds
)
def test_pixels_without_weight_are_never_drawn(draw, weights, uniform, tenths):
    index = draw(np.asarray(weights, dtype=np.float64), tenths[0] / 10, tenths[1] / 10, uniform)
    assert weights[index] > 0


def test_likeliest_pixels_of_a_large_map_can_be_drawn():
    weights = np.random.default_rng(3).random(1_900_000).astype(np.float32).astype(np.float64)
    assert draw_published(weights, 0.9, 1.0, math.nextafter(1.0, 0.0)) > 1_800_000
    assert weights[draw_between(weights, 0.9, 1.0, math.nextafter(1.0, 0.0))] == weights.max()


def test_click_is_drawn_from_the_error_of_the_centre_clickers_sign():
    rng = np.random.default_rng(9)
    for _ in range(300):
        prediction, target, ignore = rng.random((3, 9, 11)) < [[[0.5]], [[0.5]], [[0.1]]]
        clicks = [Click(tuple(map(int, rng.integers(0, 9, 2))))]
        turn = turn_for(prediction, target, ignore=ignore, clicks=clicks, rng=rng)
        centre = CentreClicker().click(turn)
        (click,) = build("user", "uniform").next(turn)
        assert click.is_positive == centre.is_positive
        error = (target & ~prediction if click.is_positive else prediction & ~target) & ~ignore
        assert error[click.position]
        assert click.position != clicks[0].position


def test_uniform_user_reaches_every_error_pixel_equally_often():
    target = np.zeros((4, 5), dtype=bool)
    target[1:3, 1:4] = True
    drawn = [
        MapClicker(uniform_map)
        .next(turn_for(np.zeros_like(target), target, rng=Fixed((k + 0.5) / 12)))[0]
        .position
        for k in range(12)
    ]
    assert drawn == [tuple(position) for position in np.argwhere(target).tolist() for _ in range(2)]


def test_map_sees_the_target_and_the_whole_error_and_is_read_on_it_alone():
    target = np.array([[1, 1, 1, 0]], dtype=bool)
    ignore = np.array([[1, 0, 0, 0]], dtype=bool)
    click_map = GivenMap([[9.0, 0.0, 1.0, 9.0]])
    turn = turn_for(np.zeros_like(target), target, ignore=ignore, clicks=[Click((0, 1))])
    assert MapClicker(click_map).next(turn) == (Click((0, 2)),)
    ((sample, seen_target, seen_error),) = click_map.seen
    assert sample is turn.sample
    assert seen_target.tolist() == seen_error.tolist() == [[False, True, True, False]]


def test_map_without_any_weight_left_gives_the_centre_click():
    target = np.ones((3, 3), dtype=bool)
    turn = turn_for(np.zeros_like(target), target)
    assert MapClicker(GivenMap(np.zeros((3, 3)))).next(turn) == (Click((1, 1)),)
    assert MapClicker(GivenMap(np.full((3, 3), np.nan))).next(turn) == (Click((1, 1)),)
    clicked = turn_for(np.zeros_like(target), target, clicks=[Click((0, 0))])
    only_corner = np.zeros((3, 3))
    only_corner[0, 0] = 1
    assert MapClicker(GivenMap(only_corner)).next(clicked) == (Click((1, 1)),)


@pytest.mark.parametrize(
    "plugin", ["uniform", "depth", "depth(low=0.2, high=0.3, groups='published')"]
)
def test_solved_target_is_treated_as_by_the_centre_clicker(plugin):
    target = np.eye(4, dtype=bool)
    assert build("user", plugin).next(turn_for(target, target)) is None
    published = build("user", plugin.split("(")[0] + "(when_solved='published')")
    assert published.next(turn_for(target, target)) == (Click((0, 0), is_positive=False),)


def test_depth_map_is_the_distance_to_the_border_of_the_error():
    rng = np.random.default_rng(11)
    for _ in range(200):
        error = rng.random(tuple(rng.integers(1, 20, 2))) < 0.9
        inside = distance_transform_edt(np.pad(error, 1))[1:-1, 1:-1]
        assert DepthMap()(None, error, error) == pytest.approx(inside)
        if not error.all():
            open_frame = distance_transform_edt(error)
            assert DepthMap(border="published")(None, error, error) == pytest.approx(open_frame)


def test_depth_beyond_the_frame_is_an_option():
    error = np.zeros((5, 7), dtype=bool)
    error[:, :4] = True
    assert DepthMap()(None, error, error)[2].tolist() == [1, 2, 2, 1, 0, 0, 0]
    assert DepthMap(border="published")(None, error, error)[2].tolist() == [4, 3, 2, 1, 0, 0, 0]
    full = np.ones((3, 3), dtype=bool)
    assert np.unique(DepthMap(border="published")(None, full, full)).tolist() == [1]


def test_the_border_of_the_depth_user_is_that_of_its_map():
    target = np.zeros((9, 9), dtype=bool)
    target[:, :6] = True

    def clicks(text):
        turns = (
            turn_for(np.zeros_like(target), target, rng=np.random.default_rng(seed))
            for seed in range(30)
        )
        return [build("user", text).next(turn) for turn in turns]

    published = clicks("depth(border='published')")
    assert published != clicks("depth")
    assert published == clicks("group(click_model=\"depth(border='published')\")")


def test_depth_user_draws_in_proportion_to_depth():
    target = np.zeros((5, 5), dtype=bool)
    target[1:4, 1:4] = True  # one pixel of depth 2, eight of depth 1
    users = build("user", "depth")
    drawn = [
        users.next(turn_for(np.zeros((5, 5)), target, rng=Fixed((k + 0.5) / 10)))[0].position
        for k in range(10)
    ]
    assert drawn.count((2, 2)) == 2
    assert len(set(drawn)) == 9


def test_same_turn_gives_the_same_click():
    target = np.ones((30, 30), dtype=bool)
    user = build("user", "depth(low=0.4, high=0.5)")
    clicks = {
        user.next(turn_for(np.zeros_like(target), target, rng=np.random.default_rng(5)))[0].position
        for _ in range(5)
    }
    assert len(clicks) == 1


def test_options_out_of_range_are_refused():
    for low, high in ((0.5, 0.5), (-0.1, 0.5), (0.5, 1.1), (math.nan, 1.0)):
        with pytest.raises(InvalidInput, match="low"):
            MapClicker(uniform_map, low=low, high=high)
    for text in ("depth(border='none')", "depth(border='object')", "uniform(groups='some')"):
        with pytest.raises(PluginInvalid, match="expected one of"):
            build("user", text)


def test_maps_of_another_shape_or_below_zero_are_refused():
    target = np.ones((2, 2), dtype=bool)
    with pytest.raises(InvalidInput, match="shape"):
        MapClicker(GivenMap([[1.0]])).next(turn_for(np.zeros_like(target), target))
    with pytest.raises(InvalidInput, match="0 or more"):
        MapClicker(GivenMap(-np.ones((2, 2)))).next(turn_for(np.zeros_like(target), target))
