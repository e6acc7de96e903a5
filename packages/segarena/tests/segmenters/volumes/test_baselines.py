"""The volume segmenters without weights, on generated scans, and their parts, compared with slow references."""

import heapq
import itertools

import numpy as np
import pytest
from scipy import ndimage

from segarena import registry
from segarena.dialogue import Dialogue
from segarena.errors import InvalidImage, InvalidPrompt, PluginInvalid, SegmenterError
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Scribble
from segarena.samples import ImageSample, VolumeSample
from segarena.segmenters.drawing.prompt_pixel_marks import INSIDE, OUTSIDE, UNKNOWN
from segarena.segmenters.volumes.random_walker import meeting_probability
from segarena.segmenters.volumes.seeding.seed_marks import Seeds
from segarena.segmenters.volumes.seeding.voxel_blocks import Blocks

NAMES = ["random-walker", "geodesic"]
SIZE_MM = (60.0, 80.0, 80.0)
COARSE_MM = (4.0, 2.0, 2.0)
FINE_MM = (2.0, 1.0, 1.0)  # in which the tests that name voxels count


def scene(spacing_mm=COARSE_MM, seed=0):
    """A bent organ of two lobes beside another one of the same brightness, and dark tissue, with noise."""
    shape = tuple(int(size / edge) for size, edge in zip(SIZE_MM, spacing_mm, strict=True))
    z, y, x = ((np.arange(n) + 0.5) * edge for n, edge in zip(shape, spacing_mm, strict=True))
    z, y, x = z[:, None, None], y[None, :, None], x[None, None, :]
    lobe = ((z - 26) / 14) ** 2 + ((y - 34) / 16) ** 2 + ((x - 30) / 12) ** 2 < 1
    other = ((z - 36) / 10) ** 2 + ((y - 50) / 10) ** 2 + ((x - 42) / 12) ** 2 < 1
    neighbour = ((z - 30) / 20) ** 2 + ((y - 24) / 12) ** 2 + ((x - 66) / 8) ** 2 < 1
    truth = lobe | other
    noise = np.random.default_rng(seed).normal(0, 12, shape)
    voxels = np.where(truth | neighbour, 120.0, 40.0) + noise
    return VolumeSample(id="scene", voxels=voxels.astype(np.float32), spacing_mm=spacing_mm), truth


def dice(one, other):
    return 2 * (one & other).sum() / (one.sum() + other.sum())


def correction(mask, truth, spacing_mm):
    """A click in the middle of the largest error."""
    best = None
    for wrong, is_positive in ((truth & ~mask, True), (mask & ~truth, False)):
        parts, count = ndimage.label(wrong, np.ones((3, 3, 3)))
        for part in range(1, count + 1):
            there = parts == part
            if best is None or there.sum() > best[0]:
                depth = ndimage.distance_transform_edt(np.pad(there, 1), sampling=spacing_mm)[
                    1:-1, 1:-1, 1:-1
                ]
                position = np.unravel_index(int(depth.argmax()), depth.shape)
                best = there.sum(), Click(tuple(int(i) for i in position), is_positive)
    return best[1]


def talk(name, sample, truth, first, rounds=6):
    segmenter = registry.build("segmenter", name)
    encoded, dialogue, reached = segmenter.encode(sample), Dialogue(), []
    mask = np.zeros(sample.shape, bool)
    for number in range(rounds):
        prompts = first if number == 0 and first else (correction(mask, truth, sample.spacing_mm),)
        dialogue = dialogue.ask(tuple(prompts))
        (prediction,) = segmenter.predict(encoded, [dialogue])
        dialogue, mask = dialogue.answer(prediction), prediction.mask
        reached.append(dice(mask, truth))
    return reached


def box_of(truth):
    ends = np.argwhere(truth)
    return Box(tuple(int(i) for i in ends.min(axis=0)), tuple(int(i) + 1 for i in ends.max(axis=0)))


@pytest.mark.parametrize("name", NAMES)
def test_more_clicks_make_it_better(name):
    sample, truth = scene()
    reached = talk(name, sample, truth, ())
    assert reached[0] > 0.3
    assert reached[-1] > max(0.8, reached[0])


