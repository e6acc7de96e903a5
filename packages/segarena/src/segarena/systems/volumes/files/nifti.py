"""NIfTI files (`.nii`, `.nii.gz`), versions 1 and 2: header and voxel values, in stored order."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.orientation import Affine, Grid
from segarena.errors import InvalidImage, MissingExtra
from segarena.systems.volumes.files.volume_header import VolumeHeader, make_grid

# Size of the NIfTI-2 header, which is longer than that of version 1.
_HEADER_BYTES = 540
_CHUNK_BYTES = 1 << 20
_GZIP_WINDOW_BITS = 31  # zlib: gzip header, largest window
# Extensions lie between header and voxel values; a larger offset indicates a damaged header.
_MOST_DATA_OFFSET = 1 << 28
_MILLIMETRES = {"meter": 1000.0, "micron": 0.001}


def read_nifti_header(path: Path, slice_axis: str) -> VolumeHeader:
    """Read the header of a NIfTI file.

    The affine is the sform if present, else the qform, else it is built from the spacing, as in
    nibabel. It is converted to millimetres if the file uses metres or micrometres.

    Raises:
        InvalidImage: the file is not NIfTI, does not have three axes, has an invalid spacing or
            affine, or does not store real numbers.
    """
    with _header_errors(path):
        raw = _raw_header(path)
        spacing = raw["pixdim"][1:4]
        has_sform = bool(raw["sform_code"] > 0)
        has_qform = bool(raw["qform_code"] > 0)
        # If there is an sform, the spacing is unused and may have any value.
        is_valid_spacing = np.isfinite(spacing).all() and (spacing > 0).all()
        if not has_sform and not is_valid_spacing:
            raise InvalidImage(
                f"{path}: expected positive spacing along each axis, got {spacing.tolist()}; repair the header"
            )
        shape = tuple(int(length) for length in raw.get_data_shape())
        return VolumeHeader(
            path=path,
            grid=make_grid(path, shape, _affine(raw), slice_axis),
            dtype=_dtype(raw, path).newbyteorder("="),
            is_scaled=_scaling(raw) != (1.0, 0.0),
            is_placed=has_sform or has_qform,
        )


def read_nifti(header: VolumeHeader) -> NDArray[Any]:
    """Read the voxel values of a NIfTI file, (i, j, k), as stored, or as float32 if the header scales them.

    Raises:
        InvalidImage: the file is truncated, corrupt, or longer than its header states.
    """
    path = header.path
    with _header_errors(path):
        raw = _raw_header(path)
        start = int(raw["vox_offset"])
        stored = _dtype(raw, path)
        if not raw.sizeof_hdr <= start <= _MOST_DATA_OFFSET:
            raise ValueError(f"the numbers start at byte {start}")
        slope, intercept = _scaling(raw)
    count = start + header.decoded_bytes
    if is_gzipped(path):
        decoded = _inflate(path, count)
    else:
        if path.stat().st_size != count:
            raise _wrong_length(path, count, path.stat().st_size)
        decoded = np.fromfile(path, dtype=np.uint8)
    voxels = decoded[start:].view(stored).reshape(header.grid.shape, order="F")
    if not header.is_scaled:
        return voxels
    # Infinite results are accepted here; the caller decides about them.
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = voxels.astype(np.float32)
        scaled *= np.float32(slope)
        scaled += np.float32(intercept)
    return scaled


def write_nifti(
    path: Path,
    voxels: NDArray[Any],
    grid: Grid,
) -> None:
    """Write stored voxel values on their grid, with an sform and, if the axes are orthogonal, the same qform."""
    nibabel = import_nibabel()
    image = nibabel.Nifti1Image(voxels, grid.affine, dtype=voxels.dtype)
    image.set_sform(grid.affine, code="scanner")
    if grid.is_orthogonal:
        image.set_qform(grid.affine, code="scanner")
    image.header.set_xyzt_units("mm")
    nibabel.save(image, path)


def is_gzipped(path: Path) -> bool:
    """Return whether the file name has a gzip suffix."""
    return path.name.lower().endswith(".gz")


def import_nibabel() -> Any:
    """Return the package nibabel; raise `MissingExtra` if it is not installed."""
    # An optional dependency.
    try:
        import nibabel
    except ImportError as error:
        raise MissingExtra("NIfTI files need nibabel: pip install 'segarena[radiology]'") from error
    return nibabel


def _raw_header(path: Path) -> Any:
    """Return nibabel's header without its automatic repairs, which would replace a spacing of zero by 1."""
    nibabel = import_nibabel()
    try:
        with gzip.open(path) if is_gzipped(path) else path.open("rb") as file:
            start = file.read(_HEADER_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidImage(
            f"{path}: expected a readable file, got: {error}; copy or export it again"
        ) from error
    # In version 1 the magic bytes end the header; in version 2 they follow its size.
    versions = ((nibabel.Nifti1Header, start[344:348]), (nibabel.Nifti2Header, start[4:8]))
    for header_type, magic in versions:
        if magic in (b"n+1\0", b"n+2\0") and len(start) >= header_type.sizeof_hdr:
            return header_type(start[: header_type.sizeof_hdr], check=False)
    raise InvalidImage(
        f"{path}: expected a single-file NIfTI volume, got something else; export it as .nii.gz"
    )


@contextmanager
def _header_errors(path: Path) -> Generator[None]:
    """Convert nibabel's exceptions for an invalid header to `InvalidImage`."""
    header_data_error = import_nibabel().spatialimages.HeaderDataError
    try:
        yield
    except InvalidImage:
        raise
    except (header_data_error, ValueError, KeyError, OverflowError) as error:
        raise InvalidImage(
            f"{path}: expected a valid NIfTI header, got: {error}; export it again"
        ) from error


def _dtype(raw: Any, path: Path) -> np.dtype[Any]:
    dtype: np.dtype[Any] = raw.get_data_dtype()
    if dtype.kind not in "iuf":
        raise InvalidImage(
            f"{path}: expected one real number per voxel, got {dtype}; export it with one number per voxel"
        )
    return dtype


def _scaling(raw: Any) -> tuple[float, float]:
    slope, intercept = raw.get_slope_inter()
    if slope is None:
        return 1.0, 0.0
    return float(slope), float(intercept)


def _affine(raw: Any) -> Affine:
    affine = np.array(raw.get_best_affine(), dtype=np.float64)
    length_unit = raw.get_xyzt_units()[0]
    affine[:3] *= _MILLIMETRES.get(length_unit, 1.0)
    return affine


def _wrong_length(
    path: Path,
    expected: int,
    found: int,
) -> InvalidImage:
    length = f"only {found:,}" if found < expected else "more"
    return InvalidImage(
        f"{path}: expected {expected:,} bytes according to the header, the file has {length}; "
        "it is damaged, so copy or export it again"
    )


def _inflate(path: Path, count: int) -> NDArray[np.uint8]:
    """Return the decompressed bytes; raise `InvalidImage` unless there are exactly `count`."""
    decoded = np.empty(count, dtype=np.uint8)
    filled = 0
    with path.open("rb") as file:
        for piece in _inflated_pieces(file, path):
            end = filled + len(piece)
            if end > count:
                raise _wrong_length(path, count, end)
            decoded[filled:end] = np.frombuffer(piece, dtype=np.uint8)
            filled = end
    if filled < count:
        raise _wrong_length(path, count, filled)
    return decoded


def _inflated_pieces(file: Any, path: Path) -> Iterator[bytes]:
    decoder = zlib.decompressobj(wbits=_GZIP_WINDOW_BITS)
    pending = file.read(_CHUNK_BYTES)
    while pending:
        try:
            yield decoder.decompress(pending, _CHUNK_BYTES)
        except zlib.error as error:
            raise InvalidImage(
                f"{path}: corrupt gzip data ({error}); copy or export it again"
            ) from error
        pending = decoder.unconsumed_tail or file.read(_CHUNK_BYTES)
        if decoder.eof:
            # Another gzip member may follow, and the end may be padded with zeros.
            pending = (decoder.unused_data + pending).lstrip(b"\0")
            if pending:
                decoder = zlib.decompressobj(wbits=_GZIP_WINDOW_BITS)
    if not decoder.eof:
        raise InvalidImage(f"{path}: the gzip data is truncated; copy or export the file again")
