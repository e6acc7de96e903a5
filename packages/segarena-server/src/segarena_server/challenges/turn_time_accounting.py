"""The time charged to a participant for a turn, and the time bank that pays for slow answers.

The server's clock decides. Moments come from a clock that nobody can set and that keeps running
while the machine sleeps; all processes of a machine can compare them until it boots again. Between
two boots, or two machines, only the system time is left, and the charge is marked as unsure. No
charge is negative.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from segarena_server.clock import Moment, Outage

TIME_RULE = (
    "Time is measured by the server's clock, from sending the last byte of the prompts to receiving the first byte of "
    "the answer. Evaluation is not charged, and neither is sending the answer if its digest is "
    "sent first. Work on a sample before you request its first prompts is not charged. In a "
    "batch each dialogue whose prompts wait for an answer is charged the same share. A pause on "
    "your side, a slow network and a lost connection count as your time: pages show them "
    "separately, by the measured round trip and your own clock, but they are not subtracted. "
    "Seconds in which no server was running are not charged."
)
"""Text of the rule as shown to participants."""

NOTABLE_EXCESS_S = 1.0
"""Pages mark a turn if the server's clock exceeds the participant's by more than this."""

SENDING_S = 5.0
"""Prompts count as sent after this many seconds at the latest, plus one per `SLOWEST_BYTES`."""
SLOWEST_BYTES = 64 * 1024
"""Size in bytes for which a participant gets one more second to receive prompts."""

FIRST_TICK_S = 0.25
"""A reply leaves this many seconds after its turn, or after 2, 4, 8 ... times as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCharge:
    """The time charged for a turn.

    Attributes:
        seconds: charged seconds, never negative.
        is_sure: whether a single clock that nobody can set measured the time, without an outage; otherwise the charge
            is a difference of system times, which may have been changed in between, or lacks the seconds of an outage.
    """

    seconds: float
    is_sure: bool = True

    def excess_s(self, client_s: float) -> float:
        """Return by how much the charge exceeds the time on the participant's clock.

        The excess is caused by the network, or by a pause of the participant.
        """
        return self.seconds - client_s

    def is_apart(self, client_s: float) -> bool:
        """Return whether the excess is large enough to show."""
        return self.excess_s(client_s) > NOTABLE_EXCESS_S


def clock_start(
    begun: Moment,
    ended: Moment,
    size: int,
) -> Moment:
    """Return when the participant's clock starts: when the last byte of the prompts was sent.

    A participant could read all but the last bytes and think. The clock therefore starts at the
    latest after `SENDING_S`, plus a second for every `SLOWEST_BYTES`.

    Args:
        begun: when the first byte was sent.
        ended: when the last byte was sent.
        size: size in bytes.
    """
    allowed_s = SENDING_S + size / SLOWEST_BYTES
    if charge(begun, ended).seconds <= allowed_s:
        return ended
    return replace(begun, boot_s=begun.boot_s + allowed_s, utc_s=begun.utc_s + allowed_s)


def arrival(
    first: Moment,
    last: Moment,
    *,
    is_committed: bool,
) -> Moment:
    """Return when an answer counts as arrived.

    Args:
        first: when its first byte arrived.
        last: when its last byte arrived.
        is_committed: whether the digest of the answer arrived before it, and matches. Otherwise a participant could
            send the first byte at once and think while sending the rest, so the last byte counts.
    """
    return first if is_committed else last


def charge(
    sent: Moment,
    arrived: Moment,
    outages: Iterable[Outage] = (),
) -> TimeCharge:
    """Return the time charged between prompts and answer.

    Args:
        sent: when the last byte of the prompts was sent.
        arrived: when the answer arrived; see `arrival`.
        outages: periods without a running server, which are not charged. The charge is then unsure, because nobody
            knows how much of such a period the participant worked.
    """
    is_sure = bool(sent.boot) and sent.boot == arrived.boot
    seconds = arrived.boot_s - sent.boot_s if is_sure else arrived.utc_s - sent.utc_s
    down_s = sum(outage.overlap_s(sent, arrived) for outage in outages)
    return TimeCharge(seconds=max(0.0, seconds - down_s), is_sure=is_sure and down_s == 0)


def reply_delay_s(taken_s: float) -> float:
    """Return how long a reply that was ready after `taken_s` seconds waits for the next tick.

    Users and metrics take longer for larger errors, so the response time would otherwise reveal
    some of the ground truth.
    """
    tick_s = FIRST_TICK_S
    while tick_s < taken_s:
        tick_s *= 2
    return tick_s - taken_s


class TimeBank:
    """The reserve of time that pays for slow answers of one dialogue.

    Args:
        seconds_per_answer: free time of every answer; None for no limit, so that nothing is ever paid.
        bank_s: reserve for the whole dialogue.

    Attributes:
        left_s: remaining reserve.
    """

    def __init__(self, seconds_per_answer: float | None, bank_s: float = 0.0) -> None:
        self._free_s = seconds_per_answer
        self.left_s = bank_s

    def pays(self, seconds: float) -> bool:
        """Pay for the excess time of an answer; if the reserve is too small, pay nothing and return False."""
        excess_s = 0.0
        if self._free_s is not None:
            excess_s = max(0.0, seconds - self._free_s)
        if excess_s > self.left_s:
            return False
        self.left_s -= excess_s
        return True
