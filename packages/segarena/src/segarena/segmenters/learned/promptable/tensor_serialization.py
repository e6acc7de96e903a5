"""Conversion of tensors to arrays and back, hash of a network's weights, and check of its output.

torch is imported by the functions that need it, so that segmenters can be listed without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import PredictionInvalid
from segarena.files.hashes import sha256_of_parts

if TYPE_CHECKING:
    from segarena.pytorch import Tensor, torch


def pack_tensor(tensor: Tensor) -> NDArray[np.uint8]:
    """Return a tensor as bytes; the length of its last axis is multiplied by the bytes per value.

    Bytes are needed because NumPy has no bfloat16.
    """
    from segarena.pytorch import torch

    return tensor.contiguous().cpu().view(torch.uint8).numpy()


def unpack_tensor(
    array: NDArray[Any],
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor:
    """Restore a tensor of `dtype` on `device` from the bytes of `pack_tensor`."""
    from segarena.pytorch import torch

    return torch.from_numpy(array).view(dtype).to(device)


def model_fingerprint(model: Any) -> str:
    """Return a hash of all weights and of the configuration."""
    return sha256_of_parts(_fingerprint_parts(model))


def _fingerprint_parts(model: Any) -> Iterator[Any]:
    yield model.config.to_json_string(use_diff=False)
    for name, tensor in sorted(model.state_dict().items()):
        yield name
        yield pack_tensor(tensor.reshape(-1)).data


def check_finite(output: Tensor, where: object) -> None:
    """Raise `PredictionInvalid` if the output of a network contains NaN or infinity.

    Args:
        output: output of the network.
        where: context for the message, such as "as bfloat16" or "in frame 3".
    """
    if not bool(output.isfinite().all()):
        raise not_finite_error(where)


def not_finite_error(where: object) -> PredictionInvalid:
    """Return the error for an output that contains NaN or infinity; `where` as in `check_finite`."""
    return PredictionInvalid(
        f"the network returned NaN or infinity {where}; use dtype='float32' or other weights"
    )
