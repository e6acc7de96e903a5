"""Why a worker did not start or was lost, in a line, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import segarena.worker
from segarena.segmenters.workers.worker_config import WorkerConfig, WorkerLost
from segarena.worker import ProtocolError


def told_of(how: str, lines: Sequence[str]) -> str:
    """Return in one line how a worker ended, and what it printed last."""
    printed = " / ".join(line.strip() for line in lines)
    how = how or "hung up"
    return f"{how}; its last lines: {printed}" if printed else f"{how}; it printed nothing"


def why_lost(error: Exception) -> str:
    """Return in words why a conversation ended; nothing when the worker is simply gone."""
    if isinstance(error, ProtocolError):
        return f"spoke nonsense: {error}"
    return str(error) if isinstance(error, WorkerLost) else ""


def why_not_started(error: OSError, reach: WorkerConfig, program: str) -> str:
    """Return why a program cannot be started."""
    if reach.folder and not Path(reach.folder).is_dir():
        return f"there is no folder {reach.folder}"
    if reach.python and isinstance(error, FileNotFoundError):
        home = Path(reach.python).parent.parent
        made = f"python3 -m venv {home} && {program} -m pip install numpy"
        return f"there is no program {program}; make that environment: {made}"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {program}; install it, or give python='envs/mine/bin/python'"
    return f"{program} cannot be started: {error.strerror}"


def what_is_missing(lines: Sequence[str], reach: WorkerConfig) -> str:
    """Return which module a Python lacks and what to do about it, if that is why it ended; else nothing."""
    said = re.findall(r"No module named '?([\w.]+)", "\n".join(lines))
    if not said or reach.is_address:
        return ""
    program, *arguments = reach.words
    module = said[-1]
    where = reach.folder or "this folder"
    if "-m" in arguments and module == arguments[arguments.index("-m") + 1]:
        return f"there is no module {module} in {where}; give its folder: folder='path/to/it'"
    if module == "segarena_worker":
        beside = Path(reach.folder or ".") / "segarena_worker.py"
        return f"segarena_worker.py is not beside the adapter; put it there: cp {segarena.worker.__file__} {beside}"
    return f"{program} has no module {module}; install it there: {program} -m pip install {module.partition('.')[0]}"
