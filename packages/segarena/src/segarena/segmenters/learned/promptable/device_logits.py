"""Logits of earlier rounds that stay on the device, and move to main memory when too many are alive."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.pytorch import Tensor, torch
from segarena.segmenters.learned.promptable.devices import copy_to_device, copy_to_host

DEVICE_BYTES = 1 << 30
"""Default memory for logits on the device: 4096 dialogues of SAM, whose logits have 256 KiB each."""


class DeviceLogits:
    """Logits of one prediction, on the device or, after `spill`, in main memory.

    NumPy and pickling treat the object as a float32 array, so that workers and caches need not know
    where it is.

    Args:
        tensor: the logits on the device; the object is their only owner.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.shape = tuple(tensor.shape)
        self._value: Tensor | NDArray[np.float32] = tensor

    @property
    def is_on_device(self) -> bool:
        """Whether the logits still occupy memory of the device."""
        return isinstance(self._value, Tensor)

    def on(self, device: torch.device) -> Tensor:
        """Return the logits as a float32 tensor on `device`; spilled logits are copied there each time."""
        if isinstance(self._value, Tensor):
            return self._value.to(device)
        return copy_to_device(self._value, device)

    def spill(self) -> None:
        """Move the logits to main memory, if they are still on the device."""
        self._value = self._in_main_memory()

    def _in_main_memory(self) -> NDArray[np.float32]:
        if isinstance(self._value, Tensor):
            return copy_to_host(self._value)
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the logits as an array in main memory; the device keeps its copy."""
        array = self._in_main_memory()
        return array if dtype is None else array.astype(dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the logits as an array, because another process has no access to this device's memory."""
        return np.asarray, (np.asarray(self),)


class LogitsPool:
    """Limits the memory of logits on a device: the oldest ones are spilled first.

    The pool holds weak references only. Logits that no dialogue needs any more are freed at once,
    without a copy.

    Args:
        limit_bytes: maximum size of all logits on the device.
    """

    def __init__(self, limit_bytes: int = DEVICE_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._sizes: OrderedDict[weakref.ref[DeviceLogits], int] = OrderedDict()

    @property
    def used_bytes(self) -> int:
        """Size of all logits on the device."""
        return sum(self._sizes.values())

    def keep(self, tensor: Tensor) -> DeviceLogits:
        """Return a handle to logits on the device, and spill older logits beyond the limit."""
        logits = DeviceLogits(tensor)
        size_bytes = tensor.numel() * tensor.element_size()
        self._sizes[weakref.ref(logits, self._forget)] = size_bytes
        while self.used_bytes > self.limit_bytes:
            oldest, _ = self._sizes.popitem(last=False)
            alive = oldest()
            if alive is not None:
                alive.spill()
        return logits

    def _forget(self, reference: weakref.ref[DeviceLogits]) -> None:
        self._sizes.pop(reference, None)
