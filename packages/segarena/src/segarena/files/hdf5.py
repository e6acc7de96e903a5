"""HDF5 array reader that checks sizes before reading. Needs h5py."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask, MissingExtra
from segarena.files.limits import check_voxels


def read_hdf5(path: Path, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays with these names.

    Raises:
        InvalidMask: the file is missing or damaged; or an array is missing, not numeric, stored in
            another file, or larger than the voxel limit.
        MissingExtra: h5py is not installed.
    """
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra(f"{path.name} is HDF5: pip install 'segarena[people]'") from error
    if not path.is_file():
        raise InvalidMask(f"{path}: expected an HDF5 file here, got none; restore it")
    try:
        with h5py.File(path, "r") as file:
            wanted = list(names)
            for name in wanted:
                if isinstance(file.get(name, getlink=True), h5py.ExternalLink):
                    raise InvalidMask(
                        f"{path}: expected {name!r} in this file, got a link to another file; "
                        "copy the array into this one"
                    )
            return {name: _array(file.get(name), name, path, h5py.Dataset) for name in wanted}
    except InvalidMask:
        raise
    except Exception as error:  # h5py raises whatever the HDF5 library reports
        reason = " ".join(str(error).split())
        raise InvalidMask(
            f"{path}: expected a readable HDF5 file, got: {reason}; copy it again"
        ) from error


def _array(
    found: Any,
    name: str,
    path: Path,
    dataset_type: type[Any],
) -> NDArray[Any]:
    if not isinstance(found, dataset_type):
        raise InvalidMask(
            f"{path}: expected an array {name!r}, got none; is it a file of this dataset?"
        )
    if found.dtype.kind not in "biuf":
        raise InvalidMask(f"{path}: expected {name!r} to be plain numbers, got {found.dtype}")
    if found.external or found.is_virtual:
        raise InvalidMask(
            f"{path}: expected {name!r} in this file, got an array stored in another file; copy the array into this one"
        )
    check_voxels(math.prod(found.shape), path, error=InvalidMask)
    return np.asarray(found[()])
