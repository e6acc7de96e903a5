"""Scribbles, compared with slow references on full volumes that are written from the rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import ndimage
from skimage.measure import find_contours

from segarena.comparison import Comparison
from segarena.prompts import Click, Scribble, check_prompt
from segarena.systems.volumes.prompting.scribble_outline import ScribbleOptions
from segarena.systems.volumes.prompting.scribbles import (
    count_surplus_per_plane,
    draw_scribble,
    line_through_missing,
    line_through_surplus,
    pick_scribble_point,
)

PUBLISHED = ScribbleOptions(plane="coronal", quirks=frozenset({"joined-contours", "broken-stroke"}))


def random(seed):
    return np.random.default_rng(seed)


def blobs(seed):
    rng = random(seed)
    shape = tuple(rng.integers(2, 24, 3))
    field = ndimage.gaussian_filter(rng.random(shape), rng.uniform(1, 3))
    target = field >= np.quantile(field, rng.uniform(0.5, 1))
    prediction = ndimage.binary_dilation(target, iterations=int(rng.integers(1, 5)))
    prediction ^= ndimage.gaussian_filter(rng.random(shape), 1.5) > 0.52
    if rng.random() < 0.2:
        target[:, rng.integers(shape[1]) :] = False
    return prediction, target


PAIRS = st.integers(0, 100_000).map(blobs)


def slow_component(mask, last):
    labels, count = ndimage.label(mask, np.ones((3,) * mask.ndim))
    parts = [labels == label for label in range(1, count + 1)]
    parts.sort(key=lambda part: np.flatnonzero(part)[0], reverse=last)
    return max(parts, key=np.count_nonzero)


def slow_missing(prediction, target):
    component = slow_component(target & ~prediction, last=True)
    line = []
    for z in range(len(target)):
        if component[z].any():
            pixels = np.argwhere(slow_component(component[z], last=True)).tolist()
            mean = [round(sum(values) / len(pixels)) for values in zip(*pixels, strict=True)]
            near = min(pixels, key=lambda p: ((p[0] - mean[0]) ** 2 + (p[1] - mean[1]) ** 2, p))
            line.append((z, *near))
    return tuple(line)


@given(PAIRS)
def test_line_through_missing_follows_the_middles_of_the_largest_component(pair):
    prediction, target = pair
    comparison = Comparison.of(prediction, target)
    if comparison.missing_area:
        assert line_through_missing(comparison) == slow_missing(prediction, target)
    else:
        assert line_through_missing(comparison) == ()


def test_line_through_a_straight_tube_is_its_axis():
    target = np.zeros((9, 15, 15), dtype=bool)
    target[2:7, 4:9, 5:12] = True
    assert line_through_missing(Comparison.of(np.zeros_like(target), target)) == tuple(
        (z, 6, 8) for z in range(2, 7)
    )


def test_line_through_missing_may_run_sideways():
    target = blobs(12)[1]
    prediction = np.zeros_like(target)
    turned = Comparison.of(prediction.T.copy(), target.T.copy())
    line = line_through_missing(Comparison.of(prediction, target), runs_sideways=True)
    assert line == tuple(position[::-1] for position in line_through_missing(turned))
    assert len({position[2] for position in line}) == len(line) > 1


def slow_dilated(plane, radius):
    grown = np.zeros_like(plane)
    for row, column in np.argwhere(plane):
        for r in range(-radius, radius + 1):
            for c in range(-radius, radius + 1):
                inside = 0 <= row + r < plane.shape[0] and 0 <= column + c < plane.shape[1]
                if r * r + c * c <= radius * radius and inside:
                    grown[row + r, column + c] = True
    return grown


def slow_published_scribbles(prediction, target):
    """Every scribble on surplus that the published rules allow, each as a set; None if there is none."""
    surplus = prediction & ~target
    index = int(surplus.sum(axis=(0, 2)).argmax())
    predicted, truth = prediction[:, index], target[:, index]
    if not truth.any():
        column = int(predicted.sum(axis=0).argmax())
        return [{(z, index, column) for z in range(len(target)) if predicted[z, column]}]
    if min(truth.shape) < 2:
        return None
    contours = find_contours(slow_dilated(truth, 2).astype(float), 0.5)
    if not contours:
        return None
    vertices = np.concatenate(contours)
    pixels = [(round(float(row)), round(float(column))) for row, column in vertices]
    length = round(0.6 * len(pixels))
    found = []
    for position, pixel in enumerate(pixels):
        if predicted[pixel]:
            drawn = np.zeros_like(predicted)
            for step in range(length):
                drawn[pixels[(position - length // 2 + step) % len(pixels)]] = True
            kept = slow_component(drawn, last=False) & predicted
            found.append({(int(row), index, int(column)) for row, column in np.argwhere(kept)})
    return found or None


@given(PAIRS, st.integers(0, 99))
def test_published_scribble_on_surplus_is_one_of_those_the_rules_allow(pair, seed):
    prediction, target = pair
    comparison = Comparison.of(prediction, target)
    assume(comparison.surplus_area)
    allowed = slow_published_scribbles(prediction, target)
    points = line_through_surplus(comparison, random(seed), PUBLISHED)
    assert len(set(points)) == len(points)
    assert set(points) in (allowed or [set()])


@given(
    st.integers(5, 9), st.integers(5, 9), st.integers(2, 8), st.integers(2, 8), st.integers(0, 99)
)
def test_published_scribble_counts_the_outline_beyond_what_was_predicted(
    row, column, height, width, seed
):
    target, prediction = np.zeros((22, 5, 24), dtype=bool), np.zeros((22, 5, 24), dtype=bool)
    target[row : row + height, 1:4, column : column + width] = True
    prediction[row:20, 1:4, column - 4 : column + width + 4] = True  # too large on three sides
    points = line_through_surplus(Comparison.of(prediction, target), random(seed), PUBLISHED)
    assert set(points) in slow_published_scribbles(prediction, target)


@pytest.mark.long
def test_every_published_scribble_may_be_drawn():
    prediction, target = blobs(12)
    comparison = Comparison.of(prediction, target)
    allowed = slow_published_scribbles(prediction, target)
    assert len(allowed) > 5
    drawn = [
        set(line_through_surplus(comparison, random(seed), PUBLISHED))
        for seed in range(40 * len(allowed))
    ]
    assert all(points in drawn for points in allowed)


@given(PAIRS, st.integers(0, 99), st.sampled_from(["axial", "coronal", "sagittal", "most-errors"]))
def test_scribble_on_surplus_lies_in_the_plane_with_the_most_of_it(pair, seed, plane):
    prediction, target = pair
    surplus = prediction & ~target
    comparison = Comparison.of(prediction, target)
    points = line_through_surplus(comparison, random(seed), ScribbleOptions(plane=plane))
    assert all(surplus[point] for point in points)
    counts = [surplus.sum(axis=tuple({0, 1, 2} - {axis})) for axis in range(3)]
    for axis, count in enumerate(count_surplus_per_plane(comparison)):
        assert np.array_equal(count, counts[axis][comparison.window[axis]])
    axes = {"axial": [0], "coronal": [1], "sagittal": [2], "most-errors": [1, 2]}[plane]
    axis = max(axes, key=lambda axis: counts[axis].max())
    assert {point[axis] for point in points} <= {int(counts[axis].argmax())}


def shell():
    """A cube, predicted 5 pixels too far up, down, left and right."""
    target, prediction = np.zeros((40, 40, 40), dtype=bool), np.zeros((40, 40, 40), dtype=bool)
    target[12:28, 12:28, 12:28] = True
    prediction[7:33, 12:28, 7:33] = True
    return prediction, target


def test_share_of_the_outline_is_that_of_its_vertices():
    prediction, target = shell()
    comparison = Comparison.of(prediction, target)
    outline = len(find_contours(slow_dilated(target[:, 20], 2).astype(float), 0.5)[0]) - 1
    for length in (0.1, 0.25, 0.5):
        points = line_through_surplus(comparison, random(0), ScribbleOptions(length=length))
        # A vertex lies half a pixel beside its neighbours; about two share a pixel.
        assert 0.4 * length * outline <= len(points) <= length * outline + 1
    everything = line_through_surplus(comparison, random(0), ScribbleOptions(length=1.0))
    assert {max(abs(z - 19.5), abs(x - 19.5)) for z, _, x in everything} <= {8.5, 9.5, 10.5}


def test_scribble_is_drawn_from_neighbour_to_neighbour():
    prediction, target = shell()
    for seed in range(20):
        points = np.array(
            line_through_surplus(Comparison.of(prediction, target), random(seed), ScribbleOptions())
        )
        assert np.abs(np.diff(points, axis=0)).max() == 1


@given(PAIRS, st.integers(0, 99), st.integers(0, 4))
def test_scribble_never_touches_the_object(pair, seed, distance_px):
    prediction, target = pair
    stroke = ScribbleOptions(
        distance_px=distance_px, quirks=frozenset({"broken-stroke"} if seed % 2 else ())
    )
    points = line_through_surplus(Comparison.of(prediction, target), random(seed), stroke)
    assert all(prediction[point] and not target[point] for point in points)


@given(PAIRS, st.integers(0, 99), st.sampled_from([0.3, 0.6, 1.0]))
def test_scribble_on_surplus_has_no_gap(pair, seed, length):
    prediction, target = pair
    comparison = Comparison.of(prediction, target)
    points = line_through_surplus(comparison, random(seed), ScribbleOptions(length=length))
    steps = np.abs(np.diff(points, axis=0))
    assert len(points) < 2 or steps.max() <= 2  # a pixel passed twice counts the first time only


def test_length_and_distance_in_mm_follow_the_spacing():
    prediction, target = shell()
    comparison = Comparison.of(prediction, target, spacing_mm=(5.0, 1.0, 1.0))
    stroke = ScribbleOptions(plane="coronal", length_mm=30.0, distance_mm=4.0)
    for seed in range(20):
        points = np.array(line_through_surplus(comparison, random(seed), stroke), dtype=float)
        steps = np.diff(points, axis=0) * (5.0, 1.0, 1.0)
        assert np.linalg.norm(steps, axis=1).sum() <= 30 + 5 + 1
        rows = points[:, 0][(points[:, 2] >= 12) & (points[:, 2] < 28)]
        assert set(rows) <= {11.0, 28.0}  # 4 mm are less than a slice
        assert {c for c in points[:, 2] if not 12 <= c < 28} <= {
            8.0,
            9.0,
            30.0,
            31.0,
            32.0,
            7.0,
            10.0,
            11.0,
            28.0,
            29.0,
        }


def test_one_stroke_follows_one_outline_unless_published():
    target = np.zeros((20, 1, 60), dtype=bool)
    target[5:15, 0, 5:15] = target[5:15, 0, 40:50] = True
    prediction = np.ones_like(target)
    comparison = Comparison.of(prediction, target)
    sides = [
        {
            z > 0 and x > 27
            for z, _, x in line_through_surplus(
                comparison, random(seed), ScribbleOptions(plane="coronal")
            )
        }
        for seed in range(30)
    ]
    assert all(len(side) == 1 for side in sides)
    assert {True} in sides
    assert {False} in sides


def test_of_equal_planes_the_coronal_one_and_of_equal_stretches_the_first_is_taken():
    target, prediction = np.zeros((9, 9, 9), dtype=bool), np.zeros((9, 9, 9), dtype=bool)
    target[4, 1, 1] = True
    prediction[1:3, 6, 5] = prediction[5:7, 6, 5] = True
    for seed in range(5):
        points = line_through_surplus(
            Comparison.of(prediction, target), random(seed), ScribbleOptions()
        )
        assert points == ((1, 6, 5), (2, 6, 5))
    prediction[1:3, 6, 5] = prediction[5:7, 6, 5] = False
    prediction[2, 3, 2:5] = prediction[2:5, 7, 7] = (
        True  # three in each of two coronal planes and of one sagittal
    )
    points = line_through_surplus(Comparison.of(prediction, target), random(0), ScribbleOptions())
    assert points == ((2, 3, 2),)


def test_column_is_drawn_where_the_plane_has_nothing_of_the_object():
    target, prediction = np.zeros((9, 9, 9), dtype=bool), np.zeros((9, 9, 9), dtype=bool)
    target[4, 1, 4] = True
    prediction[2:7, 6, 3] = prediction[3:5, 6, 5] = True
    points = line_through_surplus(Comparison.of(prediction, target), random(0), PUBLISHED)
    assert points == tuple((z, 6, 3) for z in range(2, 7))


def fallback_case():
    """Surplus far from the object: no pixel of the outline is predicted."""
    target, prediction = np.zeros((30, 3, 30), dtype=bool), np.zeros((30, 3, 30), dtype=bool)
    target[14:16, 1, 14:16] = True
    prediction[14:16, 1, 14:16] = prediction[2:4, 1, 2:4] = True
    return Comparison.of(prediction, target)


@pytest.mark.parametrize("is_positive", [False, True])
def test_surplus_voxels_are_clicked_where_no_scribble_can_be_drawn(is_positive):
    comparison = fallback_case()
    for seed in range(10):
        clicks = draw_scribble(
            comparison,
            random(seed),
            ScribbleOptions(
                plane="coronal", quirks=frozenset({"positive-fallback"} if is_positive else ())
            ),
        )
        assert len({click.position for click in clicks}) == len(clicks) == 3
        assert all(
            comparison.prediction[c.position] and not comparison.target[c.position] for c in clicks
        )
        assert all(click.is_positive == is_positive for click in clicks)


def test_fewer_surplus_voxels_give_fewer_clicks():
    target, prediction = np.zeros((30, 1, 30), dtype=bool), np.zeros((30, 1, 30), dtype=bool)
    target[14, 0, 14] = prediction[14, 0, 14] = prediction[2, 0, 2] = True
    assert draw_scribble(Comparison.of(prediction, target), random(0), PUBLISHED) == (
        Click((2, 0, 2), is_positive=False),
    )


@pytest.mark.long
def test_signs_are_drawn_in_proportion_to_the_errors():
    target, prediction = np.zeros((12, 12, 12), dtype=bool), np.zeros((12, 12, 12), dtype=bool)
    target[2:4, 4:8, 4:8] = True
    prediction[8:9, 4:8, 4:8] = True
    comparison, rng = Comparison.of(prediction, target), random(0)
    positive = [
        draw_scribble(comparison, rng, ScribbleOptions())[0].is_positive for _ in range(500)
    ]
    assert abs(np.mean(positive) - 32 / 48) < 0.04


@given(PAIRS, st.integers(0, 99))
def test_scribbles_correct_errors_of_their_sign(pair, seed):
    prediction, target = pair
    comparison = Comparison.of(prediction, target)
    prompts = draw_scribble(comparison, random(seed), ScribbleOptions())
    assert bool(prompts) == (not np.array_equal(prediction, target))
    for prompt in prompts:
        check_prompt(prompt, target.shape)
        for point in prompt.points if isinstance(prompt, Scribble) else [prompt.position]:
            assert target[point] == prompt.is_positive != prediction[point]
    assert sum(prompt.effort for prompt in prompts) in (0, 1, 2, 3)
    picked = pick_scribble_point(prompts, random(seed))
    assert len(picked) == bool(prompts)
    assert all(target[c.position] == c.is_positive != prediction[c.position] for c in picked)


def test_only_one_kind_of_error_gives_only_that_sign():
    target = np.zeros((9, 20, 20), dtype=bool)
    target[2:7, 6:14, 6:14] = True
    grown = ndimage.binary_dilation(target, iterations=4)
    for seed in range(10):
        assert draw_scribble(
            Comparison.of(np.zeros_like(target), target), random(seed), ScribbleOptions()
        )[0].is_positive
        assert not draw_scribble(Comparison.of(grown, target), random(seed), ScribbleOptions())[
            0
        ].is_positive
    assert draw_scribble(Comparison.of(target, target), random(0), ScribbleOptions()) == ()
