"""DICOM series in a folder of any layout, identified by their headers instead of folder names."""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segarena.errors import DatasetMissing, SampleInvalid, SegarenaError
from segarena.systems.volumes.preparation.optional_packages import filereader, pydicom, uid

_TAGS = [
    "SeriesInstanceUID",
    "StudyInstanceUID",
    "PatientID",
    "Modality",
    "SeriesDescription",
    "ReferencedSeriesSequence",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DicomSeries:
    """Header fields and files of one DICOM series."""

    uid: str
    study: str
    patient: str
    modality: str  # "CT", "SEG", or another
    description: str
    refers_to: str  # UID of the series that a segmentation was drawn on, "" when not stated
    files: tuple[Path, ...]  # sorted by path


def find_series(folder: Path) -> list[DicomSeries]:
    """Return every series below a folder, sorted by patient, study and series UID.

    Files that are not DICOM are skipped; only headers are read.

    Raises:
        DatasetMissing: there is no DICOM file.
        SampleInvalid: a DICOM file cannot be read.
        MissingExtra: pydicom is not installed.
    """
    files: dict[str, list[Path]] = {}
    headers: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if not _is_dicom(path, folder):
            continue
        header = read_dicom(path, _TAGS)
        uid = str(header.get("SeriesInstanceUID", ""))
        headers.setdefault(uid, header)
        files.setdefault(uid, []).append(path)
    if not files:
        raise DatasetMissing(
            f"{folder}: expected DICOM files, found none; download the dataset or pass its folder"
        )
    found = [_series(uid, header, files[uid]) for uid, header in headers.items()]
    return sorted(found, key=lambda series: (series.patient, series.study, series.uid))


def read_dicom(path: Path, tags: list[str] | None = None) -> Any:
    """Return the data elements of a DICOM file, optionally only `tags`; pixels are read only if `tags` name them.

    Raises:
        SampleInvalid: the file cannot be read, or its whole data set is deflated.
    """
    # Outside of `try`, so that a missing pydicom is not reported as a damaged file.
    deflated = uid.DeflatedExplicitVRLittleEndian
    try:
        # pydicom and ITK inflate such a file without a limit; ten megabytes can expand to ten
        # gigabytes.
        syntax = filereader.read_file_meta_info(path).get("TransferSyntaxUID")
        if syntax != deflated:
            only_header = tags is not None and "PixelData" not in tags
            found = pydicom.dcmread(path, stop_before_pixels=only_header, specific_tags=tags)
            # pydicom converts values on first access and reports damage only then. ITK, which reads
            # the file afterwards, would interpret a damaged value as a length and allocate that
            # much memory.
            list(found.file_meta)
            list(found.iterall())
            return found
    except Exception as error:  # pydicom raises many types of exceptions on damaged files
        raise SampleInvalid(
            f"{path}: expected a DICOM file, got: {error}; download it again"
        ) from error
    raise SampleInvalid(
        f"{path}: expected a DICOM file that is not deflated; convert it, for example with dcmconv +te"
    )


@contextmanager
def report_damage(path: Path) -> Generator[None]:
    """Convert exceptions from values that do not fit their DICOM tags to `SampleInvalid`."""
    try:
        yield
    except SegarenaError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        struct.error,
    ) as error:
        raise SampleInvalid(
            f"{path.name}: expected a complete DICOM file, got: {error}; download it again"
        ) from error


def group_series(
    series: Iterable[DicomSeries], by: Callable[[DicomSeries], str]
) -> dict[str, list[DicomSeries]]:
    """Group series by a key such as patient or study, in sorted order of the keys."""
    groups: dict[str, list[DicomSeries]] = {}
    for one in series:
        groups.setdefault(by(one), []).append(one)
    return dict(sorted(groups.items()))


def select_modality(series: Iterable[DicomSeries], modality: str) -> list[DicomSeries]:
    """Return the series of a modality."""
    return [one for one in series if one.modality == modality]


def _is_dicom(path: Path, folder: Path) -> bool:
    # Temporary files of an interrupted download or unpacking.
    parts = path.relative_to(folder).parts
    is_unfinished = any(part.endswith((".part", ".unpacking")) for part in parts)
    if is_unfinished or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(132)[128:] == b"DICM"


def _series(
    uid: str,
    header: Any,
    files: list[Path],
) -> DicomSeries:
    referenced = header.get("ReferencedSeriesSequence") or []
    refers_to = str(referenced[0].get("SeriesInstanceUID", "")) if referenced else ""
    return DicomSeries(
        uid=uid,
        study=str(header.get("StudyInstanceUID", "")),
        patient=str(header.get("PatientID", "")),
        modality=str(header.get("Modality", "")),
        description=str(header.get("SeriesDescription", "")),
        refers_to=refers_to,
        files=tuple(files),
    )
