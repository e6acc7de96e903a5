"""Serialization of samples, prompts and dialogues to frame headers, for workers and the network protocol.

The frames themselves are those of `segarena.worker`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeAlias

import numpy as np

from segarena.dialogue import Dialogue, Prediction
from segarena.prompts import Prompt
from segarena.samples import ImageSample, Sample, Support, VolumeSample
from segarena.worker import Body, as_body, dtype_name, flatten

BodyMaker: TypeAlias = Callable[[Any, Sequence[int], Callable[[], Iterable[Any]]], Body]
"""Builds the transmitted form of an array from its dtype, its shape and a function for its bytes."""


def inline_body(dtype: Any, shape: Sequence[int], parts: Callable[[], Iterable[Any]]) -> Body:
    """Return an array to be transmitted in the body of the frame, whatever its size."""
    told = {"dtype": dtype_name(dtype), "shape": [int(side) for side in shape]}
    return Body(told, math.prod(shape) * np.dtype(dtype).itemsize, parts)


def encode_sample(
    sample: Sample, arrays: list[Any], body: BodyMaker = inline_body
) -> dict[str, Any]:
    """Return the header of a sample, without its targets.

    Args:
        sample: its targets are not encoded.
        arrays: receives its pixels.
        body: builds the transmitted form of large arrays.
    """
    if isinstance(sample, ImageSample):
        return {"kind": "image", "id": sample.id, "image": flatten(sample.image, arrays)}
    if isinstance(sample, VolumeSample):
        return {
            "kind": "volume",
            "id": sample.id,
            "voxels": flatten(_whole(sample.voxels, body), arrays),
            "spacing_mm": flatten(tuple(map(float, sample.spacing_mm)), arrays),
            "affine": flatten(sample.affine, arrays),
            "modality": sample.modality,
        }
    shape = (len(sample.frames), *sample.frame_shape, 3)

    def frames() -> Iterator[Any]:
        return (_bytes(np.asarray(frame, np.uint8)) for frame in sample.frames)

    return {
        "kind": "video",
        "id": sample.id,
        "frames": flatten(body(np.uint8, shape, frames), arrays),
    }


def encode_dialogue(
    dialogue: Dialogue, arrays: list[Any], handle: Callable[[Any], int]
) -> dict[str, Any]:
    """Return the header of a dialogue.

    Args:
        dialogue: its supports may be encoded.
        arrays: receives masks and logits.
        handle: returns the worker's number of an encoding.
    """
    lift = dialogue.lift
    previous = dialogue.previous
    return {
        "rounds": [
            [encode_prompt(prompt, arrays, handle) for prompt in prompts]
            for prompts in dialogue.rounds
        ],
        "previous": None if previous is None else _tell_previous(previous, arrays),
        "lift": None if lift is None else asdict(lift),
    }


def _tell_previous(previous: Prediction, arrays: list[Any]) -> dict[str, Any]:
    return {
        "mask": flatten(np.asarray(previous.mask), arrays),
        "logits": flatten(previous.logits, arrays),
        "score": previous.score,
        "candidates": None
        if previous.candidates is None
        else [int(each) for each in previous.candidates],
    }


def encode_prompt(
    prompt: Prompt, arrays: list[Any], handle: Callable[[Any], int]
) -> dict[str, Any]:
    """Return the header of a prompt; see `encode_dialogue`."""
    if isinstance(prompt, Support):
        told = {"kind": prompt.kind, "mask": flatten(np.asarray(prompt.mask), arrays)}
        if prompt.encoded is None:
            return {**told, "sample": encode_sample(prompt.sample, arrays)}
        return {**told, "handle": handle(prompt.encoded)}
    values = {field.name: _plain(getattr(prompt, field.name)) for field in fields(prompt)}
    return {"kind": prompt.kind, **{name: flatten(value, arrays) for name, value in values.items()}}


def _plain(value: Any) -> Any:
    """Return a value of a prompt with Python numbers instead of NumPy's."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _whole(voxels: Any, body: BodyMaker) -> Body:
    values = np.asarray(voxels)
    if values.dtype == np.bool_:
        return as_body(values)
    little = np.ascontiguousarray(values, dtype=np.dtype(dtype_name(values.dtype)))
    return body(little.dtype, little.shape, lambda: [_bytes(little)])


def _bytes(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
