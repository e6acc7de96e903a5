"""Initial prompts, compared with a slow reference on full volumes that is written from the rules and shares no code."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from segarena.comparison import Reference
from segarena.errors import InvalidInput
from segarena.prompts import Box, Click, Limits, check_prompt
from segarena.systems.volumes.prompting.initial_boxes import add_edge_noise, shift_box
from segarena.systems.volumes.prompting.published_code_deviations import QUIRKS, resolve_quirks
from segarena.systems.volumes.prompting.schemes import SCHEMES, SchemeOptions, find_scheme
from segarena.systems.volumes.prompting.sliced_target import SlicedTarget

PUBLISHED = SchemeOptions(quirks=frozenset(QUIRKS))


def curved(seed):
    """A bent tube with a second part and a gap, often across the border."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(4, 26, 3))
    planes, rows, columns = np.ogrid[: shape[0], : shape[1], : shape[2]]
    bend = rows - shape[1] * (0.5 + 0.4 * np.sin(planes * rng.random()))
    mask = bend**2 + (columns - rng.integers(shape[2])) ** 2 <= rng.integers(1, 40)
    mask |= (rows - rng.integers(shape[1])) ** 2 + (
        columns - rng.integers(shape[2])
    ) ** 2 + 0 * planes <= 4
    mask[rng.integers(shape[0]) :] &= rng.random() < 0.7
    mask[rng.integers(shape[0], size=2)] = False
    return mask


NOISE = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, max_side=7))
THIN = st.tuples(st.integers(1, 2), st.integers(1, 9), st.integers(1, 9)).flatmap(
    lambda s: hnp.arrays(np.bool_, s)
)
VOLUMES = st.one_of(st.integers(0, 10_000).map(curved), NOISE, THIN)


def prompts(mask, name, seed=0, manner=SchemeOptions()):  # noqa: B008
    scheme, number = find_scheme(name)
    given_ = scheme.make_prompts(
        SlicedTarget(Reference(mask)), np.random.default_rng(seed), number, manner
    )
    assert {prompt.kind for prompt in given_} <= scheme.kinds
    for prompt in given_:
        check_prompt(prompt, mask.shape)
    return list(given_)


def slow_slices(mask):
    return [z for z in range(len(mask)) if mask[z].any()]


def slow_nearest(wanted, slices):
    return sorted(slices, key=lambda z: (abs(z - wanted), z))[0]


def slow_keys(mask, count):
    slices = slow_slices(mask)
    if not slices:
        return []
    wanted = np.linspace(min(slices), max(slices), min(count, len(slices)), dtype=int)
    return [slow_nearest(int(z), slices) for z in wanted]


def slow_component(plane):
    labels, count = ndimage.label(plane, np.ones((3, 3)))
    parts = [np.argwhere(labels == label).tolist() for label in range(1, count + 1)]
    return sorted(parts, key=lambda part: (len(part), part[0]))[-1]


def slow_snap(pixels, wanted):
    return min(pixels, key=lambda p: ((p[0] - wanted[0]) ** 2 + (p[1] - wanted[1]) ** 2, p))


def slow_box_centre(plane):
    pixels = slow_component(plane)
    rows, columns = zip(*pixels, strict=True)
    middle = (
        round(Fraction(min(rows) + max(rows), 2)),
        round(Fraction(min(columns) + max(columns), 2)),
    )
    return tuple(slow_snap(pixels, middle))


def slow_mean_centre(plane):
    pixels = slow_component(plane)
    mean = [round(Fraction(sum(values), len(pixels))) for values in zip(*pixels, strict=True)]
    return tuple(slow_snap(pixels, mean))


def slow_box(plane, z):
    rows, columns = np.where(plane)
    return Box(
        (z, int(rows.min()), int(columns.min())),
        (z + 1, int(rows.max()) + 1, int(columns.max()) + 1),
    )


def slow_middle(mask):
    return slow_nearest(int(np.median(slow_slices(mask))), slow_slices(mask))


