"""D8 of RadioActive: livers and liver tumours in CT (HCC-TACE-Seg, IDC)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from segarena.systems.volumes.preparation.dataset_case_types import (
    ConvertedCase,
    DatasetOutput,
    PublishedSet,
    RawCase,
    SkippedCase,
)
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

LIVER_SEGMENTS = ("Liver", "Mass", "Necrosis", "Portal vein")
LESION_SEGMENTS = ("Mass", "Necrosis")
LISTED_PATIENTS = (
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
    *range(69, 85),
    86,
    87,
    88,
    90,
    98,
)
"""The 66 patients HCC_NNN listed in the published preparation; Table 1 states 65 images."""


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield the listed patients: one study with one CT "Recon 3" and one SEG "Segmentation"."""
    listed = {f"HCC_{number:03d}" for number in LISTED_PATIENTS}
    patients = group_series(find_series(folder), lambda series: series.patient)
    for patient, series in patients.items():
        if patient not in listed:
            yield SkippedCase(
                id=patient,
                reason="not among the 66 patients that the paper's authors list",
                by_rule=True,
            )
            continue
        pairs: list[tuple[DicomSeries, DicomSeries]] = []
        for study in group_series(series, lambda one: one.study).values():
            pairs.extend(_find_pair(study))
        if len(pairs) == 1:
            ct, seg = pairs[0]
            yield make_case(patient, ct, seg, partial(_convert, patient))
        else:
            reason = f"expected one study with one CT 'Recon 3' and one SEG 'Segmentation', found {len(pairs)}"
            yield SkippedCase(id=patient, reason=reason, by_rule=True)


def _find_pair(study: list[DicomSeries]) -> list[tuple[DicomSeries, DicomSeries]]:
    """Return the CT and SEG of a study; empty unless there is exactly one of each."""
    # The published preparation selects the series by these descriptions.
    cts = [ct for ct in select_modality(study, "CT") if "Recon 3" in ct.description]
    segs = [seg for seg in select_modality(study, "SEG") if seg.description == "Segmentation"]
    if len(cts) != 1 or len(segs) != 1:
        return []
    return [(cts[0], segs[0])]


def _convert(
    patient: str,
    ct: DicomSeries,
    seg: DicomSeries,
) -> ConvertedCase | SkippedCase:
    image, segmentation, notes = read_ct_and_segmentation(ct, seg, wanted=_liver_segments)
    mismatch = describe_shape_mismatch(segmentation, image)
    if mismatch:
        return SkippedCase(id=patient, reason=mismatch, by_rule=True)
    names = [segmentation.names[index] for index in _liver_segments(segmentation.names)]
    shape = image.GetSize()[::-1]
    liver = np.zeros(shape, dtype=bool)
    lesion = np.zeros(shape, dtype=bool)
    for name, mask in zip(names, segmentation.masks, strict=True):
        liver |= mask
        if name in LESION_SEGMENTS:
            lesion |= mask
    labels = {
        "liver": liver.astype(np.uint8),
        "lesion": label_instances(lesion, connectivity=18),
    }
    return ConvertedCase(image=image, labels=labels, notes=notes)


def _liver_segments(names: tuple[str, ...]) -> list[int]:
    return [index for index, name in enumerate(names) if name in LIVER_SEGMENTS]


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
        DatasetOutput(
            folder="liver",
            kind="organ",
            classes=("liver",),
            tissue="organ",
        ),
        DatasetOutput(
            folder="lesion",
            kind="instance",
            classes=("liver tumour",),
            tissue="pathology",
        ),
    ),
    find=_find_cases,
    rule="liver: the union of Liver, Mass, Necrosis and Portal vein; lesion: Mass and Necrosis, 18-connected "
    'components; patients of a list of 66 with exactly one CT "Recon 3" and one SEG "Segmentation" of the same shape',
    differences={
        "several studies": "a patient with several fitting studies is left out; the published code keeps the last one",
    },
)
