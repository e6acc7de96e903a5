import itertools

import numpy as np
import pytest
from scipy.spatial import KDTree

from segarena import registry
from segarena.dialogue import Dialogue
from segarena.errors import PluginInvalid, SegmenterError
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Scribble
from segarena.samples import ImageSample, Support, Target, VideoSample, VolumeSample
from segarena.segmenters.controls import DegradedTruth, Nothing, TargetBox, Truth, find_meant_target

SHAPE, SPACING_MM = (20, 50, 60), (2.0, 1.0, 1.0)


def ball(centre, radius_mm):
    axes = np.ogrid[tuple(slice(0, n) for n in SHAPE)]
    return (
        sum(((a - c) * e) ** 2 for a, c, e in zip(axes, centre, SPACING_MM, strict=True))
        <= radius_mm**2
    )


ORGAN, LESION, OTHER = ball((10, 25, 20), 15), ball((10, 30, 20), 4), ball((9, 25, 48), 8)


def scan(**masks):
    masks = masks or {"organ": ORGAN, "lesion": LESION, "other": OTHER}
    targets = tuple(Target(id=name, mask=mask) for name, mask in masks.items())
    return VolumeSample(
        id="scan", voxels=np.zeros(SHAPE, np.int16), spacing_mm=SPACING_MM, targets=targets
    )


def ask(segmenter, sample, *rounds):
    (prediction,) = segmenter.predict(
        segmenter.encode(sample), [Dialogue(tuple(map(tuple, rounds)))]
    )
    return prediction.mask


def depth_of(mask):
    """Distance in millimetres from each voxel to the nearest one on the other side, by a search tree."""
    places = np.array(list(itertools.product(*map(range, SHAPE)))) * SPACING_MM
    flat = mask.ravel()
    depth = np.empty(len(flat))
    for state in (True, False):
        depth[flat == state], _ = KDTree(places[flat != state]).query(places[flat == state])
    return depth.reshape(SHAPE)


def test_the_border_is_moved_by_millimetres():
    small = ball((10, 25, 20), 6)
    depth = depth_of(small)
    shrunk = ask(
        DegradedTruth(border_mm=-2.0, wobble_mm=0, heal_mm=0), scan(it=small), [Limits(0, 19)]
    )
    np.testing.assert_array_equal(shrunk, small & (depth > 2.5))
    swollen = ask(
        DegradedTruth(border_mm=2.0, wobble_mm=0, heal_mm=0), scan(it=small), [Limits(0, 19)]
    )
    np.testing.assert_array_equal(swollen, small | (depth < 2.5))


def test_without_any_harm_it_is_the_truth():
    segmenter = DegradedTruth(border_mm=0, wobble_mm=0)
    np.testing.assert_array_equal(ask(segmenter, scan(), [Click((10, 15, 20))]), ORGAN)


