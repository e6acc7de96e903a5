"""NRRD and MetaImage files (`.nrrd`, `.mha`, `.mhd`) through SimpleITK: header and voxel values, in stored order.

ITK uses LPS+ coordinates; all affines here use RAS+.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.orientation import Affine, Grid
from segarena.errors import InvalidImage, MissingExtra
from segarena.systems.volumes.files.nrrd_metaimage_header import check_itk_header
from segarena.systems.volumes.files.volume_header import VolumeHeader, make_grid

MITK_LABEL_GROUPS = "org.mitk.multilabel.segmentation.labelgroups"
# The order is that of SimpleITK's pixel ids.
_TYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
# Its own inverse.
_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


def read_itk_header(path: Path, slice_axis: str) -> VolumeHeader:
    """Read the header of an NRRD or MetaImage file, with the label names of MITK groups or Slicer layers.

    Raises:
        InvalidImage: the file is unreadable, does not have three axes, has an invalid spacing or
            affine, or does not store real numbers.
    """
    data = check_itk_header(path)
    reader = _reader(path)
    try:
        reader.ReadImageInformation()
    except RuntimeError as error:
        raise _unreadable(path, error) from error
    spacing = list(reader.GetSpacing())
    if not all(length > 0 for length in spacing):
        raise InvalidImage(
            f"{path}: expected positive spacing along each axis, got {spacing}; repair the header"
        )
    return VolumeHeader(
        path=path,
        data=data,
        grid=make_grid(path, tuple(reader.GetSize()), _affine(reader), slice_axis),
        dtype=_dtype(reader, path),
        groups=reader.GetNumberOfComponents(),
        names=_label_names(reader, path),
    )


def read_itk(header: VolumeHeader) -> NDArray[Any]:
    """Read the voxel values as stored: (i, j, k), or (i, j, k, group) if there are several groups.

    Raises:
        InvalidImage: the file is truncated or corrupt, or its data file is missing.
    """
    sitk = import_sitk()
    try:
        array = sitk.GetArrayFromImage(_reader(header.path).Execute())
    except RuntimeError as error:
        raise _unreadable(header.path, error) from error
    # SimpleITK returns (k, j, i): the last axis of its arrays runs fastest in the file.
    reversed_shape = header.grid.shape[::-1]
    if header.groups == 1:
        return array.reshape(*reversed_shape).transpose(2, 1, 0)
    return array.reshape(*reversed_shape, header.groups).transpose(2, 1, 0, 3)


def write_itk(
    path: Path,
    voxels: NDArray[Any],
    grid: Grid,
) -> None:
    """Write stored voxel values on their grid, compressed.

    Raises:
        InvalidImage: the axes are not orthogonal, which these formats cannot store.
    """
    if not grid.is_orthogonal:
        raise InvalidImage(
            f"{path}: expected orthogonal axes for this format, got a sheared grid; write .nii.gz"
        )
    sitk = import_sitk()
    image = sitk.GetImageFromArray(np.ascontiguousarray(voxels.T))
    affine = _LPS_TO_RAS @ grid.affine
    direction = affine[:3, :3] / grid.spacing_mm
    image.SetSpacing(grid.spacing_mm)
    image.SetOrigin(affine[:3, 3].tolist())
    image.SetDirection(direction.ravel().tolist())
    sitk.WriteImage(image, str(path), useCompression=True)


def import_sitk() -> Any:
    """Return the package SimpleITK; raise `MissingExtra` if it is not installed."""
    # An optional dependency.
    try:
        import SimpleITK
    except ImportError as error:
        raise MissingExtra(
            "NRRD and MHA files need SimpleITK: pip install 'segarena[radiology]'"
        ) from error
    return SimpleITK


def _reader(path: Path) -> Any:
    reader = import_sitk().ImageFileReader()
    reader.SetFileName(str(path))
    return reader


def _affine(reader: Any) -> Affine:
    axes = reader.GetDimension()
    # ITK lists direction cosines row by row, without the spacing.
    direction = np.reshape(reader.GetDirection(), (axes, axes))
    columns = direction * reader.GetSpacing()
    # Files with a time axis have four axes; only the spatial axes belong to the grid.
    most = min(axes, 3)
    affine = np.eye(4)
    affine[:most, :most] = columns[:most, :most]
    affine[:most, 3] = reader.GetOrigin()[:most]
    return _LPS_TO_RAS @ affine


def _dtype(reader: Any, path: Path) -> np.dtype[Any]:
    number = reader.GetPixelIDValue()
    # SimpleITK numbers ten scalar types from 0 and the corresponding vector types from 12; complex
    # types lie between.
    if not (0 <= number < 22 and number % 12 < len(_TYPES)):
        kind = import_sitk().GetPixelIDValueAsString(number)
        raise InvalidImage(
            f"{path}: expected real numbers, got {kind}; export the volume with real numbers"
        )
    return np.dtype(_TYPES[number % 12])


def _label_names(reader: Any, path: Path) -> tuple[Mapping[int, str], ...]:
    if not reader.HasMetaDataKey(MITK_LABEL_GROUPS):
        return _slicer_segment_names(reader, path)
    names: list[Mapping[int, str]] = []
    try:
        for group in json.loads(reader.GetMetaData(MITK_LABEL_GROUPS)):
            by_number = {int(label["value"]): str(label["name"]) for label in group["labels"]}
            names.append(by_number)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        expected = f"{MITK_LABEL_GROUPS} as a list of groups with labels"
        raise InvalidImage(f"{path}: expected {expected}, got: {error}; save it again") from error
    return tuple(names)


def _slicer_segment_names(reader: Any, path: Path) -> tuple[Mapping[int, str], ...]:
    """Return the segment names of a Slicer `.seg.nrrd`, by layer; empty if the header has no segments.

    Slicer before 4.11 writes neither label values nor layers: each segment has the value 1 in a
    separate layer.
    """
    keys = set(reader.GetMetaDataKeys())
    segments = [number for number in range(len(keys)) if f"Segment{number}_Name" in keys]
    if not segments:
        return ()
    layers: list[dict[int, str]] = [{} for _ in range(reader.GetNumberOfComponents())]
    for number in segments:
        value_key = f"Segment{number}_LabelValue"
        layer_key = f"Segment{number}_Layer"
        value = reader.GetMetaData(value_key) if value_key in keys else "1"
        layer = reader.GetMetaData(layer_key) if layer_key in keys else str(number)
        if not (value.isdecimal() and layer.isdecimal() and int(layer) < len(layers)):
            raise InvalidImage(
                f"{path}: expected segment {number} in one of {len(layers)} layers, got value {value!r:.20} "
                f"in layer {layer!r:.20}; save it again"
            )
        layers[int(layer)][int(value)] = reader.GetMetaData(f"Segment{number}_Name")
    return tuple(layers)


def _unreadable(path: Path, error: RuntimeError) -> InvalidImage:
    """Return an error with those lines of ITK's report that describe the file, without ITK's internal call stack."""
    lines = [line.strip() for line in str(error).splitlines()]
    own_lines = ("Exception thrown", "[nrrd] nrrd")
    about_file = [line for line in lines if line and not line.startswith(own_lines)]
    return InvalidImage(
        f"{path}: expected a readable volume, got: {' '.join(about_file)}; copy or export it again"
    )
