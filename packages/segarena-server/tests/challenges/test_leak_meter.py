"""The leak meter, compared with a slow nearest-prompt search, and its values for known shapes."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Scribble
from segarena.samples import ImageSample, Support, Target, VideoSample, VolumeSample
from segarena.segmenters.drawing import nearest_prompt
from segarena.segmenters.drawing.nearest_prompt import blind_labels
from segarena_server.challenges.leak_meter import Leak, measure_leak

SHAPE = (40, 60)
ROWS, COLUMNS = np.indices(SHAPE)
DISC = np.hypot(ROWS - 20, COLUMNS - 25) < 9
PHOTOGRAPH = ImageSample(id="a", image=np.zeros((*SHAPE, 3), np.uint8))


def of(mask, *prompts, sample=PHOTOGRAPH, ignore=None):
    return measure_leak(sample, Target(id="t", mask=mask, ignore=ignore), prompts)


def by_search(clicks, shape):
    """Return distances of each pixel from the nearest positive click, and from the nearest other one or the frame."""
    places = np.stack(np.indices(shape), axis=-1)
    corners = [
        (row, column) for row in range(-1, shape[0] + 1) for column in range(-1, shape[1] + 1)
    ]
    ring = [at for at in corners if at[0] in (-1, shape[0]) or at[1] in (-1, shape[1])]
    inside = [click.position for click in clicks if click.is_positive]
    outside = [*ring, *(click.position for click in clicks if not click.is_positive)]
    squared = [
        [((places - np.array(at)) ** 2).sum(axis=-1) for at in each] for each in (inside, outside)
    ]
    return [np.min(each, axis=0) for each in squared]


def around(radius, count=24, plane=()):
    """Return points on a circle about the middle of the disc."""
    angles = np.linspace(0, 2 * np.pi, count)
    return tuple(
        (*plane, 20 + radius * np.sin(angle), 25 + radius * np.cos(angle)) for angle in angles
    )


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 10)), min_size=1, max_size=6, unique=True),
    st.integers(0, 63),
)
def test_each_pixel_goes_to_the_nearest_click(positions, signs):
    clicks = [
        Click(at, is_positive=number == 0 or bool(signs >> number & 1))
        for number, at in enumerate(positions)
    ]
    blind, steps = blind_labels(clicks, (9, 11))
    inside, outside = by_search(clicks, (9, 11))
    assert steps == (1, 1)
    assert (blind[inside < outside] == 1).all()
    assert (blind[inside > outside] == 0).all()


def test_nothing_is_known_without_prompts():
    assert of(DISC) == Leak(iou=0.0, peak=0.0, prompts=0)
    assert of(DISC, Click((0, 0), is_positive=False)).iou == 0.0
    assert of(np.zeros(SHAPE, bool)).iou == 1.0


def test_a_click_opens_some_and_many_open_nearly_all():
    few = [Click((20, 25))]
    ring = [Click((round(row), round(column)), is_positive=False) for row, column in around(13, 12)]
    rim = [Click((round(row), round(column))) for row, column in around(6, 12)]
    values = [of(DISC, *few).iou, of(DISC, *few, *ring).iou, of(DISC, *few, *ring, *rim).iou]
    assert 0.3 < values[0] < 0.6
    assert values[0] < values[1] < values[2]
    assert values[2] > 0.8


AREAS = {
    "box": ([Box((12, 17), (29, 34))], 0.9),
    "mask": ([MaskPrompt(DISC)], 1.0),
    "lasso": ([Lasso(around(8.5))], 0.2),
    "lasso and what is around": ([Lasso(around(8.5)), Scribble(around(10.0), False)], 0.9),
}


@pytest.mark.parametrize("name", AREAS)
def test_areas_give_away_what_they_hold(name):
    prompts, least = AREAS[name]
    assert of(DISC, *prompts).iou >= least


def test_an_example_says_nothing_of_the_sample():
    assert of(DISC, Support(PHOTOGRAPH, DISC)).iou == 0.0


def test_what_does_not_count_is_left_out():
    assert (
        of(DISC, Box((12, 17), (29, 34)), ignore=~DISC).iou > of(DISC, Box((12, 17), (29, 34))).iou
    )


def test_objects_are_told_apart():
    labels = np.zeros(SHAPE, np.uint8)
    labels[:, :30], labels[:, 30:] = 1, 2
    found = of(labels, Click((20, 10), object_id=1), Click((20, 50), object_id=2))
    one_only = of(labels, Click((20, 10), object_id=1))
    assert found.iou > one_only.iou
    assert one_only.iou == pytest.approx(0.5 * of(labels == 1, Click((20, 10))).iou)


def test_frames_of_a_video_are_filled_on_their_own_and_others_take_the_nearest():
    clip = VideoSample(id="v", frames=[PHOTOGRAPH.image] * 5, frame_shape=SHAPE)
    mask = np.stack([DISC] * 4 + [~DISC])
    line = Scribble(((1.0, 20.0, 20.0), (1.0, 20.0, 30.0)))
    found = of(mask, line, sample=clip)
    alone = of(DISC, Scribble(((20.0, 20.0), (20.0, 30.0)))).iou
    assert found.peak == pytest.approx(alone)
    assert 0.7 * alone < found.iou < alone
    boxes = [Box((0, 12, 17), (1, 29, 34)), Box((4, 0, 0), (5, 40, 60))]
    assert of(mask, *boxes, sample=clip).peak > 0.6


def test_a_volume_is_measured_in_millimetres_and_limits_close_slices():
    planes, rows, columns = np.indices((10, 40, 60))
    ball = (4 * (planes - 5)) ** 2 + (rows - 20) ** 2 + (columns - 25) ** 2 < 12**2
    scan = VolumeSample(id="s", voxels=np.zeros(ball.shape, np.int16), spacing_mm=(4.0, 1.0, 1.0))
    cubes = VolumeSample(id="s", voxels=scan.voxels, spacing_mm=(1.0, 1.0, 1.0))
    clicks = [
        Click((5, 20, 25)),
        *(Click((5, 20, column), is_positive=False) for column in (5, 45)),
    ]
    assert of(ball, *clicks, sample=scan).iou > of(ball, *clicks, sample=cubes).iou
    flat = ball & (planes == 5)
    assert of(flat, Limits(5, 5), *clicks, sample=cubes).iou > of(flat, *clicks, sample=cubes).iou
    slices = [Lasso(around(9, plane=(float(plane),))) for plane in (4, 5, 6)]
    assert of(ball, *slices, sample=scan).iou > 0.2


def test_a_large_sample_is_read_on_a_grid_and_says_about_the_same(monkeypatch):
    clicks = [
        Click((20, 25)),
        Click((20, 45), is_positive=False),
        Click((35, 25), is_positive=False),
    ]
    fine = of(DISC, *clicks).iou
    monkeypatch.setattr(nearest_prompt, "MOST_POINTS", 900)
    assert blind_labels(clicks, SHAPE)[1] == (2, 2)
    assert of(DISC, *clicks).iou == pytest.approx(fine, abs=0.08)


def test_a_full_photograph_takes_a_moment():
    mask = np.zeros((1080, 1920), bool)
    mask[300:800, 500:1400] = True
    sample = ImageSample(id="l", image=np.zeros((1080, 1920, 3), np.uint8))
    clicks = [Click((300 + 20 * n, 500 + 40 * n), is_positive=n % 2 == 0) for n in range(20)]
    begun = time.process_time()
    of(mask, *clicks, sample=sample)
    assert time.process_time() - begun < 10.0
