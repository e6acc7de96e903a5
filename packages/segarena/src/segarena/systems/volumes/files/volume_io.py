"""Reading and writing of image and label volumes of any supported format, in canonical order.

Reading returns the numbers as stored (labels never become floats) and the `Grid`, which gives the position of each
voxel and converts back to the stored order. `nifti` and `nrrd_metaimage` hold the formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.orientation import Grid
from segarena.errors import InvalidImage, InvalidMask
from segarena.systems.volumes.files.nifti import (
    import_nibabel,
    read_nifti,
    read_nifti_header,
    write_nifti,
)
from segarena.systems.volumes.files.nrrd_metaimage import (
    import_sitk,
    read_itk,
    read_itk_header,
    write_itk,
)
from segarena.systems.volumes.files.volume_header import VolumeHeader, check_size

VOLUME_SUFFIXES = (".nii.gz", ".nii", ".in.nrrd", ".nrrd", ".mha", ".mhd")
"""Endings of volume files; the first one that fits is the ending of a file."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelVolume:
    """Content of a label file: 0 is background, every other number is an object or a class."""

    # Integer arrays in canonical order: one, or the groups of a MITK multi-label file, which may overlap.
    groups: tuple[NDArray[np.integer[Any]], ...]
    # For each group, the names of its numbers; empty where the file has none.
    names: tuple[Mapping[int, str], ...]
    grid: Grid  # position of the voxels


def volume_suffix(path: Path) -> str:
    """Return the ending of a volume's file name, in its own spelling; "" when it is not a known one."""
    name = path.name
    for suffix in VOLUME_SUFFIXES:
        if name.lower().endswith(suffix):
            return name[-len(suffix) :]
    return ""


def check_readers(paths: Iterable[Path]) -> None:
    """Raise `MissingExtra` unless the packages that read these files are installed."""
    for is_nifti in {_is_nifti(path) for path in paths}:
        if is_nifti:
            import_nibabel()
        else:
            import_sitk()


def read_header(path: Path, *, slice_axis: str = "axial") -> VolumeHeader:
    """Read shape, type and position of a volume without decoding it; for `slice_axis` see `Grid`.

    Raises:
        InvalidImage: missing, unreadable, not one volume, an impossible spacing or affine, or no real numbers.
        MissingExtra: the package that reads this format is not installed.
    """
    if not path.is_file():
        raise InvalidImage(
            f"{path}: expected a volume here, found none; restore it or leave the sample out"
        )
    if not volume_suffix(path):
        raise InvalidImage(
            f"{path}: expected a file ending in {', '.join(VOLUME_SUFFIXES)}; convert it to .nii.gz"
        )
    if _is_nifti(path):
        return read_nifti_header(path, slice_axis)
    return read_itk_header(path, slice_axis)


def read_volume(
    path: Path,
    *,
    slice_axis: str = "axial",
    replace_nonfinite: float | None = None,
    max_voxels: int | None = None,
) -> tuple[NDArray[Any], Grid]:
    """Read an image: (plane, row, column), contiguous, in its stored type; float32 where NIfTI scales it.

    `replace_nonfinite` replaces NaN and infinity; None makes them an error.

    Raises:
        InvalidImage: as in `read_header`; more voxels than allowed, than the file can hold, or than fit in memory;
            truncated, corrupt; several values per voxel; NaN or infinity.
        MissingExtra: the package that reads this format is not installed.
    """
    header = read_header(path, slice_axis=slice_axis)
    if header.groups != 1:
        raise InvalidImage(
            f"{path}: expected one value per voxel, got {header.groups}; save one of them"
        )
    voxels = _canonical(_decode(header, max_voxels), header)
    if voxels.dtype.kind == "f":
        voxels = _replace_nonfinite(voxels, path, replace_nonfinite)
    return voxels, header.grid


