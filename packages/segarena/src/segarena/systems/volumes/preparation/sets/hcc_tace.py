"""D8: livers, and their tumours, in CT (HCC-TACE-Seg, IDC)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from segarena.systems.volumes.preparation.dicom_cases import (
    describe_shape_mismatch,
    make_case,
    read_ct_and_segmentation,
)
from segarena.systems.volumes.preparation.dicom_series import (
    DicomSeries,
    find_series,
    group_series,
    select_modality,
)
from segarena.systems.volumes.preparation.download_sources import IdcManifest
from segarena.systems.volumes.preparation.instance_labels import label_instances
from segarena.systems.volumes.preparation.published_set import (
    ConvertedCase,
    DatasetOutput,
    PublishedSet,
    RawCase,
    SkippedCase,
)

LIVER_SEGMENTS = ("Liver", "Mass", "Necrosis", "Portal vein")
LESION_SEGMENTS = ("Mass", "Necrosis")
LISTED_PATIENTS = (
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


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield the listed patients: one study with one CT "Recon 3" and one SEG "Segmentation"."""
    listed = {f"HCC_{number:03d}" for number in LISTED_PATIENTS}
    for patient, series in group_series(find_series(folder), lambda one: one.patient).items():
        pairs = [
            pair
            for study in group_series(series, lambda one: one.study).values()
            if (pair := _pair(study))
        ]
        if patient not in listed:
            yield SkippedCase(
                id=patient,
                reason="not among the 66 patients that the paper's authors list",
                by_rule=True,
            )
        elif len(pairs) == 1:
            yield make_case(patient, *pairs[0], partial(_convert, patient))
        else:
            reason = f"expected one study with one CT 'Recon 3' and one SEG 'Segmentation', found {len(pairs)}"
            yield SkippedCase(id=patient, reason=reason, by_rule=True)


def _pair(study: list[DicomSeries]) -> tuple[DicomSeries, DicomSeries] | None:
    cts = [one for one in select_modality(study, "CT") if "Recon 3" in one.description]
    segs = [one for one in select_modality(study, "SEG") if one.description == "Segmentation"]
    return (cts[0], segs[0]) if len(cts) == len(segs) == 1 else None


def _convert(patient: str, ct: DicomSeries, seg: DicomSeries) -> ConvertedCase | SkippedCase:
    image, found, notes = read_ct_and_segmentation(ct, seg, wanted=_liver)
    if reason := describe_shape_mismatch(found, image):
        return SkippedCase(id=patient, reason=reason, by_rule=True)
    names = [found.names[place] for place in _liver(found.names)]
    liver = np.zeros(image.GetSize()[::-1], dtype=bool)
    lesion = liver.copy()
    for name, mask in zip(names, found.masks, strict=True):
        liver |= mask
        lesion |= mask & (name in LESION_SEGMENTS)
    return ConvertedCase(
        image=image,
        labels={
            "liver": liver.astype(np.uint8),
            "lesion": label_instances(lesion, connectivity=18),
        },
        notes=notes,
    )


def _liver(names: tuple[str, ...]) -> list[int]:
    return [place for place, name in enumerate(names) if name in LIVER_SEGMENTS]


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
        DatasetOutput(folder="liver", kind="organ", classes=("liver",), tissue="organ"),
        DatasetOutput(
            folder="lesion", kind="instance", classes=("liver tumour",), tissue="pathology"
        ),
    ),
    find=_find_cases,
    rule="liver: the union of Liver, Mass, Necrosis and Portal vein; lesion: Mass and Necrosis, 18-connected "
    'components; patients of a list of 66 with exactly one CT "Recon 3" and one SEG "Segmentation" of the same shape',
    differences={
        "several studies": "a patient with several fitting studies is left out; the published code keeps the last one",
    },
)
