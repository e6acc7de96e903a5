"""Video labels as davisinteractive sends them: JSON with a compressed COCO string for each object in each frame.

    {"size": [frames, rows, columns], "frames": [[{"object_id": 1, "counts": "..."}, ...], ...]}

The text comes from an untrusted sender. Its commas are counted before parsing, so that memory use
is proportional to the sample and not to the size that the text claims.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from segarena.arrays.coco_rle import Rle
from segarena.errors import InvalidInput
from segarena.samples import Labels, Shape

# Labels are uint8, with 0 for the background.
MAX_OBJECTS = 255
_OBJECT_OVERHEAD = 64
"""Maximum bytes of an object in a frame besides its run lengths."""
_VIDEO_OVERHEAD = 1024


class _FrameObject(msgspec.Struct):
    object_id: int
    counts: str


class _VideoLabels(msgspec.Struct):
    size: list[int]
    frames: list[list[_FrameObject]]


def max_coco_bytes(shape: Shape) -> int:
    """Return the size limit for the labels of a video (frames, rows, columns): two bytes per pixel at worst."""
    return 2 * math.prod(shape) + _OBJECT_OVERHEAD * MAX_OBJECTS * shape[0] + _VIDEO_OVERHEAD


def decode_coco_labels(
    text: bytes,
    shape: Shape,
    objects: int,
) -> Labels:
    """Decode the labels of a video; if objects overlap, the highest label wins.

    Args:
        text: JSON, untrusted.
        shape: (frames, rows, columns).
        objects: number of objects; higher labels are ignored.

    Raises:
        InvalidInput: the text does not contain labels of a video of this shape.
    """
    # Each object in a frame adds two commas, and each frame adds one.
    max_commas = shape[0] * (2 * MAX_OBJECTS + 1) + len(shape) + 2
    is_too_long = len(text) > max_coco_bytes(shape) or text.count(b",") > max_commas
    if len(shape) != 3 or is_too_long:
        raise InvalidInput(
            f"masks: expected a video of the shape {shape}, got {len(text)} bytes of something else"
        )
    try:
        video = msgspec.json.decode(text, type=_VideoLabels)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidInput(f"masks: {str(error)[:200]}") from error
    if video.size != list(shape) or len(video.frames) != shape[0]:
        raise InvalidInput(
            f"masks: expected {list(shape)}, got {video.size[:4]} and {len(video.frames)} frames"
        )
    labels = np.zeros(shape, dtype=np.uint8)
    for number, frame_objects in enumerate(video.frames):
        _draw_objects(frame_objects, labels[number], objects, f"masks of frame {number}")
    return labels


def _draw_objects(
    frame_objects: list[_FrameObject],
    frame: Any,
    objects: int,
    where: str,
) -> None:
    numbers = [one.object_id for one in frame_objects]
    if len({*numbers}) < len(numbers) or min(numbers, default=1) < 1:
        raise InvalidInput(f"{where}: expected objects from 1 on, each once, got {numbers[:20]}")
    height = int(frame.shape[0])
    width = int(frame.shape[1])
    for one in sorted(frame_objects, key=lambda one: one.object_id):
        if one.object_id > objects:
            continue
        if len(one.counts) > height * width + _OBJECT_OVERHEAD:
            raise InvalidInput(
                f"{where}: expected run lengths of {height} x {width} pixels, got more"
            )
        mask = Rle((height, width), one.counts).decode()
        frame[mask] = one.object_id
