"""The only import of torch, so that a missing torch raises the same error everywhere.

Raises:
    MissingExtra: on import, if torch is not installed.
"""

from __future__ import annotations

from segarena.errors import MissingExtra

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ImportError as error:
    raise MissingExtra('this needs torch: pip install "segarena[models]"') from error

__all__ = ["Tensor", "functional", "nn", "torch"]
