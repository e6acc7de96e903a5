"""Reader of `.npy` and `.npz` files that checks headers before it allocates memory, and never unpickles."""

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

_CHUNK_BYTES = 1 << 20
_LETTER_BYTES = 4  # NumPy stores text as UTF-32


def read_arrays(
    path: Path,
    names: Iterable[str] | None = None,
    *,
    most: int | None = None,
    has_text: bool = False,
) -> dict[str, NDArray[Any]]:
    """Return the arrays in a `.npz` file, or the array of a `.npy` file under the name "".

    Args:
        path: the file.
        names: arrays to read; names that the file lacks are ignored. None reads all.
        most: limit on the values in all arrays together. None: the pixel limit of an image.
        has_text: whether to read text arrays too; a character counts as a value.

    Raises:
        InvalidMask: the file is missing, damaged, of another format, or above the limit.
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
    except Exception as error:  # zipfile and NumPy's header reader raise too many types to list
        raise InvalidMask(
            f"{path}: expected a whole .npy or .npz file, got: {error}; copy it again"
        ) from error


def _archived(
    archive: zipfile.ZipFile,
    path: Path,
    wanted: set[str] | None,
    most: int | None,
    kinds: str,
) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    # The limit applies to the whole file, because many small arrays could fill the memory, too.
    total = 0
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        is_wanted = wanted is None or name in wanted
        if is_wanted and name not in arrays:
            with archive.open(entry) as packed:
                array = _array(packed, path, total, most, kinds)
            arrays[name] = array
            total += _count_numbers(array)
    return arrays


def _count_numbers(array: NDArray[Any]) -> int:
    """Return the number of values or characters in an array."""
    if array.dtype.kind == "U":
        return array.nbytes // _LETTER_BYTES
    return array.size


def _array(
    file: IO[bytes],
    path: Path,
    before: int,
    most: int | None,
    kinds: str,
) -> NDArray[Any]:
    """Read the array at the current position, unless its values and the `before` earlier ones exceed the limit."""
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
    # A header can claim more than the file contains. Reading in chunks allocates no more than that.
    data = read_exactly(file, count * dtype.itemsize, path)
    return np.ndarray(shape, dtype, buffer=data, order="F" if is_fortran else "C")


def read_exactly(
    file: IO[bytes],
    count: int,
    path: Path,
) -> bytearray:
    """Read the next `count` bytes of a stream into a buffer that grows as bytes arrive.

    Raises:
        InvalidMask: the stream ends early.
    """
    data = bytearray()
    while len(data) < count:
        chunk = file.read(min(_CHUNK_BYTES, count - len(data)))
        if not chunk:
            raise InvalidMask(
                f"{path}: the header claims {count:,} bytes, but the file has {len(data):,}; copy it again"
            )
        data += chunk
    return data
