"""Large arrays shared with a worker on the same machine as memory-mapped files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segarena.worker import Body, dtype_name

LARGE_BYTES = 8 * 2**20
"""Arrays of at least this size are passed as files, if the worker can open files of this process."""


class SharedArrays:
    """In-memory files with large arrays for a worker; each exists until the worker has answered.

    Args:
        is_visible: whether the worker can open files of this process; otherwise all arrays go
            through the pipe.
    """

    def __init__(self, *, is_visible: bool) -> None:
        self._is_visible = is_visible
        self._files: list[int] = []

    def body(
        self,
        dtype: Any,
        shape: Sequence[int],
        parts: Callable[[], Iterable[Any]],
    ) -> Body:
        """Prepare an array, given as a function that returns its bytes, for sending; large arrays become files."""
        description: dict[str, Any] = {
            "dtype": dtype_name(dtype),
            "shape": [int(side) for side in shape],
        }
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if not self._is_visible or size < LARGE_BYTES:
            return Body(description, size, parts)
        description["file"] = self.write_file(parts())
        return Body(description, 0, tuple)

    def write_file(self, parts: Iterable[Any]) -> str:
        """Write bytes to an in-memory file; return its path, which is valid until `clear`.

        The file disappears with this process, even if the process is killed.
        """
        descriptor = os.memfd_create("segarena-array")
        self._files.append(descriptor)
        for part in parts:
            view = memoryview(part)
            while len(view):
                written = os.write(descriptor, view)
                view = view[written:]
        return f"/proc/{os.getpid()}/fd/{descriptor}"

    def clear(self) -> None:
        """Close all files; a worker that has mapped one keeps its mapping."""
        while self._files:
            os.close(self._files.pop())


def has_shared_memory() -> bool:
    """Return whether this system has in-memory files that other processes can open."""
    return hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir()