@given(VOLUMES, st.sampled_from([3, 5, 10]))
def test_keys_of_interpolation_equal_a_full_volume_search(mask, count):
    keys = slow_keys(mask, count)
    once = list(dict.fromkeys(keys))
    assert prompts(mask, f"{count}p-inter") == [Click((z, *slow_box_centre(mask[z]))) for z in once]
    assert prompts(mask, f"{count}p-inter", manner=PUBLISHED) == [
        Click((z, *slow_box_centre(mask[z]))) for z in keys
    ]
    assert prompts(mask, f"{count}p-inter", manner=SchemeOptions(centre="mean")) == [
        Click((z, *slow_mean_centre(mask[z]))) for z in once
    ]
    assert prompts(mask, f"{count}b-inter") == [slow_box(mask[z], z) for z in once]


@given(VOLUMES)
def test_deterministic_schemes_equal_a_full_volume_search(mask):
    slices = slow_slices(mask)
    assert prompts(mask, "center-pps") == [Click((z, *slow_mean_centre(mask[z]))) for z in slices]
    assert prompts(mask, "box-ps") == [slow_box(mask[z], z) for z in slices]
    if not slices:
        assert all(prompts(mask, s.form.replace("N", "3")) == [] for s in SCHEMES)
        return
    middle, ends = slow_middle(mask), Limits(min(slices), max(slices))
    assert prompts(mask, "b-prop") == [slow_box(mask[middle], middle), ends]
    assert prompts(mask, "center-prop") == [Click((middle, *slow_box_centre(mask[middle]))), ends]
    voxels = np.argwhere(mask)
    whole = Box(tuple(voxels.min(axis=0).tolist()), tuple((voxels.max(axis=0) + 1).tolist()))
    assert prompts(mask, "3d-box") == prompts(mask, "3d-box-slices") == [whole]
    assert prompts(mask, "3d-box-slices", manner=PUBLISHED) == [whole]
    (inclusive,) = prompts(mask, "3d-box", manner=PUBLISHED)
    expected = [b - 1 if b - a > 1 else b for a, b in zip(whole.start, whole.stop, strict=True)]
    assert (inclusive.start, list(inclusive.stop)) == (whole.start, expected)
    assert prompts(mask, "centroid") == [
        Click(tuple(int(Fraction(int(t), len(voxels))) for t in voxels.sum(axis=0)))
    ]


def slow_line(mask):
    """The five-point interpolation, plane by plane, in fractions."""
    keys = {z: slow_box_centre(mask[z]) for z in slow_keys(mask, 5)}
    line = []
    for z in range(min(keys), max(keys) + 1):
        low, high = max(k for k in keys if k <= z), min(k for k in keys if k >= z)
        share = Fraction(z - low, max(1, high - low))
        line.append(
            (z, *(round(a + (b - a) * share) for a, b in zip(keys[low], keys[high], strict=True)))
        )
    return line


@given(VOLUMES, st.sampled_from([1, 2, 3, 5, 10]))
def test_centre_points_are_steps_along_the_interpolated_line(mask, count):
    if not mask.any():
        assert prompts(mask, f"{count}-center-ppv") == []
        return
    line = slow_line(mask)
    for order, points in (("plane", line), ("segvol", sorted(line, key=lambda p: p[2]))):
        inner = np.linspace(0, len(points) - 1, count + 2, dtype=int)[1:-1].tolist()
        expected = [Click(points[i]) for i in sorted(set(inner))]
        assert (
            prompts(mask, f"{count}-center-ppv", manner=SchemeOptions(centre_order=order))
            == expected
        )


SPACINGS = st.tuples(*[st.sampled_from([1.5, 12.0, 48.0, 70.5])] * 3)


