"""HTTP errors; their messages reveal nothing that the visitor may not know."""

from __future__ import annotations

from segarena.errors import SegarenaError

API = "1"
"""Version of the HTTP interface."""


class Refusal(SegarenaError):
    """A refused request.

    Attributes:
        status: HTTP status code.
        kind: one word that client programs evaluate.
        retry_after_s: seconds until a retry may succeed; None when it never will.
    """

    def __init__(
        self, status: int, kind: str, message: str, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.retry_after_s = retry_after_s


def no_token() -> Refusal:
    """Return the error of a request without a valid token: 401."""
    return Refusal(
        401,
        "token",
        "a valid token is needed: Authorization: Bearer TOKEN; make one on the page 'Tokens'",
    )


def forbidden() -> Refusal:
    """Return the error of a missing role, for things whose existence is public: 403."""
    return Refusal(
        403, "forbidden", "your account may not do this; an organiser can change its role"
    )


def unknown() -> Refusal:
    """Return the error of a missing or hidden thing, which must be indistinguishable: 404."""
    return Refusal(404, "unknown", "there is nothing of this name, or it is not yours")


def closed(message: str) -> Refusal:
    """Return the error of an action outside its period: 403."""
    return Refusal(403, "closed", message)


def quota(message: str, retry_after_s: float | None) -> Refusal:
    """Return the error of an exceeded limit, which the message names: 429."""
    return Refusal(429, "quota", message, retry_after_s)


def conflict(message: str) -> Refusal:
    """Return the error of a conflict with the current state: 409."""
    return Refusal(409, "conflict", message)


def invalid(message: str) -> Refusal:
    """Return the error of invalid input: 422."""
    return Refusal(422, "invalid", message)


def too_large(most: int) -> Refusal:
    """Return the error of a body with too many bytes: 413."""
    return Refusal(413, "too_large", f"at most {most:,} bytes are taken here")


def busy(message: str, retry_after_s: float) -> Refusal:
    """Return the error of a valid request that may succeed later: 503."""
    return Refusal(503, "busy", message, retry_after_s)
