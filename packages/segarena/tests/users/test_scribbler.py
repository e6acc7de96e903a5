from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput
from segarena.multi_object import ObjectsComparison, ObjectsReference
from segarena.prompts import check_prompt
from segarena.registry import build
from segarena.roles import Turn
from segarena.samples import ImageSample, Target, VideoSample, VolumeSample


def sample_of(shape, kind):
    voxels = np.zeros(shape, dtype=np.uint8)
    if kind == "image":
        return ImageSample(id="s", image=np.repeat(voxels[..., None], 3, axis=-1))
    if kind == "volume":
        return VolumeSample(id="s", voxels=voxels, spacing_mm=(1.0, 1.0, 1.0))
    return VideoSample(
        id="s", frames=[np.zeros((*shape[1:], 3), np.uint8)] * shape[0], frame_shape=shape[1:]
    )


def ask(
    user,
    target,
    prediction=None,
    *,
    kind="image",
    rounds=(),
    candidates=None,
    ignore=None,
    seed=0,
    repeat=0,
):
    mask = np.zeros_like(target) if prediction is None else prediction
    several = target.dtype == np.uint8
    if several:
        comparison = ObjectsComparison(
            mask, ObjectsReference(target, int(target.max(initial=0)), ignore)
        )
    else:
        comparison = Comparison(mask, Reference(target, ignore))
    turn = Turn(
        sample=sample_of(target.shape, kind),
        target=Target(id="t", mask=target, ignore=ignore),
        dialogue=Dialogue(
            rounds=tuple(rounds),
            previous=Prediction(mask, candidates=candidates) if rounds else None,
        ),
        comparison=comparison,
        rng=np.random.default_rng(seed),
        repeat=repeat,
    )
    strokes = user.next(turn)
    for stroke in strokes or ():
        check_prompt(stroke, target.shape)
    return strokes


def disc(shape, row, column, radius):
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    return (rows - row) ** 2 + (columns - column) ** 2 <= radius**2


def share_on(strokes, mask):
    points = np.concatenate([np.array(stroke.points) for stroke in strokes])
    return mask[tuple(np.rint(points).astype(int).T)].mean()


def test_first_strokes_lie_on_the_object_and_are_positive():
    target = disc((120, 160), 60, 90, 30)
    strokes = ask(build("user", "scribbler(person='acdc-expert')"), target)
    assert all(stroke.is_positive and stroke.object_id == 1 for stroke in strokes)
    assert share_on(strokes, target) > 0.95


def test_people_draw_more_than_a_dot_on_a_disc():
    target = disc((120, 160), 60, 90, 30)
    user = build("user", "scribbler(person='acdc-expert')")
    drawn = [ask(user, target, seed=seed) for seed in range(8)]
    lengths = [
        sum(np.hypot(*np.diff(stroke.points, axis=0).T).sum() for stroke in strokes)
        for strokes in drawn
    ]
    # What experts draw on round objects is 1.7 of its size long, by the median; a robot's line is 0.4.
    assert 0.8 < np.median(lengths) / np.sqrt(target.sum()) < 3


def test_what_is_missing_is_called_positive_and_what_is_surplus_negative():
    target = disc((120, 160), 60, 40, 25)
    surplus = disc((120, 160), 60, 120, 25)
    user = build("user", "scribbler(person='acdc-expert')")
    rounds = (tuple(ask(user, target)),)
    missing = ask(user, target, np.zeros_like(target), rounds=rounds)
    assert {stroke.is_positive for stroke in missing} == {True}
    negative = ask(user, target, target | surplus, rounds=rounds)
    assert {stroke.is_positive for stroke in negative} == {False}
    assert share_on(negative, surplus) > 0.9


def test_the_background_is_drawn_on_where_that_is_asked_for():
    target = disc((120, 160), 60, 90, 25)
    user = build("user", "scribbler(person='acdc-expert', background=True)")
    on_object, beside = (
        [each for each in ask(user, target) if each.is_positive == sign] for sign in (True, False)
    )
    assert share_on(on_object, target) > 0.9
    assert share_on(beside, target) < 0.2
    rounds = ((*on_object, *beside),)
    assert all(
        stroke.is_positive for stroke in ask(user, target, np.zeros_like(target), rounds=rounds)
    )
    assert ask(user, np.ones((30, 30), np.bool_))  # there is no background


def test_slivers_are_left_alone_while_there_is_a_blob():
    target = disc((120, 160), 60, 90, 40)
    blob = disc((120, 160), 60, 75, 15)
    prediction = disc((120, 160), 60, 90, 39) & ~blob
    strokes = ask(
        build("user", "scribbler(person='acdc-expert')"), target, prediction, rounds=((),)
    )
    assert share_on(strokes, blob) > 0.8


@pytest.mark.parametrize("seed", range(3))
def test_the_same_turn_gets_the_same_strokes(seed):
    target = disc((60, 60), 30, 30, 15)
    one, other = (ask(build("user", "scribbler"), target, seed=seed) for _ in range(2))
    assert one == other
    assert one != ask(build("user", "scribbler"), target, seed=seed + 1)


def test_nothing_is_drawn_when_nothing_is_wrong_or_there():
    user = build("user", "scribbler")
    target = disc((40, 40), 20, 20, 8)
    assert ask(user, np.zeros((40, 40), np.bool_)) is None
    assert ask(user, target, target, rounds=((),)) is None