@given(VOLUMES, SPACINGS, st.sampled_from([1, 3, 30]))
def test_centre_points_of_sam_med3d_lie_in_the_cube_around_their_mean(mask, spacing_mm, count):
    scheme, _ = find_scheme("3-center-ppv")
    target = SlicedTarget(Reference(mask, spacing_mm=spacing_mm))
    clicks = scheme.make_prompts(
        target, np.random.default_rng(0), count, SchemeOptions(centre_order="sam-med3d")
    )
    if not mask.any():
        assert clicks == ()
        return
    line = slow_line(mask)
    cells = [
        [Fraction(int(2 * mm), 3) * i for i, mm in zip(p, spacing_mm, strict=True)] for p in line
    ]  # of 1.5 mm
    mean = [sum(values) / len(cells) for values in zip(*cells, strict=True)]
    near = [
        p
        for p, cell in zip(line, cells, strict=True)
        if all(-64 <= c - m < 64 for c, m in zip(cell, mean, strict=True))
    ]
    inner = np.linspace(0, len(near) - 1, count + 2, dtype=int)[1:-1].tolist() if near else []
    assert list(clicks) == [Click(near[i]) for i in sorted(set(inner))]


@given(VOLUMES, st.sampled_from([1, 2, 5, 10]), st.integers(0, 9))
def test_points_per_slice_are_distinct_pixels_of_the_object(mask, count, seed):
    clicks = prompts(mask, f"{count}-pps", seed)
    assert all(mask[click.position] and click.is_positive for click in clicks)
    assert len({click.position for click in clicks}) == len(clicks)
    by_slice = Counter(click.position[0] for click in clicks)
    assert by_slice == {z: min(count, int(mask[z].sum())) for z in slow_slices(mask)}
    assert [c.position[0] for c in clicks] == sorted(c.position[0] for c in clicks)


@given(VOLUMES, st.sampled_from([2, 5, 10]))
def test_points_repeat_in_small_slices_as_published(mask, count):
    clicks = prompts(mask, f"{count}-pps", manner=PUBLISHED)
    for z in slow_slices(mask):
        here = [click.position for click in clicks if click.position[0] == z]
        pixels = [(z, *pixel) for pixel in np.argwhere(mask[z]).tolist()]
        assert len(here) == count
        assert set(here) <= set(pixels)
        assert len(pixels) >= count or here[: len(pixels)] == pixels


def slow_ring(plane):
    """Dilate by a disk of 2, then by one of 3; return the pixels that the second adds."""
    offsets = [(r, c) for r in range(-3, 4) for c in range(-3, 4)]

    def dilate(pixels, radius):
        grown = {
            (a + r, b + c)
            for a, b in pixels
            for r, c in offsets
            if r * r + c * c <= radius * radius
        }
        return {(a, b) for a, b in grown if 0 <= a < plane.shape[0] and 0 <= b < plane.shape[1]}

    near = dilate(map(tuple, np.argwhere(plane).tolist()), 2)
    return dilate(near, 3) - near


@given(VOLUMES)
def test_the_ring_is_all_that_the_second_dilation_adds(mask):
    target = SlicedTarget(Reference(mask))
    for z in slow_slices(mask):
        pixels = list(map(tuple, target.ring(z).tolist()))
        assert len(pixels) == len(set(pixels))
        assert set(pixels) == slow_ring(mask[z])


