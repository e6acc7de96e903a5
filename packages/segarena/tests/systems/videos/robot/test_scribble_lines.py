from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from segarena.systems.videos.robot.bezier_line import smooth_line
from segarena.systems.videos.robot.medial_axis import medial_axis
from segarena.systems.videos.robot.morphological_opening import (
    open_mask,
    opening_radius_px,
    published_disk,
)
from segarena.systems.videos.robot.published_skeleton_paths import published_longest_paths
from segarena.systems.videos.robot.scribble_lines import RobotLine, draw_lines, line_validity
from segarena.systems.videos.robot.settings import RobotSettings, robot_preset

SHAPE = (60, 90)
CHECKED, PUBLISHED = robot_preset("local-1.0.4"), robot_preset("local-1.0.4", mode="published")


def labels(*boxes):
    """Return labels with a box (label, top, bottom, left, right) each."""
    frame = np.zeros(SHAPE, dtype=np.uint8)
    for label, top, bottom, left, right in boxes:
        frame[top:bottom, left:right] = label
    return frame


def random_labels(seed, objects=3):
    rng = np.random.default_rng(seed)
    fields = [gaussian_filter(rng.random(SHAPE), rng.uniform(1, 8)) for _ in range(objects + 1)]
    return np.argmax([field / field.max() for field in fields], axis=0).astype(np.uint8)


def ids(lines):
    return [line.object_id for line in lines]


def test_a_missing_box_gets_a_line_along_its_middle():
    target = labels((1, 20, 31, 10, 70))
    (line,) = draw_lines(labels(), target, CHECKED, objects=1)
    assert line.object_id == 1
    middle = line.points[np.abs(line.points[:, 1] - 40) < 15]
    assert np.allclose(middle[:, 0], 25)


def test_each_label_gets_lines_on_what_is_missing_of_it_the_background_first():
    target = labels((1, 5, 25, 5, 40), (2, 35, 55, 5, 40))
    wrong = labels(
        (2, 5, 25, 5, 40), (3, 30, 50, 50, 80)
    )  # 1 called 2, 2 missed, background called 3
    lines = draw_lines(wrong, target, CHECKED, objects=2)
    assert ids(lines) == [0, 1, 2]
    for line, (top, bottom, left, right) in zip(
        lines, [(30, 50, 50, 80), (5, 25, 5, 40), (35, 55, 5, 40)], strict=True
    ):
        rows, columns = line.points.T
        assert (top <= rows).all()
        assert (rows < bottom).all()
        assert (left <= columns).all()
        assert (columns < right).all()


def test_every_large_enough_part_gets_a_line():
    target = labels((1, 5, 25, 5, 40), (1, 35, 55, 5, 40), (1, 40, 42, 80, 82))
    assert ids(draw_lines(labels(), target, CHECKED, objects=1)) == [1, 1]


def test_what_is_ignored_or_no_object_gets_no_line():
    target = labels((1, 5, 25, 5, 40), (255, 35, 55, 5, 40))
    assert ids(draw_lines(labels(), target, CHECKED, objects=1)) == [1]
    assert draw_lines(labels(), target, CHECKED, objects=1, ignore=target == 1) == ()
    assert draw_lines(target, target, CHECKED, objects=1) == ()


def test_a_thin_error_gets_a_line_only_when_checked():
    target = labels((1, 30, 31, 0, 90), (1, 20, 21, 0, 80))  # 170 pixels, a radius of 1.3
    (line,) = draw_lines(labels(), target, CHECKED, objects=1)
    assert (line.points[:, 0] == 30).all()
    assert draw_lines(labels(), target, PUBLISHED, objects=1) == ()
    target[29:32, 50] = 1  # a lump that the opening leaves, too small for a line
    (line,) = draw_lines(labels(), target, CHECKED, objects=1)
    assert len(line.points) > 100
    assert draw_lines(labels(), target, PUBLISHED, objects=1) == ()


def test_where_every_label_is_to_be_marked_the_smallest_gets_a_point_and_no_speck_beside_a_line_does():
    target = labels((1, 5, 6, 5, 6), (2, 20, 40, 10, 60), (2, 50, 51, 5, 6))
    assert ids(draw_lines(labels(), target, CHECKED, objects=2)) == [2]
    first, second = draw_lines(labels(), target, CHECKED, objects=2, marks_all=True)
    assert (first.object_id, first.points.tolist()) == (1, [[5, 5]])
    assert len(second.points) > 50


