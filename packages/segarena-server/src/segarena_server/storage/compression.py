"""Compression of stored bodies: masks have long runs and shrink to a tenth or less."""

from __future__ import annotations

import zlib

# The fastest level: higher ones gain little on masks.
_LEVEL = 1


def compress_body(body: bytes) -> bytes:
    """Compress a body for storage."""
    return zlib.compress(body, _LEVEL)


def decompress_body(packed: bytes) -> bytes:
    """Decompress a stored body; only for trusted input from the database, because the size is unlimited."""
    return zlib.decompress(packed)
