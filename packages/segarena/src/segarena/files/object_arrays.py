"""Reader of object arrays in `.npy` files that does not run code from their pickles.

Datasets store lists of arrays of different lengths this way. A pickle may call any function, and
even NumPy's own functions do not validate their arguments. This reader unpickles into placeholders
that only record dtype, shape and bytes, and builds the arrays from them.
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
    """Return the arrays in a file, one per index of the first axis; a numeric array is split along this axis.

    Raises:
        InvalidMask: the file is missing, damaged, above the voxel limit, or contains other objects.
    """
    try:
        with path.open("rb") as file:
            check_voxels(path.stat().st_size, path, error=InvalidMask)
            shape, dtype = _header(file)
            if dtype.hasobject:
                return _to_arrays(_Unpickler(file).load())
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
    except Exception as error:  # damaged pickles may raise any type
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
    """Placeholder for a dtype."""

    def __init__(self, code: str, *_: Any) -> None:
        self.code = code
        self.order = "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def read(self) -> np.dtype[Any]:
        dtype = np.dtype(str(self.code))
        return dtype.newbyteorder(">") if self.order == ">" else dtype.newbyteorder("<")


class _Array:
    """Placeholder for an array."""

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
    ("numpy", "ndarray"): None,  # only an argument of `_reconstruct`
    ("numpy", "dtype"): _Dtype,
}


class _Unpickler(pickle.Unpickler):
    """Unpickler that resolves the names of array types to placeholders and rejects all other names."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) not in _KNOWN:
            raise pickle.UnpicklingError(f"{module_name}.{global_name}, which could run code")
        return _KNOWN[module_name, global_name]


def _to_arrays(loaded: Any) -> list[NDArray[Any]]:
    if not isinstance(loaded, _Array) or len(loaded.shape) != 1:
        raise TypeError("something other than a list of arrays")
    if not isinstance(loaded.data, list):
        raise TypeError("something other than a list of arrays")
    return [_to_array(element) for element in cast("list[Any]", loaded.data)]


def _to_array(element: Any) -> NDArray[Any]:
    """Build a numeric array from a placeholder or from a list of numbers."""
    if isinstance(element, list):
        return np.asarray(element, dtype=np.float64)
    if not isinstance(element, _Array):
        raise TypeError(f"{type(element).__name__} among the arrays")
    dtype = element.dtype.read()
    if dtype.kind not in _NUMBERS:
        raise TypeError(f"an array of {dtype} instead of numbers")
    order = "F" if element.is_fortran else "C"
    return np.frombuffer(element.data, dtype).reshape(element.shape, order=order)
