"""Named random streams: the purpose of a random choice decides its numbers, not the time it is made."""

from __future__ import annotations

import hashlib
import json

import numpy as np


def random_stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the random generator of `names` under `seed`.

    The same arguments give the same numbers on any machine, in any order of calls; different names give
    independent numbers.
    """
    key = json.dumps([seed, *names]).encode()
    # A hash, because Python's own differs between processes.
    entropy = int.from_bytes(hashlib.sha256(key).digest(), "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
