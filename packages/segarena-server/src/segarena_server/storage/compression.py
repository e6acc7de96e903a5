"""Bodies as they are kept: masks are mostly runs, and shrink to a tenth and less."""

from __future__ import annotations

import zlib

_LEVEL = 1


def compress_body(body: bytes) -> bytes:
    """Return a body as it is kept."""
    return zlib.compress(body, _LEVEL)


def decompress_body(packed: bytes) -> bytes:
    """Return what `pack` was given; only for what the database has, which we packed."""
    return zlib.decompress(packed)
