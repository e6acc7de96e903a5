"""One-line messages about workers that do not start or are lost, with a remedy where one is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import segarena.worker
from segarena.segmenters.workers.missing_modules import describe_remedy, find_missing, is_python
from segarena.segmenters.workers.worker_config import WorkerConfig, WorkerLost
from segarena.worker import ProtocolError


def describe_end(how: str, lines: Sequence[str]) -> str:
    """Return one line that states how a worker ended, with its last output."""
    printed = " / ".join(line.strip() for line in lines)
    how = how or "hung up"
    if printed:
        return f"{how}; its last lines: {printed}"
    return f"{how}; it printed nothing"


def describe_loss(error: Exception) -> str:
    """Return why the connection was lost; "" if the error does not give a reason."""
    if isinstance(error, ProtocolError):
        return f"broke the protocol: {error}"
    if isinstance(error, WorkerLost):
        return str(error)
    return ""


def describe_start_failure(
    error: OSError,
    config: WorkerConfig,
    program: str,
) -> str:
    """Return why a program cannot be started, and the remedy if it is known."""
    if config.folder and not Path(config.folder).is_dir():
        return f"there is no folder {config.folder}"
    if config.python and isinstance(error, FileNotFoundError):
        environment = Path(config.python).parent.parent
        remedy = f"python3 -m venv {environment} && {program} -m pip install numpy"
        return f"there is no program {program}; create that environment: {remedy}"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {program}; install it, or give python='envs/mine/bin/python'"
    return f"{program} cannot be started: {error.strerror}"


def describe_missing_module(lines: Sequence[str], config: WorkerConfig) -> str:
    """Return which modules the worker's Python lacks and the remedy; "" for other failures."""
    modules = re.findall(r"No module named '?([\w.]+)", "\n".join(lines))
    if not modules or config.is_address:
        return ""
    program, *arguments = config.words
    module = modules[-1]
    folder = config.folder or "this folder"
    if "-m" in arguments and module == arguments[arguments.index("-m") + 1]:
        return f"there is no module {module} in {folder}; pass its folder: folder='path/to/it'"
    if module == "segarena_worker":
        target = Path(config.folder or ".") / "segarena_worker.py"
        return (
            "segarena_worker.py is not next to the adapter; copy it there: "
            f"cp {segarena.worker.__file__} {target}"
        )
    if not is_python(program):
        program = "the worker's Python"
    return describe_remedy(find_missing(module, config), program)
