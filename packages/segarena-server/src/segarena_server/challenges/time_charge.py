"""What time a participant is charged: one function, and the bank that slow rounds are paid from.

The server's clock decides. A moment is read from the clock that no one sets and that goes on while the machine sleeps;
it is good for all processes of one start of a machine. Between two starts, or two machines, only the time of day is
left: it never charges less than nothing, and says that it is not sure.
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
"""A turn for which the server charges so much more than the participant's own clock says is pointed out."""

SENDING_S = 5.0
SLOWEST_BYTES = 64 * 1024
"""What sending prompts may take before they count as sent, and a second's worth of them beyond."""

FIRST_TICK_S = 0.25

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_TIME_NAMESPACE = Path("/proc/self/ns/time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A moment on this machine.

    Attributes:
        boot: which start of which machine, as this process sees it; "" where that cannot be known, and then no two
            moments are of the same.
        boot_s: seconds since that start, those asleep included; nobody can set this clock.
        utc_s: seconds since 1970, by the time of day, which may jump.
    """

    boot: str
    boot_s: float
    utc_s: float

    @classmethod
    def now(cls) -> Moment:
        """Return this moment."""
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return cls(boot=_boot(), boot_s=time.clock_gettime(clock), utc_s=time.time())

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Any) -> Moment:
        """Return what `plain` was.

        Raises:
            InvalidInput: it was no moment.
        """
        try:
            return msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"a moment: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCharge:
    """What a turn is charged.

    Attributes:
        seconds: never negative.
        is_sure: by one clock that nobody sets; otherwise by the time of day, which may have been set in between.
    """

    seconds: float
    is_sure: bool = True

    def apart_s(self, client_s: float) -> float:
        """Return how much more this is than the participant's own clock says: the network, or a pause there."""
        return self.seconds - client_s

    def is_apart(self, client_s: float) -> bool:
        """Tell whether that is enough to be pointed out."""
        return self.apart_s(client_s) > NOTABLE_EXCESS_S


def clock_start(begun: Moment, ended: Moment, size: int) -> Moment:
    """Return when prompts count as sent: when their last byte left.

    Someone could read all but the last bytes and think; so that is no later than what sending takes at `SLOWEST_BYTES`
    a second and `SENDING_S`.

    Args:
        begun: when the first byte was given to the network.
        ended: when the last one was.
        size: bytes.
    """
    allowed_s = SENDING_S + size / SLOWEST_BYTES
    if charge(begun, ended).seconds <= allowed_s:
        return ended
    return replace(begun, boot_s=begun.boot_s + allowed_s, utc_s=begun.utc_s + allowed_s)


def charge(
    sent: Moment, first: Moment, last: Moment | None = None, *, committed: bool = True
) -> TimeCharge:
    """Return what a participant is charged between prompts and answer.

    Args:
        sent: when the last byte of the prompts left.
        first: when the first byte of the answer arrived.
        last: when its last byte did; needed where nothing was committed to.
        committed: whether the answer's digest came before it, and is the answer's. Otherwise someone could send a first
            byte at once and think while sending the others, so the last one counts.
    """
    arrived = first if committed or last is None else last
    if sent.boot and sent.boot == arrived.boot:
        return TimeCharge(seconds=max(0.0, arrived.boot_s - sent.boot_s))
    return TimeCharge(seconds=max(0.0, arrived.utc_s - sent.utc_s), is_sure=False)


def reply_delay_s(taken_s: float) -> float:
    """Return how long a reply waits that was there after so many seconds.

    A larger error takes users and metrics longer, so the time to a reply would tell of the truth. Replies leave
    `TICK_S` after the turn came, or twice as long, four times, and so on.
    """
    tick_s = FIRST_TICK_S
    while tick_s < taken_s:
        tick_s *= 2
    return tick_s - taken_s


class TimeBank:
    """What slow answers of one dialogue are paid from.

    Args:
        seconds_per_answer: that every answer has; None sets no limit, and nothing is ever paid.
        bank_s: for what goes beyond, over the whole dialogue.
    """

    def __init__(self, seconds_per_answer: float | None, bank_s: float = 0.0) -> None:
        self._each_s = seconds_per_answer
        self.left_s = bank_s

    def pays(self, seconds: float) -> bool:
        """Pay for an answer; tell whether there was enough. Exactly as much is enough."""
        beyond = 0.0 if self._each_s is None else max(0.0, seconds - self._each_s)
        if beyond > self.left_s:
            return False
        self.left_s -= beyond
        return True


def _boot() -> str:
    try:
        # A container may have been given another start of the same machine.
        return f"{_BOOT_ID.read_text(encoding='ascii').strip()}{_seen_from()}"
    except OSError:
        return ""


def _seen_from() -> str:
    try:
        return f"/{_TIME_NAMESPACE.readlink()}"
    except OSError:  # older than time namespaces
        return ""
