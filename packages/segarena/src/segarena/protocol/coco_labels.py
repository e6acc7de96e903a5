"""Labels of a video as other programs send them: for each frame and object a COCO string, in JSON.

    {"size": [frames, rows, columns], "frames": [[{"object_id": 1, "counts": "..."}, ...], ...]}

What is here came from a stranger: its commas are counted before it is read, so that it takes memory in proportion to
the sample and not to what it says.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from segarena.arrays.coco_rle import Rle
from segarena.errors import InvalidInput
from segarena.samples import Labels, Shape

MAX_OBJECTS = 255
_BESIDE = 64
"""Bytes of an object in a frame that are not run lengths."""


class _Object(msgspec.Struct):
    object_id: int
    counts: str


class _Video(msgspec.Struct):
    size: list[int]
    frames: list[list[_Object]]


def max_coco_bytes(shape: Shape) -> int:
    """Return how many bytes the labels of a video (frames, rows, columns) may take: two for each pixel at the worst."""
    return 2 * math.prod(shape) + _BESIDE * MAX_OBJECTS * shape[0] + 1024


def decode_coco_labels(text: bytes, shape: Shape, objects: int) -> Labels:
    """Return the labels of a video; where objects overlap, the highest number.

    Args:
        text: JSON.
        shape: (frames, rows, columns).
        objects: those of higher numbers are left out.

    Raises:
        InvalidInput: it is none of this shape.
    """
    most = shape[0] * (2 * MAX_OBJECTS + 1) + len(shape) + 2
    if len(shape) != 3 or len(text) > max_coco_bytes(shape) or text.count(b",") > most:
        raise InvalidInput(
            f"masks: expected a video of the shape {shape}, got {len(text)} bytes of something else"
        )
    try:
        told = msgspec.json.decode(text, type=_Video)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidInput(f"masks: {str(error)[:200]}") from error
    if told.size != list(shape) or len(told.frames) != shape[0]:
        raise InvalidInput(
            f"masks: expected {list(shape)}, got {told.size[:4]} and {len(told.frames)} frames"
        )
    labels = np.zeros(shape, dtype=np.uint8)
    for number, each in enumerate(told.frames):
        _draw(each, labels[number], objects, f"masks of frame {number}")
    return labels


def _draw(told: list[_Object], frame: Any, objects: int, where: str) -> None:
    numbers = [one.object_id for one in told]
    if len({*numbers}) < len(numbers) or min(numbers, default=1) < 1:
        raise InvalidInput(f"{where}: expected objects from 1 on, each once, got {numbers[:20]}")
    height = int(frame.shape[0])
    width = int(frame.shape[1])
    for one in sorted(told, key=lambda one: one.object_id):
        if one.object_id <= objects:
            if len(one.counts) > height * width + _BESIDE:
                raise InvalidInput(
                    f"{where}: expected run lengths of {height} x {width} pixels, got more"
                )
            frame[Rle((height, width), one.counts).decode()] = one.object_id