def test_the_same_target_is_made_worse_in_the_same_way_and_another_seed_in_another():
    prompts = [Box((3, 10, 5), (18, 41, 36))]
    one, again, other = (ask(DegradedTruth(seed=seed), scan(), prompts) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    assert (one != ORGAN).any()


def test_slices_are_lost_and_shapes_are_smoothed():
    lost = ask(
        DegradedTruth(border_mm=0, wobble_mm=0, lost_slices=0.4), scan(it=ORGAN), [Limits(0, 19)]
    )
    planes = ORGAN.any(axis=(1, 2))
    assert (planes & ~lost.any(axis=(1, 2))).sum() == round(0.4 * planes.sum())
    np.testing.assert_array_equal(lost[lost.any(axis=(1, 2))], ORGAN[lost.any(axis=(1, 2))])
    spiky = ball((10, 25, 20), 8)
    spiky[10, 25, :50] = True
    smooth = ask(
        DegradedTruth(border_mm=0, wobble_mm=0, smooth_mm=2.0), scan(it=spiky), [Limits(0, 19)]
    )
    assert not smooth[10, 25, 40]
    assert smooth[10, 25, 20]


def test_every_prompt_near_an_error_makes_it_better():
    segmenter = DegradedTruth(border_mm=-4.0, lost_slices=0.3)
    sample, rounds, errors = scan(), [[Box((3, 10, 5), (18, 41, 36))]], []
    for _ in range(5):
        wrong = ask(segmenter, sample, *rounds) != ORGAN
        errors.append(int(wrong.sum()))
        place = np.argwhere(wrong)[len(np.argwhere(wrong)) // 2]
        rounds.append([Click(tuple(int(i) for i in place), bool(ORGAN[tuple(place)]))])
    assert all(later < earlier for earlier, later in itertools.pairwise(errors))


def test_lines_heal_around_them_and_lassos_within():
    segmenter = DegradedTruth(border_mm=-30.0, wobble_mm=0, heal_mm=3.0)
    line = Scribble(((10.0, 25.0, 14.0), (10.0, 25.0, 26.0)))
    mask = ask(segmenter, scan(it=ORGAN), [line])
    assert mask[10, 25, 12:29].all()
    assert not mask[10, 30, 20]
    outline = Lasso(
        tuple((10.0, float(r), float(c)) for r, c in ((20, 15), (20, 25), (30, 25), (30, 15)))
    )
    mask = ask(segmenter, scan(it=ORGAN), [outline])
    want = np.zeros(SHAPE, bool)
    want[10, 20:31, 15:26] = ORGAN[10, 20:31, 15:26]
    np.testing.assert_array_equal(mask, want)


@pytest.mark.parametrize(
    ("prompts", "meant"),
    [
        ([Click((10, 15, 20))], "organ"),
        ([Click((10, 30, 20))], "lesion"),  # in both: the smaller
        ([Click((9, 25, 48))], "other"),
        ([Box((3, 10, 5), (18, 41, 36))], "organ"),
        ([Box((10, 26, 16), (11, 35, 25))], "lesion"),
        ([Box((10, 10, 5), (11, 41, 36))], "organ"),
        ([Click((10, 30, 20)), Limits(3, 17)], "organ"),
        ([MaskPrompt(OTHER)], "other"),
        ([Click((10, 15, 20)), Click((10, 30, 20), is_positive=False)], "organ"),
    ],
)
def test_prompts_tell_which_target_is_meant(prompts, meant):
    assert find_meant_target(Truth(scan()), prompts).id == meant


def test_limits_cut():
    mask = ask(DegradedTruth(), scan(), [Click((10, 15, 20)), Limits(8, 11)])
    assert mask.any()
    assert not mask[:8].any()
    assert not mask[12:].any()


def test_bad_input_is_named():
    with pytest.raises(SegmenterError, match="volumes"):
        DegradedTruth().encode(ImageSample(id="a", image=np.zeros((4, 4, 3), np.uint8)))
    with pytest.raises(SegmenterError, match="targets"):
        DegradedTruth().encode(
            VolumeSample(id="a", voxels=np.zeros((3, 3, 3)), spacing_mm=(1.0, 1.0, 1.0))
        )
    for options in ({"lost_slices": 2.0}, {"heal_mm": -1.0}, {"wobble_scale_mm": 0.0}):
        with pytest.raises(PluginInvalid):
            DegradedTruth(**options)


def test_an_empty_target_is_answered_with_nothing():
    sample = scan(it=np.zeros(SHAPE, bool))
    assert not ask(DegradedTruth(), sample, [Click((10, 15, 20))]).any()


def test_everything_is_everything():
    sample = ImageSample(id="p", image=np.zeros((4, 5, 3), np.uint8))
    for shown in (scan(), sample):
        assert ask(registry.build("segmenter", "everything"), shown, [Limits(0, 1)]).all()


def shown(mask):
    mask = np.asarray(mask, bool)
    return Support(ImageSample(id="s", image=np.zeros((*mask.shape, 3), np.uint8)), mask)


def test_a_copied_mask_is_the_supports_stretched_to_the_image():
    segmenter = registry.build("segmenter", "copy-support-mask")
    mask = np.arange(24).reshape(4, 6) % 5 == 0
    for rows, columns in ((1, 1), (2, 3)):
        sample = ImageSample(id="p", image=np.zeros((4 * rows, 6 * columns, 3), np.uint8))
        expected = mask.repeat(rows, 0).repeat(columns, 1)
        assert np.array_equal(ask(segmenter, sample, [shown(mask)]), expected)
    assert not ask(segmenter, sample, [shown(mask & ~mask)]).any()


def test_of_several_copied_masks_half_is_enough():
    segmenter = registry.build("segmenter", "copy-support-mask")
    sample = ImageSample(id="p", image=np.zeros((1, 3, 3), np.uint8))
    supports = [shown([[1, 1, 0]]), shown([[1, 0, 0]])]
    assert np.array_equal(ask(segmenter, sample, supports), [[1, 1, 0]])
    assert np.array_equal(ask(segmenter, sample, [*supports, shown([[1, 0, 1]])]), [[1, 0, 0]])


def test_nothing_is_nothing():
    for sample in (scan(), ImageSample(id="a", image=np.zeros((4, 5, 3), np.uint8))):
        mask = ask(Nothing(), sample, [Limits(0, 1)])
        assert mask.shape == sample.shape
        assert not mask.any()
    assert isinstance(registry.build("segmenter", "nothing"), Nothing)


def corners(mask):
    """The first and last index of a mask along each axis."""
    places = np.argwhere(mask)
    return places.min(axis=0).tolist(), places.max(axis=0).tolist()


@pytest.mark.parametrize(
    ("prompts", "meant"),
    [
        ([Click((10, 15, 20))], ORGAN),
        ([Click((10, 30, 20))], LESION),  # in both: the smaller
        ([Click((10, 30, 20)), Click((10, 15, 20))], ORGAN),
        ([Click((10, 15, 20)), Click((10, 30, 20), is_positive=False)], ORGAN),
        ([Box((3, 10, 5), (18, 41, 36))], ORGAN),
        ([Scribble(((9.0, 25.0, 44.0), (9.0, 25.0, 52.0)))], OTHER),
        ([MaskPrompt(OTHER)], OTHER),
    ],
)
def test_the_box_of_the_target_that_prompts_agree_with(prompts, meant):
    found = ask(TargetBox(), scan(), prompts)
    assert corners(found) == corners(meant)
    assert found.sum() == np.prod(np.ptp(np.argwhere(meant), axis=0) + 1)


def test_a_box_in_each_frame_and_around_each_object():
    labels = np.zeros((2, 9, 9), np.uint8)
    labels[0, 2, 2], labels[0, 4, 5] = 1, 1
    labels[1, 7, 1], labels[1, 8, 8] = 2, 1
    frames = np.zeros((2, 9, 9, 3), np.uint8)
    clip = VideoSample(
        id="v", frames=frames, frame_shape=(9, 9), targets=(Target(id="t", mask=labels),)
    )
    want = labels.copy()
    want[0, 2:5, 2:6] = 1
    np.testing.assert_array_equal(ask(TargetBox(), clip, [Click((0, 2, 2))]), want)


def test_on_a_photograph_lines_and_lassos_tell_the_target_too():
    ring, dot = np.zeros((20, 30), bool), np.zeros((20, 30), bool)
    ring[2:18, 2:28], dot[9:12, 9:12] = True, True
    targets = (Target(id="ring", mask=ring), Target(id="dot", mask=dot))
    sample = ImageSample(id="p", image=np.zeros((20, 30, 3), np.uint8), targets=targets)
    for prompt, meant in [
        (Scribble(((4.0, 4.0), (4.0, 20.0))), ring),
        (Scribble(((10.0, 9.0), (10.0, 11.0))), dot),
        (Lasso(((3.0, 3.0), (3.0, 20.0), (15.0, 20.0))), ring),
        (Box((9, 9), (12, 12)), dot),
    ]:
        np.testing.assert_array_equal(ask(TargetBox(), sample, [prompt]), meant)


def test_an_empty_target_has_no_box_and_a_sample_without_targets_is_refused():
    assert not ask(TargetBox(), scan(it=np.zeros(SHAPE, bool)), [Click((10, 15, 20))]).any()
    with pytest.raises(SegmenterError, match="got none in sample a"):
        TargetBox().encode(ImageSample(id="a", image=np.zeros((4, 4, 3), np.uint8)))
