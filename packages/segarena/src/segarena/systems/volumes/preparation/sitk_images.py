"""Volume files as SimpleITK images and label arrays in their stored grid, and writing of prepared cases."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.orientation import Grid
from segarena.errors import InvalidImage, SampleInvalid
from segarena.files.atomic_write import atomic_path
from segarena.systems.volumes.files.nifti import read_nifti, write_nifti
from segarena.systems.volumes.files.nrrd_metaimage import read_itk
from segarena.systems.volumes.files.volume_header import check_size
from segarena.systems.volumes.files.volume_io import read_header, volume_suffix
from segarena.systems.volumes.preparation.dataset_case_types import LabelArray
from segarena.systems.volumes.preparation.optional_packages import sitk

ENDING = ".nii.gz"
_TOLERANCE = 1e-3
# Its own inverse.
_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


def read_image(path: Path) -> sitk.Image:
    """Read a 3D volume file in its stored grid.

    Voxel values are read by the project's own readers, because ITK accepts a truncated NIfTI file
    without an error.

    Raises:
        InvalidImage: the file is unreadable, truncated, not 3D, too large, or has several values
            per voxel or sheared axes.
    """
    header = read_header(path)
    if header.groups != 1:
        raise InvalidImage(f"{path}: expected one value per voxel, got {header.groups}")
    if not header.grid.is_orthogonal:
        raise InvalidImage(f"{path}: expected orthogonal axes, got a sheared grid")
    check_size(header)
    is_nifti = volume_suffix(path).lower().startswith(".nii")
    voxels = read_nifti(header) if is_nifti else read_itk(header)
    native_dtype = voxels.dtype.newbyteorder("=")
    image = sitk.GetImageFromArray(np.ascontiguousarray(voxels.T, dtype=native_dtype))
    affine = _LPS_TO_RAS @ header.grid.affine
    image.SetSpacing([float(length) for length in np.linalg.norm(affine[:3, :3], axis=0)])
    image.SetOrigin(affine[:3, 3].tolist())
    direction = affine[:3, :3] / image.GetSpacing()
    image.SetDirection(direction.ravel().tolist())
    return image


def image_to_labels(image: sitk.Image, name: str) -> LabelArray:
    """Return the labels (plane, row, column) of a volume as integers.

    Raises:
        SampleInvalid: a value is negative or not a whole number.
    """
    array: NDArray[Any] = sitk.GetArrayFromImage(image)
    if array.dtype.kind == "f":
        whole = np.rint(array)
        if not np.array_equal(whole, array):
            odd = float(array[array != whole].flat[0])
            raise SampleInvalid(
                f"{name}: expected whole numbers as labels, got other values, such as {odd}"
            )
        array = whole.astype(np.int32)
    if array.size and array.min() < 0:
        raise SampleInvalid(f"{name}: expected labels of at least 0, got {array.min()}")
    return array


def has_same_grid(image: sitk.Image, other: sitk.Image) -> bool:
    """Test whether two volumes have the same size, spacing, origin and direction, with a tolerance of 0.001."""
    if image.GetSize() != other.GetSize():
        return False
    pairs = (
        (image.GetSpacing(), other.GetSpacing()),
        (image.GetOrigin(), other.GetOrigin()),
        (image.GetDirection(), other.GetDirection()),
    )
    return all(np.allclose(one, two, atol=_TOLERANCE) for one, two in pairs)


def check_label_grid(
    label: sitk.Image,
    image: sitk.Image,
    name: str,
) -> tuple[str, ...]:
    """Return a note if the headers of label and image differ in position, spacing or direction.

    The image's header is then used.

    Raises:
        SampleInvalid: the sizes differ.
    """
    if label.GetSize() != image.GetSize():
        raise SampleInvalid(
            f"{name}: expected the size of its image, {image.GetSize()}, got {label.GetSize()}"
        )
    if has_same_grid(label, image):
        return ()
    return (f"{name}: the header differs from the image's, which is used instead",)


def to_smallest_type(labels: NDArray[Any]) -> LabelArray:
    """Return labels in the smallest sufficient unsigned type."""
    highest = int(labels.max(initial=0))
    for dtype in (np.uint8, np.uint16):
        if highest <= np.iinfo(dtype).max:
            return labels.astype(dtype, copy=False)
    return labels.astype(np.uint32, copy=False)


def write_image(image: sitk.Image, path: Path) -> None:
    """Write a volume as NIfTI; the file gets its final name once it is complete.

    It is not written by ITK, which reports no error when the disk is full.

    Raises:
        StoreError: the file cannot be written.
    """
    affine = np.eye(4)
    # Columns of the affine are direction cosines times spacing.
    affine[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) * image.GetSpacing()
    affine[:3, 3] = image.GetOrigin()
    grid = Grid(image.GetSize(), _LPS_TO_RAS @ affine)
    # An interrupted preparation therefore leaves no incomplete file with the final name.
    with atomic_path(path, ending=ENDING) as part:
        write_nifti(part, sitk.GetArrayViewFromImage(image).T, grid)


def link_or_copy(file: Path, path: Path) -> None:
    """Create a hard link to a file, or a copy if the file system does not support links.

    Raises:
        StoreError: neither the link nor the copy can be written.
    """
    with atomic_path(path) as part:
        try:
            part.hardlink_to(file)
        except OSError:
            shutil.copyfile(file, part)


def write_labels(
    labels: LabelArray | Mapping[str, LabelArray],
    image: sitk.Image,
    path: Path,
) -> None:
    """Write a label map to `path` + ".nii.gz", or masks by class to the folder `path`, on the grid of `image`.

    Raises:
        StoreError: a file cannot be written.
    """
    if not isinstance(labels, Mapping):
        write_image(_as_image(labels, image), path.with_name(path.name + ENDING))
        return
    with atomic_path(path) as part:
        for name, mask in labels.items():
            write_image(_as_image(mask, image), part / f"{name}{ENDING}")


def read_image_and_labels(
    image_path: Path, label_path: Path
) -> tuple[sitk.Image, LabelArray, tuple[str, ...]]:
    """Read an image and its labels, and return both with notes.

    Raises:
        InvalidImage: as `read_image`.
        SampleInvalid: as `check_label_grid` and `image_to_labels`.
    """
    image = read_image(image_path)
    label = read_image(label_path)
    notes = check_label_grid(label, image, label_path.name)
    return image, image_to_labels(label, label_path.name), notes


def resample_labels(
    labels: sitk.Image,
    grid: sitk.Image,
    transform: sitk.Transform,
) -> sitk.Image:
    """Return labels resampled to the grid of another volume by nearest neighbour; 0 outside."""
    return sitk.Resample(labels, grid, transform, sitk.sitkNearestNeighbor, 0.0)


def _as_image(labels: LabelArray, grid: sitk.Image) -> sitk.Image:
    image = sitk.GetImageFromArray(to_smallest_type(labels))
    image.CopyInformation(grid)
    return image
