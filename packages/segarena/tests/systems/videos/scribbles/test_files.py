from __future__ import annotations

import copy
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.errors import DatasetMissing, InvalidPrompt
from segarena.systems.videos.scribbles.files import (
    check_scribbles,
    frames_with_lines,
    frames_with_object,
    fuse_scribbles,
    is_empty,
    no_scribbles,
    read_scribbles,
    write_scribbles,
)


def line(object_id=1, path=((0.25, 0.5), (0.26, 0.5)), **more):
    return {
        "path": [list(point) for point in path],
        "object_id": object_id,
        "start_time": 0,
        "end_time": 900,
        **more,
    }


def drawn(*frames, sequence="dogs"):
    return {"sequence": sequence, "scribbles": [list(lines) for lines in frames]}


GOOD = drawn([], [line(), line(0)], [line(2)])


def test_what_a_file_holds_is_accepted_as_it_is():
    assert check_scribbles(GOOD, frames=3, objects=2, sequence="dogs") is GOOD
    check_scribbles({**GOOD, "annotated_frame": 2})
    check_scribbles(
        drawn([{"path": [[0, 1]], "object_id": 0}])
    )  # the corners, as whole numbers, without times
    check_scribbles(
        drawn([line(start_time=1.6e9, end_time=1.6e9)])
    )  # the published robot's seconds


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "scribbles: expected a dictionary, got []"),
        (
            {"scribbles": []},
            "scribbles: expected 'sequence' to be the name of the video, got nothing",
        ),
        (
            {"sequence": 3, "scribbles": []},
            "scribbles: expected 'sequence' to be the name of the video, got 3",
        ),
        (
            drawn([], [], [], sequence="cats"),
            "scribbles: expected scribbles of sequence 'dogs', got scribbles of 'cats'",
        ),
        (
            {"sequence": "dogs"},
            "scribbles of 'dogs': expected 'scribbles' to be a list of frames, got nothing",
        ),
        (
            {"sequence": "dogs", "scribbles": {"0": []}},
            "scribbles of 'dogs': expected 'scribbles' to be a list of frames, got {'0': []}",
        ),
        (
            drawn([], []),
            "scribbles of 'dogs': expected a list for each of 3 frames, got 2; "
            "a frame without scribbles has an empty one",
        ),
        (
            {**GOOD, "annotated_frame": 3},
            "scribbles of 'dogs': expected 'annotated_frame' to be 0 to 2, got 3",
        ),
        (
            {**GOOD, "annotated_frame": 1.0},
            "scribbles of 'dogs': expected 'annotated_frame' to be 0 to 2, got 1.0",
        ),
        (
            {"sequence": "dogs", "scribbles": [[], None, []]},
            "scribbles of 'dogs', frame 1: expected a list of lines, got nothing",
        ),
        (
            drawn([], [[0.5, 0.5]], []),
            "scribbles of 'dogs', frame 1, line 0: expected a dictionary with 'path' and 'object_id', got [0.5, 0.5]",
        ),
        (
            drawn([], [line(), line(3)], []),
            "scribbles of 'dogs', frame 1, line 1: expected 'object_id' to be 0 for the background or 1 to 2, got 3",
        ),
        (
            drawn([], [line(True)], []),
            "scribbles of 'dogs', frame 1, line 0: expected 'object_id' to be 0 for the background or 1 to 2, got True",
        ),
        (
            drawn([], [line("1")], []),
            "scribbles of 'dogs', frame 1, line 0: expected 'object_id' to be 0 for the background or 1 to 2, got '1'",
        ),
        (
            drawn([], [], [line(end_time="soon")]),
            "scribbles of 'dogs', frame 2, line 0: expected 'end_time' to be a number, got 'soon'",
        ),
        (
            drawn([], [], [line(start_time=math.nan)]),
            "scribbles of 'dogs', frame 2, line 0: expected 'start_time' to be a number, got nan",
        ),
        (
            drawn([{"object_id": 1}], [], []),
            "scribbles of 'dogs', frame 0, line 0: expected 'path' to be a list of [x, y], got nothing",
        ),
        (
            drawn([line(path=())], [], []),
            "scribbles of 'dogs', frame 0, line 0: expected 'path' to have at least one [x, y], got an empty one",
        ),
        (
            drawn([line(path=((0.5, 0.5), (0.5, 0.5, 0.5)))], [], []),
            "scribbles of 'dogs', frame 0, line 0, point 1: expected two numbers [x, y], got [0.5, 0.5, 0.5]",
        ),
        (
            drawn([{"path": [0.5, 0.5], "object_id": 1}], [], []),
            "scribbles of 'dogs', frame 0, line 0, point 0: expected two numbers [x, y], got 0.5",
        ),
        (
            drawn([line(path=((0.5, math.nan),))], [], []),
            "scribbles of 'dogs', frame 0, line 0, point 0: expected two numbers [x, y], got [0.5, nan]",
        ),
        (
            drawn([line(path=((0.5, "0.5"),))], [], []),
            "scribbles of 'dogs', frame 0, line 0, point 0: expected two numbers [x, y], got [0.5, '0.5']",
        ),
        (
            drawn([line(path=((1.001, 0.5),))], [], []),
            "scribbles of 'dogs', frame 0, line 0, point 0: expected x and y from 0 to 1, as fractions of the frame's "
            "width and height, got [1.001, 0.5]",
        ),
        (
            drawn([line(path=((0, 0), (0.5, -1e-9)))], [], []),
            "scribbles of 'dogs', frame 0, line 0, point 1: expected x and y from 0 to 1, as fractions of the frame's "
            "width and height, got [0.5, -1e-09]",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(data, message):
    with pytest.raises(InvalidPrompt) as error:
        check_scribbles(data, frames=3, objects=2, sequence="dogs")
    assert str(error.value) == message


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_other_data_is_refused_and_nothing_else_happens(data):
    with pytest.raises(InvalidPrompt):
        check_scribbles(data)
    with pytest.raises(InvalidPrompt):
        check_scribbles(drawn([data]) if data != [] else drawn([{"path": data}]))


def test_a_file_is_read_as_it_was_written(tmp_path):
    write_scribbles(GOOD, tmp_path / "001.json")
    assert read_scribbles(tmp_path / "001.json", frames=3, objects=2, sequence="dogs") == GOOD


def test_bad_scribbles_are_not_written(tmp_path):
    with pytest.raises(InvalidPrompt):
        write_scribbles(drawn([line(path=())]), tmp_path / "001.json")
    assert not list(tmp_path.iterdir())


def test_files_that_are_missing_damaged_or_wrong_are_named(tmp_path):
    path = tmp_path / "001.json"
    with pytest.raises(DatasetMissing, match=r"001.json: expected a scribble file, found none"):
        read_scribbles(path)
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(
        InvalidPrompt,
        match=r"001.json: cannot be read as a JSON scribble file .*codec",
    ):
        read_scribbles(path)
    path.write_text(json.dumps(GOOD)[:-5], encoding="utf-8")
    with pytest.raises(
        InvalidPrompt,
        match=r"001.json: cannot be read as a JSON scribble file .*line 1",
    ):
        read_scribbles(path)
    path.write_text(
        '{"sequence": "dogs", "scribbles": [[{"path": [[NaN, 0]], "object_id": 1}]]}',
        encoding="utf-8",
    )
    with pytest.raises(
        InvalidPrompt,
        match=r"001.json: scribbles of 'dogs', frame 0, line 0, point 0: .* got \[nan, 0]",
    ):
        read_scribbles(path)
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(InvalidPrompt, match=r"001.json: cannot be read as a JSON scribble file"):
        read_scribbles(path)


def test_frames_with_lines_are_found():
    assert frames_with_lines(GOOD) == (1, 2)
    assert [frames_with_object(GOOD, object_id) for object_id in range(4)] == [
        (1,),
        (1,),
        (2,),
        (),
    ]
    assert not is_empty(GOOD)
    assert is_empty(no_scribbles("dogs", 3))
    assert check_scribbles(no_scribbles("dogs", 3), frames=3)


def test_fusing_joins_frame_by_frame_and_changes_neither():
    other = drawn([line(2)], [line(2, path=((0, 0),))], [])
    before = copy.deepcopy((GOOD, other))
    fused = fuse_scribbles({**GOOD, "annotated_frame": 1}, other)
    assert fused == {
        **drawn([line(2)], [line(), line(0), line(2, path=((0, 0),))], [line(2)]),
        "annotated_frame": 1,
    }
    fused["scribbles"][0].clear()
    fused["scribbles"][1].clear()
    assert (GOOD, other) == before


def test_fusing_two_videos_is_refused():
    with pytest.raises(InvalidPrompt, match="same video, got 'dogs' of 3 frames and 'cats' of 3"):
        fuse_scribbles(GOOD, drawn([], [], [], sequence="cats"))
    with pytest.raises(InvalidPrompt, match="same video, got 'dogs' of 3 frames and 'dogs' of 2"):
        fuse_scribbles(GOOD, drawn([], []))
