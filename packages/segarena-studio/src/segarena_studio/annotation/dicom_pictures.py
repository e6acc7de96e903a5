"""Single-frame DICOM pictures: stored values, rescale and window from the header; uncompressed pixels only.

Compressed pixels are rejected, because their decoders allocate as much memory as the compressed
data claim to need.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput, MissingExtra
from segarena.files.limits import check_pixels

if TYPE_CHECKING:
    from pydicom.dataset import FileDataset

MAGIC_AT = 128
MAGIC = b"DICM"
_TAGS = [
    "BitsAllocated",
    "BitsStored",
    "Columns",
    "Modality",
    "ModalityLUTSequence",
    "NumberOfFrames",
    "PhotometricInterpretation",
    "PixelData",
    "PixelRepresentation",
    "RescaleIntercept",
    "RescaleSlope",
    "Rows",
    "SamplesPerPixel",
    "WindowCenter",
    "WindowWidth",
]
_META_GROUP = 2
_PHOTOMETRIC = ("MONOCHROME1", "MONOCHROME2")
# Implicit and explicit little endian, and explicit big endian.
_UNCOMPRESSED = ("1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2")
_BIG_ENDIAN = "1.2.840.10008.1.2.2"


class DicomPicture(NamedTuple):
    """A single-frame DICOM picture.

    Attributes:
        pixels: stored values, int32 (H, W).
        slope, intercept: value = intercept + slope * stored value, in HU for CT.
        window: (centre, width) in values, the first of the header; None without one.
        modality: "CT", "MR", "DX", ...
        is_inverted: whether low values are bright (MONOCHROME1).
    """

    pixels: NDArray[np.int32]
    slope: float
    intercept: float
    window: tuple[float, float] | None
    modality: str
    is_inverted: bool


def read_dicom_picture(name: str, content: bytes) -> DicomPicture:
    """Read a DICOM file.

    Raises:
        MissingExtra: pydicom is not installed.
        InvalidInput: the file is damaged, too large, compressed, in colour, or has several frames
            or a modality lookup table.
    """
    try:
        import pydicom
    except ImportError as error:
        raise MissingExtra(
            f"{name}: DICOM pictures need pydicom: pip install 'segarena[radiology]'"
        ) from error
    try:
        # pydicom warns about values that do not conform to the standard; the checks below decide.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            syntax = _transfer_syntax(content)
            # Check this before the data set is read: pydicom inflates a deflated one without a limit.
            if syntax not in _UNCOMPRESSED:
                raise InvalidInput(
                    f"{name}: expected uncompressed DICOM pixels, got transfer syntax {syntax[:64]}; "
                    "convert it, for example with dcmdjpeg or gdcmconv --raw"
                )
            found = pydicom.dcmread(BytesIO(content), specific_tags=list(_TAGS))
            return _picture(name, found, is_big_endian=syntax == _BIG_ENDIAN)
    except InvalidInput:
        raise
    except Exception as error:  # pydicom raises many types of exceptions on damaged files
        problem = " ".join(str(error).split())[:200] or type(error).__name__
        raise InvalidInput(
            f"{name}: expected a readable DICOM file, got: {problem}; export it again"
        ) from error


def _transfer_syntax(content: bytes) -> str:
    """Return the transfer syntax of a DICOM file from its file meta information alone."""
    from pydicom.filereader import read_dataset

    file = BytesIO(content)
    file.seek(MAGIC_AT + len(MAGIC))
    meta = read_dataset(
        file,
        is_implicit_VR=False,
        is_little_endian=True,
        stop_when=lambda tag, _, __: tag.group != _META_GROUP,
    )
    return str(meta.TransferSyntaxUID)


def _picture(
    name: str,
    found: FileDataset,
    *,
    is_big_endian: bool,
) -> DicomPicture:
    photometric = str(found.get("PhotometricInterpretation", ""))
    samples = int(found.get("SamplesPerPixel", 1))
    if photometric not in _PHOTOMETRIC or samples != 1:
        raise InvalidInput(
            f"{name}: expected a grey DICOM picture (MONOCHROME1 or MONOCHROME2), got "
            f"{photometric[:40] or 'no photometric interpretation'}; export it as PNG"
        )
    frames = int(found.get("NumberOfFrames", None) or 1)
    if frames != 1:
        raise InvalidInput(
            f"{name}: expected a DICOM file of one frame, got {frames}; export single frames"
        )
    if found.get("ModalityLUTSequence"):
        raise InvalidInput(
            f"{name}: expected rescale slope and intercept, got a modality lookup table; export it as PNG"
        )
    slope = float(found.get("RescaleSlope", None) or 1.0)
    intercept = float(found.get("RescaleIntercept", None) or 0.0)
    if not math.isfinite(slope) or not math.isfinite(intercept):
        raise InvalidInput(
            f"{name}: expected a finite rescale slope and intercept; export it again"
        )
    return DicomPicture(
        pixels=_pixels(name, found, is_big_endian=is_big_endian),
        slope=slope,
        intercept=intercept,
        window=_window(found),
        modality=str(found.get("Modality", ""))[:16],
        is_inverted=photometric == "MONOCHROME1",
    )


def _pixels(
    name: str,
    found: FileDataset,
    *,
    is_big_endian: bool,
) -> NDArray[np.int32]:
    rows = int(found.Rows)
    columns = int(found.Columns)
    if rows < 1 or columns < 1:
        raise InvalidInput(f"{name}: expected rows and columns, got {rows} x {columns}")
    check_pixels(rows * columns, name)
    bits = int(found.BitsAllocated)
    stored_bits = int(found.get("BitsStored", bits))
    if bits not in (8, 16) or not 1 <= stored_bits <= bits:
        raise InvalidInput(
            f"{name}: expected 8 or 16 bits per pixel, got {stored_bits} of {bits}; export it as PNG"
        )
    size = rows * columns * bits // 8
    data = bytes(found.PixelData)
    if len(data) < size:
        raise InvalidInput(
            f"{name}: expected {size:,} bytes of pixels, got {len(data):,}; export it again"
        )
    order = ">" if is_big_endian else "<"
    is_signed = int(found.get("PixelRepresentation", 0)) == 1
    codes = np.frombuffer(data, dtype=f"{order}u{bits // 8}", count=rows * columns)
    values = codes.astype(np.int32) & ((1 << stored_bits) - 1)
    if is_signed:
        sign = 1 << (stored_bits - 1)
        values = (values ^ sign) - sign
    return values.reshape(rows, columns)


def _window(found: FileDataset) -> tuple[float, float] | None:
    centre = _first_number(found.get("WindowCenter", None))
    width = _first_number(found.get("WindowWidth", None))
    if centre is None or width is None or width <= 0:
        return None
    return centre, width


def _first_number(value: Any) -> float | None:
    """Return the first of one or several values; None if it is missing or not finite."""
    if value is None or value == "":
        return None
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = cast("Sequence[Any]", value)[0]
    number = float(value)
    return number if math.isfinite(number) else None
