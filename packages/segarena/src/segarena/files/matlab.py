"""Reader of MATLAB files, versions 5 to 7; a damaged file is an error and never a crash.

It reads numbers, cells and structures, and skips other values (text, sparse matrices, functions). Files
of version 7.3, which are HDF5, are an error.

Source: The MathWorks, MAT-File Format (level 5).
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask
from segarena.files.limits import check_pixels

# Numbers from the format description: types of elements (dtype by number), then classes of arrays.
_HEADER_BYTES = 128
_MATRIX = 14
_COMPRESSED = 15
_STORED = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
    16: "u1",
}
_CELL = 1
_STRUCTURE = 2
_NUMBERS = {
    6: "f8",
    7: "f4",
    8: "i1",
    9: "u1",
    10: "i2",
    11: "u2",
    12: "i4",
    13: "u4",
    14: "i8",
    15: "u8",
}
_LOGICAL = 0x0200
_MAX_DEPTH = 16
_OPAQUE = 17
_MOST_ELEMENTS = 200_000
_WIDEST = 8  # bytes of the widest number, and of a tag


class _Element(NamedTuple):
    kind: int
    data: memoryview


class _Damaged(ValueError):
    """Bytes that violate the format."""


def read_matlab(path: Path, variable: str) -> NDArray[Any]:
    """Return a variable: structures as arrays with fields, cells as object arrays, all with at least 2 axes.

    Raises:
        InvalidMask: the file is missing, damaged, of another version or too large, or lacks the variable.
    """
    variables = _Reader(path).variables({variable})
    value = variables.get(variable)
    if value is None:
        available = ", ".join(variables) or "nothing"
        raise InvalidMask(
            f"{path}: expected the variable {variable!r}, got {available}; is it a file of this dataset?"
        )
    return value


def list_matlab_variables(path: Path) -> list[str]:
    """Return the names of the variables in a MATLAB file.

    Raises:
        InvalidMask: as `read_matlab`.
    """
    return list(_Reader(path).variables(set()))


class _Reader:
    """Reader of one file that counts elements and numbers against the limits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers = 0
        self._elements = 0
        self._order: Literal["<", ">"] = "<"

    def variables(self, wanted: set[str]) -> dict[str, NDArray[Any] | None]:
        """Return the variables by name; None for unwanted variables and unsupported types."""
        path = self._path
        if not path.is_file():
            raise InvalidMask(
                f"{path}: expected a MATLAB file here, got none; restore it or leave the sample out"
            )
        try:
            return self._read(wanted)
        except InvalidMask:
            raise
        except (OSError, ValueError, TypeError, struct.error, zlib.error, MemoryError) as error:
            raise InvalidMask(
                f"{path}: expected a readable MATLAB file, got: {error}; download it again"
            ) from error

    def _read(self, wanted: set[str]) -> dict[str, NDArray[Any] | None]:
        check_pixels(self._path.stat().st_size // _WIDEST, self._path, error=InvalidMask)
        data = self._path.read_bytes()
        self._check_version(data)
        found: dict[str, NDArray[Any] | None] = {}
        for element in self._split(memoryview(data)[_HEADER_BYTES:]):
            matrix = self._decompress(element) if element.kind == _COMPRESSED else element
            if matrix.kind == _MATRIX:
                name, value = self._matrix(matrix.data, wanted, 0)
                found[name] = value
        return found

    def _check_version(self, data: bytes) -> None:
        if b"MATLAB 7.3" in data[:_HEADER_BYTES] or data[:4] == b"\x89HDF":
            raise InvalidMask(
                f"{self._path}: expected MATLAB version 5 to 7, got 7.3 (HDF5); save it with '-v7'"
            )
        if len(data) < _HEADER_BYTES or data[126:128] not in (b"IM", b"MI"):
            raise _Damaged("a file without the header of version 5")
        self._order = "<" if data[126:128] == b"IM" else ">"

    def _split(self, data: memoryview) -> Iterator[_Element]:
        """Yield the consecutive elements in these bytes."""
        at = 0
        while at < len(data):
            self._elements += 1
            if self._elements > _MOST_ELEMENTS:
                raise _Damaged(f"more than {_MOST_ELEMENTS:,} elements")
            if len(data) - at < 8:
                raise _Damaged("an element that is cut off")
            kind, size = struct.unpack(f"{self._order}II", data[at : at + 8])
            start = at + 8
            if kind >> 16:  # a small element: up to four bytes are stored in the tag itself
                size = kind >> 16
                kind &= 0xFFFF
                start = at + 4
                if size > 4:
                    raise _Damaged(f"a short element of {size} bytes")
            if size > len(data) - start:
                raise _Damaged(f"an element of {size:,} bytes where {len(data) - start:,} are left")
            yield _Element(kind, data[start : start + size])
            if start == at + 4:
                at = start + 4
            else:
                # Elements are padded to 8 bytes, except compressed ones.
                padding = 0 if kind == _COMPRESSED else -size % 8
                at = start + size + padding

    def _decompress(self, element: _Element) -> _Element:
        """Return the element inside a compressed one, within the limits."""
        decoder = zlib.decompressobj()
        tag = decoder.decompress(element.data, 8)
        if len(tag) < 8:
            raise _Damaged("a compressed element that is cut off")
        kind, size = struct.unpack(f"{self._order}II", tag)
        self._count(size // _WIDEST)
        data = decoder.decompress(decoder.unconsumed_tail, size) if size else b""
        if len(data) < size:
            raise _Damaged(f"{len(data):,} bytes where {size:,} were promised")
        return _Element(kind, memoryview(data))

    def _matrix(
        self, data: memoryview, wanted: set[str] | None, depth: int
    ) -> tuple[str, NDArray[Any] | None]:
        """Return name and value of a matrix; None as value for unsupported types and names not in `wanted`."""
        if not len(data):
            return "", np.zeros((0, 0))
        if depth > _MAX_DEPTH:
            raise _Damaged(f"more than {_MAX_DEPTH} matrices in each other")
        parts = self._split(data)
        flags = self._plain(self._next(parts, 1)[0])
        if flags.size and int(flags[0]) & 0xFF == _OPAQUE:
            return "", None  # objects of classes have no dimensions
        dimensions, letters = (self._plain(part) for part in self._next(parts, 2))
        shape = _shape(flags, dimensions)
        kind = int(flags[0]) & 0xFF
        name = letters.astype(np.uint8).tobytes().decode("utf-8", "replace")
        if wanted is not None and name not in wanted:
            return name, None
        self._count(math.prod(shape))
        if kind in _NUMBERS:
            numbers = self._plain(self._next(parts, 1)[0])
            dtype = np.bool_ if int(flags[0]) & _LOGICAL else np.dtype(_NUMBERS[kind])
            if numbers.size != math.prod(shape):
                raise _Damaged(f"{numbers.size:,} numbers for a matrix of {shape}")
            return name, numbers.astype(dtype).reshape(shape, order="F")
        if kind in (_CELL, _STRUCTURE) and math.prod(shape) * _WIDEST > len(data):
            raise _Damaged(f"{math.prod(shape):,} values in {len(data):,} bytes")
        if kind == _CELL:
            return name, self._objects(parts, shape, depth)
        if kind == _STRUCTURE:
            return name, self._structure(parts, shape, depth)
        return name, None

    def _objects(
        self, parts: Iterator[_Element], shape: tuple[int, ...], depth: int
    ) -> NDArray[Any]:
        cells = np.empty(math.prod(shape), dtype=object)
        for index in range(len(cells)):
            cells[index] = self._value(parts, depth)
        return cells.reshape(shape, order="F")

    def _structure(
        self, parts: Iterator[_Element], shape: tuple[int, ...], depth: int
    ) -> NDArray[Any]:
        length, names = (self._plain(part) for part in self._next(parts, 2))
        width = int(length[0]) if length.size else 0
        text = names.astype(np.uint8).tobytes()
        if not 0 < width <= len(text) or len(text) % width:
            raise _Damaged("a structure without names of fields")
        fields: list[str] = []
        for at in range(0, len(text), width):
            field, _, _ = text[at : at + width].partition(b"\0")
            fields.append(field.decode("utf-8", "replace"))
        array = np.empty(math.prod(shape), dtype=[(field, object) for field in fields])
        for index in range(len(array)):
            array[index] = tuple(self._value(parts, depth) for _ in fields)
        return array.reshape(shape, order="F")

    def _value(self, parts: Iterator[_Element], depth: int) -> NDArray[Any] | None:
        part = self._next(parts, 1)[0]
        if part.kind != _MATRIX:
            raise _Damaged(f"an element of type {part.kind} where a matrix was expected")
        return self._matrix(part.data, None, depth + 1)[1]

    def _plain(self, part: _Element) -> NDArray[Any]:
        if part.kind not in _STORED:
            raise _Damaged(f"numbers of the unknown type {part.kind}")
        dtype = np.dtype(_STORED[part.kind]).newbyteorder(self._order)
        return np.frombuffer(part.data, dtype=dtype) if len(part.data) else np.zeros(0, dtype)

    def _next(self, parts: Iterator[_Element], count: int) -> list[_Element]:
        found = list(islice(parts, count))
        if len(found) < count:
            raise _Damaged("a matrix that is cut off")
        return found

    def _count(self, numbers: int) -> None:
        self._numbers += numbers
        check_pixels(self._numbers, self._path, error=InvalidMask)


def _shape(flags: NDArray[Any], dimensions: NDArray[Any]) -> tuple[int, ...]:
    shape = tuple(map(int, dimensions))
    # NumPy supports up to 32 axes in all its versions.
    if not flags.size or not 2 <= len(shape) <= 32 or min(shape) < 0:
        raise _Damaged("a matrix without sizes")
    return shape
