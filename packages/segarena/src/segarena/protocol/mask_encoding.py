"""Masks in messages: run lengths or packed bits, whichever is shorter; labels as a mask per object, or as bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from segarena.arrays.rle import decode_rle, encode_labels_rle, encode_rle
from segarena.errors import InvalidInput
from segarena.protocol.coco_labels import MAX_OBJECTS, decode_coco_labels, max_coco_bytes
from segarena.protocol.message_frames import ArrayAnnouncement
from segarena.samples import Labels, Mask, Shape, as_labels
from segarena.worker import flatten

_MAX_QUOTED = 80
"""Maximum number of characters of untrusted input that an error message quotes."""


def max_mask_bytes(shape: Shape, objects: int = 1) -> int:
    """Return the size limit of a mask in bytes: its bits, or one byte per pixel for labels of several objects."""
    return math.prod(shape) // 8 + 1 if objects == 1 else math.prod(shape)


def encode_mask(mask: Any, arrays: list[Any]) -> dict[str, Any]:
    """Return the header of a mask or of labels, and append its bytes to `arrays`.

    Args:
        mask: bool, any shape; or integers 0 to 255, the labels of several objects.
        arrays: arrays of the frame, to which the bytes are appended.

    Raises:
        InvalidMask: the mask has other values.
    """
    given = np.asarray(mask)
    header: dict[str, Any] = {"shape": list(given.shape)}
    if given.dtype == np.bool_:
        return {**header, **_encode_one(given, arrays)}
    labels = as_labels(given)
    lengths = encode_labels_rle(labels)
    sizes = [len(each) for each in lengths.values()]
    # Scattered labels take less space as plain bytes than as run lengths.
    if sum(sizes) > labels.size or max(sizes, default=0) > max_mask_bytes(labels.shape):
        return {**header, "values": flatten(labels, arrays)}
    encoded = [[number, _encode_lengths(each, arrays)] for number, each in lengths.items()]
    return {**header, "labels": encoded}


def encode_coco_labels(
    text: bytes,
    shape: Shape,
    arrays: list[Any],
) -> dict[str, Any]:
    """Return the header of video labels that are stored as received; see `segarena.protocol.coco_labels`."""
    return {"shape": list(shape), "coco": flatten(np.frombuffer(text, np.uint8), arrays)}


def _encode_one(mask: Mask, arrays: list[Any]) -> dict[str, Any]:
    lengths = encode_rle(mask)
    if len(lengths) >= max_mask_bytes(mask.shape):
        return {"bits": flatten(mask, arrays)}
    return _encode_lengths(lengths, arrays)


def _encode_lengths(lengths: bytes, arrays: list[Any]) -> dict[str, Any]:
    return {"rle": flatten(np.frombuffer(lengths, np.uint8), arrays)}


def decode_mask(
    header: Any,
    arrays: Sequence[Any],
    shape: Shape,
    objects: int = MAX_OBJECTS,
) -> Mask | Labels:
    """Decode a mask or labels that `encode_mask` or `encode_coco_labels` encoded.

    Args:
        header: untrusted, like the arrays.
        arrays: arrays of the frame.
        shape: shape of the sample.
        objects: number of objects that are evaluated; COCO strings of higher labels are ignored.

    Raises:
        InvalidInput: the value is not a mask of this shape, or contains labels that list an object twice or overlap.
    """
    if not isinstance(header, dict) or header.get("shape") != list(shape):
        raise InvalidInput(
            f"a mask: expected the shape {tuple(shape)}, got {str(header)[:_MAX_QUOTED]}"
        )
    body = {name: value for name, value in header.items() if name != "shape"}
    encodings = set(body)
    if encodings == {"coco"}:
        text = _array_at(body["coco"], arrays, np.uint8).tobytes()
        return decode_coco_labels(text, tuple(shape), objects)
    if encodings == {"values"}:
        return _array_at(body["values"], arrays, np.uint8, shape)
    if encodings == {"labels"}:
        return _decode_labels(body["labels"], arrays, shape)
    return _decode_one(body, arrays, shape)


def _decode_labels(
    pairs: Any,
    arrays: Sequence[Any],
    shape: Shape,
) -> Labels:
    if not isinstance(pairs, list) or len(pairs) > MAX_OBJECTS:
        raise InvalidInput(
            f"labels: expected a list of at most {MAX_OBJECTS} objects, got {str(pairs)[:_MAX_QUOTED]}"
        )
    labels = np.zeros(shape, dtype=np.uint8)
    for pair in pairs:
        number, header = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
        if type(number) is not int or not 1 <= number <= MAX_OBJECTS:
            raise InvalidInput(
                f"labels: expected an object 1 to {MAX_OBJECTS} and its mask, "
                f"got {str(pair)[:_MAX_QUOTED]}"
            )
        mask = _decode_one(header, arrays, shape)
        if labels[mask].any():
            raise InvalidInput(f"labels: object {number} shares pixels with another")
        labels[mask] = number
    return labels


def _decode_one(
    header: Any,
    arrays: Sequence[Any],
    shape: Shape,
) -> Mask:
    encoding = ""
    reference = None
    if isinstance(header, dict) and len(header) == 1:
        encoding, reference = next(iter(header.items()))
    if encoding == "bits":
        return _array_at(reference, arrays, np.bool_, shape)
    if encoding != "rle":
        raise InvalidInput(
            f"a mask: expected bits, rle, labels or values, got {str(header)[:_MAX_QUOTED]}"
        )
    lengths = _array_at(reference, arrays, np.uint8)
    if lengths.ndim != 1 or lengths.size > max_mask_bytes(shape):
        raise InvalidInput(
            f"a mask: expected up to {max_mask_bytes(shape)} bytes of run lengths, got {lengths.shape}"
        )
    return decode_rle(lengths.tobytes(), tuple(shape))


def _array_at(
    reference: Any,
    arrays: Sequence[Any],
    dtype: Any,
    shape: Shape | None = None,
) -> Any:
    index = None
    if isinstance(reference, dict) and len(reference) == 1:
        index = reference.get("array")
    if type(index) is not int or not 0 <= index < len(arrays):
        raise InvalidInput(
            f"a mask: expected one of {len(arrays)} arrays, got {str(reference)[:_MAX_QUOTED]}"
        )
    found = arrays[index]
    has_other_shape = shape is not None and found.shape != tuple(shape)
    if found.dtype != dtype or has_other_shape:
        raise InvalidInput(
            f"a mask: expected {np.dtype(dtype)} {shape or ''}, got {found.dtype} {found.shape}"
        )
    return found


def check_announced_masks(
    announced: Sequence[ArrayAnnouncement],
    shape: Shape,
    most: int,
) -> None:
    """Check that a frame announces only masks of a shape, and no more than a maximum number.

    Raises:
        InvalidInput: there are too many arrays, or arrays that are not such masks.
    """
    if len(announced) > most:
        raise InvalidInput(
            f"expected at most {most} masks, got an announcement of {len(announced)}"
        )
    max_lengths = max_mask_bytes(shape)
    if len(shape) == 3:
        max_lengths = max(max_lengths, max_coco_bytes(shape))
    for dtype, size, _ in announced:
        is_plain = dtype in ("bits", "|u1") and size == tuple(shape)
        is_lengths = dtype == "|u1" and len(size) == 1 and size[0] <= max_lengths
        if not is_plain and not is_lengths:
            raise InvalidInput(
                f"expected masks of shape {tuple(shape)}, got an announcement of {dtype} {size}"
            )
