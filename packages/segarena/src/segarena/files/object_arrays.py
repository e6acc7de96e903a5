"""Arrays of arrays in NumPy's files (`.npy`), which are pickles: read with nothing in them that could run.

Data sets store lists of arrays of different lengths so. A pickle may call any function, and even NumPy's own trust what
they are given; here stand-ins take down what an array is said to be, and arrays are made of that afterwards.
"""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask
from segarena.files.limits import check_voxels

_NUMBERS = "biuf"


def read_object_array(path: Path) -> list[NDArray[Any]]:
    """Return the arrays in a file, one for each place of its first axis; an array of plain numbers is cut along it.

    Raises:
        InvalidMask: missing, damaged, larger than allowed, or with anything but arrays, lists and numbers in it.
    """
    try:
        with path.open("rb") as file:
            check_voxels(path.stat().st_size, path, error=InvalidMask)
            shape, dtype = _header(file)
            if dtype.hasobject:
                return _parts(_Unpickler(file).load())
            if dtype.kind not in _NUMBERS:
                raise TypeError(f"an array of {dtype}")
            check_voxels(math.prod(shape), path, error=InvalidMask)
            file.seek(0)
            return list(np.lib.format.read_array(file, allow_pickle=False))
    except InvalidMask:
        raise
    except FileNotFoundError as error:
        raise InvalidMask(
            f"{path}: expected a file of arrays here, got none; restore it"
        ) from error
    except Exception as error:  # over damage the reader of pickles raises whatever it leads it to
        raise InvalidMask(
            f"{path}: expected arrays in a .npy file, got: {error}; copy it again"
        ) from error


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        read = np.lib.format.read_array_header_1_0
    else:
        read = np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


class _Dtype:
    """What an array is said to be made of."""

    def __init__(self, code: str, *_: Any) -> None:
        self.code = code
        self.order = "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def read(self) -> np.dtype[Any]:
        dtype = np.dtype(str(self.code))
        return dtype.newbyteorder(">") if self.order == ">" else dtype.newbyteorder("<")


class _Array:
    """What an array is said to be."""

    shape: tuple[int, ...] = ()
    dtype: _Dtype = _Dtype("f8")
    is_fortran = False
    data: Any = b""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.dtype, self.is_fortran, self.data = state


_KNOWN = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): None,  # which kind of array: there is one
    ("numpy", "dtype"): _Dtype,
}


class _Unpickler(pickle.Unpickler):
    """Knows the stand-ins, and nothing else."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) not in _KNOWN:
            raise pickle.UnpicklingError(f"{module_name}.{global_name}, which could run code")
        return _KNOWN[module_name, global_name]


def _parts(found: Any) -> list[NDArray[Any]]:
    if not isinstance(found, _Array) or len(found.shape) != 1 or not isinstance(found.data, list):
        raise TypeError("no list of arrays")
    return [_plain(one) for one in cast("list[Any]", found.data)]


def _plain(one: Any) -> NDArray[Any]:
    """Return one array of numbers."""
    if isinstance(one, list):
        return np.asarray(one, dtype=np.float64)
    if not isinstance(one, _Array):
        raise TypeError(f"{type(one).__name__} among the arrays")
    dtype = one.dtype.read()
    if dtype.kind not in _NUMBERS:
        raise TypeError(f"an array of {dtype} among those of numbers")
    return np.frombuffer(one.data, dtype).reshape(one.shape, order="F" if one.is_fortran else "C")
