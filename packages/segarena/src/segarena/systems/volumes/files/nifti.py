"""NIfTI files (`.nii`, `.nii.gz`), versions 1 and 2: header and numbers, in stored order."""

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

_HEADER_BYTES = 540
_CHUNK_BYTES = 1 << 20
# Extensions lie between header and numbers; what is longer than this is a damaged header.
_MOST_START = 1 << 28
_MILLIMETRES = {"meter": 1000.0, "micron": 0.001}


def read_nifti_header(path: Path, slice_axis: str) -> VolumeHeader:
    """Read the header alone.

    The affine is the sform, else the qform, else made of the spacing: as nibabel has it, but in millimetres also where
    the file counts in metres or micrometres.

    Raises:
        InvalidImage: not NIfTI, not three axes, an impossible spacing or affine, or no real numbers.
    """
    with _header_faults(path):
        raw = _raw_header(path)
        spacing = raw["pixdim"][1:4]
        # An sform replaces the spacing; only without one must it make sense.
        if not raw["sform_code"] > 0 and not (np.isfinite(spacing).all() and (spacing > 0).all()):
            raise InvalidImage(
                f"{path}: expected positive spacing along each axis, got {spacing.tolist()}; repair the header"
            )
        grid = make_grid(path, tuple(map(int, raw.get_data_shape())), _affine(raw), slice_axis)
        return VolumeHeader(
            path=path,
            grid=grid,
            dtype=_dtype(raw, path).newbyteorder("="),
            is_scaled=_scaling(raw) != (1.0, 0.0),
            is_placed=bool(raw["sform_code"] > 0 or raw["qform_code"] > 0),
        )


def read_nifti(header: VolumeHeader) -> NDArray[Any]:
    """Read the numbers, (i, j, k), as stored, or as float32 where the header scales them.

    Raises:
        InvalidImage: truncated, corrupt, or with more in the file than the header says.
    """
    path = header.path
    with _header_faults(path):
        raw = _raw_header(path)
        start = int(raw["vox_offset"])
        stored = _dtype(raw, path)
        if not raw.sizeof_hdr <= start <= _MOST_START:
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
    with np.errstate(over="ignore", invalid="ignore"):  # infinite results are the caller's to judge
        scaled = voxels.astype(np.float32)
        scaled *= np.float32(slope)
        scaled += np.float32(intercept)
    return scaled


def write_nifti(path: Path, voxels: NDArray[Any], grid: Grid) -> None:
    """Write stored numbers on their grid, with an sform and, where the axes are at right angles, the same qform."""
    nibabel = import_nibabel()
    image = nibabel.Nifti1Image(voxels, grid.affine, dtype=voxels.dtype)
    image.set_sform(grid.affine, code="scanner")
    if grid.is_orthogonal:
        image.set_qform(grid.affine, code="scanner")
    image.header.set_xyzt_units("mm")
    nibabel.save(image, path)


def is_gzipped(path: Path) -> bool:
    """Tell whether the name says that the file is compressed."""
    return path.name.lower().endswith(".gz")


def import_nibabel() -> Any:
    """Return the package nibabel; `MissingExtra` where it is not installed."""
    try:
        import nibabel
    except ImportError as error:
        raise MissingExtra("NIfTI files need nibabel: pip install 'segarena[radiology]'") from error
    return nibabel


def _raw_header(path: Path) -> Any:
    """Return nibabel's header, unrepaired: its own checks would replace a spacing of zero by 1."""
    nibabel = import_nibabel()
    try:
        with gzip.open(path) if is_gzipped(path) else path.open("rb") as file:
            start = file.read(_HEADER_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidImage(
            f"{path}: expected a readable file, got: {error}; copy or export it again"
        ) from error
    for kind, magic in ((nibabel.Nifti1Header, start[344:348]), (nibabel.Nifti2Header, start[4:8])):
        if magic in (b"n+1\0", b"n+2\0") and len(start) >= kind.sizeof_hdr:
            return kind(start[: kind.sizeof_hdr], check=False)
    raise InvalidImage(
        f"{path}: expected a NIfTI file in one piece, got something else; export it as .nii.gz"
    )


@contextmanager
def _header_faults(path: Path) -> Generator[None]:
    """Turn what nibabel raises on a header that makes no sense into one clear error."""
    faults = (import_nibabel().spatialimages.HeaderDataError, ValueError, KeyError, OverflowError)
    try:
        yield
    except InvalidImage:
        raise
    except faults as error:
        raise InvalidImage(
            f"{path}: expected a sound NIfTI header, got: {error}; export it again"
        ) from error


def _dtype(raw: Any, path: Path) -> np.dtype[Any]:
    dtype: np.dtype[Any] = raw.get_data_dtype()
    if dtype.kind not in "iuf":
        raise InvalidImage(
            f"{path}: expected one real number per voxel, got {dtype}; export it as such"
        )
    return dtype


def _scaling(raw: Any) -> tuple[float, float]:
    slope, intercept = raw.get_slope_inter()
    return (1.0, 0.0) if slope is None else (float(slope), float(intercept))


def _affine(raw: Any) -> Affine:
    affine = np.array(raw.get_best_affine(), dtype=np.float64)
    affine[:3] *= _MILLIMETRES.get(raw.get_xyzt_units()[0], 1.0)
    return affine


def _wrong_length(path: Path, expected: int, found: int) -> InvalidImage:
    came = f"only {found:,}" if found < expected else "more"
    return InvalidImage(
        f"{path}: the header promises {expected:,} bytes, the file has {came}; it is damaged, copy or export it again"
    )


def _inflate(path: Path, count: int) -> NDArray[np.uint8]:
    """Return exactly `count` decompressed bytes; never hold more, whatever the file would give."""
    decoded = np.empty(count, dtype=np.uint8)
    filled = 0
    with path.open("rb") as file:
        for piece in _inflated(file, path):
            if filled + len(piece) > count:
                raise _wrong_length(path, count, filled + len(piece))
            decoded[filled : filled + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
            filled += len(piece)
    if filled < count:
        raise _wrong_length(path, count, filled)
    return decoded


def _inflated(file: Any, path: Path) -> Iterator[bytes]:
    decoder = zlib.decompressobj(wbits=31)
    pending = file.read(_CHUNK_BYTES)
    while pending:
        try:
            yield decoder.decompress(pending, _CHUNK_BYTES)
        except zlib.error as error:
            raise InvalidImage(
                f"{path}: corrupt gzip data ({error}); copy or export it again"
            ) from error
        pending = decoder.unconsumed_tail or file.read(_CHUNK_BYTES)
        if decoder.eof:  # another member may follow, and zeros may pad the end
            pending = (decoder.unused_data + pending).lstrip(b"\0")
            decoder = zlib.decompressobj(wbits=31) if pending else decoder
    if not decoder.eof:
        raise InvalidImage(f"{path}: the gzip data end too early; copy or export the file again")
