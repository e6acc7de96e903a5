"""DICOM series in a folder of any layout, found by their headers and not by names of folders."""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segarena.errors import DatasetMissing, SampleInvalid, SegarenaError

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
        MissingExtra: pydicom or SimpleITK is not installed.
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
            f"{folder}: expected DICOM files there, found none; fetch the set or give its folder"
        )
    found = [_series(uid, header, files[uid]) for uid, header in headers.items()]
    return sorted(found, key=lambda series: (series.patient, series.study, series.uid))


def read_dicom(path: Path, tags: list[str] | None = None) -> Any:
    """Return the data elements of a DICOM file, or those of `tags`, without pixels unless `tags` name them.

    Raises:
        SampleInvalid: the file cannot be read, or is deflated as a whole.
    """
    from segarena.systems.volumes.preparation.optional_packages import (
        DeflatedExplicitVRLittleEndian,
        pydicom,
        read_file_meta_info,
    )

    try:
        # pydicom and ITK inflate such a file without a limit, and ten megabytes of it can hold ten gigabytes.
        syntax = read_file_meta_info(path).get("TransferSyntaxUID")
        if syntax != DeflatedExplicitVRLittleEndian:
            only_header = tags is not None and "PixelData" not in tags
            found = pydicom.dcmread(path, stop_before_pixels=only_header, specific_tags=tags)
            # pydicom converts values on first access, and reports damage then. ITK, which reads the file afterwards,
            # would take a damaged word for a length, and allocate that much.
            list(found.file_meta)
            list(found.iterall())
            return found
    except Exception as error:  # pydicom raises many types of exceptions on damaged files
        raise SampleInvalid(
            f"{path}: expected a DICOM file, got: {error}; fetch it again"
        ) from error
    raise SampleInvalid(
        f"{path}: expected a DICOM file that is not deflated; write it anew, as with dcmconv +te"
    )


@contextmanager
def report_damage(path: Path) -> Generator[None]:
    """Turn exceptions from values that do not fit their DICOM tags into `SampleInvalid`."""
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
            f"{path.name}: expected a whole DICOM file, got: {error}; fetch it again"
        ) from error


def group_series(
    series: Iterable[DicomSeries], by: Callable[[DicomSeries], str]
) -> dict[str, list[DicomSeries]]:
    """Return series by a key such as patient or study, in sorted order of the keys."""
    groups: dict[str, list[DicomSeries]] = {}
    for one in series:
        groups.setdefault(by(one), []).append(one)
    return dict(sorted(groups.items()))


def select_modality(series: Iterable[DicomSeries], modality: str) -> list[DicomSeries]:
    """Return the series of a modality."""
    return [one for one in series if one.modality == modality]


def _is_dicom(path: Path, folder: Path) -> bool:
    # Leftovers of a download or an unpacking that was stopped.
    parts = path.relative_to(folder).parts
    is_unfinished = any(part.endswith((".part", ".unpacking")) for part in parts)
    if is_unfinished or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(132)[128:] == b"DICM"


def _series(uid: str, header: Any, files: list[Path]) -> DicomSeries:
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
