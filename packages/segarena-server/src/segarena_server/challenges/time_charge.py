"""The time that a participant is charged for a turn, and the bank that pays for slow answers.

The server's clock decides. A moment is read from a clock that nobody can set and that goes on while the machine sleeps;
such moments can be compared between all processes since one boot of a machine. Between two boots, or two machines, only
the time of day is left. Then the charge is never negative, and marked as unsure.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from segarena.errors import InvalidInput

TIME_RULE = (
    "Time runs on the server's clock, from the last byte of the prompts that are sent to the first byte of the answer "
    "that arrives. Judging is not charged, and neither is sending the answer, if its digest comes before it. What you "
    "do with a sample before you ask for its first prompts is not charged. In a batch each dialogue whose prompts wait "
    "for an answer is charged the same share. A pause on your side, a slow network and a lost connection run on your "
    "time: they are shown apart, by the round trip that is measured and by your own clock, and change nothing."
)
"""The rule, as participants read it."""

NOTABLE_EXCESS_S = 1.0
"""Pages mark a turn when the server's clock exceeds the participant's by more."""

SENDING_S = 5.0
"""Time that sending prompts may take before they count as sent,"""
SLOWEST_BYTES = 64 * 1024
"""and bytes for which a further second is allowed."""

FIRST_TICK_S = 0.25
"""Replies leave so long after their turn, or twice as long, four times, and so on."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TIME_NAMESPACE = Path("/proc/self/ns/time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A moment on this machine.

    Attributes:
        boot: identifies the boot of the machine, as this process sees it; "" where that is unknown, and then no two
            moments share a boot.
        boot_s: seconds since the boot, sleep included; nobody can set this clock.
        utc_s: seconds since 1970 by the time of day, which may jump.
    """

    boot: str
    boot_s: float
    utc_s: float

    @classmethod
    def now(cls) -> Moment:
        """Return the current moment."""
        # Not every system has a clock that goes on during sleep.
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return cls(boot=_boot(), boot_s=time.clock_gettime(clock), utc_s=time.time())

    def plain(self) -> dict[str, Any]:
        """Return the moment as a JSON object."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Any) -> Moment:
        """Return the moment from a JSON object.

        Raises:
            InvalidInput: it is no moment.
        """
        try:
            return msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"a moment: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCharge:
    """The time charged for a turn.

    Attributes:
        seconds: never negative.
        is_sure: whether one clock measured it that nobody can set; otherwise the time of day did, which may have been
            set in between.
    """

    seconds: float
    is_sure: bool = True

    def excess_s(self, client_s: float) -> float:
        """Return the excess over the participant's own clock: the network, or a pause of the participant."""
        return self.seconds - client_s

    def is_apart(self, client_s: float) -> bool:
        """Return whether the excess is large enough to be shown."""
        return self.excess_s(client_s) > NOTABLE_EXCESS_S


def clock_start(begun: Moment, ended: Moment, size: int) -> Moment:
    """Return when the participant's clock starts: when the last byte of the prompts left.

    A participant could read all but the last bytes and think. So the clock starts at the latest when sending takes
    longer than `SENDING_S`, and a second for every `SLOWEST_BYTES`.

    Args:
        begun: when the first byte was given to the network.
        ended: when the last byte was.
        size: in bytes.
    """
    allowed_s = SENDING_S + size / SLOWEST_BYTES
    if charge(begun, ended).seconds <= allowed_s:
        return ended
    return replace(begun, boot_s=begun.boot_s + allowed_s, utc_s=begun.utc_s + allowed_s)


def charge(
    sent: Moment, first: Moment, last: Moment | None = None, *, committed: bool = True
) -> TimeCharge:
    """Return the time charged between prompts and answer.

    Args:
        sent: when the last byte of the prompts left.
        first: when the first byte of the answer arrived.
        last: when its last byte arrived; required for an answer that was not committed.
        committed: whether the digest of the answer arrived before it, and matches. Otherwise a participant could send
            the first byte at once and think while sending the others, so that the last byte counts.
    """
    arrived = first if committed or last is None else last
    if sent.boot and sent.boot == arrived.boot:
        return TimeCharge(seconds=max(0.0, arrived.boot_s - sent.boot_s))
    return TimeCharge(seconds=max(0.0, arrived.utc_s - sent.utc_s), is_sure=False)


def reply_delay_s(taken_s: float) -> float:
    """Return how long a reply waits for the next tick that was ready after so many seconds.

    Users and metrics take longer for a larger error, so that the time to a reply would reveal some of the truth.
    """
    tick_s = FIRST_TICK_S
    while tick_s < taken_s:
        tick_s *= 2
    return tick_s - taken_s


class TimeBank:
    """The reserve of time that pays for slow answers of one dialogue.

    Args:
        seconds_per_answer: free time of every answer; None sets no limit, and nothing is ever paid.
        bank_s: reserve for the whole dialogue.

    Attributes:
        left_s: remaining reserve.
    """

    def __init__(self, seconds_per_answer: float | None, bank_s: float = 0.0) -> None:
        self._free_s = seconds_per_answer
        self.left_s = bank_s

    def pays(self, seconds: float) -> bool:
        """Pay for an answer; return False, with nothing paid, if too little is left. Exactly as much is enough."""
        excess_s = 0.0
        if self._free_s is not None:
            excess_s = max(0.0, seconds - self._free_s)
        if excess_s > self.left_s:
            return False
        self.left_s -= excess_s
        return True


def _boot() -> str:
    """Return an identifier of this boot and of the time namespace."""
    try:
        boot_id = _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
    # In a container the time since the boot may have another origin.
    return f"{boot_id}{_time_namespace()}"


def _time_namespace() -> str:
    try:
        return f"/{_TIME_NAMESPACE.readlink()}"
    except OSError:  # the kernel is older than time namespaces
        return ""
