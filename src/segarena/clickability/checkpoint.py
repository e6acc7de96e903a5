"""Files with the weights of a clickability network: read without running code, and matched key by key. Needs torch."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from segarena.clickability.network import ClickabilityNetwork, NetworkSize
from segarena.clickability.pytorch import Tensor, torch
from segarena.errors import InvalidInput

WRAPPERS = ("state_dict", "model")
NAMED = 3


def load_checkpoint(path: Path | str, size: NetworkSize | str | None = None) -> ClickabilityNetwork:
    """Return the network whose weights are in `path`, ready for prediction, on the CPU.

    Takes the published checkpoints and our own: a plain state dict, or one under "state_dict" or "model", with
    or without "module." before each name. Nothing but tensors and plain values is unpickled.

    Args:
        path: the file.
        size: the size of the network; None takes the one noted in the file, or the paper's "b".

    Raises:
        InvalidInput: there is no such file, it is not a checkpoint, it holds code, or its tensors are not those
            of the network; the message counts the missing, unknown and differently shaped ones and names some.
    """
    content = read_checkpoint(path)
    network = ClickabilityNetwork(size or _noted_size(content) or "b")
    load_weights(network, state_dict_of(content, path), path)
    return network.eval()


def read_checkpoint(path: Path | str) -> Mapping[str, Any]:
    """Return what a checkpoint holds, without running any code in it.

    Raises:
        InvalidInput: see `load_checkpoint`.
    """
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no checkpoint {path}") from error
    except pickle.UnpicklingError as error:
        raise InvalidInput(
            f"{path} holds more than tensors and plain values, and is not loaded because it could run code; "
            "save only its state dict"
        ) from error
    except (RuntimeError, ValueError, EOFError, OSError) as error:
        raise InvalidInput(f"{path} cannot be read as a torch checkpoint: {error}") from error
    if not isinstance(content, Mapping):
        raise InvalidInput(f"{path}: expected a state dict, got {type(content).__name__}")
    return content


def state_dict_of(content: Mapping[str, Any], path: Path | str) -> dict[str, Tensor]:
    """Return the tensors of a checkpoint by name, without wrappers and "module." prefixes.

    Raises:
        InvalidInput: there are no tensors, or something else is among them.
    """
    inner = next((content[key] for key in WRAPPERS if isinstance(content.get(key), Mapping)), content)
    other = [key for key, value in inner.items() if not isinstance(value, Tensor)]
    if other or not inner:
        raise InvalidInput(f"{path}: expected tensors by name, got {_some(other) or 'nothing'}")
    prefix = "module." if all(key.startswith("module.") for key in inner) else ""
    return {key.removeprefix(prefix): value for key, value in inner.items()}


def load_weights(network: ClickabilityNetwork, weights: Mapping[str, Tensor], path: Path | str) -> None:
    """Put `weights` into `network`, all or nothing.

    Raises:
        InvalidInput: names or shapes differ.
    """
    wanted = network.state_dict()
    problems = {
        "missing": [key for key in wanted if key not in weights],
        "unknown": [key for key in weights if key not in wanted],
        "of another shape": [
            f"{key} {tuple(weights[key].shape)} for {tuple(tensor.shape)}"
            for key, tensor in wanted.items()
            if key in weights and weights[key].shape != tensor.shape
        ],
    }
    found = [f"{len(keys)} {what} ({_some(keys)})" for what, keys in problems.items() if keys]
    if found:
        raise InvalidInput(
            f"{path} does not fit the network of {len(wanted)} tensors: {'; '.join(found)}. Is `size` right?"
        )
    network.load_state_dict(dict(weights))


def save_checkpoint(path: Path | str, network: ClickabilityNetwork, **more: Any) -> None:
    """Write the weights and size of `network`, and `more` plain values and tensors, in one step.

    A reader finds either the file of before or the whole new one.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        torch.save({"state_dict": network.state_dict(), "size": asdict(network.size), **more}, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _noted_size(content: Mapping[str, Any]) -> NetworkSize | None:
    noted = content.get("size")
    return NetworkSize(**noted) if isinstance(noted, dict) else None


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
