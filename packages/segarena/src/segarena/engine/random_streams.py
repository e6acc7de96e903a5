"""Named random streams: random values depend on the purpose of a choice, not on when it is made."""

from __future__ import annotations

import hashlib
import json

import numpy as np


def random_stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the random generator for `seed` and `names`.

    The same arguments give the same values on any machine, in any order of calls; different names
    give independent values.
    """
    key = json.dumps([seed, *names]).encode()
    # A SHA-256 hash, because Python's own `hash` differs between processes.
    digest = hashlib.sha256(key).digest()
    entropy = int.from_bytes(digest, "little")
    # PCG64 is named explicitly, because NumPy may change the generator behind `default_rng`.
    bits = np.random.PCG64(np.random.SeedSequence(entropy))
    return np.random.Generator(bits)
