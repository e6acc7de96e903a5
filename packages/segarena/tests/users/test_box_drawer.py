from __future__ import annotations

import numpy as np
import pytest

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput, PluginInvalid
from segarena.prompts import Box, Click, Limits, check_prompt
from segarena.registry import build
from segarena.roles import Turn
from segarena.samples import ImageSample, Target, VolumeSample
from segarena.users.habits.box_habits import BoxHabits, SizeClass
from segarena.users.habits.habit_files import format_habits


def ask(user, target, *, prediction=None, rounds=(), repeat=0, seed=0, name="s"):
    mask = np.zeros_like(target) if prediction is None else prediction
    image = target.ndim == 2
    voxels = np.zeros(target.shape, dtype=np.uint8)
    if image:
        sample = ImageSample(id=name, image=np.repeat(voxels[..., None], 3, axis=-1))
    else:
        sample = VolumeSample(id=name, voxels=voxels, spacing_mm=(1.0, 1.0, 1.0))
    given = user.next(
        Turn(
            sample=sample,
            target=Target(id="t", mask=target),
            dialogue=Dialogue(rounds=tuple(rounds), previous=Prediction(mask)),
            comparison=Comparison(mask, Reference(target)),
            rng=np.random.default_rng(seed),
            repeat=repeat,
        )
    )
    for prompt in given or ():
        check_prompt(prompt, target.shape)
    return given


def rectangle(rows=slice(30, 70), columns=slice(20, 100), shape=(120, 160)):
    mask = np.zeros(shape, dtype=bool)
    mask[rows, columns] = True
    return mask


@pytest.fixture
def exactly(tmp_path):
    """A habit file of a person whose edges are all a tenth of the side outside."""

    def write(offset=0.1, between_people=0.0):
        habits = BoxHabits(
            source="made here",
            between_people=between_people,
            tail=4.0,
            correlation=tuple(map(tuple, np.eye(4).tolist())),
            levels=(0.0, 1.0),
            sizes=(SizeClass(side_px=10.0, edges=0, quantiles=((offset, offset),)),),
        )
        path = tmp_path / "boxes.toml"
        path.write_text(format_habits(habits), encoding="utf-8")
        return str(path)

    return write


def test_edges_lie_as_far_outside_as_the_habits_say(exactly):
    user = build("user", f"box-drawer(fitted={exactly()!r})")
    assert ask(user, rectangle()) == (Box((26, 12), (74, 108)),)


def test_boxes_are_cut_at_the_frame_and_keep_a_pixel(exactly):
    outside = build("user", f"box-drawer(fitted={exactly(3.0)!r})")
    assert ask(outside, rectangle()) == (Box((0, 0), (120, 160)),)
    inward = build("user", f"box-drawer(fitted={exactly(-0.5)!r})")
    (box,) = ask(inward, rectangle())
    assert box == Box((50, 60), (51, 61))


@pytest.mark.long
@pytest.mark.parametrize("drawn", ["drag", "extreme"])
def test_boxes_of_the_published_habits_agree_as_people_s_do(drawn):
    """Papadopoulos 2017: a mean IoU of 88 % with the boxes of masks, 93 % above 0.7."""
    user = build("user", f"box-drawer(drawn={drawn!r})")
    truth = rectangle(slice(110, 290), slice(100, 280), (400, 400))
    ious = []
    for seed in range(300):
        (box,) = ask(user, truth, seed=seed, name=str(seed))
        inside = truth[box.start[0] : box.stop[0], box.start[1] : box.stop[1]]
        shared = np.count_nonzero(inside)
        ious.append(shared / (inside.size + np.count_nonzero(truth) - shared))
    assert np.mean(ious) == pytest.approx(0.88, abs=0.02)
    assert np.mean(np.array(ious) > 0.7) == pytest.approx(0.93, abs=0.03)


