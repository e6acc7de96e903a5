"""Tensors as arrays that can be kept, and what stands for all weights of a network."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import PredictionInvalid
from segarena.pytorch import Tensor, torch


def pack(tensor: Tensor) -> NDArray[np.uint8]:
    """Return a tensor's bytes, its last axis as many times longer as a number has bytes: NumPy has no bfloat16."""
    return tensor.contiguous().cpu().view(torch.uint8).numpy()


def unpack(array: NDArray[Any], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the tensor of `dtype` that `pack` was given, on `device`."""
    return torch.from_numpy(array).view(dtype).to(device)


def fingerprint(model: Any) -> str:
    """Return a hash of all weights and of the configuration."""
    digest = hashlib.sha256(model.config.to_json_string(use_diff=False).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.contiguous().cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def check_finite(answer: Tensor, dtype: torch.dtype) -> None:
    """Raise if a network that computes in `dtype` answers with NaN or infinity.

    Raises:
        PredictionInvalid: it does.
    """
    if not bool(torch.isfinite(answer).all()):
        raise PredictionInvalid(f"the network gave NaN or infinity as {dtype}; take dtype='float32' or other weights")
