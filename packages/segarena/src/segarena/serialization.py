"""Serialization of samples, prompts and dialogues to frame headers, for workers and the network protocol.

`segarena.worker` defines the frames themselves.
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
"""Function that builds the transmitted form of an array from its dtype, its shape and a function for its bytes."""


def inline_body(
    dtype: Any,
    shape: Sequence[int],
    parts: Callable[[], Iterable[Any]],
) -> Body:
    """Return an array for transmission in the body of the frame, whatever its size."""
    description = {"dtype": dtype_name(dtype), "shape": [int(side) for side in shape]}
    size_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    return Body(description, size_bytes, parts)


def encode_sample(
    sample: Sample,
    arrays: list[Any],
    body: BodyMaker = inline_body,
) -> dict[str, Any]:
    """Return the header of a sample, without its targets.

    Args:
        sample: the sample; its targets are not encoded.
        arrays: list to which its pixels are appended.
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
    dialogue: Dialogue,
    arrays: list[Any],
    handle: Callable[[Any], int],
) -> dict[str, Any]:
    """Return the header of a dialogue.

    Args:
        dialogue: the dialogue; its support images may already be encoded.
        arrays: list to which masks and logits are appended.
        handle: returns the worker's handle of an encoding.
    """
    rounds: list[list[dict[str, Any]]] = []
    for prompts in dialogue.rounds:
        rounds.append([encode_prompt(prompt, arrays, handle) for prompt in prompts])
    # The reader expects all three keys, even if they have no value yet.
    header: dict[str, Any] = {"rounds": rounds, "previous": None, "lift": None}
    if dialogue.previous is not None:
        header["previous"] = _encode_previous(dialogue.previous, arrays)
    if dialogue.lift is not None:
        header["lift"] = asdict(dialogue.lift)
    return header


def _encode_previous(previous: Prediction, arrays: list[Any]) -> dict[str, Any]:
    candidates: list[int] | None = None
    if previous.candidates is not None:
        # A segmenter may have returned NumPy numbers, which JSON does not support.
        candidates = [int(frame) for frame in previous.candidates]
    return {
        "mask": flatten(np.asarray(previous.mask), arrays),
        "logits": flatten(previous.logits, arrays),
        "score": previous.score,
        "candidates": candidates,
    }


def encode_prompt(
    prompt: Prompt,
    arrays: list[Any],
    handle: Callable[[Any], int],
) -> dict[str, Any]:
    """Return the header of a prompt; see `encode_dialogue`."""
    if isinstance(prompt, Support):
        mask = flatten(np.asarray(prompt.mask), arrays)
        header: dict[str, Any] = {"kind": prompt.kind, "mask": mask}
        if prompt.encoded is None:
            header["sample"] = encode_sample(prompt.sample, arrays)
        else:
            header["handle"] = handle(prompt.encoded)
        return header
    header = {"kind": prompt.kind}
    for field in fields(prompt):
        value = plain_numbers(getattr(prompt, field.name))
        header[field.name] = flatten(value, arrays)
    return header


def plain_numbers(value: Any) -> Any:
    """Convert NumPy numbers in a value of a prompt, such as a tuple of positions, to Python numbers."""
    if isinstance(value, tuple):
        return tuple(map(plain_numbers, value))
    if isinstance(value, np.generic):
        return value.item()
    return value


def _whole(voxels: Any, body: BodyMaker) -> Body:
    values = np.asarray(voxels)
    if values.dtype == np.bool_:
        return as_body(values)
    little = np.ascontiguousarray(values, dtype=np.dtype(dtype_name(values.dtype)))
    return body(little.dtype, little.shape, lambda: [_bytes(little)])


def _bytes(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
