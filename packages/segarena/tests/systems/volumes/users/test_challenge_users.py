"""The users of the CVPR 2025 and autoPET challenges; the tests of prompting cover their clicks too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput, PluginInvalid
from segarena.multi_object import empty_comparison
from segarena.prompts import Box, Click, Limits, Scribble, check_prompt
from segarena.registry import build
from segarena.roles import Turn
from segarena.samples import ImageSample, Target, VolumeSample


def blob(seed, shape=(14, 40, 60)):
    rng = np.random.default_rng(seed)
    field = ndimage.gaussian_filter(rng.random(shape), rng.uniform(1, 3))
    return field >= np.quantile(field, rng.uniform(0.6, 0.999))


def ask(text, target, rounds=(), prediction=None, seed=0):
    mask = np.zeros_like(target) if prediction is None else prediction
    user = build("user", text)
    prompts = user.next(
        Turn(
            sample=VolumeSample(
                id="s", voxels=np.zeros(target.shape, dtype=np.uint8), spacing_mm=(3.0, 1.0, 1.0)
            ),
            target=Target(id="t", mask=target),
            dialogue=Dialogue(rounds=tuple(rounds), previous=Prediction(mask)),
            comparison=Comparison(mask, Reference(target)),
            rng=np.random.default_rng(seed),
        )
    )
    for prompt in prompts or ():
        check_prompt(prompt, target.shape)
        assert prompt.kind in user.prompt_kinds
    return prompts


def script_box(target, enlarged_by):
    """The script's box with inclusive maxima, on the full volume."""
    slices = np.unique(np.where(target)[0])
    middle = int(slices[len(slices) // 2])
    rows, columns = np.where(target[middle])
    height, width = target.shape[1:]
    by_row, by_column = int(enlarged_by * height / 256), int(enlarged_by * width / 256)
    first = (max(0, int(rows.min()) - by_row), max(0, int(columns.min()) - by_column))
    last = (
        min(height - 1, int(rows.max()) + by_row),
        min(width - 1, int(columns.max()) + by_column),
    )
    return middle, first, last


@given(st.integers(0, 1000), st.integers(0, 99))
def test_first_round_is_the_box_of_the_middle_slice_and_the_limits(seed, draw):
    target = blob(seed, shape=(5, 130, 300))
    box, limits = ask("cvpr2025", target, seed=draw)
    allowed = [script_box(target, by) for by in range(6)]
    assert (box.start[0], box.start[1:], tuple(i - 1 for i in box.stop[1:])) in allowed
    assert box.stop[0] - box.start[0] == 1
    slices = np.flatnonzero(target.any(axis=(1, 2)))
    assert limits == Limits(int(slices[0]), int(slices[-1]))
    assert box.effort + limits.effort == 4


def test_every_enlargement_is_drawn():
    target = np.zeros((5, 256, 512), dtype=bool)
    target[2, 100:110, 100:110] = True
    boxes = [ask("cvpr2025", target, seed=seed)[0] for seed in range(100)]
    assert {(100 - box.start[1], 100 - box.start[2]) for box in boxes} == {
        (by, 2 * by) for by in range(6)
    }
    assert {box.start[1] for box in (ask("cvpr2025(most_px=0)", target)[0],)} == {100}


def test_small_images_get_the_exact_box():
    target = np.zeros((5, 40, 40), dtype=bool)
    target[1:4, 10:20, 10:20] = True
    assert {ask("cvpr2025", target, seed=seed)[0] for seed in range(20)} == {
        Box((2, 10, 10), (3, 20, 20))
    }


def test_middle_may_be_that_of_the_voxels():
    target = np.zeros((9, 20, 20), dtype=bool)
    target[0:7, 5, 5] = True
    target[7, 5:15, 5:15] = True
    assert ask("cvpr2025", target)[0].start[0] == 4
    assert ask("cvpr2025(middle='voxel')", target)[0].start[0] == 7
    target[7] = target[6]
    target[0:4] = False  # four voxels in four slices: the later of the two in the middle
    assert ask("cvpr2025(middle='voxel')", target)[0].start[0] == 6
    for seed in range(20):
        target = blob(seed)
        planes = np.where(target)[0]
        assert ask("cvpr2025(middle='voxel')", target)[0].start[0] == planes[len(planes) // 2]


@given(st.integers(0, 1000), st.integers(1001, 2000))
def test_other_rounds_click_the_middle_of_the_largest_error(first, second):
    prediction, target = blob(first), blob(second)
    (click,) = ask("cvpr2025", target, [ask("cvpr2025", target)], prediction)
    labels, count = ndimage.label(prediction ^ target, np.ones((3, 3, 3)))
    sizes = ndimage.sum_labels(np.ones_like(labels), labels, range(1, count + 1))
    largest = labels == 1 + int(np.argmax(sizes))  # labels are in raster order: the first of equals
    depth = ndimage.distance_transform_edt(np.pad(largest, 1))[1:-1, 1:-1, 1:-1]
    assert depth[click.position] == depth.max()
    assert click.is_positive == target[click.position]


def test_cases_without_a_box_are_clicked_from_the_start():
    target = np.zeros((7, 20, 20), dtype=bool)
    target[1:6, 5:10, 5:10] = True
    assert ask("cvpr2025(box=False)", target) == (Click((3, 7, 7)),)
    assert ask("cvpr2025(box=False)", np.zeros_like(target)) is None


def test_nothing_is_clicked_when_all_is_right():
    target = blob(3)
    assert ask("cvpr2025", target, [ask("cvpr2025", target)], target) is None
    assert ask("autopet", target, [ask("autopet", target)], target) is None


@pytest.mark.parametrize("text", ["cvpr2025", "autopet", "autopet(give='clicks')"])
def test_empty_target_is_not_talked_about(text):
    assert ask(text, np.zeros((4, 5, 6), dtype=bool)) is None


def test_pairs_of_clicks_do_not_look_at_the_prediction():
    target = blob(5)
    for seed in range(20):
        pair = ask("autopet(give='clicks')", target, seed=seed)
        assert [click.is_positive for click in pair] == [True, False]
        assert target[pair[0].position]
        assert not target[pair[1].position]
        again = ask("autopet(give='clicks')", target, [(Click((0, 0, 0)),)], blob(6), seed=seed)
        assert again == pair


def test_scribbles_go_through_both_kinds_of_error():
    target, prediction = np.zeros((9, 20, 20), dtype=bool), np.zeros((9, 20, 20), dtype=bool)
    target[1:8, 3:8, 3:10] = True
    prediction[1:8, 12:17, 10:17] = True
    assert ask("autopet", target) == (Scribble(tuple((z, 5, 6) for z in range(1, 8))),)
    positive, negative = ask("autopet", target, [ask("autopet", target)], prediction)
    assert positive.is_positive
    assert negative == Scribble(tuple((z, 14, 13) for z in range(1, 8)), is_positive=False)


@pytest.mark.parametrize(
    "text", ["cvpr2025(most_px=-1)", "cvpr2025(middle='x')", "autopet(give='boxes')"]
)
def test_odd_options_are_refused(text):
    with pytest.raises((InvalidInput, PluginInvalid)):
        build("user", text)


@pytest.mark.parametrize("text", ["cvpr2025", "autopet"])
def test_images_are_refused(text):
    image = ImageSample(id="s", image=np.zeros((9, 9, 3), dtype=np.uint8))
    target = Target(id="t", mask=np.ones((9, 9), dtype=bool))
    with pytest.raises(InvalidInput, match="one object in a volume"):
        build("user", text).next(
            Turn(
                sample=image,
                target=target,
                dialogue=Dialogue(),
                comparison=empty_comparison(image, target),
                rng=np.random.default_rng(0),
            )
        )
