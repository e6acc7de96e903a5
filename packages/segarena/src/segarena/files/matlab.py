"""Reader of MATLAB files, versions 5 to 7; a damaged file raises an error and never crashes.

It reads numbers, cells and structures, and skips other values (text, sparse matrices, functions).
Version 7.3 files, which are HDF5, raise an error.

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

# Codes from the format description: element types (dtype by code), then array classes.
_HEADER_BYTES = 128
_MATRIX = 14
_COMPRESSED = 15
# Type 16 is UTF-8 text, which is read as bytes.
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
# Bit of the array flags that marks numbers as logical values.
_LOGICAL = 0x0200
# Cells and structures are read recursively, so a crafted file must not nest them without limit.
_MAX_DEPTH = 16
_OPAQUE = 17
_MOST_ELEMENTS = 200_000
_WIDEST = 8  # bytes of the widest number, and of a tag


class _Element(NamedTuple):
    kind: int
    data: memoryview


class _Damaged(ValueError):
    """Raised for bytes that violate the format."""


def read_matlab(path: Path, variable: str) -> NDArray[Any]:
    """Return a variable: structures as structured arrays, cells as object arrays, all with at least 2 axes.

    Raises:
        InvalidMask: the file is missing, damaged or too large, has another version, or lacks the variable.
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
        InvalidMask: see `read_matlab`.
    """
    return list(_Reader(path).variables(set()))


class _Reader:
    """Reader of one file that counts elements and values against the limits."""

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
        # Check the size before reading, because the whole file is read into memory.
        check_pixels(self._path.stat().st_size // _WIDEST, self._path, error=InvalidMask)
        data = self._path.read_bytes()
        self._check_version(data)
        found: dict[str, NDArray[Any] | None] = {}
        for element in self._split(memoryview(data)[_HEADER_BYTES:]):
            matrix = element
            if element.kind == _COMPRESSED:
                matrix = self._decompress(element)
            if matrix.kind == _MATRIX:
                name, value = self._matrix(matrix.data, wanted, 0)
                found[name] = value
        return found

    def _check_version(self, data: bytes) -> None:
        if b"MATLAB 7.3" in data[:_HEADER_BYTES] or data[:4] == b"\x89HDF":
            raise InvalidMask(
                f"{self._path}: expected MATLAB version 5 to 7, got 7.3 (HDF5); save it with '-v7'"
            )
        # The value 0x4D49 in the file's own byte order: little-endian files have its bytes swapped.
        order_mark = data[126:128]
        if len(data) < _HEADER_BYTES or order_mark not in (b"IM", b"MI"):
            raise _Damaged("a file without the header of version 5")
        self._order = "<" if order_mark == b"IM" else ">"

    def _split(self, data: memoryview) -> Iterator[_Element]:
        """Yield the consecutive elements in these bytes."""
        at = 0
        while at < len(data):
            self._elements += 1
            if self._elements > _MOST_ELEMENTS:
                raise _Damaged(f"more than {_MOST_ELEMENTS:,} elements")
            if len(data) - at < 8:
                raise _Damaged("a truncated element")
            kind, size = struct.unpack(f"{self._order}II", data[at : at + 8])
            start = at + 8
            if kind >> 16:  # a small element: up to four bytes are stored in the tag itself
                size = kind >> 16
                kind &= 0xFFFF
                start = at + 4
                if size > 4:
                    raise _Damaged(f"a small element of {size} bytes")
            if size > len(data) - start:
                raise _Damaged(
                    f"an element of {size:,} bytes, but only {len(data) - start:,} are left"
                )
            yield _Element(kind, data[start : start + size])
            if start == at + 4:
                at = start + 4
            else:
                # Elements are padded to 8 bytes, except compressed ones.
                padding = 0 if kind == _COMPRESSED else -size % 8
                at = start + size + padding

    def _decompress(self, element: _Element) -> _Element:
        """Decompress the element inside a compressed one, within the limits."""
        decoder = zlib.decompressobj()
        tag = decoder.decompress(element.data, 8)
        if len(tag) < 8:
            raise _Damaged("a truncated compressed element")
        kind, size = struct.unpack(f"{self._order}II", tag)
        # Check the claimed size before decompressing that much.
        self._count(size // _WIDEST)
        data = decoder.decompress(decoder.unconsumed_tail, size) if size else b""
        if len(data) < size:
            raise _Damaged(f"{len(data):,} bytes instead of the stated {size:,}")
        return _Element(kind, memoryview(data))

    def _matrix(
        self,
        data: memoryview,
        wanted: set[str] | None,
        depth: int,
    ) -> tuple[str, NDArray[Any] | None]:
        """Return name and value of a matrix; the value is None for unsupported types and for names not in `wanted`."""
        if not len(data):
            return "", np.zeros((0, 0))
        if depth > _MAX_DEPTH:
            raise _Damaged(f"more than {_MAX_DEPTH} nested matrices")
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
        # Check the shape before allocating an array for it.
        self._count(math.prod(shape))
        if kind in _NUMBERS:
            numbers = self._plain(self._next(parts, 1)[0])
            dtype = np.bool_ if int(flags[0]) & _LOGICAL else np.dtype(_NUMBERS[kind])
            if numbers.size != math.prod(shape):
                raise _Damaged(f"{numbers.size:,} numbers for a matrix of {shape}")
            return name, numbers.astype(dtype).reshape(shape, order="F")
        # Each cell takes at least the bytes of a tag, so a file cannot contain more cells than tags
        # fit into it.
        if kind in (_CELL, _STRUCTURE) and math.prod(shape) * _WIDEST > len(data):
            raise _Damaged(f"{math.prod(shape):,} values in {len(data):,} bytes")
        if kind == _CELL:
            return name, self._objects(parts, shape, depth)
        if kind == _STRUCTURE:
            return name, self._structure(parts, shape, depth)
        return name, None

    def _objects(
        self,
        parts: Iterator[_Element],
        shape: tuple[int, ...],
        depth: int,
    ) -> NDArray[Any]:
        cells = np.empty(math.prod(shape), dtype=object)
        for index in range(len(cells)):
            cells[index] = self._value(parts, depth)
        return cells.reshape(shape, order="F")

    def _structure(
        self,
        parts: Iterator[_Element],
        shape: tuple[int, ...],
        depth: int,
    ) -> NDArray[Any]:
        length, names = (self._plain(part) for part in self._next(parts, 2))
        width = int(length[0]) if length.size else 0
        text = names.astype(np.uint8).tobytes()
        if not 0 < width <= len(text) or len(text) % width:
            raise _Damaged("a structure without field names")
        fields: list[str] = []
        for at in range(0, len(text), width):
            # Names are padded with zeros to a common width.
            field, _, _ = text[at : at + width].partition(b"\0")
            fields.append(field.decode("utf-8", "replace"))
        dtype = [(field, object) for field in fields]
        array = np.empty(math.prod(shape), dtype=dtype)
        for index in range(len(array)):
            array[index] = tuple(self._value(parts, depth) for _ in fields)
        # MATLAB stores arrays column by column.
        return array.reshape(shape, order="F")

    def _value(self, parts: Iterator[_Element], depth: int) -> NDArray[Any] | None:
        (part,) = self._next(parts, 1)
        if part.kind != _MATRIX:
            raise _Damaged(f"an element of type {part.kind} instead of a matrix")
        _, value = self._matrix(part.data, None, depth + 1)
        return value

    def _plain(self, part: _Element) -> NDArray[Any]:
        if part.kind not in _STORED:
            raise _Damaged(f"numbers of the unknown type {part.kind}")
        dtype = np.dtype(_STORED[part.kind]).newbyteorder(self._order)
        # `frombuffer` raises an error for an empty buffer.
        if not len(part.data):
            return np.zeros(0, dtype)
        return np.frombuffer(part.data, dtype=dtype)

    def _next(self, parts: Iterator[_Element], count: int) -> list[_Element]:
        found = list(islice(parts, count))
        if len(found) < count:
            raise _Damaged("a truncated matrix")
        return found

    def _count(self, numbers: int) -> None:
        self._numbers += numbers
        check_pixels(self._numbers, self._path, error=InvalidMask)


# The smallest axis limit among NumPy's versions.
_MOST_AXES = 32


def _shape(flags: NDArray[Any], dimensions: NDArray[Any]) -> tuple[int, ...]:
    shape = tuple(map(int, dimensions))
    if not flags.size or not 2 <= len(shape) <= _MOST_AXES or min(shape) < 0:
        raise _Damaged("a matrix without sizes")
    return shape