@given(VOLUMES, st.sampled_from([2, 3, 5, 10]), st.integers(0, 9))
def test_points_of_both_signs_lie_in_the_object_and_in_the_ring_around_it(mask, count, seed):
    clicks = prompts(mask, f"{count}±pps", seed)
    signs = [click.is_positive for click in clicks]
    assert signs == sorted(signs, reverse=True)
    assert len({click.position for click in clicks}) == len(clicks)
    for z in slow_slices(mask):
        ring = slow_ring(mask[z])
        positive = [c.position for c in clicks if c.is_positive and c.position[0] == z]
        negative = [c.position[1:] for c in clicks if not c.is_positive and c.position[0] == z]
        assert all(mask[position] for position in positive)
        assert set(negative) <= ring
        assert len(positive) == min(count - count // 2, int(mask[z].sum()))
        assert len(negative) == min(count // 2, len(ring))


@given(VOLUMES, st.sampled_from([1, 3, 10]), st.integers(0, 9))
def test_points_in_the_volume_are_distinct_voxels_of_the_object(mask, count, seed):
    clicks = prompts(mask, f"{count}-ppv", seed)
    assert all(mask[click.position] for click in clicks)
    assert len({click.position for click in clicks}) == len(clicks) == min(count, int(mask.sum()))


@given(VOLUMES, st.integers(0, 9))
def test_points_to_propagate_lie_in_the_median_slice(mask, seed):
    given_ = prompts(mask, "p-prop", seed)
    if not mask.any():
        return
    *clicks, ends = given_
    middle = slow_middle(mask)
    assert ends == Limits(min(slow_slices(mask)), max(slow_slices(mask)))
    assert (
        len({click.position for click in clicks}) == len(clicks) == min(5, int(mask[middle].sum()))
    )
    assert all(mask[click.position] and click.position[0] == middle for click in clicks)


@pytest.mark.parametrize("name", ["1-pps", "2±pps", "1-ppv", "p-prop"])
def test_every_pixel_may_be_drawn(name):
    mask = np.zeros((3, 9, 9), dtype=bool)
    mask[1, 3:5, 3:6] = True
    drawn = {
        c.position
        for seed in range(60)
        for c in prompts(mask, name, seed)
        if isinstance(c, Click) and c.is_positive
    }
    assert drawn == set(map(tuple, np.argwhere(mask).tolist()))


@pytest.mark.parametrize(
    ("name", "effort"),
    [
        ("1-pps", 4),
        ("10-pps", 40),
        ("5±pps", 20),
        ("center-pps", 4),
        ("box-ps", 8),
        ("5p-inter", 4),
        ("3p-inter", 3),
        ("3b-inter", 6),
        ("5b-inter", 8),
        ("p-prop", 7),
        ("center-prop", 3),
        ("b-prop", 4),
        ("3d-box-slices", 3),
        ("10-ppv", 10),
        ("2-center-ppv", 2),
        ("3d-box", 3),
        ("centroid", 1),
    ],
)
def test_effort_counts_what_was_given(name, effort):
    mask = np.zeros((6, 20, 20), dtype=bool)
    mask[1:5, 5:12, 5:14] = True  # four slices: five keys are four
    assert sum(prompt.effort for prompt in prompts(mask, name)) == effort


def test_box_over_one_slice_costs_a_box_in_a_slice():
    mask = np.zeros((6, 20, 20), dtype=bool)
    mask[1, 5:12, 5:14] = True
    assert sum(prompt.effort for prompt in prompts(mask, "3d-box")) == 2
    assert sum(prompt.effort for prompt in prompts(mask, "3b-inter")) == 2


SHAPE = (5, 30, 40)
BOXES = st.tuples(
    st.integers(0, 4), st.integers(0, 29), st.integers(0, 39), st.integers(1, 9), st.integers(1, 9)
).map(lambda v: Box((v[0], v[1], v[2]), (v[0] + 1, min(30, v[1] + v[3]), min(40, v[2] + v[4]))))


@given(BOXES, st.integers(0, 99), st.sampled_from([3, 5]), st.booleans())
def test_edge_noise_moves_each_edge_within_its_bound(box, seed, most_px, is_clipped):
    noisy = add_edge_noise(box, SHAPE, np.random.default_rng(seed), most_px, is_clipped=is_clipped)
    check_prompt(noisy, SHAPE)
    assert (noisy.start[0], noisy.stop[0]) == (box.start[0], box.stop[0])
    for axis in (1, 2):
        if box.stop[axis] - box.start[axis] > 2 * most_px and box.stop[axis] < SHAPE[axis]:
            assert abs(noisy.start[axis] - box.start[axis]) <= most_px
            assert abs(noisy.stop[axis] - box.stop[axis]) <= most_px


def test_edges_are_noisy_independently_and_uniformly():
    box, rng = Box((1, 10, 10), (2, 20, 25)), np.random.default_rng(0)
    noisy = [add_edge_noise(box, SHAPE, rng, 3) for _ in range(3000)]
    moves = np.array(
        [[n.start[1] - 10, n.start[2] - 10, n.stop[1] - 20, n.stop[2] - 25] for n in noisy]
    )
    assert all(np.bincount(moves[:, i] + 3, minlength=7).min() > 350 for i in range(4))
    assert np.abs(np.corrcoef(moves.T) - np.eye(4)).max() < 0.06


class Given:
    """Returns given random numbers."""

    def __init__(self, moves):
        self.moves = list(moves)

    def integers(self, low, high, size):
        moves, self.moves = self.moves[:size], self.moves[size:]
        assert all(low <= move < high for move in moves)
        return np.array(moves)


def published_edges(first, last, size):
    """The published repair of one pair of edges; reversed or empty results are not valid boxes here."""
    first, last = min(max(first, 0), size - 1), min(max(last, 0), size - 1)
    if first >= last:
        first, last = max(0, first - 1), min(size - 1, last + 1)
    return min(first, last), max(first, last, min(first, last) + 1)


@given(BOXES, st.tuples(*[st.integers(-5, 5)] * 4))
def test_published_noise_is_clipped_and_repaired_edge_by_edge(box, moves):
    noisy = add_edge_noise(box, SHAPE, Given(moves), 5, is_clipped=True)
    for axis in (1, 2):
        start, stop = box.start[axis] + moves[axis - 1], box.stop[axis] + moves[axis + 1]
        assert (noisy.start[axis], noisy.stop[axis]) == published_edges(start, stop, SHAPE[axis])


@given(BOXES, st.tuples(*[st.integers(-5, 5)] * 4))
def test_noise_is_cut_at_the_frame_and_edges_that_pass_change_places(box, moves):
    noisy = add_edge_noise(box, SHAPE, Given(moves), 5)
    for axis in (1, 2):
        edges = sorted((box.start[axis] + moves[axis - 1], box.stop[axis] + moves[axis + 1]))
        start = min(max(edges[0], 0), SHAPE[axis] - 1)
        assert (noisy.start[axis], noisy.stop[axis]) == (
            start,
            max(start + 1, min(edges[1], SHAPE[axis])),
        )


def test_published_noise_loses_the_last_pixel_at_the_border():
    box = Box((0, 0, 0), (1, 30, 40))
    assert add_edge_noise(box, SHAPE, np.random.default_rng(0), 0, is_clipped=True).stop == (
        1,
        29,
        39,
    )
    assert add_edge_noise(box, SHAPE, np.random.default_rng(0), 0) == box


@given(BOXES, st.integers(0, 99), st.integers(0, 5))
def test_shifted_box_keeps_its_size(box, seed, most_px):
    moved = shift_box(box, SHAPE, np.random.default_rng(seed), most_px)
    check_prompt(moved, SHAPE)
    sizes = [[b - a for a, b in zip(each.start, each.stop, strict=True)] for each in (box, moved)]
    assert sizes[0] == sizes[1]
    assert moved.start[0] == box.start[0]
    assert all(abs(a - b) <= most_px for a, b in zip(moved.start, box.start, strict=True))


def test_names_are_numbers_in_forms():
    assert find_scheme("10-pps")[1] == 10
    assert find_scheme("5+-pps") == find_scheme("5±pps")
    assert find_scheme("3d-box")[1] == 0
    for name in ("0-pps", "pps", "N-pps", "3B-inter", "box", ""):
        with pytest.raises(InvalidInput, match="no prompting scheme"):
            find_scheme(name)


def test_quirks_are_named_or_published():
    assert resolve_quirks("published", ()) == set(QUIRKS)
    assert resolve_quirks("careful", ["inclusive-box"]) == {"inclusive-box"}
    with pytest.raises(InvalidInput, match="odd"):
        resolve_quirks("careful", ["odd"])
