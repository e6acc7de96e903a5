"""Tensors as arrays that can be kept, and what stands for all weights of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import PredictionInvalid
from segarena.files.hashes import sha256_of_parts
from segarena.pytorch import Tensor, torch


def pack_tensor(tensor: Tensor) -> NDArray[np.uint8]:
    """Return a tensor's bytes, its last axis as many times longer as a number has bytes: NumPy has no bfloat16."""
    return tensor.contiguous().cpu().view(torch.uint8).numpy()


def unpack_tensor(array: NDArray[Any], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the tensor of `dtype` that `pack` was given, on `device`."""
    return torch.from_numpy(array).view(dtype).to(device)


def model_fingerprint(model: Any) -> str:
    """Return a hash of all weights and of the configuration."""
    parts = [model.config.to_json_string(use_diff=False)]
    for name, tensor in sorted(model.state_dict().items()):
        parts += [name, tensor]
    return sha256_of_parts(
        part if isinstance(part, str) else pack_tensor(part.reshape(-1)).data for part in parts
    )


def check_finite(answer: Tensor, where: object) -> None:
    """Raise `PredictionInvalid` if a network answers with NaN or infinity `where`: "as bfloat16", "in frame 3"."""
    if not bool(torch.isfinite(answer).all()):
        raise PredictionInvalid(
            f"the network gave NaN or infinity {where}; take dtype='float32' or other weights"
        )
