from __future__ import annotations

import warnings

import numpy as np
import pytest

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput, InvalidPrompt, PluginInvalid
from segarena.multi_object import compare_prediction, empty_comparison
from segarena.prompts import Scribble, check_prompt
from segarena.registry import build, describe
from segarena.roles import Turn
from segarena.samples import Target, VideoSample
from segarena.systems.videos.users.scribble_robot import ScribbleRobot

FRAMES, HEIGHT, WIDTH = 5, 60, 90


def video(target, scribbles=()):
    frames = [np.zeros((*target.mask.shape[1:], 3), dtype=np.uint8)] * len(target.mask)
    return VideoSample(
        id="dogs",
        frames=frames,
        frame_shape=target.mask.shape[1:],
        targets=(target,),
        scribbles=tuple(scribbles),
    )


def two_objects():
    """Return a target in which object 2 leaves before the last frame, and object 1 grows."""
    mask = np.zeros((FRAMES, HEIGHT, WIDTH), dtype=np.uint8)
    for frame in range(FRAMES):
        mask[frame, 10 : 25 + 2 * frame, 10:35] = 1
    mask[:-1, 20:40, 50:80] = 2
    return mask


def turn_for(target, prediction=None, rounds=(), scribbles=(), repeat=0, candidates=None):
    sample = video(target, scribbles)
    start = empty_comparison(sample, target)
    previous = None if prediction is None else Prediction(prediction, candidates=candidates)
    return Turn(
        sample=sample,
        target=target,
        dialogue=Dialogue(rounds=tuple(tuple(round_) for round_ in rounds), previous=previous),
        comparison=start if prediction is None else compare_prediction(prediction, start),
        rng=np.random.default_rng(0),
        repeat=repeat,
    )


def frames_of(prompts):
    return {point[0] for prompt in prompts for point in prompt.points}


def human(frame, path=((0.2, 0.2), (0.3, 0.2)), object_id=1):
    scribbles = [[] for _ in range(FRAMES)]
    scribbles[frame] = [{"path": [list(point) for point in path], "object_id": object_id}]
    return {"sequence": "dogs", "scribbles": scribbles}


TARGET = Target(id="all", mask=two_objects())


def test_without_people_the_robot_begins_where_most_objects_show_most():
    prompts = ScribbleRobot().next(turn_for(TARGET))
    assert frames_of(prompts) == {3}
    assert [prompt.object_id for prompt in prompts] == [1, 2]
    assert all(prompt.is_positive for prompt in prompts)
    for prompt in prompts:
        check_prompt(prompt, TARGET.mask.shape)
        on = TARGET.mask[tuple(np.floor(np.array(prompt.points) + 0.5).astype(int).T)]
        assert (on == prompt.object_id).all()


def test_even_the_smallest_object_is_drawn_on_at_first():
    mask = two_objects()
    mask[mask == 2] = 0
    mask[:, 50, 50] = 2
    prompts = ScribbleRobot().next(turn_for(Target(id="all", mask=mask)))
    assert prompts[-1].points == ((4.0, 50.0, 50.0),)
    published = ScribbleRobot(mode="published").next(turn_for(Target(id="all", mask=mask)))
    assert [prompt.object_id for prompt in published] == [1]


def test_people_begin_each_in_a_dialogue_of_their_own():
    people = [human(2), human(4, ((1, 1),), 2)]
    robot = ScribbleRobot()
    assert robot.repeats(video(TARGET, people), TARGET) == 2
    assert robot.repeats(video(TARGET), TARGET) == 1
    first, second = (
        robot.next(turn_for(TARGET, scribbles=people, repeat=repeat)) for repeat in (0, 1)
    )
    assert frames_of(first) == {2}
    assert second[0].points == ((4.0, HEIGHT - 1, WIDTH - 1),)
    assert second[0].object_id == 2


def test_scribbles_of_people_that_do_not_fit_are_refused():
    with pytest.raises(
        InvalidPrompt, match="expected 'object_id' to be 0 for the background or 1 to 2, got 3"
    ):
        ScribbleRobot().next(turn_for(TARGET, scribbles=[human(0, object_id=3)]))
    with pytest.raises(InvalidPrompt, match="for each of 5 frames, got 1"):
        ScribbleRobot().next(turn_for(TARGET, scribbles=[{"sequence": "dogs", "scribbles": [[]]}]))


def worse_from_frame_to_frame():
    """Return a prediction that loses more of object 1 in every frame; the background is right."""
    prediction = two_objects()
    for frame in range(FRAMES):
        prediction[frame, 10 : 15 + 4 * frame, 10:35] = 0
    return prediction