@pytest.mark.parametrize("name", NAMES)
def test_a_box_alone_says_much_and_a_correction_adds_to_it(name):
    sample, truth = scene()
    reached = talk(name, sample, truth, (box_of(truth),), rounds=4)
    assert reached[0] > 0.75
    assert reached[-1] >= reached[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_scene_in_other_voxels_is_the_same_object(name):
    segmenter = registry.build("segmenter", name)
    masks = []
    for spacing_mm in ((1.0, 1.0, 1.0), (4.0, 1.0, 1.0), (2.0, 2.0, 1.0)):
        sample, _ = scene(spacing_mm)
        click = Click(
            tuple(int(mm / edge) for mm, edge in zip((28, 38, 33), spacing_mm, strict=True))
        )
        away = Click(
            tuple(int(mm / edge) for mm, edge in zip((30, 24, 66), spacing_mm, strict=True)), False
        )
        (prediction,) = segmenter.predict(segmenter.encode(sample), [Dialogue(((click, away),))])
        for axis, edge in enumerate(spacing_mm):
            prediction = type(prediction)(np.repeat(prediction.mask, int(edge), axis=axis))
        masks.append(prediction.mask)
    for one, other in itertools.combinations(masks, 2):
        assert dice(one, other) > 0.85


@pytest.mark.parametrize("name", NAMES)
def test_a_correction_leaves_what_is_far_away_alone(name):
    sample, truth = scene()
    segmenter = registry.build("segmenter", f"{name}(reach_mm=15.0)")
    encoded = segmenter.encode(sample)
    dialogue = Dialogue(((box_of(truth),),))
    (before,) = segmenter.predict(encoded, [dialogue])
    corner = Click((2, 2, 2), is_positive=False)
    (after,) = segmenter.predict(encoded, [dialogue.answer(before).ask((corner,))])
    np.testing.assert_array_equal(after.mask[15:], before.mask[15:])


@pytest.mark.parametrize("name", NAMES)
def test_what_was_clicked_is_obeyed_and_limits_cut(name):
    sample, _ = scene(FINE_MM)
    segmenter = registry.build("segmenter", name)
    prompts = (
        Click((13, 34, 30)),
        Click((13, 34, 31), False),
        Limits(10, 16),
        Limits(20, 70, axis=1),
    )
    (prediction,) = segmenter.predict(segmenter.encode(sample), [Dialogue((prompts,))])
    assert prediction.mask[13, 34, 30]
    assert not prediction.mask[13, 34, 31]
    assert prediction.mask.any()
    assert not prediction.mask[:10].any()
    assert not prediction.mask[17:].any()
    assert not prediction.mask[:, :20].any()


@pytest.mark.parametrize("name", NAMES)
def test_limits_alone_cut_the_previous_mask(name):
    sample, truth = scene()
    segmenter = registry.build("segmenter", name)
    encoded = segmenter.encode(sample)
    dialogue = Dialogue(((box_of(truth),),))
    (before,) = segmenter.predict(encoded, [dialogue])
    (after,) = segmenter.predict(encoded, [dialogue.answer(before).ask((Limits(12, 14),))])
    np.testing.assert_array_equal(after.mask[12:15], before.mask[12:15])
    assert after.mask.sum() == before.mask[12:15].sum()


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_scribbles_lassos_slices_boxes_and_masks_are_understood(name):
    sample, truth = scene(FINE_MM)
    segmenter = registry.build("segmenter", name)
    encoded = segmenter.encode(sample)
    middle = truth[13]
    rows, columns = np.nonzero(middle)
    flat = Box(
        (13, int(rows.min()), int(columns.min())), (14, int(rows.max()) + 1, int(columns.max()) + 1)
    )
    outline = tuple((13.0, float(r), float(c)) for r, c in ((24, 24), (24, 36), (44, 36), (44, 24)))
    drawn = ndimage.binary_erosion(truth, iterations=2)
    for prompts in (
        (Scribble(((10.0, 34.0, 28.0), (16.0, 34.0, 32.0))),),
        (Lasso(outline),),
        (flat,),
        (MaskPrompt(drawn),),
    ):
        (prediction,) = segmenter.predict(encoded, [Dialogue((prompts,))])
        assert dice(prediction.mask, truth) > 0.4, prompts[0].kind


@pytest.mark.parametrize("name", NAMES)
def test_nothing_said_to_be_inside_gives_nothing(name):
    sample, _ = scene()
    segmenter = registry.build("segmenter", name)
    empty = MaskPrompt(np.zeros(sample.shape, bool))
    for prompts in ((Click((3, 3, 3), False),), (Limits(3, 9),), (empty,)):
        (prediction,) = segmenter.predict(segmenter.encode(sample), [Dialogue((prompts,))])
        assert not prediction.mask.any()


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_named(name):
    segmenter = registry.build("segmenter", name)
    with pytest.raises(SegmenterError, match="volumes"):
        segmenter.encode(ImageSample(id="a", image=np.zeros((4, 4, 3), np.uint8)))
    with pytest.raises(SegmenterError, match="spacing"):
        segmenter.encode(
            VolumeSample(id="a", voxels=np.zeros((3, 3, 3)), spacing_mm=(1.0, 0.0, 1.0))
        )
    holes = VolumeSample(id="a", voxels=np.full((3, 9, 9), np.nan), spacing_mm=(1.0, 1.0, 1.0))
    with pytest.raises(InvalidImage, match="NaN"):
        segmenter.predict(holes, [Dialogue(((Click((1, 4, 4)),),))])
    with pytest.raises(InvalidPrompt):
        segmenter.predict(holes, [Dialogue(((Click((3, 4, 4)),),))])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("option", ["reach_mm=-1.0", "most_blocks=0"])
def test_options_out_of_range_are_refused(name, option):
    with pytest.raises(PluginInvalid):
        registry.build("segmenter", f"{name}({option})")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, 7])
