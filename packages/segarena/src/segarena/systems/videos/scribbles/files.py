"""Scribble files of the DAVIS Interactive Challenge: the lines drawn by a person or a robot in a video.

    {"sequence": "dogs-jump", "annotated_frame": 2,
     "scribbles": [[], [], [{"path": [[0.25, 0.5], [0.26, 0.5]], "object_id": 1, "start_time": 0, "end_time": 900}]]}

`scribbles` has one list for each frame, with one entry for each line. A path contains [x, y] as
fractions of the frame, measured from its left and top edges. `object_id` is 0 for the background.
Times are in milliseconds since the person started. `annotated_frame` and both times are optional.

Source: DAVIS Interactive Challenge, its package `davisinteractive` 1.0.4.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from segarena.errors import DatasetMissing, InvalidPrompt
from segarena.files.atomic_write import write_atomic

Scribbles: TypeAlias = Mapping[str, Any]
"""Content of a scribble file."""


def check_scribbles(
    data: Any,
    *,
    frames: int | None = None,
    objects: int | None = None,
    sequence: str | None = None,
) -> Scribbles:
    """Return `data` if it is the valid content of a scribble file.

    Args:
        data: the value to check, of any type.
        frames: number of frames of the video; None accepts any number.
        objects: highest object id; None accepts any id.
        sequence: name of the sequence; None accepts any name.

    Raises:
        InvalidPrompt: the content is invalid; the message gives the frame and the line, both
            counted from 0, and what was expected.
    """
    if not isinstance(data, Mapping):
        raise InvalidPrompt(f"scribbles: expected a dictionary, got {_shown(data)}")
    scribbles = cast("Scribbles", data)
    name = scribbles.get("sequence")
    if not isinstance(name, str):
        raise InvalidPrompt(
            f"scribbles: expected 'sequence' to be the name of the video, got {_shown(name)}"
        )
    if sequence is not None and name != sequence:
        raise InvalidPrompt(
            f"scribbles: expected scribbles of sequence {sequence!r}, got scribbles of {name!r}"
        )
    where = f"scribbles of {name!r}"
    expected_list = f"{where}: expected 'scribbles' to be a list of frames"
    per_frame = _list(scribbles.get("scribbles"), expected_list)
    if frames is not None and len(per_frame) != frames:
        raise InvalidPrompt(
            f"{where}: expected a list for each of {frames} frames, got {len(per_frame)}; "
            "a frame without scribbles has an empty one"
        )
    if "annotated_frame" in scribbles:
        last_frame = len(per_frame) - 1
        annotated_frame = scribbles["annotated_frame"]
        if not _is_index(annotated_frame, last_frame):
            raise InvalidPrompt(
                f"{where}: expected 'annotated_frame' to be 0 to {last_frame}, "
                f"got {_shown(annotated_frame)}"
            )
    for frame, lines in enumerate(per_frame):
        where_frame = f"{where}, frame {frame}"
        for number, line in enumerate(_list(lines, f"{where_frame}: expected a list of lines")):
            _check_line(line, objects, f"{where_frame}, line {number}")
    return scribbles


def read_scribbles(
    path: Path | str,
    *,
    frames: int | None = None,
    objects: int | None = None,
    sequence: str | None = None,
) -> Scribbles:
    """Read a scribble file, and check it with `check_scribbles`.

    Raises:
        DatasetMissing: the file does not exist.
        InvalidPrompt: the file is not JSON, or not a valid scribble file.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DatasetMissing(f"{path}: expected a scribble file, found none") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidPrompt(
            f"{path}: cannot be read as a JSON scribble file ({error}); write the file again"
        ) from error
    try:
        return check_scribbles(data, frames=frames, objects=objects, sequence=sequence)
    except InvalidPrompt as error:
        raise InvalidPrompt(f"{path}: {error}") from error


def write_scribbles(data: Scribbles, path: Path | str) -> None:
    """Write a scribble file.

    Raises:
        InvalidPrompt: `data` is not the content of a scribble file; nothing is written.
    """
    checked = dict(check_scribbles(data))
    # NaN is not valid JSON, and other readers would reject the whole file.
    text = json.dumps(checked, allow_nan=False)
    write_atomic(Path(path), text + "\n")