def test_each_round_corrects_the_worst_frame_not_drawn_in_before():
    robot, rounds = ScribbleRobot(), [ScribbleRobot().next(turn_for(TARGET))]
    assert frames_of(rounds[0]) == {3}
    order = []
    for _ in range(5):
        prompts = robot.next(turn_for(TARGET, worse_from_frame_to_frame(), rounds))
        order.extend(frames_of(prompts))
        rounds.append(prompts)
    assert order == [
        4,
        2,
        1,
        0,
        4,
    ]  # then all were drawn in once, and the worst one has its turn again


def test_the_frame_people_drew_in_is_not_passed_over():
    robot = ScribbleRobot()
    people = [human(4)]
    rounds = [robot.next(turn_for(TARGET, scribbles=people))]
    assert frames_of(robot.next(turn_for(TARGET, worse_from_frame_to_frame(), rounds, people))) == {
        4
    }


def test_a_prediction_on_the_background_is_answered_by_a_line_that_is_not_positive():
    prediction = two_objects()
    prediction[1, 45:58, 5:60] = 2
    (prompt,) = ScribbleRobot().next(turn_for(TARGET, prediction, [()]))
    assert frames_of([prompt]) == {1}
    assert (prompt.object_id, prompt.is_positive) == (0, False)


def test_nothing_is_said_when_nothing_is_wrong():
    for mode in ("checked", "published"):
        assert not ScribbleRobot(mode=mode).next(turn_for(TARGET, two_objects(), [()]))


def test_when_the_worst_frame_has_nothing_to_draw_on_the_next_one_is_tried_only_when_checked():
    prediction = two_objects()
    prediction[4] = np.where(
        np.indices((HEIGHT, WIDTH)).sum(axis=0) % 2, prediction[4], 2
    )  # specks across object 1
    prediction[1, 10:25, 10:14] = 0
    turn = turn_for(TARGET, prediction, [()])
    assert ScribbleRobot(preset="local-1.0.4").next(turn) is not None
    with pytest.warns(
        UserWarning, match="nothing large enough to draw on in sample dogs, frame 4, round 2"
    ):
        assert ScribbleRobot(preset="local-1.0.4", mode="published").next(turn) == ()


def test_errors_of_fewer_pixels_than_a_line_needs_end_the_dialogue_with_a_warning():
    prediction = two_objects()
    prediction[0, 10, 10] = 0
    with pytest.warns(UserWarning, match="nothing large enough"):
        assert ScribbleRobot().next(turn_for(TARGET, prediction, [()])) is None


def test_a_frame_drawn_in_before_is_taken_again_when_only_that_one_is_wrong():
    prediction = two_objects()
    prediction[3, 20:40, 50:80] = 0
    robot = ScribbleRobot()
    rounds = [robot.next(turn_for(TARGET))]
    assert frames_of(rounds[0]) == {3}
    assert frames_of(robot.next(turn_for(TARGET, prediction, rounds))) == {3}
    with pytest.warns(UserWarning, match="nothing large enough"):
        assert robot.next(turn_for(TARGET, prediction, rounds, candidates=(0, 1))) is None


def test_of_the_frames_that_the_answer_asks_for_the_worst_is_drawn_in():
    def frames(*candidates):
        return frames_of(
            ScribbleRobot().next(
                turn_for(TARGET, worse_from_frame_to_frame(), [()], candidates=candidates)
            )
        )

    assert frames(0, 2) == {2}
    assert frames() == {4}
    with pytest.raises(InvalidInput, match="expected frame indices 0 to 4, got 5"):
        frames(5)


def test_an_object_that_is_too_small_for_the_published_robot_ends_the_dialogue_with_a_warning():
    mask = np.zeros((FRAMES, HEIGHT, WIDTH), dtype=np.uint8)
    mask[:, 50, 50] = 1
    target = Target(id="all", mask=mask)
    with pytest.warns(
        UserWarning, match="nothing large enough to draw on in sample dogs, frame 0, round 1"
    ):
        assert ScribbleRobot(mode="published").next(turn_for(target)) == ()
    nothing = Target(id="all", mask=np.zeros_like(mask))
    assert ScribbleRobot().next(turn_for(nothing)) is None