def published_lines(prediction, target, robot, objects):
    """All stages on full frames, label after label."""
    lines = []
    for label in range(objects + 1):
        error = (target == label) & (prediction != label)
        radius_px = opening_radius_px(int(error.sum()), robot)
        left = error if radius_px <= 1 else np.zeros_like(error)
        while radius_px > 1 and not left.any():
            left = open_mask(error, published_disk(radius_px))
            radius_px *= 0.9
        paths = published_longest_paths(medial_axis(left, robot.ties), robot.min_nodes)
        lines.extend((label, smooth_line(path, robot.max_points).tolist()) for path in paths)
    return lines


@pytest.mark.long
@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from(["default", "local-1.0.4", "server-2020"]))
def test_published_lines_are_those_of_all_stages_on_full_frames(seed, name):
    prediction, target, robot = (
        random_labels(seed),
        random_labels(seed + 1),
        robot_preset(name, mode="published"),
    )
    found = [
        (line.object_id, line.points.tolist())
        for line in draw_lines(prediction, target, robot, objects=3)
    ]
    assert found == published_lines(prediction, target, robot, 3)


@given(st.integers(0, 10**6))
def test_checked_lines_never_leave_their_label(seed):
    prediction, target = random_labels(seed), random_labels(seed + 1)
    lines = draw_lines(prediction, target, CHECKED, objects=3)
    assert lines
    for line in lines:
        found = line_validity(line, prediction, target)
        assert (found.off_label, found.farthest_px) == (0, 0)
        assert len(line.points) <= 1000


def test_the_same_frames_give_the_same_lines():
    prediction, target = random_labels(1), random_labels(2)
    for robot in (CHECKED, PUBLISHED):
        first, second = (draw_lines(prediction, target, robot, objects=3) for _ in range(2))
        assert [line.points.tolist() for line in first] == [line.points.tolist() for line in second]


def test_every_version_of_the_libraries_gives_the_lines_computed_once():
    target, prediction = labels((1, 5, 45, 5, 25), (1, 35, 45, 5, 80)), labels()
    (published,) = draw_lines(prediction, target, PUBLISHED, objects=1)
    (checked,) = draw_lines(prediction, target, CHECKED, objects=1)
    assert np.round(published.points[[0, 250, 500, 750, 999]], 2).tolist() == [
        [6.0, 24.0],
        [28.25, 14.61],
        [39.36, 32.55],
        [39.76, 55.82],
        [36.0, 79.0],
    ]
    assert np.round(checked.points[:: len(checked.points) // 4], 2).tolist() == [
        [35.0, 14.0],
        [39.93, 29.38],
        [40.0, 44.75],
        [40.0, 60.13],
        [40.61, 75.5],
    ]


def test_validity_says_how_far_a_line_leaves_label_and_error():
    target, prediction = labels((1, 20, 30, 0, 90)), labels((1, 20, 30, 0, 45))
    line = RobotLine(1, np.array([[25.0, 60.0], [25.0, 20.0], [32.0, 60.0], [15.4, 60.0]]))
    found = line_validity(line, prediction, target)
    assert found.off_error == 0.75  # one in what was found already, two off the label
    assert found.off_label == 0.5
    assert found.farthest_px == pytest.approx(5)
    assert line_validity(RobotLine(1, line.points[:1]), prediction, target).farthest_px == 0
    assert np.isinf(line_validity(RobotLine(7, line.points), prediction, target).farthest_px)


def test_a_bent_error_shows_what_checking_is_for():
    target = np.zeros(SHAPE, dtype=np.uint8)
    rows, columns = np.indices(SHAPE)
    target[np.abs(np.hypot(rows - 58, columns - 45) - 40) < 4] = 1
    (published,) = draw_lines(labels(), target, PUBLISHED, objects=1)
    (checked,) = draw_lines(labels(), target, CHECKED, objects=1)
    left = line_validity(published, labels(), target)
    assert left.off_label > 0
    assert left.farthest_px >= 1
    assert line_validity(checked, labels(), target).off_label == 0


def test_labels_of_an_empty_frame_are_background():
    everything = RobotSettings(min_nodes=1)
    assert ids(draw_lines(labels((1, 0, 60, 0, 90)), labels(), everything, objects=0)) == [0]
