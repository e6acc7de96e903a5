"""D7 of RadioActive: adrenocortical carcinoma in CT (Adrenal-ACC-Ki67-Seg, IDC)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from segarena.systems.volumes.preparation.dataset_case_types import (
    DatasetOutput,
    PublishedSet,
    RawCase,
    SkippedCase,
)
from segarena.systems.volumes.preparation.dicom_cases import convert_union, make_single_case
from segarena.systems.volumes.preparation.dicom_series import (
    DicomSeries,
    find_series,
    group_series,
    select_modality,
)
from segarena.systems.volumes.preparation.download_sources import IdcManifest
from segarena.systems.volumes.preparation.instance_labels import label_instances
from segarena.systems.volumes.preparation.sets.rider_lung import select_manual_segment

LEAST_VOXELS = 30
_LABEL = partial(label_instances, dilation=1, least_voxels=LEAST_VOXELS)


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield the patients, each with one SEG and the CT to which it refers."""
    patients = group_series(find_series(folder), lambda series: series.patient)
    for patient, series in patients.items():
        segs = select_modality(series, "SEG")
        cts: list[DicomSeries] = []
        if len(segs) == 1:
            annotated = segs[0].refers_to
            cts = [ct for ct in select_modality(series, "CT") if ct.uid == annotated]
        convert = partial(
            convert_union, wanted=select_manual_segment, label=_LABEL, same_shape_or=patient
        )
        expected = "one CT and the one SEG that refers to it"
        yield make_single_case(patient, cts, segs, convert, expected=expected)


ADRENAL = PublishedSet(
    name="adrenal",
    paper="D7",
    title="Adrenocortical carcinoma in CT",
    modality="CT",
    cases=53,
    size_gb=9.9,
    licence="see the collection's page at TCIA or IDC",
    source=IdcManifest(collection="adrenal_acc_ki67_seg"),
    outputs=(DatasetOutput(kind="instance", classes=("adrenal tumour",), tissue="pathology"),),
    find=_find_cases,
    rule=f"26-connected components after growing by a ball of radius 1; those of fewer than {LEAST_VOXELS} voxels are "
    "removed; patients whose SEG differs in shape from the CT are left out",
    differences={
        "dataset.json": "written; the published preparation writes none",
        "images without label": "not written for patients that are left out",
    },
)
