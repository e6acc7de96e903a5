"""Errors of plug-ins: messages in the records, tracebacks in the run folder, and the debugger."""

from __future__ import annotations

import pdb
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType, TracebackType

from segarena.errors import PredictTimeout, SegarenaError, WorkStopped
from segarena.tracebacks import own_frames, own_traceback, with_location

TRACEBACKS_FILE = "tracebacks.txt"
"""File in a run folder with a traceback for each failure cause that was reported."""

_MAX_COLLECTED = 20
"""Maximum number of tracebacks of one sample; its failures mostly have one cause."""

_collected: ContextVar[dict[str, str] | None] = ContextVar("collected", default=None)
_is_debugging: ContextVar[bool] = ContextVar("is_debugging", default=False)


def describe_error(where: str, error: Exception) -> str:
    """Return the message of a failure; where this is enabled, collect its traceback and open the debugger on it.

    Raises:
        WorkStopped: the debugger was closed.
    """
    is_ours = isinstance(error, SegarenaError)
    if is_ours:
        message = f"{where}: {error}"
    else:
        message = f"{where}: {type(error).__name__}: {error}{_remedy(error)}"
    # Skip the location for errors where it is useless: a slow call is interrupted at a random
    # line, but records must be reproducible, and our own loading errors already name the file
    # that caused them.
    if not (isinstance(error, PredictTimeout) or (is_ours and where == "loading")):
        message = with_location(message, error)
    # The records contain the message on one line as well.
    message = " ".join(message.split())
    collected = _collected.get()
    if collected is not None and len(collected) < _MAX_COLLECTED:
        frames = own_traceback(error)
        if frames:
            collected.setdefault(message, frames)
    if _is_debugging.get() and own_frames(error):
        _debug(error)
    return message


@contextmanager
def collected_tracebacks() -> Generator[dict[str, str]]:
    """Collect the tracebacks of failures in the block, by message."""
    found: dict[str, str] = {}
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


@contextmanager
def debugging(*, is_on: bool) -> Generator[None]:
    """If enabled, open the debugger at the first error of a plug-in in the block."""
    token = _is_debugging.set(is_on)
    try:
        yield
    finally:
        _is_debugging.reset(token)


def note_traceback(
    folder: Path,
    where: str,
    message: str,
    frames: str,
) -> None:
    """Append a traceback to the file of tracebacks in a run folder."""
    with (folder / TRACEBACKS_FILE).open("a", encoding="utf-8") as file:
        file.write(f"{where}\n{message}\n{frames}\n\n")


def _debug(error: Exception) -> None:
    sys.stderr.write(f"{own_traceback(error)}\n")
    debugger = _PluginDebugger(own_frames(error)[-1])
    debugger.reset()
    debugger.interaction(None, error.__traceback__)
    raise WorkStopped("the debugger was closed; the sample is not done") from error


class _PluginDebugger(pdb.Pdb):
    """A debugger that begins in the plug-in's code, even if a package that it called raised the error.

    Args:
        own: the frame of the plug-in to begin in.
    """

    def __init__(self, own: traceback.FrameSummary) -> None:
        super().__init__()
        self._own = own

    def get_stack(
        self,
        f: FrameType | None,
        t: TracebackType | None,
    ) -> tuple[list[tuple[FrameType, int]], int]:
        """Return the frames with their lines, and the index of the plug-in's last frame."""
        stack, index = super().get_stack(f, t)
        for position, (frame, line) in enumerate(stack):
            if frame.f_code.co_filename == self._own.filename and line == self._own.lineno:
                index = position
        return stack, index


def _remedy(error: Exception) -> str:
    """Return a hint for an error of NumPy or OpenCV about a read-only array; "" for other errors."""
    text = str(error).lower()
    if "read-only" in text or "readonly" in text:
        return "; others read this array too: copy it first, as in image = sample.image.copy()"
    return ""
