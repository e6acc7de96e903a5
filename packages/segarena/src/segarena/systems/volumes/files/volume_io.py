"""Reading and writing of image and label volumes of any supported format, in canonical order.

Reading returns the values as stored (labels never become floats) and the `Grid`, which gives the
position of each voxel and converts back to the stored order. The modules `nifti` and
`nrrd_metaimage` implement the formats.
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
"""Suffixes of volume files; a file has the first suffix in this order that matches."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class LabelVolume:
    """Content of a label file: 0 is background, every other value is an object or a class."""

    # Integer arrays in canonical order: one array, or the groups of an MITK multi-label file, which
    # may overlap.
    groups: tuple[NDArray[np.integer[Any]], ...]
    # Names by label value for each group; empty if the file has none.
    names: tuple[Mapping[int, str], ...]
    grid: Grid  # position of the voxels


def volume_suffix(path: Path) -> str:
    """Return the suffix of a volume's file name, as spelled there, or "" if it is not a known suffix."""
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
    """Read shape, type and position of a volume without decoding it; `Grid` describes `slice_axis`.

    Raises:
        InvalidImage: the file is missing or unreadable, is not a single volume, has an invalid
            spacing or affine, or does not store real numbers.
        MissingExtra: the package that reads this format is not installed.
    """
    if not path.is_file():
        raise InvalidImage(
            f"{path}: expected a volume, found no file; restore it or leave the sample out"
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
    """Read an image: (plane, row, column), contiguous, in its stored type; float32 if a NIfTI header scales it.

    `replace_nonfinite` is the value that replaces NaN and infinity; None makes them an error.

    Raises:
        InvalidImage: as in `read_header`; or there are more voxels than allowed, than the file can
            contain, or than fit in memory; or the file is truncated or corrupt, has several values
            per voxel, or contains NaN or infinity.
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
    """Read a label file; integers stored as floats are converted to the smallest sufficient integer type.

    Raises:
        InvalidImage: the file cannot be read, see `read_volume`; several values per voxel are
            read as groups.
        InvalidMask: a label is negative or not a whole number, or no voxel is labelled (unless
            `may_be_empty`).
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


def write_volume(
    path: Path,
    canonical: NDArray[Any],
    grid: Grid,
) -> None:
    """Write a canonical array in the axis order and position of `grid` (see `read_volume`); bool becomes 0 and 1.

    The suffix selects the format; `.mhd` also writes a `.zraw` file next to it.

    Raises:
        InvalidInput: the array does not have the grid's canonical shape.
        InvalidImage: the suffix is unknown, or the format cannot store the sheared grid.
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
    # In these files x runs fastest; in C-ordered arrays the last axis does.
    fastest = int(np.argmin(np.abs(view.strides)))
    if fastest == 2:
        return np.ascontiguousarray(view, dtype=view.dtype.newbyteorder("="))
    # Voxels that are neighbours in the file are far apart in a row. Transposing tile by tile, each
    # small enough for the processor's cache, is twice as fast as one copy.
    canonical = np.empty(view.shape, dtype=view.dtype.newbyteorder("="))
    sources = np.moveaxis(view, 1 - fastest, 0)
    targets = np.moveaxis(canonical, 1 - fastest, 0)
    for source, target in zip(sources, targets, strict=True):
        target[...] = np.ascontiguousarray(source.T).T
    return canonical


def _replace_nonfinite(
    voxels: NDArray[Any],
    path: Path,
    replacement: float | None,
) -> NDArray[Any]:
    # Plane by plane, to avoid a second array as large as the volume.
    bad = 0
    for plane in voxels:
        bad += plane.size - np.count_nonzero(np.isfinite(plane))
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
            # Also False for NaN, infinity and values too large to be exact in float64.
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
            f"{path}: expected labels of at least 0, got {values.min()}; save them unsigned, "
            "or exchange the folders of images and labels if this file is a scan"
        )
    return values
