"""Cases in processes of their own, which may allocate 1 GiB more than at the start and have a time limit per case."""

from __future__ import annotations

import json
import os
import re
import resource
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

MEMORY_BYTES = 1 << 30

PYTHONS_OWN = re.compile(r"\b(?!DatasetError|StoreError)[A-Z]\w+(Error|Exception)\b")
"""The name of an exception in a message: a traceback in disguise."""


class Ended(NamedTuple):
    """Outcome of the cases of a process.

    Attributes:
        answers: results of the completed cases.
        by: how the next case ended the process; "" if all cases were completed.
        peak_bytes: peak memory of the process.
    """

    answers: list[Any]
    by: str
    peak_bytes: int


def in_child(
    do: Callable[[int], Any], numbers: range, *, seconds: float, is_limited: bool = True
) -> Ended:
    """Run cases one after the other in a forked process, which is killed when one takes longer than `seconds`.

    Threads do not survive a fork, so this process must not have started any; nothing is read or created in it.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _do_and_leave(do, numbers, writing, is_limited)
    os.close(writing)
    lines, is_late = _lines(reading, seconds)
    if is_late:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    by = (
        f"more than {seconds:g} s"
        if is_late
        else f"signal {-code}"
        if code < 0
        else f"exit {code}"
        if code
        else ""
    )
    return Ended([json.loads(line) for line in lines], by, usage.ru_maxrss << 10)


def _lines(reading: int, seconds: float) -> tuple[list[bytes], bool]:
    """Return the lines of a pipe, and whether one of them did not arrive in time."""
    found = b""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], seconds)[0]:
            if not (more := pipe.read(1 << 16)):
                return found.splitlines(), False
            found += more
    return found.splitlines(), True


def _do_and_leave(do: Callable[[int], Any], numbers: range, writing: int, is_limited: bool) -> None:
    # Only pages that are written to count: address space that threads and libraries merely reserve is no memory.
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    if is_limited:
        resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY_BYTES, used + MEMORY_BYTES))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for number in numbers:
        os.write(writing, json.dumps(do(number)).encode() + b"\n")
    os._exit(0)
