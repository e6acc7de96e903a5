"""The part of a traceback that concerns the author of a plug-in: frames of the plug-in, without segarena's."""

from __future__ import annotations

import re
import sysconfig
import traceback
from functools import cache
from importlib.util import find_spec
from pathlib import Path

MAX_FRAMES = 4
"""Maximum frames shown, counted from the error, because the mistake is rarely farther up."""

_ENGINE = str(Path(__file__).parent / "engine") + "/"

_LOCATION = re.compile(r" \([^()]*, line \d+, in (?:[^()]|<\w+>)*\)\Z")
"""The end of a message of `with_location`."""

_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def own_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return those frames of an exception that lie in a plug-in's code.

    These are the frames outside of segarena, the standard library and installed packages. If there
    are none because the plug-in comes from an installed package, all frames after the engine's call
    are returned. For a plug-in of segarena itself the result is empty.
    """
    own: list[traceback.FrameSummary] = []
    called: list[traceback.FrameSummary] = []
    is_called_by_engine = False
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.startswith(_package_folders()):
            is_called_by_engine = frame.filename.startswith(_ENGINE)
            called = []
            continue
        if is_called_by_engine:
            called.append(frame)
        if not frame.filename.startswith((*_INSTALLED, "<")):
            own.append(frame)
    return own or called


def error_location(error: BaseException) -> str:
    """Return the last line of plug-in code in a traceback: "model.py, line 12, in predict"; "" if there is none."""
    frames = own_frames(error)
    if not frames:
        return ""
    last = frames[-1]
    return f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"


def own_traceback(error: BaseException) -> str:
    """Format the error and the last frames of the plug-in's code like Python; "" if there are no such frames."""
    frames = own_frames(error)
    if not frames:
        return ""
    lines = traceback.format_list(frames[-MAX_FRAMES:])
    lines.extend(traceback.format_exception_only(error))
    return "".join(lines).rstrip()


def with_location(message: str, error: BaseException) -> str:
    """Append to a message, in brackets, the `error_location` of an error, if there is one."""
    location = error_location(error)
    if not location:
        return message
    return f"{message} ({location})"


def without_location(message: str) -> str:
    """Return a message without the location that `with_location` added."""
    return _LOCATION.sub("", message)


@cache
def _package_folders() -> tuple[str, ...]:
    """Return the folders of segarena and its installed companion packages."""
    found: list[str] = []
    for name in ("segarena", "segarena_people", "segarena_server", "segarena_studio"):
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            found.append(str(Path(spec.origin).parent) + "/")
    return tuple(found)
