"""D8: livers, and their tumours, in CT (HCC-TACE-Seg, IDC)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from segarena.systems.volumes.preparation.dicom_cases import case_of, own_shape_differs, read_pair
from segarena.systems.volumes.preparation.dicom_series import (
    DicomSeries,
    find_series,
    grouped,
    of_modality,
)
from segarena.systems.volumes.preparation.download_sources import IdcManifest
from segarena.systems.volumes.preparation.instance_labels import instances
from segarena.systems.volumes.preparation.published_set import (
    Converted,
    Output,
    PublishedSet,
    RawCase,
    Skipped,
)

LIVER = ("Liver", "Mass", "Necrosis", "Portal vein")
LESION = ("Mass", "Necrosis")
LISTED = (
    *(
        4,
        12,
        13,
        17,
        20,
        22,
        23,
        25,
        26,
        28,
        29,
        *range(31, 39),
        *range(40, 54),
        *range(55, 65),
        66,
        67,
    ),
    *(*range(69, 85), 86, 87, 88, 90, 98),
)
"""The 66 patients HCC_NNN that the published preparation lists; Table 1 states 65 images."""


def find(folder: Path) -> Iterator[RawCase | Skipped]:
    """Yield the listed patients: one study with one CT "Recon 3" and one SEG "Segmentation"."""
    listed = {f"HCC_{number:03d}" for number in LISTED}
    for patient, series in grouped(find_series(folder), lambda one: one.patient).items():
        pairs = [
            pair
            for study in grouped(series, lambda one: one.study).values()
            if (pair := _pair(study))
        ]
        if patient not in listed:
            yield Skipped(
                id=patient,
                reason="not among the 66 patients that the paper's authors list",
                by_rule=True,
            )
        elif len(pairs) == 1:
            yield case_of(patient, *pairs[0], partial(_convert, patient))
        else:
            reason = f"expected one study with one CT 'Recon 3' and one SEG 'Segmentation', found {len(pairs)}"
            yield Skipped(id=patient, reason=reason, by_rule=True)


def _pair(study: list[DicomSeries]) -> tuple[DicomSeries, DicomSeries] | None:
    cts = [one for one in of_modality(study, "CT") if "Recon 3" in one.description]
    segs = [one for one in of_modality(study, "SEG") if one.description == "Segmentation"]
    return (cts[0], segs[0]) if len(cts) == len(segs) == 1 else None


def _convert(patient: str, ct: DicomSeries, seg: DicomSeries) -> Converted | Skipped:
    image, found, notes = read_pair(ct, seg, wanted=_liver)
    if reason := own_shape_differs(found, image):
        return Skipped(id=patient, reason=reason, by_rule=True)
    names = [found.names[place] for place in _liver(found.names)]
    liver = np.zeros(image.GetSize()[::-1], dtype=bool)
    lesion = liver.copy()
    for name, mask in zip(names, found.masks, strict=True):
        liver |= mask
        lesion |= mask & (name in LESION)
    return Converted(
        image=image,
        labels={"liver": liver.astype(np.uint8), "lesion": instances(lesion, connectivity=18)},
        notes=notes,
    )


def _liver(names: tuple[str, ...]) -> list[int]:
    return [place for place, name in enumerate(names) if name in LIVER]


HCC_TACE = PublishedSet(
    name="hcc_tace",
    paper="D8",
    title="Livers and their tumours before chemoembolisation, in CT",
    modality="CT",
    cases=65,
    size_gb=29,
    licence="see the collection's page at TCIA or IDC",
    source=IdcManifest(collection="hcc_tace_seg"),
    outputs=(
        Output(folder="liver", kind="organ", classes=("liver",), tissue="organ"),
        Output(folder="lesion", kind="instance", classes=("liver tumour",), tissue="pathology"),
    ),
    find=find,
    rule="liver: the union of Liver, Mass, Necrosis and Portal vein; lesion: Mass and Necrosis, 18-connected "
    'components; patients of a list of 66 with exactly one CT "Recon 3" and one SEG "Segmentation" of the same shape',
    differences={
        "several studies": "a patient with several fitting studies is left out; the published code keeps the last one",
    },
)
