"""Password hashing by argon2id with the low-memory parameters of RFC 9106: 64 MiB, three passes."""

from __future__ import annotations

import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from segarena.errors import InvalidInput

SHORTEST = 10
LONGEST = 200
# Each hash takes 64 MiB, so parallel sign-ins could otherwise exhaust the memory.
_CONCURRENT_HASHES = threading.BoundedSemaphore(2)
_hasher = PasswordHasher()
_DUMMY_HASH = (
    "$argon2id$v=19$m=65536,t=3,p=4$f81EeifU+AZFx8ZG6lG9GQ"
    "$ogZsVy5RRFlqBQQbNPcnLaDkuGlCN6hHq/qjhWmqKFI"
)  # fmt: skip
"""Hash of an unknown password with these parameters; a constant, because hashing takes a third of a second."""


def hash_password(password: str, name: str) -> str:
    """Hash a password for storage.

    Raises:
        InvalidInput: the password is too short, too long, or equal to the name.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidInput(
            f"a password must have {SHORTEST} to {LONGEST} characters, got {len(password)}"
        )
    # A name is the first password that an attacker tries.
    if password.casefold() == name.casefold():
        raise InvalidInput("the password must differ from the name")
    with _CONCURRENT_HASHES:
        return _hasher.hash(password)


def has_password(kept: str) -> bool:
    """Return whether a stored text is a password hash; accounts that sign in at a provider have none."""
    return kept.startswith("$argon2")


def is_password(password: str, kept: str | None) -> bool:
    """Return whether a password is right; take equally long without a stored hash, so that timing reveals no names."""
    has_hash = kept is not None and has_password(kept)
    stored = kept if kept is not None and has_hash else _DUMMY_HASH
    with _CONCURRENT_HASHES:
        try:
            # Argon2 would process megabytes; one character beyond the maximum is enough to be
            # wrong.
            is_right = _hasher.verify(stored, password[: LONGEST + 1])
        except (VerificationError, InvalidHashError):
            is_right = False
    return is_right and has_hash
