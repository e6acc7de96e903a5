"""Functions that scripts use in addition to the session, compared with the session and with loops."""

import numpy as np
import pytest

from segarena import davis
from segarena.errors import InvalidInput, InvalidMask, StoreError
from segarena.systems.videos.scribbles.files import frames_with_lines

from .conftest import HEIGHT, WIDTH, drawn, labels


def line(*path, object_id=1):
    return {
        "path": [list(point) for point in path],
        "object_id": object_id,
        "start_time": 0,
        "end_time": 0,
    }


def test_the_robot_draws_what_a_published_session_gives(open_session, masks_of):
    robot = davis.InteractiveScribblesRobot(kernel_size=0.2)
    with open_session(protocol="published", sequences=["two"]) as session:
        session.next()
        session.get_scribbles()
        masks = masks_of("two")
        session.submit_masks(masks)
        session.next()
        _, scribbles, _ = session.get_scribbles(only_last=True)
        (frame,) = frames_with_lines(scribbles)
        assert robot.interact("two", masks, labels(2), frame=frame) == scribbles
        assert scribbles == session.sample_last_scribble


@pytest.mark.parametrize("protocol", ["published", "careful"])
def test_the_robot_of_the_sessions_connector_draws_what_the_session_gives(
    open_session, masks_of, protocol
):
    with open_session(protocol=protocol, sequences=["two"]) as session:
        session.next()
        session.get_scribbles()
        masks = masks_of("two")
        session.submit_masks(masks)
        session.next()
        _, scribbles, _ = session.get_scribbles(only_last=True)
        (frame,) = frames_with_lines(scribbles)
        assert (
            session.connector.service.robot.interact("two", masks, labels(2), frame=frame)
            == scribbles
        )


def test_the_robot_takes_the_first_frame_of_lowest_jaccard():
    target = labels(1).astype(np.int64)
    prediction = target.copy()
    prediction[1:3] = np.roll(target[1:3], 10, axis=2)
    prediction[3] = np.roll(target[3], 5, axis=1)
    found = davis.InteractiveScribblesRobot().interact("one", prediction, target)
    assert davis.annotated_frames(found) == [1]
    assert davis.annotated_frames_object(found, 0) == davis.annotated_frames_object(found, 1) == [1]
    assert davis.is_empty(davis.InteractiveScribblesRobot().interact("one", target, target))
    with pytest.raises(InvalidInput, match="expected an index from 0 to 3, got 4"):
        davis.InteractiveScribblesRobot().interact("one", prediction, target, frame=4)
    with pytest.raises(InvalidInput, match="same shape"):
        davis.InteractiveScribblesRobot().interact("one", prediction[1:], target)


def test_jaccard_and_f_of_each_frame_and_object_by_hand():
    target, prediction = labels(2).astype(int), np.roll(labels(2), 7, axis=2)
    target[0, 0, 0] = 255
    prediction[0, 0, 0] = 2
    expected = np.empty((len(target), 2))
    for frame, number in np.ndindex(expected.shape):
        one, other = target[frame] == number + 1, prediction[frame] == number + 1
        expected[frame, number] = (one & other).sum() / (one | other).sum()
    assert davis.batched_jaccard(target, prediction, average_over_objects=False) == pytest.approx(
        expected
    )
    assert davis.batched_jaccard(target, prediction, nb_objects=2) == pytest.approx(
        expected.mean(axis=1)
    )
    assert davis.batched_f_measure(target, target).tolist() == [1] * len(target)
    assert davis.batched_f_measure(target, prediction, False).shape == expected.shape
    assert (davis.batched_f_measure(target, prediction, bound_th=8) == 1).sum() == len(
        target
    ) - 1  # but for the 2
    with pytest.raises(InvalidMask, match="got -1"):
        davis.batched_jaccard(target - 1, prediction)


def test_scribbles_become_masks_whose_positions_are_cut_off():
    data = {
        "sequence": "one",
        "scribbles": [[], [line((0.5, 0.26), (0.5, 0.26)), line((0, 0), (1, 1), object_id=2)]],
    }
    points = davis.scribbles2mask(data, (HEIGHT, WIDTH), bresenham=False, default_value=7)
    assert (points.dtype, points.shape) == (np.int64, (2, HEIGHT, WIDTH))
    assert (points[0] == 7).all()
    assert points[1, int(0.26 * (HEIGHT - 1)), int(0.5 * (WIDTH - 1))] == 1
    assert (points[1] == 2).sum() == 2
    joined = davis.scribbles2mask(data, (HEIGHT, WIDTH))
    assert (joined[1] == 2).sum() == max(
        HEIGHT, WIDTH
    )  # one pixel for each step along the longer side
    assert (joined[0] == -1).all()
    curve = davis.scribbles2mask(
        data, (HEIGHT, WIDTH), bezier_curve_sampling=True, nb_points=5, bresenham=False
    )
    assert (curve[1] == 2).sum() == 5


def test_points_and_fusing():
    first, second = drawn("one", 1, 1), drawn("one", 3, 1)
    positions, objects = davis.scribbles2points(
        davis.fuse_scribbles(first, second), (HEIGHT, WIDTH)
    )
    assert positions[:, 0].tolist() == [1, 1, 3, 3]
    assert positions[0] == pytest.approx([1, 12, 10])
    assert objects.tolist() == [1] * 4
    assert davis.annotated_frames(first) == [1]


def test_what_scripts_read_of_a_session(open_session, masks_of, tmp_path):
    folder = tmp_path / "new" / "reports"
    session = open_session(report_save_dir=folder, max_nb_interactions=1)
    assert folder.is_dir()
    with session:
        places = []
        while session.next():
            places.append(session.sample_idx)
            sequence, scribbles, _ = session.get_scribbles()
            assert session.sample_last_scribble == scribbles
            assert (folder / f"{session.report_name}.tmp.csv").is_file()
            session.submit_masks(masks_of(sequence))
        assert session.samples == [("one", 1), ("one", 2), ("two", 1)]
        assert (places, session.sample_idx, session.sample_last_scribble) == ([0, 1, 2], None, None)
        assert (folder / f"{session.report_name}.csv").is_file()
    with pytest.raises(ValueError, match="subset: expected one of train, val, trainval, got 'all'"):
        open_session(subset="all")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be created"):
        open_session(report_save_dir=tmp_path / "file")