def test_ignored_pixels_are_never_asked_for():
    target = disc((60, 80), 30, 20, 10) | disc((60, 80), 30, 60, 10)
    ignore = np.zeros_like(target)
    ignore[:, 40:] = True
    strokes = ask(build("user", "scribbler(person='acdc-expert')"), target, ignore=ignore)
    assert max(point[1] for stroke in strokes for point in stroke.points) < 45
    assert ask(build("user", "scribbler"), np.logical_and(target, ignore), ignore=ignore) is None


@given(data=st.data(), height=st.integers(1, 24), width=st.integers(1, 24), seed=st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_strokes_of_any_goal_lie_within_the_frame(data, height, width, seed):
    bits = data.draw(st.binary(min_size=height * width, max_size=height * width))
    target = (np.frombuffer(bits, np.uint8) % 2).astype(np.bool_).reshape(height, width)
    strokes = ask(build("user", "scribbler"), target, seed=seed)  # checks that they do
    assert (strokes is None) == (not target.any())


def test_a_pixel_and_a_whole_frame_can_be_drawn_on():
    user = build("user", "scribbler")
    one = np.zeros((50, 50), np.bool_)
    one[0, 49] = True
    first = ask(user, one)[0].points[0]
    assert np.hypot(first[0], first[1] - 49) < 4
    assert ask(user, np.ones((30, 50), np.bool_))


def test_people_of_a_crowd_keep_their_habits_over_targets():
    user = build("user", "scribbler(people=3)")
    targets = [disc((60, 60), 30, 30, radius) for radius in (10, 15)]
    assert user.repeats(None, None) == 3
    habits = [
        [user._draw_habits(_turn(target, repeat, name)).tolist() for repeat in range(3)]
        for target, name in zip(targets, ("a", "b"), strict=True)
    ]
    assert habits[0] == habits[1]
    assert len({tuple(each) for each in habits[0]}) == 3


def _turn(target, repeat, name):
    sample = ImageSample(id=name, image=np.zeros((*target.shape, 3), np.uint8))
    comparison = Comparison.empty(Reference(target))
    return Turn(
        sample=sample, target=Target(id=name, mask=target), dialogue=Dialogue(), comparison=comparison,
        rng=np.random.default_rng(0), repeat=repeat,
    )  # fmt: skip


def test_a_video_begins_where_most_objects_are_and_goes_on_where_most_is_wrong():
    target = np.zeros((4, 60, 80), np.uint8)
    target[:, 10:30, 10:30] = 1
    target[2, 35:55, 40:70] = 2
    user = build("user", "scribbler(person='acdc-expert')")
    first = ask(user, target, kind="video")
    assert {stroke.points[0][0] for stroke in first} == {2}
    assert {stroke.object_id for stroke in first} == {1, 2}
    prediction = target.copy()
    prediction[3, 40:58, 50:75] = 1
    later = ask(user, target, prediction, kind="video", rounds=(tuple(first),))
    assert {(stroke.points[0][0], stroke.object_id, stroke.is_positive) for stroke in later} == {
        (3, 0, False)
    }
    asked_for = ask(
        user, target, np.zeros_like(target), kind="video", rounds=(tuple(first),), candidates=(1,)
    )
    assert {stroke.points[0][0] for stroke in asked_for} == {1}
    with pytest.raises(InvalidInput, match="frames from 0 to 3"):
        ask(user, target, prediction, kind="video", rounds=(tuple(first),), candidates=(9,))


def test_a_volume_is_drawn_on_in_slices_and_a_reader_scrolls_on():
    target = np.zeros((12, 40, 40), np.bool_)
    target[2:11] = disc((40, 40), 20, 20, 10)
    user = build("user", "scribbler(person='acdc-expert', slices=3)")
    first = ask(user, target, kind="volume")
    assert sorted({stroke.points[0][0] for stroke in first}) == [3, 6, 9]
    prediction = target.copy()
    prediction[[2, 7, 8]] = False
    later = ask(user, target, prediction, kind="volume", rounds=(tuple(first),))
    assert list(dict.fromkeys(stroke.points[0][0] for stroke in later)) == [8, 7, 2]
    assert all(stroke.is_positive and stroke.object_id == 1 for stroke in later)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("slices=0", "slices: expected 1 or more"),
        ("person='nobody'", "expected one of .*'nobody'"),
        ("person='acdc-expert', people=3", "person or people"),
        ("people=0", "people >= 1"),
        ("fitted='nowhere.npz'", "nowhere.npz: expected a file"),
        ("background=True, fitted_background='nowhere.npz'", "nowhere.npz: expected a file"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(InvalidInput, match=message):
        build("user", f"scribbler({options})")


@pytest.mark.parametrize("kind", ["volume", "video"])
def test_slices_and_frames_whose_objects_are_ignored_are_not_drawn_on(kind):
    target = np.zeros((5, 40, 40), np.bool_)
    target[:4] = disc((40, 40), 20, 20, 15)
    target[4] = disc((40, 40), 20, 20, 6)
    ignore = np.zeros_like(target)
    ignore[:4] = True
    strokes = ask(
        build("user", "scribbler(slices=2)"), target.astype(np.uint8), kind=kind, ignore=ignore
    )
    assert {int(stroke.points[0][0]) for stroke in strokes} == {4}
    ignore[4] = True
    assert (
        ask(build("user", "scribbler(slices=2)"), target.astype(np.uint8), kind=kind, ignore=ignore)
        is None
    )
