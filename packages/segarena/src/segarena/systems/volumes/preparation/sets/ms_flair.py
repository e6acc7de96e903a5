"""D1 of RadioActive: multiple sclerosis lesions in FLAIR MR (Mendeley 8bctsm8jz7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from segarena.errors import DatasetMissing, SampleInvalid
from segarena.systems.volumes.preparation.dataset_case_types import (
    ConvertedCase,
    DatasetOutput,
    PublishedSet,
    RawCase,
    SkippedCase,
)
from segarena.systems.volumes.preparation.download_sources import ManualDownload
from segarena.systems.volumes.preparation.instance_labels import label_instances
from segarena.systems.volumes.preparation.sitk_images import read_image_and_labels
from segarena.systems.volumes.preparation.spreadsheet import find_column, read_spreadsheet


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield the patients: `N-Flair.nii` with `N-LesionSeg-Flair.nii`, and the spreadsheet of spacings."""
    spacings = _spacings(folder)
    images: dict[int, Path] = {}
    for path in folder.rglob("*-Flair.nii*"):
        match = _PATIENT.fullmatch(path.name)
        if match is not None:
            images[int(match[1])] = path
    for number, image in sorted(images.items()):
        case = f"{number}_Flair"
        label = next(image.parent.glob(f"{number}-LesionSeg-Flair.nii*"), None)
        if label is None:
            yield SkippedCase(id=case, reason="no lesion file next to the FLAIR", by_rule=False)
        else:
            convert = partial(_convert, number, image, label, spacings.get(number))
            yield RawCase(id=case, inputs=(image, label), convert=convert)


_PATIENT = re.compile(r"(\d+)-Flair\.nii(?:\.gz)?")


def _convert(
    number: int,
    image_path: Path,
    label_path: Path,
    spacing_mm: str | None,
) -> ConvertedCase:
    image, labels, notes = read_image_and_labels(image_path, label_path)
    try:
        through_plane_mm = float(str(spacing_mm))
        image.SetSpacing((*image.GetSpacing()[:2], through_plane_mm))
    except (ValueError, RuntimeError) as error:
        expected = "expected a positive spacing between slices in the sheet"
        raise SampleInvalid(f"patient {number}: {expected}, got {spacing_mm!r}") from error
    return ConvertedCase(image=image, labels={"": label_instances(labels == 1)}, notes=notes)


def _spacings(folder: Path) -> dict[int, str]:
    # Open workbooks leave temporary files that begin with "~", and macOS leaves files that begin
    # with ".".
    tables = (path for path in folder.rglob("*Table 2*") if path.name[0] not in "~.")
    sheets = sorted(path for path in tables if path.suffix.lower() in (".xlsx", ".csv"))
    if not sheets:
        raise DatasetMissing(
            f"{folder}: expected the sheet 'Supplementary Table 2 for  sequence parameters .xlsx' (or .csv) with the "
            "spacing between slices, found none"
        )
    table = read_spreadsheet(sheets[0])
    rows = zip(
        find_column(table, "ID"),
        find_column(table, "Spacing Between Slices", group="FLAIR"),
        strict=True,
    )
    spacings: dict[int, str] = {}
    for number, spacing in rows:
        # Spreadsheets store whole numbers as floats; other rows are headings and notes.
        if re.fullmatch(r"\d+(\.0*)?", number.strip()):
            spacings[int(float(number))] = spacing
    return spacings


MS_FLAIR = PublishedSet(
    name="ms_flair",
    paper="D1",
    title="Brain MRI of multiple sclerosis, lesions in FLAIR",
    modality="MR",
    sequence="FLAIR",
    cases=60,
    size_gb=0.7,
    licence="see the page on Mendeley Data",
    source=ManualDownload(
        page="https://data.mendeley.com/datasets/8bctsm8jz7/1", wanted=("*-Flair.nii*", "*Table 2*")
    ),
    archives=("*.zip",),
    outputs=(DatasetOutput(kind="instance", classes=("MS lesion",), tissue="pathology"),),
    find=_find_cases,
    rule="label 1; 26-connected components; spacing between slices from the sheet, because that of the files is wrong",
    differences={
        "file ending": "dataset.json says .nii.gz, as the files are; the published one says .nrrd",
    },
)
