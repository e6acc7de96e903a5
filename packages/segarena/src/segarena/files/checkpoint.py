"""Files with the weights of a network: read without running code, and matched name by name. Needs torch."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segarena.errors import InvalidInput
from segarena.pytorch import Tensor, nn, torch

WRAPPERS = ("state_dict", "model")
NAMED = 3


def read_checkpoint(path: Path | str) -> Mapping[str, Any]:
    """Return what a checkpoint holds, on the CPU, without running any code in it.

    Raises:
        InvalidInput: there is no such file, it is not a whole checkpoint, it holds code, or it holds no names.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of programs, which are refused below
            content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no checkpoint {path}") from error
    except (PermissionError, IsADirectoryError) as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror}; expected a file that may be read"
        ) from error
    except pickle.UnpicklingError as error:
        code = re.search(r"GLOBAL (\S+)", str(error))
        if code is None:
            raise InvalidInput(f"{path} is not a torch checkpoint, or not a whole one") from error
        raise _could_run(path, code.group(1)) from error
    except Exception as error:  # over damage the reader raises whatever it leads it to
        if "TorchScript" in str(error):
            raise _could_run(path, "a TorchScript program") from error
        reason = re.split(r"[.:] |\n", str(error))[0] if isinstance(error, RuntimeError) else ""
        more = f": {reason}" if reason else ""
        raise InvalidInput(f"{path} is not a torch checkpoint, or not a whole one{more}") from error
    if not isinstance(content, Mapping):
        raise InvalidInput(f"{path}: expected a state dict, got {type(content).__name__}")
    return content


def _could_run(path: Path | str, what: str) -> InvalidInput:
    return InvalidInput(
        f"{path} holds more than tensors and plain values ({what}), and is not loaded because it could run code; "
        "save only its state dict"
    )


def state_dict_of(content: Mapping[str, Any], path: Path | str) -> dict[str, Tensor]:
    """Return the tensors of a checkpoint by name, without wrappers and "module." prefixes.

    Raises:
        InvalidInput: there are no tensors, or something else is among them.
    """
    inner = next(
        (content[key] for key in WRAPPERS if isinstance(content.get(key), Mapping)), content
    )
    other = [
        str(key)
        for key, value in inner.items()
        if not (isinstance(key, str) and isinstance(value, Tensor))
    ]
    if other or not inner:
        raise InvalidInput(f"{path}: expected tensors by name, got {some(other) or 'nothing'}")
    prefix = "module." if all(key.startswith("module.") for key in inner) else ""
    return {key.removeprefix(prefix): value for key, value in inner.items()}


def load_weights(
    network: nn.Module, weights: Mapping[str, Tensor], path: Path | str, *, hint: str = ""
) -> None:
    """Put `weights` into `network`, all or nothing.

    Args:
        network: what is filled.
        weights: tensors by name.
        path: where they are from, for the message.
        hint: what to look at when they do not fit, as a last sentence of the message.

    Raises:
        InvalidInput: names or shapes differ; the message counts the missing, unknown and differently shaped
            ones and names some.
    """
    wanted = network.state_dict()
    misfits = misfits_of({key: tuple(tensor.shape) for key, tensor in wanted.items()}, weights)
    if misfits:
        raise InvalidInput(
            f"{path} does not fit the network of {len(wanted)} tensors: {misfits}. {hint}".rstrip()
        )
    network.load_state_dict(dict(weights))


def misfits_of(wanted: Mapping[str, tuple[int, ...]], weights: Mapping[str, Tensor]) -> str:
    """Return in words how `weights` differ from the `wanted` shapes by name; empty when they do not."""
    problems = {
        "missing": [key for key in wanted if key not in weights],
        "unknown": [key for key in weights if key not in wanted],
        "of another shape": [
            f"{key} {tuple(weights[key].shape)} for {shape}"
            for key, shape in wanted.items()
            if key in weights and tuple(weights[key].shape) != shape
        ],
    }
    return "; ".join(
        f"{len(keys)} {what} ({some(keys)})" for what, keys in problems.items() if keys
    )


def some(names: list[str]) -> str:
    """Return the first names of a list that may be long."""
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
