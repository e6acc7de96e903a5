"""Requests that are not answered with what was asked: what is said, and never more than the asker may know."""

from __future__ import annotations

from segarena.errors import SegarenaError

API = "1"
"""The version of the interface."""


class Refusal(SegarenaError):
    """A request that is refused.

    Attributes:
        status: of HTTP.
        kind: one word that programs go by.
        retry_after_s: when it may work; None when the same request never will.
    """

    def __init__(
        self, status: int, kind: str, message: str, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.retry_after_s = retry_after_s


def no_token() -> Refusal:
    """Nobody was recognised."""
    return Refusal(
        401,
        "token",
        "a valid token is needed: Authorization: Bearer TOKEN; make one on the page 'Tokens'",
    )


def forbidden() -> Refusal:
    """The role does not allow it; for what everybody knows to exist."""
    return Refusal(
        403, "forbidden", "your account may not do this; an organiser can change its role"
    )


def unknown() -> Refusal:
    """There is nothing of that name, or nothing that the asker may know of: both sound alike."""
    return Refusal(404, "unknown", "there is nothing of this name, or it is not yours")


def closed(message: str) -> Refusal:
    """The time for it is over, or not yet come."""
    return Refusal(403, "closed", message)


def quota(message: str, retry_after_s: float | None) -> Refusal:
    """A limit is reached; the message says which."""
    return Refusal(429, "quota", message, retry_after_s)


def conflict(message: str) -> Refusal:
    """It contradicts what is there."""
    return Refusal(409, "conflict", message)


def invalid(message: str) -> Refusal:
    """What was sent cannot be."""
    return Refusal(422, "invalid", message)


def too_large(most: int) -> Refusal:
    """More was sent than is taken."""
    return Refusal(413, "too_large", f"at most {most:,} bytes are taken here")


def busy(message: str, retry_after_s: float) -> Refusal:
    """Nothing is wrong with the request, and it may work later."""
    return Refusal(503, "busy", message, retry_after_s)
