"""Memory size of values, by which caches are bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def memory_bytes(value: Any, *, depth: int = 6) -> int:
    """Estimate the bytes of all arrays and tensors in `value`, nested up to `depth` deep.

    >>> import numpy as np
    >>> memory_bytes({"levels": np.zeros((4, 4), np.float32), "name": "a"})
    64
    """
    size = getattr(value, "nbytes", None)
    if isinstance(size, int):
        return size
    if isinstance(value, Mapping):
        parts = list(value.values())
    elif isinstance(value, (list, tuple)):
        parts = list(value)
    elif is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    else:
        parts = list(getattr(value, "__dict__", {}).values())
    if not depth:
        return 0
    return sum(memory_bytes(part, depth=depth - 1) for part in parts)
