"""Who holds a job: a lease names the process, and beats while it is alive.

No clock is compared with that of another machine. Whoever looks remembers when it first saw a beat, by a clock of its
own that nobody sets; a lease that does not beat for `lease_s` is dead. On the same machine a process that is gone is
known to be gone at once.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

_PROC = Path("/proc")

Job = TypeVar("Job", bound=Hashable)


def new_lease() -> str:
    """Return the text of a lease of this process, different each time."""
    return _prefix() + secrets.token_hex(8)


def is_gone(lease: str, *, is_same_machine: bool = False) -> bool:
    """Tell whether the process that a lease names has certainly ended.

    Args:
        lease: its text.
        is_same_machine: every process that shares the jobs is known to be on this machine; after its restart all
            leases of before are of processes that are gone.
    """
    machine, _, rest = lease.partition(":")
    number, _, started = rest.rpartition(":")[0].partition(":")
    if machine != _this_machine():
        return is_same_machine
    return not number.isdecimal() or _started(int(number)) != started


def is_mine(lease: str) -> bool:
    """Tell whether this process made a lease."""
    return lease.startswith(_prefix())


class LeaseWatch(Generic[Job]):
    """Leases that somebody else holds, and since when each has been seen not to beat.

    Args:
        lease_s: after so long without a beat a lease is dead.
        clock: monotonic.
    """

    def __init__(self, lease_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease_s = lease_s
        self._clock = clock
        self._seen: dict[Job, tuple[str, int, float]] = {}

    def dead(self, leases: Mapping[Job, tuple[str, int]]) -> list[Job]:
        """Return those that did not beat for too long; those that are not among `leases` any more are forgotten."""
        now = self._clock()
        self._seen = {
            key: self._seen[key]
            if key in self._seen and self._seen[key][:2] == found
            else (*found, now)
            for key, found in leases.items()
        }
        return [key for key, (_, _, since) in self._seen.items() if now - since >= self._lease_s]


def _prefix() -> str:
    return f"{_this_machine()}:{os.getpid()}:{_started(os.getpid())}:"


def _this_machine() -> str:
    """Return which start of which machine this is, and whose view of its processes."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{(_PROC / 'self/ns/pid').readlink()}".replace(":", "")
    except OSError:
        return "elsewhere"


def _started(number: int) -> str:
    """Return when a process was started, in ticks since the machine was; "" when there is none."""
    try:
        told = (_PROC / str(number) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    after_name = told.rpartition(")")[2].split()
    return "" if after_name[0] == "Z" else after_name[19]
