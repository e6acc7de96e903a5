"""Samples and dialogues as a worker is told of them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from segarena.dialogue import Dialogue, Prediction
from segarena.prompts import Prompt
from segarena.samples import ImageSample, Sample, Support, VolumeSample
from segarena.worker import Body, as_body, dtype_name, flatten

LARGE_BYTES = 8 * 2**20
"""From so many bytes on, an array goes through a file where both sides see the same disk."""


class Shared:
    """Large arrays in memory that a worker maps as files; each is there until the worker has answered.

    Args:
        is_seen: whether the worker sees our files; otherwise everything goes through the pipe.
    """

    def __init__(self, *, is_seen: bool) -> None:
        self._is_seen = is_seen
        self._files: list[int] = []

    def body(self, dtype: Any, shape: Sequence[int], parts: Callable[[], Iterable[Any]]) -> Body:
        """Return an array whose bytes `parts` gives, as a file if it is large."""
        told: dict[str, Any] = {"dtype": dtype_name(dtype), "shape": [int(side) for side in shape]}
        count = math.prod(shape) * np.dtype(dtype).itemsize
        if not self._is_seen or count < LARGE_BYTES:
            return Body(told, count, parts)
        return Body({**told, "file": self.file_of(parts())}, 0, tuple)

    def file_of(self, parts: Iterable[Any]) -> str:
        """Return the path of a file in memory that holds some bytes until `clear`; nothing of it outlives us."""
        number = os.memfd_create("segarena-array")
        self._files.append(number)
        for part in parts:
            view = memoryview(part)
            while len(view):
                view = view[os.write(number, view) :]
        return f"/proc/{os.getpid()}/fd/{number}"

    def clear(self) -> None:
        """Take away what the worker has mapped, or will never."""
        while self._files:
            os.close(self._files.pop())


def tell_sample(sample: Sample, arrays: list[Any], shared: Shared) -> dict[str, Any]:
    """Return what a header tells of a sample; its pixels are put into `arrays`."""
    if isinstance(sample, ImageSample):
        return {"kind": "image", "id": sample.id, "image": flatten(sample.image, arrays)}
    if isinstance(sample, VolumeSample):
        return {
            "kind": "volume",
            "id": sample.id,
            "voxels": flatten(_whole(sample.voxels, shared), arrays),
            "spacing_mm": flatten(tuple(map(float, sample.spacing_mm)), arrays),
            "affine": flatten(sample.affine, arrays),
            "modality": sample.modality,
        }
    shape = (len(sample.frames), *sample.frame_shape, 3)

    def frames() -> Iterator[Any]:
        return (_bytes(np.asarray(frame, np.uint8)) for frame in sample.frames)

    return {"kind": "video", "id": sample.id, "frames": flatten(shared.body(np.uint8, shape, frames), arrays)}


def tell_dialogue(dialogue: Dialogue, arrays: list[Any], handle: Callable[[Any], int]) -> dict[str, Any]:
    """Return what a header tells of a dialogue.

    Args:
        dialogue: its supports may be encoded.
        arrays: where masks and logits are put.
        handle: under which the worker knows an encoding.
    """
    lift, previous = dialogue.lift, dialogue.previous
    return {
        "rounds": [[_tell_prompt(prompt, arrays, handle) for prompt in prompts] for prompts in dialogue.rounds],
        "previous": None if previous is None else _tell_previous(previous, arrays),
        "lift": None if lift is None else asdict(lift),
    }


def _tell_previous(previous: Prediction, arrays: list[Any]) -> dict[str, Any]:
    return {
        "mask": flatten(np.asarray(previous.mask), arrays),
        "logits": flatten(previous.logits, arrays),
        "score": previous.score,
        "candidates": None if previous.candidates is None else [int(each) for each in previous.candidates],
    }


def _tell_prompt(prompt: Prompt, arrays: list[Any], handle: Callable[[Any], int]) -> dict[str, Any]:
    if isinstance(prompt, Support):
        told = {"kind": prompt.kind, "mask": flatten(np.asarray(prompt.mask), arrays)}
        if prompt.encoded is None:
            return {**told, "sample": tell_sample(prompt.sample, arrays, Shared(is_seen=False))}
        return {**told, "handle": handle(prompt.encoded)}
    values = {field.name: _plain(getattr(prompt, field.name)) for field in fields(prompt)}
    return {"kind": prompt.kind, **{name: flatten(value, arrays) for name, value in values.items()}}


def _plain(value: Any) -> Any:
    """Return a value of a prompt with plain numbers in place of NumPy's, as a header has them."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _whole(voxels: Any, shared: Shared) -> Body:
    """Return an array, through a file if it is large."""
    values = np.asarray(voxels)
    if values.nbytes < LARGE_BYTES or values.dtype == np.bool_:
        return as_body(values)
    little = np.ascontiguousarray(values, dtype=np.dtype(dtype_name(values.dtype)))
    return shared.body(little.dtype, little.shape, lambda: [_bytes(little)])


def _bytes(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def can_share() -> bool:
    """Tell whether this system has files in memory that other processes can open."""
    return hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir()
