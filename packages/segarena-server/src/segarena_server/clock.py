"""Timestamps from a clock that nobody can set and that keeps running while the machine sleeps."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from segarena.errors import InvalidInput

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TIME_NAMESPACE = Path("/proc/self/ns/time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A point in time on this machine.

    Attributes:
        boot: identifier of the boot and time namespace in which this process runs; "" where the system does
            not provide one, in which case no two moments count as being from the same boot.
        boot_s: seconds since the boot, sleep included; nobody can set this clock.
        utc_s: seconds since 1970 by the system clock, which may jump.
    """

    boot: str
    boot_s: float
    utc_s: float

    @classmethod
    def now(cls) -> Moment:
        """Return the current moment."""
        # Not every operating system has a clock that keeps running during sleep.
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return cls(boot=_boot(), boot_s=time.clock_gettime(clock), utc_s=time.time())

    def plain(self) -> dict[str, Any]:
        """Return the moment as a JSON object."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Any) -> Moment:
        """Parse the moment from a JSON object.

        Raises:
            InvalidInput: the object is not a valid moment.
        """
        try:
            return msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"a moment: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A period in which no server was running.

    Attributes:
        began: last heartbeat of a server.
        ended: start of the next server.
    """

    began: Moment
    ended: Moment

    @property
    def seconds(self) -> float:
        """Length of the outage."""
        return self.overlap_s(self.began, self.ended)

    def overlap_s(self, first: Moment, last: Moment) -> float:
        """Return how many seconds between two moments belong to the outage; never negative."""
        moments = (self.began, self.ended, first, last)
        is_one_boot = bool(first.boot) and len({moment.boot for moment in moments}) == 1
        began, ended, from_s, to_s = (
            moment.boot_s if is_one_boot else moment.utc_s for moment in moments
        )
        return max(0.0, min(ended, to_s) - max(began, from_s))

    def plain(self) -> dict[str, Any]:
        """Return the outage as a JSON object."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Any) -> Outage:
        """Parse the outage from a JSON object.

        Raises:
            InvalidInput: the object is not a valid outage.
        """
        try:
            return msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"an outage: {error}") from error


def _boot() -> str:
    """Return an identifier of the current boot and time namespace, or "" if the system has none."""
    try:
        boot_id = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
    # A container with its own time namespace may count the seconds since the boot from another
    # origin.
    return f"{boot_id}{_time_namespace()}"


def _time_namespace() -> str:
    try:
        return f"/{_TIME_NAMESPACE.readlink()}"
    except OSError:  # the kernel is older than time namespaces
        return ""
