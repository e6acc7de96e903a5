"""Submitted masks: one file per dialogue, below the key of its sample.

    KEY/0.png           an image: grey or palette; 0 outside, 1 (or 255) inside; for several objects, their numbers
    KEY/0.npz           a volume: one array of its shape, without pickles
    KEY/0/00000.png     a video: a file for each frame, counted from 0

The number after KEY is the index of the dialogue in the list that the run gives for the sample.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput, InvalidMask
from segarena.files.images import read_mask_values, read_stored_size
from segarena.files.npy import read_arrays
from segarena.samples import Labels, Mask, Shape
from segarena_server.challenges.submissions.archives import content_root, files_in

MAX_FAULTS = 100
"""Maximum number of reported errors, one line each; of the rest, only the number is reported."""

_MAX_QUOTED = 5

_PNG = b"\x89PNG\r\n\x1a\n"
_HEAD = struct.Struct(">8sL4sLL")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedMasks:
    """Requirements for the masks of one sample.

    Attributes:
        key: key of the sample.
        kind: "image", "volume" or "video".
        shape: shape of the sample and of each mask.
        objects: number of objects of each dialogue.
    """

    key: str
    kind: str
    shape: Shape
    objects: tuple[int, ...]

    def names(self, dialogue: int) -> list[str]:
        """Return the file names of the mask of a dialogue; a video has one file per frame."""
        stem = f"{self.key}/{dialogue}"
        if self.kind == "video":
            return [f"{stem}/{frame:05d}.png" for frame in range(self.shape[0])]
        suffix = "npz" if self.kind == "volume" else "png"
        return [f"{stem}.{suffix}"]


def mask_faults(root: Path, expected: Sequence[ExpectedMasks]) -> list[str]:
    """Return the errors in a folder of masks, one line each: missing or unexpected files, wrong sizes or contents."""
    root = _masks_root(root, expected)
    there = set(files_in(root))
    wanted = set[str]()
    found: list[str] = []
    for one in expected:
        for dialogue in range(len(one.objects)):
            names = one.names(dialogue)
            wanted.update(names)
            missing = [name for name in names if name not in there]
            if missing:
                found += [f"{name}: missing" for name in missing]
            else:
                found += _faults_of_one(root, one, dialogue)
    return [*found, *(f"{name}: unexpected file" for name in sorted(there - wanted))]


def read_submitted_mask(
    root: Path,
    one: ExpectedMasks,
    dialogue: int,
) -> Mask | Labels:
    """Read a mask: bool, or labels for several objects.

    Raises:
        InvalidInput: the file is not a mask, or not of this sample. A file of another size is never decoded.
    """
    root = _masks_root(root, [one])
    if one.kind == "volume":
        (name,) = one.names(dialogue)
        values = _array(root, name, one.shape)
    else:
        size = one.shape[-2:]
        frames = [_picture(root, name, size) for name in one.names(dialogue)]
        values = np.stack(frames) if one.kind == "video" else frames[0]
    return _checked(values, one.objects[dialogue], one.names(dialogue)[0])


def write_submitted_mask(
    root: Path,
    one: ExpectedMasks,
    dialogue: int,
    mask: Mask | Labels,
) -> None:
    """Write a mask in the format of `read_submitted_mask`."""
    from PIL import Image

    values = np.asarray(mask).astype(np.uint8)
    names = [root / name for name in one.names(dialogue)]
    names[0].parent.mkdir(parents=True, exist_ok=True)
    if one.kind == "volume":
        np.savez_compressed(names[0], mask=values)
        return
    for name, plane in zip(names, values if one.kind == "video" else [values], strict=True):
        Image.fromarray(plane).save(name)


def _masks_root(root: Path, expected: Sequence[ExpectedMasks]) -> Path:
    """Return the folder that contains the sample folders: the top folder, or its only subfolder."""
    return root if any((root / one.key).is_dir() for one in expected) else content_root(root)


def _faults_of_one(
    root: Path,
    one: ExpectedMasks,
    dialogue: int,
) -> list[str]:
    try:
        read_submitted_mask(root, one, dialogue)
    except InvalidInput as error:
        return [str(error)]
    return []


def _picture(
    root: Path,
    name: str,
    size: Sequence[int],
) -> NDArray[np.int32]:
    path = root / name
    # Read only the header first, because a PNG of some kilobytes may decode to gigabytes.
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or not head.startswith(_PNG):
        raise InvalidInput(
            f"{name}: expected a PNG, got another kind of file; save the mask as PNG"
        )
    _, _, _, width, height = _HEAD.unpack(head)
    if (height, width) != tuple(size):
        raise InvalidInput(f"{name}: expected {size[1]} x {size[0]} pixels, got {width} x {height}")
    try:
        # A PNG may contain several headers, of which the decoder uses the last one.
        decoded_size = read_stored_size(path, error=InvalidMask)
        if decoded_size != (height, width):
            raise InvalidInput(
                f"{name}: expected one header in the PNG, got several with different sizes"
            )
        values = read_mask_values(path)
    except InvalidMask as error:
        raise InvalidInput(str(error).replace(str(path), name)) from error
    if values.shape != tuple(size):
        raise InvalidInput(
            f"{name}: expected a PNG without rotation, got one with an EXIF tag that rotates it; remove the tag"
        )
    return values


def _array(
    root: Path,
    name: str,
    shape: Shape,
) -> NDArray[Any]:
    path = root / name
    try:
        arrays = read_arrays(path, most=math.prod(shape))
    except InvalidMask as error:
        raise InvalidInput(str(error).replace(str(path), name)) from error
    if len(arrays) != 1:
        raise InvalidInput(f"{name}: expected one array, got {len(arrays)}")
    (values,) = arrays.values()
    if values.shape != tuple(shape):
        raise InvalidInput(f"{name}: expected the shape {tuple(shape)}, got {values.shape}")
    if values.dtype.kind not in "biu":
        raise InvalidInput(
            f"{name}: expected bool or whole numbers, got {values.dtype}; threshold it first"
        )
    return values


def _checked(
    values: NDArray[Any],
    objects: int,
    name: str,
) -> Mask | Labels:
    if values.dtype == np.bool_ and objects == 1:
        return values
    found = np.unique(values)
    if objects == 1:
        if set(found.tolist()) <= {0, 1} or set(found.tolist()) <= {0, 255}:
            return values != 0
        raise InvalidInput(
            f"{name}: expected 0 outside and 1 or 255 inside, got {_sample_values(found)}"
        )
    if found.size and not 0 <= int(found[0]) <= int(found[-1]) <= objects:
        raise InvalidInput(
            f"{name}: expected object labels from 0 to {objects}, got {_sample_values(found)}"
        )
    return values.astype(np.uint8)


def _sample_values(values: NDArray[Any]) -> str:
    """Format the first values for an error message."""
    first = ", ".join(map(str, values[:_MAX_QUOTED].tolist()))
    return f"{first}, ..." if values.size > _MAX_QUOTED else first
