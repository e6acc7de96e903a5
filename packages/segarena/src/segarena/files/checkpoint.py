"""Network checkpoints: read without running code, and matched by tensor name. Needs torch."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segarena.errors import InvalidInput
from segarena.pytorch import Tensor, nn, torch

# Keys under which training scripts store the state dict.
WRAPPERS = ("state_dict", "model")
MAX_NAMED = 3


def read_checkpoint(path: Path | str) -> Mapping[str, Any]:
    """Load the content of a checkpoint to the CPU without running code in it.

    Raises:
        InvalidInput: the file is missing, damaged, contains code, or is not a mapping.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # about TorchScript programs, which are rejected below
            content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise InvalidInput(
            f"there is no checkpoint {path}; download it, or correct the path"
        ) from error
    except (PermissionError, IsADirectoryError) as error:
        raise InvalidInput(
            f"{path} cannot be read: {error.strerror}; allow this user to read it"
        ) from error
    except pickle.UnpicklingError as error:
        code = re.search(r"GLOBAL (\S+)", str(error))
        if code is None:
            raise InvalidInput(f"{path} is not a torch checkpoint, or is incomplete") from error
        raise _code_error(path, code.group(1)) from error
    except Exception as error:  # a damaged file may raise any type
        if "TorchScript" in str(error):
            raise _code_error(path, "a TorchScript program") from error
        more = ""
        if isinstance(error, RuntimeError):
            # Quote only the first sentence: torch appends advice about unsafe loading.
            more = ": " + re.split(r"[.:] |\n", str(error))[0]
        raise InvalidInput(f"{path} is not a torch checkpoint, or is incomplete{more}") from error
    if not isinstance(content, Mapping):
        raise InvalidInput(
            f"{path}: expected a state dict, got {type(content).__name__}; save the model's "
            "state_dict()"
        )
    return content


def _code_error(path: Path | str, content: str) -> InvalidInput:
    return InvalidInput(
        f"{path} contains more than tensors and plain values ({content}), and is not loaded because it could run code; "
        "save only its state dict"
    )


def extract_state_dict(content: Mapping[str, Any], path: Path | str) -> dict[str, Tensor]:
    """Return the tensors of a checkpoint by name, without a wrapper key, and without "module." if all names have it.

    Raises:
        InvalidInput: the checkpoint has no tensors, or other values besides tensors.
    """
    inner = content
    for wrapper in WRAPPERS:
        if isinstance(content.get(wrapper), Mapping):
            inner = content[wrapper]
            break
    other: list[str] = []
    for key, value in inner.items():
        if not isinstance(key, str) or not isinstance(value, Tensor):
            other.append(str(key))
    if other or not inner:
        raise InvalidInput(
            f"{path}: expected tensors by name, got {abbreviated_keys(other) or 'nothing'}"
        )
    # torch.nn.DataParallel puts this prefix before every name.
    prefix = "module." if all(key.startswith("module.") for key in inner) else ""
    return {key.removeprefix(prefix): value for key, value in inner.items()}


def load_weights(
    network: nn.Module,
    weights: Mapping[str, Tensor],
    path: Path | str,
    *,
    hint: str = "",
) -> None:
    """Load `weights` into `network`: all of them or none.

    Args:
        network: the network to load the weights into.
        weights: tensors by name.
        path: file of the weights, for the message.
        hint: advice for weights that do not fit; the last sentence of the message.

    Raises:
        InvalidInput: names or shapes differ; the message counts missing, unknown and differently
            shaped tensors and names some.
    """
    wanted = network.state_dict()
    misfits = describe_mismatch(
        {key: tuple(tensor.shape) for key, tensor in wanted.items()}, weights
    )
    if misfits:
        raise InvalidInput(
            f"{path} does not fit the network of {len(wanted)} tensors: {misfits}. {hint}".rstrip()
        )
    network.load_state_dict(dict(weights))


def describe_mismatch(wanted: Mapping[str, tuple[int, ...]], weights: Mapping[str, Tensor]) -> str:
    """Describe how `weights` differ from the `wanted` shapes by name; "" if they fit."""
    reshaped: list[str] = []
    for key, shape in wanted.items():
        if key in weights and tuple(weights[key].shape) != shape:
            reshaped.append(f"{key} {tuple(weights[key].shape)} for {shape}")
    problems = {
        "missing": [key for key in wanted if key not in weights],
        "unknown": [key for key in weights if key not in wanted],
        "of another shape": reshaped,
    }
    parts: list[str] = []
    for problem, keys in problems.items():
        if keys:
            parts.append(f"{len(keys)} {problem} ({abbreviated_keys(keys)})")
    return "; ".join(parts)


def abbreviated_keys(names: list[str]) -> str:
    """Return the first names of a list as text, with "..." for the others."""
    shown = names[:MAX_NAMED]
    if len(names) > MAX_NAMED:
        shown = [*shown, "..."]
    return ", ".join(shown)