def no_scribbles(sequence: str, frames: int) -> dict[str, Any]:
    """Return empty scribbles for a video: frames without any line."""
    return {"sequence": sequence, "scribbles": [[] for _ in range(frames)]}


def is_empty(data: Scribbles) -> bool:
    """Return whether no frame contains a line."""
    return not frames_with_lines(data)


def frames_with_lines(data: Scribbles) -> tuple[int, ...]:
    """Return the frames with at least one line, in order."""
    return tuple(frame for frame, lines in enumerate(data["scribbles"]) if lines)


def frames_with_object(data: Scribbles, object_id: int) -> tuple[int, ...]:
    """Return the frames with at least one line of an object (0 for the background), in order."""
    frames: list[int] = []
    for frame, lines in enumerate(data["scribbles"]):
        object_ids = [line["object_id"] for line in lines]
        if object_id in object_ids:
            frames.append(frame)
    return tuple(frames)


def fuse_scribbles(first: Scribbles, second: Scribbles) -> dict[str, Any]:
    """Merge two scribble files frame by frame, with the lines of `first` before those of `second`.

    Neither argument is modified, and later changes to the result do not affect them. Other keys
    (`annotated_frame`) come from `first`.

    Raises:
        InvalidPrompt: the videos or their numbers of frames differ.
    """
    frames = len(first["scribbles"])
    other_frames = len(second["scribbles"])
    if first["sequence"] != second["sequence"] or frames != other_frames:
        raise InvalidPrompt(
            f"scribbles to fuse: expected the same video, got {first['sequence']!r} of {frames} frames "
            f"and {second['sequence']!r} of {other_frames}"
        )
    pairs = zip(first["scribbles"], second["scribbles"], strict=True)
    return {**first, "scribbles": [[*before, *after] for before, after in pairs]}


def _check_line(
    line: Any,
    objects: int | None,
    where: str,
) -> None:
    if not isinstance(line, Mapping):
        raise InvalidPrompt(
            f"{where}: expected a dictionary with 'path' and 'object_id', got {_shown(line)}"
        )
    fields = cast("Scribbles", line)
    object_id = fields.get("object_id")
    if not _is_index(object_id, objects):
        if objects is None:
            wanted = "a whole number from 0"
        else:
            wanted = f"0 for the background or 1 to {objects}"
        raise InvalidPrompt(
            f"{where}: expected 'object_id' to be {wanted}, got {_shown(object_id)}"
        )
    for key in ("start_time", "end_time"):
        if key in fields and not _is_number(fields[key]):
            raise InvalidPrompt(
                f"{where}: expected '{key}' to be a number, got {_shown(fields[key])}"
            )
    _check_path(fields.get("path"), where)


def _check_path(path: Any, where: str) -> None:
    points = _list(path, f"{where}: expected 'path' to be a list of [x, y]")
    if not points:
        raise InvalidPrompt(
            f"{where}: expected 'path' to have at least one [x, y], got an empty one"
        )
    for number, point in enumerate(points):
        where_point = f"{where}, point {number}"
        position = _list(point, f"{where_point}: expected two numbers [x, y]")
        if len(position) != 2 or not all(map(_is_number, position)):
            raise InvalidPrompt(f"{where_point}: expected two numbers [x, y], got {_shown(point)}")
        if not all(0 <= value <= 1 for value in position):
            raise InvalidPrompt(
                f"{where_point}: expected x and y from 0 to 1, as fractions of the frame's width and height, "
                f"got {_shown(point)}"
            )


def _list(value: Any, expected: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise InvalidPrompt(f"{expected}, got {_shown(value)}")
    return cast("Sequence[Any]", value)


def _is_number(value: Any) -> bool:
    # JSON's true and false become bool, which is a subclass of int.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value)


def _is_index(value: Any, highest: int | None) -> bool:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return False
    return highest is None or value <= highest


def _shown(value: Any) -> str:
    """Return a value as text for a message, truncated if it is long."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
