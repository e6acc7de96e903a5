"""NumPy's files (`.npy`, `.npz`) to arrays, their headers read before anything is allocated; nothing is unpickled."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask
from segarena.files.limits import check_pixels

_PIECE_BYTES = 1 << 20
_LETTER_BYTES = 4


def read_arrays(
    path: Path,
    names: Iterable[str] | None = None,
    *,
    most: int | None = None,
    has_text: bool = False,
) -> dict[str, NDArray[Any]]:
    """Return the arrays in a `.npz` file, or the one in a `.npy` file under the name "".

    Args:
        path: the file.
        names: only these, as far as they are there; None reads all.
        most: how many numbers there may be; None: as many as pixels in a picture.
        has_text: arrays of text are read as well; a letter counts as a number.

    Raises:
        InvalidMask: missing, damaged, another kind of file, or larger than allowed.
    """
    wanted = None if names is None else set(names)
    kinds = "biufU" if has_text else "biuf"
    try:
        with path.open("rb") as file:
            if file.read(2) != b"PK":
                file.seek(0)
                return {"": _array(file, path, 0, most, kinds)}
            file.seek(0)
            with zipfile.ZipFile(file) as archive:
                return _archived(archive, path, wanted, most, kinds)
    except InvalidMask:
        raise
    except FileNotFoundError as error:
        raise InvalidMask(
            f"{path}: expected a file of arrays here, got none; restore it"
        ) from error
    except Exception as error:  # zipfile and NumPy's reader of headers have too many kinds to list
        raise InvalidMask(
            f"{path}: expected a whole .npy or .npz file, got: {error}; copy it again"
        ) from error


def _archived(
    archive: zipfile.ZipFile, path: Path, wanted: set[str] | None, most: int | None, kinds: str
) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        if name not in arrays and (wanted is None or name in wanted):
            with archive.open(entry) as packed:
                arrays[name] = _array(
                    packed, path, sum(map(_numbers, arrays.values())), most, kinds
                )
    return arrays


def _numbers(array: NDArray[Any]) -> int:
    """Return how many numbers or letters an array has."""
    return array.nbytes // _LETTER_BYTES if array.dtype.kind == "U" else array.size


def _array(file: IO[bytes], path: Path, before: int, most: int | None, kinds: str) -> NDArray[Any]:
    """Return the array that starts here, if it and the `before` numbers of this file are not too many."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        read = np.lib.format.read_array_header_1_0
    else:
        read = np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(file)
    if dtype.hasobject or dtype.kind not in kinds or min(shape, default=0) < 0:
        raise InvalidMask(
            f"{path}: expected arrays of plain numbers, got {dtype} of shape {shape}; save them again"
        )
    count = math.prod(shape)
    if dtype.kind == "U":
        claimed = count * max(1, dtype.itemsize // _LETTER_BYTES)
    else:
        claimed = count
    check_pixels(before + claimed, path, error=InvalidMask, most=most)
    # No more is allocated than is there, as far as it can be told: what is read piece by piece ends with the file.
    data = read_exactly(file, count * dtype.itemsize, path)
    return np.ndarray(shape, dtype, buffer=data, order="F" if is_fortran else "C")


def read_exactly(file: IO[bytes], count: int, path: Path) -> bytearray:
    """Return the next `count` bytes of a stream, in memory that grows with what comes.

    Raises:
        InvalidMask: it ends before that.
    """
    data = bytearray()
    while len(data) < count:
        piece = file.read(min(_PIECE_BYTES, count - len(data)))
        if not piece:
            raise InvalidMask(
                f"{path}: its header promises {count:,} bytes, it has {len(data):,}; copy it again"
            )
        data += piece
    return data
