"""MATLAB files (up to version 7) to arrays."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from segarena.errors import InvalidMask

_DAMAGE = (OSError, ValueError, TypeError, KeyError, EOFError, NotImplementedError, struct.error, zlib.error)


def read_matlab(path: Path, variable: str) -> NDArray[Any]:
    """Return one variable of a MATLAB file, as scipy gives it: structures and cells are object arrays.

    Raises:
        InvalidMask: the file is missing or damaged, or has no such variable.
    """
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    if not path.is_file():
        raise InvalidMask(f"{path}: expected a MATLAB file here, got none; restore it or leave the sample out")
    try:
        content: dict[str, Any] = loadmat(path)
    except (*_DAMAGE, MatReadError) as error:
        raise InvalidMask(f"{path}: expected a readable MATLAB file, got: {error}; download it again") from error
    if variable not in content:
        came = ", ".join(name for name in content if not name.startswith("__")) or "nothing"
        raise InvalidMask(f"{path}: expected the variable {variable!r}, got {came}; is it a file of this dataset?")
    return content[variable]
