import math
from itertools import product

import numpy as np
import pytest

from segarena.errors import InvalidPrompt
from segarena.prompts import Click
from segarena_people.measures.click_features import CLICK_FEATURES, click_features
from segarena_people.measures.goal_mask_geometry import GoalShape


def slow(position, goal):
    pixels = [pixel for pixel in product(*map(range, goal.shape)) if goal[pixel]]
    frame = range(-1, goal.shape[0] + 1), range(-1, goal.shape[1] + 1)
    outside = [pixel for pixel in product(*frame) if pixel not in set(pixels)]
    depth = {pixel: min(math.dist(pixel, other) for other in outside) for pixel in pixels}
    rows, columns = zip(*pixels, strict=True)
    side = math.sqrt(len(pixels))
    return [
        (position[0] + 0.5 - min(rows)) / (max(rows) + 1 - min(rows)),
        (position[1] + 0.5 - min(columns)) / (max(columns) + 1 - min(columns)),
        depth.get(position, 0) / max(depth.values()),
        math.dist(position, (np.mean(rows), np.mean(columns))) / side,
        min(math.dist(position, pixel) for pixel in pixels) / side,
    ]


def test_equals_loops_over_pixels_on_and_off_the_goal():
    rng = np.random.default_rng(1)
    for _ in range(5):
        goal = np.zeros((13, 17), bool)
        goal[2:11, 3:14] = rng.random((9, 11)) < 0.8
        for _ in range(8):
            position = int(rng.integers(13)), int(rng.integers(17))
            assert click_features(Click(position), goal) == pytest.approx(slow(position, goal))


def test_in_a_plane_of_a_video_the_plane_does_not_count():
    goal = np.ones((5, 9), bool)
    assert np.array_equal(
        click_features(Click((3, 2, 1)), GoalShape(goal)), click_features(Click((2, 1)), goal)
    )
    assert len(CLICK_FEATURES) == 5


def test_a_click_without_rows_is_refused():
    with pytest.raises(InvalidPrompt, match="two axes"):
        click_features(Click((3,)), np.ones((5, 9), bool))
