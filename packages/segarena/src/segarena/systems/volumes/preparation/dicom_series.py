"""Which DICOM series lie in a folder, whatever its layout: told by their headers, not by names of folders."""

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
    """One series."""

    uid: str
    study: str
    patient: str
    modality: str  # "CT", "SEG", or another
    description: str
    refers_to: str  # the series that a segmentation was drawn on, "" when it does not say
    files: tuple[Path, ...]  # sorted by path


def find_series(folder: Path) -> list[DicomSeries]:
    """Return every series below a folder, sorted by patient, study and series UID.

    Files that are not DICOM are passed over; headers only are read.

    Raises:
        DatasetMissing: there is no DICOM file.
        MissingExtra: pydicom or SimpleITK is not installed.
    """
    files: dict[str, list[Path]] = {}
    headers: dict[str, Any] = {}
    for path in sorted(path for path in folder.rglob("*") if _is_dicom(path, folder)):
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
    """Return what a DICOM file holds, or some elements of it, without its pixels unless these are among them.

    Raises:
        SampleInvalid: it cannot be read, or is deflated as a whole.
    """
    from segarena.systems.volumes.preparation.optional_packages import (
        DeflatedExplicitVRLittleEndian,
        pydicom,
        read_file_meta_info,
    )

    try:
        # pydicom and ITK inflate such a file without a limit, and ten megabytes of it can hold ten gigabytes.
        is_deflated = (
            read_file_meta_info(path).get("TransferSyntaxUID") == DeflatedExplicitVRLittleEndian
        )
        if not is_deflated:
            only_header = tags is not None and "PixelData" not in tags
            found = pydicom.dcmread(path, stop_before_pixels=only_header, specific_tags=tags)
            # Values are converted when they are looked at, and damage shows then. ITK, which reads the file once more,
            # would take what a damaged word before them says for a length, and allocate it.
            list(found.file_meta)
            list(found.iterall())
            return found
    except Exception as error:  # pydicom raises of many kinds on damaged files
        raise SampleInvalid(
            f"{path}: expected a DICOM file, got: {error}; fetch it again"
        ) from error
    raise SampleInvalid(
        f"{path}: expected a DICOM file that is not deflated; write it anew, as with dcmconv +te"
    )


@contextmanager
def report_damage(path: Path) -> Generator[None]:
    """Raise SampleInvalid for values of a DICOM file that are not what their tags promise."""
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
    """Return series by patient or study, in sorted order of that."""
    groups: dict[str, list[DicomSeries]] = {}
    for one in series:
        groups.setdefault(by(one), []).append(one)
    return dict(sorted(groups.items()))


def select_modality(series: Iterable[DicomSeries], modality: str) -> list[DicomSeries]:
    """Return the series of a modality."""
    return [one for one in series if one.modality == modality]


def _is_dicom(path: Path, folder: Path) -> bool:
    # What was being fetched or unpacked when the program was stopped.
    is_unfinished = any(
        part.endswith((".part", ".unpacking")) for part in path.relative_to(folder).parts
    )
    if is_unfinished or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(132)[128:] == b"DICM"


def _series(uid: str, header: Any, files: list[Path]) -> DicomSeries:
    referenced = header.get("ReferencedSeriesSequence") or []
    return DicomSeries(
        uid=uid,
        study=str(header.get("StudyInstanceUID", "")),
        patient=str(header.get("PatientID", "")),
        modality=str(header.get("Modality", "")),
        description=str(header.get("SeriesDescription", "")),
        refers_to=str(referenced[0].get("SeriesInstanceUID", "")) if referenced else "",
        files=tuple(files),
    )