@pytest.mark.parametrize(("mode", "worst"), [("checked", 1), ("published", 2)])
def test_what_is_predicted_where_nobody_is_judged_makes_a_frame_bad_as_published_alone(mode, worst):
    ignore = np.zeros(TARGET.mask.shape, dtype=bool)
    ignore[:, 45:, :] = True
    target = Target(id="all", mask=two_objects(), ignore=ignore)
    prediction = two_objects()
    prediction[2, 45:] = 1
    prediction[1:3, 10:20, 10:20] = 0
    prediction[1, 10:20, 10:25] = 0
    prompts = ScribbleRobot(mode=mode).next(turn_for(target, prediction, rounds=[()]))
    assert frames_of(prompts) == {worst}


def test_ignored_pixels_are_no_errors():
    ignore = np.zeros(TARGET.mask.shape, dtype=bool)
    ignore[:, :, :40] = True
    target = Target(id="all", mask=two_objects(), ignore=ignore)
    prediction = two_objects()
    prediction[2] = 0
    prompts = ScribbleRobot().next(turn_for(target, prediction, [()]))
    assert [prompt.object_id for prompt in prompts] == [2]


def test_one_object_is_drawn_on_as_object_1():
    target = Target(id="one", mask=two_objects() == 1)
    first = ScribbleRobot().next(turn_for(target))
    assert {prompt.object_id for prompt in first} == {1}
    assert frames_of(first) == {4}
    prediction = target.mask.copy()
    prediction[2, 40:58, 40:80] = True
    (prompt,) = ScribbleRobot().next(turn_for(target, prediction, [first]))
    assert (frames_of([prompt]), prompt.object_id) == ({2}, 0)


def test_what_makes_a_frame_bad_can_be_chosen():
    prediction = two_objects()
    prediction[1, 10:27, 10:18] = 0  # a third of object 1: the contour is lost in part only
    prediction[3, 20:40, 50:80] = np.where(
        np.indices((20, 30))[0] % 5 < 1, 0, 2
    )  # a fifth of object 2 in stripes
    frames = {
        judge: frames_of(ScribbleRobot(judge=judge).next(turn_for(TARGET, prediction, [()])))
        for judge in ("jaccard", "contour")
    }
    assert frames == {"jaccard": {1}, "contour": {3}}


def test_the_same_turn_gives_the_same_prompts():
    for mode in ("checked", "published"):
        turn = turn_for(TARGET, worse_from_frame_to_frame(), [()])
        assert ScribbleRobot(mode=mode).next(turn) == ScribbleRobot(mode=mode).next(turn)


def test_options_are_those_of_the_page_and_recorded():
    robot = build("user", "scribble-robot(preset='server-2020', mode='published')")
    assert (robot.settings.kernel_size, robot.settings.min_nodes, robot.settings.ties) == (
        0.1,
        2,
        "permutation",
    )
    assert describe("user", "scribble-robot(preset='server-2020')")["options"] == {
        "preset": "server-2020",
        "mode": "checked",
        "ties": None,
        "judge": "j_and_f",
        **dict.fromkeys(("kernel_size", "max_radius_px", "min_nodes", "max_points")),
    }
    with pytest.raises(PluginInvalid, match="judge"):
        build("user", "scribble-robot(judge='iou')")
    with pytest.raises(PluginInvalid, match="did you mean 'server-2020'"):
        build("user", "scribble-robot(preset='server')")


def test_published_the_next_frame_has_its_turn_after_a_silent_round():
    prediction = two_objects()
    prediction[4] = np.where(
        np.indices((HEIGHT, WIDTH)).sum(axis=0) % 2, prediction[4], 2
    )  # specks, too thin to draw on
    prediction[1, 10:25, 10:14] = 0
    robot = ScribbleRobot(preset="local-1.0.4", mode="published")
    first = [(Scribble(((0.0, 1.0, 1.0),)),)]
    drawn = [
        frames_of(silently(robot, turn_for(TARGET, prediction, first + [()] * silent)))
        for silent in range(2)
    ]
    assert drawn == [set(), {1.0}]


def test_scribbles_without_a_line_are_refused_and_as_published_an_empty_round():
    nothing = {"sequence": "dogs", "scribbles": [[] for _ in range(FRAMES)]}
    turn = turn_for(TARGET, scribbles=[human(1), nothing], repeat=1)
    with pytest.raises(
        InvalidPrompt, match="scribbles 2 of sample dogs: expected at least one line, got none"
    ):
        ScribbleRobot().next(turn)
    assert ScribbleRobot(mode="published").next(turn) == ()


def silently(robot, turn):
    """Return the robot's lines, with or without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return robot.next(turn)
