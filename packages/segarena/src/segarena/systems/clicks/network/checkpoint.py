"""Checkpoint files of the clickability network. Needs torch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from segarena.files.atomic_write import open_atomic
from segarena.files.checkpoint import extract_state_dict, load_weights, read_checkpoint
from segarena.pytorch import torch
from segarena.systems.clicks.network.model import ClickabilityNetwork, NetworkSize


def load_checkpoint(path: Path | str, size: NetworkSize | str | None = None) -> ClickabilityNetwork:
    """Load a network from a checkpoint onto the CPU, ready for prediction.

    Reads the published checkpoints and our own: a plain state dict, or a state dict under the key
    "state_dict" or "model". A prefix "module." of the parameter names is removed. Only tensors and
    plain values are unpickled.

    Args:
        path: the checkpoint file.
        size: size of the network; None uses the size stored in the file, or the paper's "b" if none
            is stored.

    Raises:
        InvalidInput: the file does not exist, it is not a checkpoint, it contains code, or its
            tensors do not fit the network; the message gives the number of missing, unknown and
            differently shaped tensors, with examples.
    """
    content = read_checkpoint(path)
    stored_size = content.get("size")
    if size is None and isinstance(stored_size, dict):
        size = NetworkSize(**stored_size)
    network = ClickabilityNetwork(size or "b")
    load_weights(network, extract_state_dict(content, path), path, hint="Is `size` right?")
    return network.eval()


def save_checkpoint(
    path: Path | str,
    network: ClickabilityNetwork,
    **more: Any,
) -> None:
    """Write the weights and size of `network`, and the plain values and tensors in `more`, atomically."""
    with open_atomic(Path(path)) as file:
        torch.save({"state_dict": network.state_dict(), "size": asdict(network.size), **more}, file)
