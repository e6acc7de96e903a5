"""Passwords, by argon2id with the parameters of RFC 9106 for servers with little memory: 64 MiB and three passes."""

from __future__ import annotations

import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from segarena.errors import InvalidInput

SHORTEST = 10
LONGEST = 200
_AT_ONCE = threading.BoundedSemaphore(
    2
)  # each takes 64 MiB: many sign-ins at once must not take the memory
_hasher = PasswordHasher()
_OF_NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4$f81EeifU+AZFx8ZG6lG9GQ"
    "$ogZsVy5RRFlqBQQbNPcnLaDkuGlCN6hHq/qjhWmqKFI"
)  # fmt: skip
"""Of a password that nobody knows, by these parameters; written down, as making one takes a third of a second."""


def hash_password(password: str, name: str) -> str:
    """Return what is kept of a password.

    Raises:
        InvalidInput: it is too short or long, or is the name.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidInput(
            f"a password must have {SHORTEST} to {LONGEST} characters, got {len(password)}"
        )
    if password.casefold() == name.casefold():
        raise InvalidInput("the password must not be the name")
    with _AT_ONCE:
        return _hasher.hash(password)


def has_password(kept: str) -> bool:
    """Tell whether what is kept is of a password at all."""
    return kept.startswith("$argon2")


def is_password(password: str, kept: str | None) -> bool:
    """Tell whether a password is the one that is kept; takes as long when nothing is, so that no name is told by it."""
    has_one = kept is not None and has_password(kept)
    with _AT_ONCE:
        try:
            return (
                _hasher.verify(kept if has_one and kept else _OF_NOBODY, password[: LONGEST + 1])
                and has_one
            )
        except (VerificationError, InvalidHashError):
            return False
