"""Masks as they travel: run lengths or packed bits, whichever is shorter; labels as a mask for each object."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from segarena.arrays.rle import decode_rle, encode_labels_rle, encode_rle
from segarena.errors import InvalidInput
from segarena.protocol.coco_labels import MAX_OBJECTS, decode_coco_labels, max_coco_bytes
from segarena.protocol.frames import ArrayAnnouncement
from segarena.samples import Labels, Mask, Shape, as_labels
from segarena.worker import flatten


def max_mask_bytes(shape: Shape, objects: int = 1) -> int:
    """Return how many bytes a mask of a shape may take: its bits; of labels of several objects a byte each."""
    return math.prod(shape) // 8 + 1 if objects == 1 else math.prod(shape)


def encode_mask(mask: Any, arrays: list[Any]) -> dict[str, Any]:
    """Return what a header tells of a mask or labels; the bytes are put into `arrays`.

    Args:
        mask: bool, any shape; or whole numbers 0 to 255, the labels of several objects.
        arrays: of the frame.

    Raises:
        InvalidMask: other values.
    """
    given = np.asarray(mask)
    told: dict[str, Any] = {"shape": list(given.shape)}
    if given.dtype == np.bool_:
        return {**told, **_tell_one(given, arrays)}
    labels = as_labels(given)
    lengths = encode_labels_rle(labels)
    sizes = [len(each) for each in lengths.values()]
    if sum(sizes) > labels.size or max(sizes, default=0) > max_mask_bytes(labels.shape):
        return {**told, "values": flatten(labels, arrays)}
    return {
        **told,
        "labels": [[number, _tell_lengths(each, arrays)] for number, each in lengths.items()],
    }


def encode_coco_labels(text: bytes, shape: Shape, arrays: list[Any]) -> dict[str, Any]:
    """Return what a header tells of the labels of a video that stay as they came; see `challenges.wire.coco`."""
    return {"shape": list(shape), "coco": flatten(np.frombuffer(text, np.uint8), arrays)}


def _tell_one(mask: Mask, arrays: list[Any]) -> dict[str, Any]:
    lengths = encode_rle(mask)
    if len(lengths) >= max_mask_bytes(mask.shape):
        return {"bits": flatten(mask, arrays)}
    return _tell_lengths(lengths, arrays)


def _tell_lengths(lengths: bytes, arrays: list[Any]) -> dict[str, Any]:
    return {"rle": flatten(np.frombuffer(lengths, np.uint8), arrays)}


def decode_mask(
    told: Any, arrays: Sequence[Any], shape: Shape, objects: int = MAX_OBJECTS
) -> Mask | Labels:
    """Return what `tell_mask` was given.

    Args:
        told: not trusted, as are the next ones.
        arrays: of the frame.
        shape: of the sample.
        objects: how many are judged.

    Raises:
        InvalidInput: it is no mask of this shape, or labels name an object twice or share a pixel.
    """
    if not isinstance(told, dict) or told.get("shape") != list(shape):
        raise InvalidInput(f"a mask: expected the shape {tuple(shape)}, got {str(told)[:80]}")
    kinds = {name: value for name, value in told.items() if name != "shape"}
    if set(kinds) == {"coco"}:
        return decode_coco_labels(
            _array(kinds["coco"], arrays, np.uint8).tobytes(), tuple(shape), objects
        )
    if set(kinds) == {"values"}:
        return _array(kinds["values"], arrays, np.uint8, shape)
    if set(kinds) != {"labels"}:
        return _read_one(kinds, arrays, shape)
    each = kinds["labels"]
    if not isinstance(each, list) or len(each) > MAX_OBJECTS:
        raise InvalidInput(
            f"labels: expected a list of at most {MAX_OBJECTS} objects, got {str(each)[:80]}"
        )
    labels = np.zeros(shape, dtype=np.uint8)
    for pair in each:
        number, one = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
        if type(number) is not int or not 1 <= number <= MAX_OBJECTS:
            raise InvalidInput(
                f"labels: expected an object 1 to {MAX_OBJECTS} and its mask, got {str(pair)[:80]}"
            )
        mask = _read_one(one, arrays, shape)
        if labels[mask].any():
            raise InvalidInput(f"labels: object {number} shares pixels with another")
        labels[mask] = number
    return labels


def _read_one(told: Any, arrays: Sequence[Any], shape: Shape) -> Mask:
    kind, place = (
        next(iter(told.items())) if isinstance(told, dict) and len(told) == 1 else ("", None)
    )
    if kind == "bits":
        return _array(place, arrays, np.bool_, shape)
    if kind != "rle":
        raise InvalidInput(f"a mask: expected bits, rle, labels or values, got {str(told)[:80]}")
    lengths = _array(place, arrays, np.uint8)
    if lengths.ndim != 1 or lengths.size > max_mask_bytes(shape):
        raise InvalidInput(
            f"a mask: expected up to {max_mask_bytes(shape)} bytes of run lengths, got {lengths.shape}"
        )
    return decode_rle(lengths.tobytes(), tuple(shape))


def _array(place: Any, arrays: Sequence[Any], dtype: Any, shape: Shape | None = None) -> Any:
    index = place.get("array") if isinstance(place, dict) and len(place) == 1 else None
    if type(index) is not int or not 0 <= index < len(arrays):
        raise InvalidInput(f"a mask: expected one of {len(arrays)} arrays, got {str(place)[:80]}")
    found = arrays[index]
    if found.dtype != dtype or (shape is not None and found.shape != tuple(shape)):
        raise InvalidInput(
            f"a mask: expected {np.dtype(dtype)} {shape or ''}, got {found.dtype} {found.shape}"
        )
    return found


def check_announced_masks(announced: Sequence[ArrayAnnouncement], shape: Shape, most: int) -> None:
    """Raise unless so many masks of a shape at most are announced, and nothing else.

    Raises:
        InvalidInput: too many arrays, or others.
    """
    if len(announced) > most:
        raise InvalidInput(f"expected at most {most} masks, {len(announced)} are announced")
    for dtype, size, _ in announced:
        is_whole = dtype in ("bits", "|u1") and size == tuple(shape)
        longest = max(max_mask_bytes(shape), max_coco_bytes(shape) if len(shape) == 3 else 0)
        is_lengths = dtype == "|u1" and len(size) == 1 and size[0] <= longest
        if not is_whole and not is_lengths:
            raise InvalidInput(
                f"expected masks of shape {tuple(shape)}, {dtype} {size} is announced"
            )
