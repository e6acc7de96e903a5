"""HTTP errors whose messages reveal nothing that the visitor is not allowed to know."""

from __future__ import annotations

from segarena.errors import SegarenaError

API = "1"
"""Version of the HTTP interface."""


class Refusal(SegarenaError):
    """A refused request.

    Attributes:
        status: HTTP status code.
        kind: error code of one word for client programs.
        retry_after_s: seconds until a retry may succeed; None if that is unknown, or never.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.retry_after_s = retry_after_s


def no_token() -> Refusal:
    """Return the error for a request without a valid token: 401."""
    return Refusal(
        401,
        "token",
        "expected a valid token in the header 'Authorization: Bearer TOKEN'; create one on the 'Tokens' page",
    )


def forbidden() -> Refusal:
    """Return the error for a missing role, where the existence of the resource is public: 403."""
    return Refusal(
        403, "forbidden", "your account may not do this; an organiser can change its role"
    )


def second_factor() -> Refusal:
    """Return the error for an account that must set up a second factor first: 403."""
    return Refusal(
        403,
        "second_factor",
        "this server requires a second factor; set it up on the 'Account' page",
    )


def unknown() -> Refusal:
    """Return the error for a resource that does not exist or is hidden, which must look the same: 404."""
    return Refusal(404, "unknown", "this does not exist, or it belongs to somebody else")


def closed(message: str) -> Refusal:
    """Return the error for an action on something that is not open, or is over: 403."""
    return Refusal(403, "closed", message)


def admission(kind: str, message: str) -> Refusal:
    """Return the error for a person who is not admitted to a challenge: 403 with the kind "terms" or "approval"."""
    return Refusal(403, kind, message)


def quota(message: str, retry_after_s: float | None) -> Refusal:
    """Return a 429 error; the message names the exceeded limit."""
    return Refusal(429, "quota", message, retry_after_s)


def conflict(message: str) -> Refusal:
    """Return the error for a conflict with the current state: 409."""
    return Refusal(409, "conflict", message)


def invalid(message: str) -> Refusal:
    """Return the error for invalid input: 422."""
    return Refusal(422, "invalid", message)


def too_large(most: int) -> Refusal:
    """Return the error for a request body above the size limit: 413."""
    return Refusal(
        413, "too_large", f"the body has more than {most:,} bytes, the maximum here; send less"
    )


def busy(message: str, retry_after_s: float) -> Refusal:
    """Return the error for a valid request that may succeed later: 503."""
    return Refusal(503, "busy", message, retry_after_s)