def test_a_scan_of_one_value_is_answered(name, value):
    sample = VolumeSample(
        id="a", voxels=np.full((6, 20, 20), value, np.int16), spacing_mm=(3.0, 1.0, 1.0)
    )
    segmenter = registry.build("segmenter", name)
    (prediction,) = segmenter.predict(segmenter.encode(sample), [Dialogue(((Click((3, 9, 9)),),))])
    assert prediction.mask[3, 9, 9]


def test_blocks_join_the_shortest_edges_first_and_stay_within_their_number():
    sample = VolumeSample(
        id="a", voxels=np.zeros((30, 200, 300), np.int16), spacing_mm=(5.0, 0.8, 0.7)
    )
    blocks = Blocks.over(sample, (slice(0, 30), slice(0, 200), slice(10, 300)), 100_000)
    assert np.prod(blocks.shape) <= 100_000
    assert blocks.steps[0] == 1
    assert max(blocks.spacing_mm) / min(blocks.spacing_mm) < 2


def test_block_means_are_those_of_their_voxels():
    rng = np.random.default_rng(0)
    sample = VolumeSample(
        id="a",
        voxels=rng.integers(-500, 500, (7, 9, 11)).astype(np.int16),
        spacing_mm=(1.0, 1.0, 1.0),
    )
    blocks = Blocks(sample, (slice(1, 7), slice(0, 8), slice(2, 11)), (2, 3, 4))
    means = blocks.intensities()
    assert means.shape == blocks.shape == (3, 3, 3)
    for d, h, w in itertools.product(range(3), repeat=3):
        voxels = sample.voxels[1:7, 0:8, 2:11][
            2 * d : 2 * d + 2, 3 * h : 3 * h + 3, 4 * w : 4 * w + 4
        ]
        assert means[d, h, w] == pytest.approx(voxels.mean())


def test_levels_are_interpolated_between_the_middles_of_blocks():
    sample = VolumeSample(id="a", voxels=np.zeros((1, 1, 12)), spacing_mm=(1.0, 1.0, 1.0))
    blocks = Blocks(sample, (slice(0, 1), slice(0, 1), slice(0, 12)), (1, 1, 4))
    mask = blocks.paste(np.array([[[-1.0, 1.0, 3.0]]]), np.zeros((1, 1, 12), bool))
    # Middles of blocks lie at 1.5, 5.5 and 9.5: the level is 0 at 3.5.
    np.testing.assert_array_equal(mask[0, 0], np.arange(12) > 3.5)