def read_labels(
    path: Path,
    *,
    slice_axis: str = "axial",
    may_be_empty: bool = False,
    max_voxels: int | None = None,
) -> LabelVolume:
    """Read a label file; whole numbers stored as floats become the smallest integers that hold them.

    Raises:
        InvalidImage: as in `read_volume`.
        InvalidMask: a label is negative or not a whole number, or no voxel is labelled.
        MissingExtra: the package that reads this format is not installed.
    """
    header = read_header(path, slice_axis=slice_axis)
    stored = _decode(header, max_voxels)
    if header.groups == 1:
        split = [stored]
    else:
        split = [stored[..., group] for group in range(header.groups)]
    canonical = [_canonical(group, header) for group in split]
    groups = tuple(_as_whole_numbers(group, path) for group in canonical)
    if not may_be_empty and not any(group.max() for group in groups):
        raise InvalidMask(
            f"{path}: expected at least one labelled voxel, got none; fix it or leave the sample out"
        )
    has_names = len(header.names) == len(groups)
    names = header.names if has_names else ({},) * len(groups)
    return LabelVolume(groups=groups, names=names, grid=header.grid)


def write_volume(path: Path, canonical: NDArray[Any], grid: Grid) -> None:
    """Write a canonical array in the order and position of `grid`, as from `read_volume`; bool becomes 0 and 1.

    The ending selects the format; an `.mhd` writes a `.zraw` beside it.

    Raises:
        InvalidInput: the array does not have the grid's canonical shape.
        InvalidImage: the ending is unknown, or the format cannot store the sheared grid.
        MissingExtra: the package that writes this format is not installed.
    """
    if not volume_suffix(path):
        raise InvalidImage(f"{path}: expected a name ending in {', '.join(VOLUME_SUFFIXES)}")
    if canonical.dtype == np.bool_:
        canonical = canonical.view(np.uint8)
    stored = grid.to_stored(canonical)
    if _is_nifti(path):
        write_nifti(path, stored, grid)
    else:
        write_itk(path, stored, grid)


def _is_nifti(path: Path) -> bool:
    return volume_suffix(path).lower().startswith(".nii")


def _decode(header: VolumeHeader, max_voxels: int | None) -> NDArray[Any]:
    check_size(header, max_voxels=max_voxels)
    if _is_nifti(header.path):
        return read_nifti(header)
    return read_itk(header)


def _canonical(stored: NDArray[Any], header: VolumeHeader) -> NDArray[Any]:
    view = header.grid.to_canonical(stored)
    fastest = int(np.argmin(np.abs(view.strides)))
    if fastest == 2:
        return np.ascontiguousarray(view, dtype=view.dtype.newbyteorder("="))
    # Neighbours in the file are not neighbours in a row: transpose tile by tile, each small enough for the processor's
    # cache, which is twice as fast as one copy.
    canonical = np.empty(view.shape, dtype=view.dtype.newbyteorder("="))
    sources = np.moveaxis(view, 1 - fastest, 0)
    targets = np.moveaxis(canonical, 1 - fastest, 0)
    for source, target in zip(sources, targets, strict=True):
        target[...] = np.ascontiguousarray(source.T).T
    return canonical


def _replace_nonfinite(voxels: NDArray[Any], path: Path, replacement: float | None) -> NDArray[Any]:
    # Plane by plane, to avoid a second array of the volume's size.
    bad = sum(plane.size - np.count_nonzero(np.isfinite(plane)) for plane in voxels)
    if bad and replacement is None:
        raise InvalidImage(
            f"{path}: expected finite intensities, got {bad:,} voxels of NaN or infinity; "
            "set replace_nonfinite to the value they should have"
        )
    if bad:
        np.copyto(voxels, voxels.dtype.type(replacement), where=~np.isfinite(voxels))
    return voxels


def _as_whole_numbers(values: NDArray[Any], path: Path) -> NDArray[np.integer[Any]]:
    if values.dtype.kind == "f":
        for plane in values:
            # Also False for NaN, infinity and numbers too large to be exact in float64.
            is_whole = (plane == np.rint(plane)) & (np.abs(plane) < 2.0**53)
            if not is_whole.all():
                odd = plane[~is_whole][0]
                raise InvalidMask(
                    f"{path}: expected whole numbers as labels, got {odd}; save it without interpolation"
                )
        lowest = int(values.min())
        highest = int(values.max())
        smallest_type = np.promote_types(np.min_scalar_type(lowest), np.min_scalar_type(highest))
        values = values.astype(smallest_type)
    if values.dtype.kind == "i" and values.min() < 0:
        raise InvalidMask(
            f"{path}: expected labels from 0 on, got {values.min()}; save them unsigned"
        )
    return values
