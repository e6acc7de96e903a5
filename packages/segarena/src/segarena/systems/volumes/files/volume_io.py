"""Volumes and label volumes from files and back: NIfTI, NRRD and MetaImage, in canonical order.

One read of a file gives the numbers as they were stored (labels never become floats) and the `Grid` that tells where
they lie and leads back to the stored order.
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
"""Files with other endings are not taken for volumes; the first that fits is the ending."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelVolume:
    """A label file: 0 is background, every other number something."""

    # Integer arrays in canonical order; one, or those of a MITK multi-label file, which may overlap.
    groups: tuple[NDArray[np.integer[Any]], ...]
    # Of each group, what its numbers are called; empty where the file does not say.
    names: tuple[Mapping[int, str], ...]
    grid: Grid  # where the voxels lie


def volume_suffix(path: Path) -> str:
    """Return the ending of a volume's file name, as it is written there; "" when it has none that is known."""
    name = path.name
    return next(
        (name[-len(suffix) :] for suffix in VOLUME_SUFFIXES if name.lower().endswith(suffix)), ""
    )


def check_readers(paths: Iterable[Path]) -> None:
    """Raise `MissingExtra` unless the packages that read these files are installed."""
    for is_nifti in {_is_nifti(path) for path in paths}:
        (import_nibabel if is_nifti else import_sitk)()


def read_header(path: Path, *, slice_axis: str = "axial") -> VolumeHeader:
    """Read shape, type and place of a volume without decoding it; for `slice_axis` see `Grid`.

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
    return (read_nifti_header if _is_nifti(path) else read_itk_header)(path, slice_axis)


def read_volume(
    path: Path,
    *,
    slice_axis: str = "axial",
    replace_nonfinite: float | None = None,
    max_voxels: int | None = None,
) -> tuple[NDArray[Any], Grid]:
    """Read an image: (plane, row, column), contiguous, in the type it is stored in; float32 where NIfTI scales it.

    `replace_nonfinite` is put in place of NaN and infinity; None makes them an error.

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
        voxels = _finite(voxels, path, replace_nonfinite)
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
        InvalidMask: a label is negative or not a whole number, or there is none at all.
        MissingExtra: the package that reads this format is not installed.
    """
    header = read_header(path, slice_axis=slice_axis)
    stored = _decode(header, max_voxels)
    if header.groups == 1:
        split = [stored]
    else:
        split = [stored[..., group] for group in range(header.groups)]
    groups = tuple(_whole(_canonical(group, header), path) for group in split)
    if not may_be_empty and not any(group.max() for group in groups):
        raise InvalidMask(
            f"{path}: expected at least one labelled voxel, got none; fix it or leave the sample out"
        )
    names = header.names if len(header.names) == len(groups) else ({},) * len(groups)
    return LabelVolume(groups=groups, names=names, grid=header.grid)


def write_volume(path: Path, canonical: NDArray[Any], grid: Grid) -> None:
    """Write a canonical array in the order and place of `grid`, as `read_volume` gave it; bool is written as 0 and 1.

    The ending says the format; an `.mhd` writes a `.zraw` beside it.

    Raises:
        InvalidInput: the array has not the grid's canonical shape.
        InvalidImage: unknown ending, or a sheared grid in a format that cannot say it.
        MissingExtra: the package that writes this format is not installed.
    """
    if not volume_suffix(path):
        raise InvalidImage(f"{path}: expected a name ending in {', '.join(VOLUME_SUFFIXES)}")
    stored = grid.to_stored(canonical.view(np.uint8) if canonical.dtype == np.bool_ else canonical)
    (write_nifti if _is_nifti(path) else write_itk)(path, stored, grid)


def _is_nifti(path: Path) -> bool:
    return volume_suffix(path).lower().startswith(".nii")


def _decode(header: VolumeHeader, max_voxels: int | None) -> NDArray[Any]:
    check_size(header, max_voxels=max_voxels)
    return (read_nifti if _is_nifti(header.path) else read_itk)(header)


def _canonical(stored: NDArray[Any], header: VolumeHeader) -> NDArray[Any]:
    view = header.grid.to_canonical(stored)
    fastest = int(np.argmin(np.abs(view.strides)))
    if fastest == 2:
        return np.ascontiguousarray(view, dtype=view.dtype.newbyteorder("="))
    # Neighbours in the file are not neighbours in a row: turn one tile after the other, each small enough for the
    # processor's cache. Twice as fast as copying all at once.
    turned = np.empty(view.shape, dtype=view.dtype.newbyteorder("="))
    for tile, goal in zip(
        np.moveaxis(view, 1 - fastest, 0), np.moveaxis(turned, 1 - fastest, 0), strict=True
    ):
        goal[...] = np.ascontiguousarray(tile.T).T
    return turned


def _finite(voxels: NDArray[Any], path: Path, replacement: float | None) -> NDArray[Any]:
    # Plane by plane, so that no array of the whole volume is needed beside it.
    bad = sum(plane.size - np.count_nonzero(np.isfinite(plane)) for plane in voxels)
    if bad and replacement is None:
        raise InvalidImage(
            f"{path}: expected finite intensities, got {bad:,} voxels of NaN or infinity; "
            "set replace_nonfinite to what they should be"
        )
    if bad:
        np.copyto(voxels, voxels.dtype.type(replacement), where=~np.isfinite(voxels))
    return voxels


def _whole(values: NDArray[Any], path: Path) -> NDArray[np.integer[Any]]:
    if values.dtype.kind == "f":
        for plane in values:
            # Also false of NaN, of infinity and of numbers too large to be exact.
            is_whole = (plane == np.rint(plane)) & (np.abs(plane) < 2.0**53)
            if not is_whole.all():
                odd = plane[~is_whole][0]
                raise InvalidMask(
                    f"{path}: expected whole numbers as labels, got {odd}; save it without interpolation"
                )
        lowest = int(values.min())
        highest = int(values.max())
        values = values.astype(
            np.promote_types(np.min_scalar_type(lowest), np.min_scalar_type(highest))
        )
    if values.dtype.kind == "i" and values.min() < 0:
        raise InvalidMask(
            f"{path}: expected labels from 0 on, got {values.min()}; save them unsigned"
        )
    return values
