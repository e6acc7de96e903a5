"""Memory size of Python values, used to bound caches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

_MAX_DEPTH = 6
"""Recursion limit, because objects may contain reference cycles."""


def memory_bytes(value: Any, *, depth: int = _MAX_DEPTH) -> int:
    """Estimate the memory in bytes of all arrays and tensors in `value`, nested up to `depth` levels.

    >>> import numpy as np
    >>> memory_bytes({"levels": np.zeros((4, 4), np.float32), "name": "a"})
    64
    """
    # NumPy arrays and PyTorch tensors both have `nbytes`, so PyTorch need not be imported.
    size = getattr(value, "nbytes", None)
    if isinstance(size, int):
        return size
    if depth == 0:
        return 0
    total = 0
    for part in _parts(value):
        total += memory_bytes(part, depth=depth - 1)
    return total


def _parts(value: Any) -> list[Any]:
    """Return the values in a container, a dataclass or another object."""
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return list(value)
    if is_dataclass(value):
        # A dataclass with slots has no `__dict__`.
        return [getattr(value, field.name) for field in fields(value)]
    attributes = getattr(value, "__dict__", {})
    return list(attributes.values())
