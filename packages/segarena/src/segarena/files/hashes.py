"""SHA-256 of bytes and files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

FINGERPRINT_DIGITS = 16
"""Number of hexadecimal digits of a fingerprint: 64 bits, enough to distinguish datasets."""


def sha256(*parts: bytes | str) -> str:
    """Return the hash of the concatenated `parts` (text as UTF-8), as 64 hexadecimal digits.

    >>> sha256("ab") == sha256("a", b"b")
    True
    """
    return sha256_of_parts(parts)


def sha256_of_parts(parts: Iterable[bytes | memoryview | str]) -> str:
    """Return the hash of many parts, like `sha256`, without storing them all in memory."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
    return digest.hexdigest()


def fingerprint(*parts: bytes | str) -> str:
    """Return the first 16 digits of `sha256`.

    >>> fingerprint("ab")
    'fb8e20fc2e4c3f24'
    """
    return sha256(*parts)[:FINGERPRINT_DIGITS]


def sha256_of_file(path: Path) -> str:
    """Return the hash of a file's content, read in chunks.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