def test_seeds_are_drawn_as_said():
    sample = VolumeSample(id="a", voxels=np.zeros((9, 20, 20)), spacing_mm=(2.0, 1.0, 1.0))
    blocks = Blocks(sample, tuple(slice(0, n) for n in sample.shape), (1, 1, 1))
    seeds = Seeds(blocks)
    seeds.draw_box(Box((4, 5, 6), (5, 15, 16)))
    assert (seeds.marks[4, :5] == OUTSIDE).all()
    assert seeds.marks[4, 10, 10] == INSIDE
    assert seeds.marks[4, 6, 7] == UNKNOWN
    assert (seeds.marks[3] == UNKNOWN).all()  # a box of one slice says nothing of others
    seeds.draw_points(
        [Click((4, 10, 10), False), Scribble(((2.0, 3.0, 3.0), (6.0, 3.0, 3.0)))], 2.0
    )
    assert seeds.marks[4, 10, 10] == OUTSIDE
    assert (seeds.marks[2:7, 3, 3] == INSIDE).all()
    assert seeds.marks[7, 3, 3] == INSIDE  # 2 mm on
    assert seeds.marks[8, 3, 3] == UNKNOWN
    assert seeds.marks[4, 3, 5] == INSIDE
    assert (Seeds(blocks).marks == UNKNOWN).all()


def test_the_walk_is_the_solution_of_the_plain_linear_system():
    rng = np.random.default_rng(2)
    grey = rng.normal(0, 1, (3, 4, 5)).astype(np.float32)
    likelihood = rng.random((3, 4, 5)).astype(np.float32)
    marks = np.zeros((3, 4, 5), np.int8)
    marks[1, 1, 1], marks[0, 3, 4], marks[2, 0, 0] = INSIDE, OUTSIDE, OUTSIDE
    spacing_mm, beta, range_mm = (3.0, 1.0, 0.5), 0.7, 4.0
    given = meeting_probability(
        grey, marks, likelihood, spacing_mm=spacing_mm, beta=beta, range_mm=range_mm
    )
    places = list(itertools.product(range(3), range(4), range(5)))
    deviation = np.clip(grey, *np.percentile(grey, (1, 99))).std()
    system, ends = np.zeros((60, 60)), np.zeros(60)
    for index, place in enumerate(places):
        if marks[place]:
            system[index, index], ends[index] = 1, marks[place] == INSIDE
            continue
        system[index, index] = range_mm**-2
        ends[index] = likelihood[place] * range_mm**-2
        for axis, step in itertools.product(range(3), (-1, 1)):
            other = tuple(i + step * (a == axis) for a, i in enumerate(place))
            if other in places:
                contrast = (float(grey[other]) - float(grey[place])) / deviation
                conductance = (np.exp(-beta * contrast**2) + 1e-5) / spacing_mm[axis] ** 2
                system[index, index] += conductance
                system[index, places.index(other)] -= conductance
    np.testing.assert_allclose(given.ravel(), np.linalg.solve(system, ends), atol=1e-3)


def test_distances_are_those_of_the_cheapest_ways():
    segmenter = registry.build("segmenter", "geodesic")
    rng = np.random.default_rng(3)
    costs = rng.random((3, 4, 4))
    sample = VolumeSample(id="a", voxels=np.zeros((3, 4, 4)), spacing_mm=(2.0, 1.0, 1.5))
    blocks = Blocks(sample, tuple(slice(0, n) for n in sample.shape), (1, 1, 1))
    seeds = np.zeros((3, 4, 4), bool)
    seeds[0, 0, 0] = seeds[2, 3, 1] = True

    class Laid:
        pass

    layout = Laid()
    layout.blocks = blocks
    given = segmenter._distances(costs, seeds, layout)
    best, queue = {}, [(0.0, tuple(place)) for place in np.argwhere(seeds).tolist()]
    while queue:
        away, place = heapq.heappop(queue)
        if place in best:
            continue
        best[place] = away
        for step in itertools.product((-1, 0, 1), repeat=3):
            other = tuple(i + s for i, s in zip(place, step, strict=True))
            if other != place and all(0 <= i < n for i, n in zip(other, costs.shape, strict=True)):
                length = np.sqrt(
                    sum((s * edge) ** 2 for s, edge in zip(step, sample.spacing_mm, strict=True))
                )
                price = segmenter.base_cost + (costs[place] + costs[other]) / 2
                heapq.heappush(queue, (away + length * price, other))
    for place, away in best.items():
        assert given[place] == pytest.approx(away)
