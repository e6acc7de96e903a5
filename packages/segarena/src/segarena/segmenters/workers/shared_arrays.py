"""Large arrays that a worker on this machine maps as files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segarena.worker import Body, dtype_name

LARGE_BYTES = 8 * 2**20
"""From so many bytes on, an array goes through a file where both sides see the same disk."""


class SharedArrays:
    """Large arrays in memory that a worker maps as files; each is there until the worker has answered.

    Args:
        is_seen: whether the worker sees our files; otherwise everything goes through the pipe.
    """

    def __init__(self, *, is_seen: bool) -> None:
        self._is_seen = is_seen
        self._files: list[int] = []

    def body(self, dtype: Any, shape: Sequence[int], parts: Callable[[], Iterable[Any]]) -> Body:
        """Return an array whose bytes `parts` gives, as a file if it is large."""
        told: dict[str, Any] = {"dtype": dtype_name(dtype), "shape": [int(side) for side in shape]}
        count = math.prod(shape) * np.dtype(dtype).itemsize
        if not self._is_seen or count < LARGE_BYTES:
            return Body(told, count, parts)
        return Body({**told, "file": self.file_of(parts())}, 0, tuple)

    def file_of(self, parts: Iterable[Any]) -> str:
        """Return the path of a file in memory that holds some bytes until `clear`; nothing of it outlives us."""
        number = os.memfd_create("segarena-array")
        self._files.append(number)
        for part in parts:
            view = memoryview(part)
            while len(view):
                view = view[os.write(number, view) :]
        return f"/proc/{os.getpid()}/fd/{number}"

    def clear(self) -> None:
        """Take away what the worker has mapped, or will never."""
        while self._files:
            os.close(self._files.pop())


def can_share() -> bool:
    """Tell whether this system has files in memory that other processes can open."""
    return hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir()
