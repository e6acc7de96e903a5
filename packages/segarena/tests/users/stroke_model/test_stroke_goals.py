from __future__ import annotations

import numpy as np

from segarena.users.stroke_model.stroke_goals import (
    background_goals,
    error_goals,
    nearby_background,
    object_goals,
)


def labels(*boxes, shape=(40, 60)):
    found = np.zeros(shape, np.uint8)
    for label, rows, columns in boxes:
        found[rows, columns] = label
    return found


LEFT = slice(5, 25)
RIGHT = slice(40, 55)


def test_every_object_in_a_picture_is_a_goal():
    target = labels((1, slice(2, 8), LEFT), (3, slice(20, 30), RIGHT))
    assert [goal.label for goal in object_goals(target, None)] == [1, 3]
    ignore = np.zeros(target.shape, np.bool_)
    ignore[:, 40:] = True
    assert [goal.label for goal in object_goals(target, ignore)] == [1]


def test_errors_are_goals_of_the_true_label():
    target = labels((1, slice(10, 30), LEFT))
    prediction = labels((1, slice(10, 30), slice(5, 15)), (1, slice(5, 20), RIGHT))
    goals = {goal.label: goal.mask for goal in error_goals(prediction, target, None, 1)}
    assert np.array_equal(goals[1], (target == 1) & (prediction == 0))
    assert np.array_equal(goals[0], (target == 0) & (prediction == 1))


def test_specks_beside_a_blob_are_left_alone():
    target = labels((1, slice(10, 30), LEFT), (1, slice(2, 4), slice(50, 52)))
    (goal,) = error_goals(np.zeros_like(target), target, None, 1)
    assert goal.mask.sum() == 400


def test_one_wrong_pixel_is_a_goal_and_no_wrong_pixel_is_none():
    target = labels((1, slice(10, 11), slice(7, 8)))
    (goal,) = error_goals(np.zeros_like(target), target, None, 1)
    assert goal.mask.sum() == 1
    assert error_goals(target, target, None, 1) == []
    assert error_goals(np.zeros_like(target), target, np.ones(target.shape, np.bool_), 1) == []


def test_the_background_near_an_object_reaches_as_far_as_the_object_is_large():
    target = np.zeros((50, 50), np.bool_)
    target[20:30, 20:30] = True
    near = nearby_background(target)
    assert not (near & target).any()
    rows, columns = np.nonzero(near)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (10, 39, 10, 39)


def test_a_full_frame_has_no_background_and_nothing_has_none():
    full = object_goals(np.ones((5, 5), np.uint8), None)
    assert background_goals(full, None) == []
    assert background_goals([], None) == []


def test_the_background_that_is_ignored_is_no_goal():
    target = labels((1, slice(20, 30), slice(20, 30)))
    ignore = np.zeros(target.shape, np.bool_)
    ignore[:, :25] = True
    objects = object_goals(target, None)
    (goal,) = background_goals(objects, ignore)
    assert goal.mask.any()
    assert not (goal.mask & ignore).any()
    assert background_goals(objects, ~ignore | ignore) == []