def test_small_objects_have_edges_that_are_relatively_farther_off():
    user = build("user", "box-drawer")

    def spread(side):
        truth = rectangle(slice(100, 100 + side), slice(100, 100 + side), (360, 360))
        boxes = [ask(user, truth, seed=seed, name=str(seed))[0] for seed in range(60)]
        return np.median([abs(box.start[0] - 100) for box in boxes]) / side

    assert spread(12) > 2 * spread(240)


def test_a_person_of_a_crowd_is_as_careless_about_every_target(exactly):
    user = build("user", f"box-drawer(people=3, fitted={exactly(0.1, between_people=1.0)!r})")
    heights = [
        [ask(user, rectangle(), repeat=k, name=name)[0].start[0] for k in range(3)] for name in "ab"
    ]
    assert heights[0] == heights[1]
    assert len(set(heights[0])) > 1
    assert user.repeats(None, None) == 3
    assert not hasattr(build("user", "box-drawer"), "repeats")


def test_later_rounds_are_somebody_else_s():
    truth = rectangle()
    answered = rectangle(slice(30, 60))
    first = ask(build("user", "box-drawer"), truth)
    assert ask(build("user", "box-drawer"), truth, prediction=answered, rounds=[first]) == ask(
        build("user", "centre"), truth, prediction=answered, rounds=[first]
    )
    assert (
        ask(build("user", "box-drawer(then=None)"), truth, prediction=answered, rounds=[first])
        is None
    )
    (again,) = ask(
        build("user", "box-drawer(then='box')"), truth, prediction=answered, rounds=[first], seed=1
    )
    assert isinstance(again, Box)
    assert build("user", "box-drawer").prompt_kinds == {"box", "click"}
    assert build("user", "box-drawer(then='box')").prompt_kinds == {"box"}


def test_nothing_is_drawn_around_nothing_or_what_is_right_already():
    user = build("user", "box-drawer(then='box')")
    assert ask(user, np.zeros((8, 8), dtype=bool)) is None
    assert ask(user, rectangle(), prediction=rectangle()) is None


def ball():
    """A volume with the target in slices 2 to 7, but not in 5."""
    mask = np.zeros((10, 40, 50), dtype=bool)
    for plane in (2, 3, 4, 6, 7):
        mask[plane, 10 : 12 + 3 * plane, 5:35] = True
    return mask


def test_a_volume_gets_boxes_around_each_of_some_slices(exactly):
    user = build("user", f"box-drawer(fitted={exactly(0.0)!r})")
    assert ask(user, ball()) == [
        Box((2, 10, 5), (3, 18, 35)),
        Box((4, 10, 5), (5, 24, 35)),
        Box((7, 10, 5), (8, 33, 35)),
    ]
    assert user.lift.spread == "interpolate"


def test_a_box_in_one_slice_comes_with_the_limits(exactly):
    user = build("user", f"box-drawer(slices=1, fitted={exactly(0.0)!r})")
    box, ends = ask(user, ball())
    assert (box, ends) == (Box((4, 10, 5), (5, 24, 35)), Limits(2, 7))
    assert user.lift.spread == "propagate"
    assert user.prompt_kinds == {"box", "limits", "click"}


def test_corrections_of_a_volume_are_clicks_by_default():
    given = ask(build("user", "box-drawer"), ball(), rounds=[(Box((2, 0, 0), (3, 5, 5)),)])
    assert isinstance(given[0], Click)


@pytest.mark.parametrize("options", ["slices=0", "people=0", "crowd=-1"])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises((InvalidInput, PluginInvalid)):
        build("user", f"box-drawer({options})")


@pytest.mark.parametrize(
    "user", ["box-drawer", "box-drawer(slices=1)", "box-drawer(people=3, slices=50, then='box')"]
)
def test_masks_of_any_kind_get_boxes_within_the_frame(user):
    drawer = build("user", user)
    rng = np.random.default_rng(0)
    for number in range(30):
        shape = tuple(rng.integers(1, 12, 2 + number % 2).tolist())
        mask = rng.random(shape) < (0.02, 0.5, 1.0)[number % 3]
        given = ask(drawer, mask, repeat=number % 3, seed=number)  # which checks what was given
        assert bool(given) == bool(mask.any())
