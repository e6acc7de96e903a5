"""D7: adrenocortical carcinoma in CT (Adrenal-ACC-Ki67-Seg, IDC)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from segarena.systems.volumes.preparation.dicom_cases import convert_union, make_single_case
from segarena.systems.volumes.preparation.dicom_series import (
    find_series,
    group_series,
    select_modality,
)
from segarena.systems.volumes.preparation.download_sources import IdcManifest
from segarena.systems.volumes.preparation.instance_labels import label_instances
from segarena.systems.volumes.preparation.published_set import (
    DatasetOutput,
    PublishedSet,
    RawCase,
    SkippedCase,
)
from segarena.systems.volumes.preparation.sets.rider_lung import select_manual_segment

LEAST_VOXELS = 30
_LABEL = partial(label_instances, dilation=1, least_voxels=LEAST_VOXELS)


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield the patients, which have one study with one SEG; the CT is the one that it refers to."""
    for patient, series in group_series(find_series(folder), lambda one: one.patient).items():
        segs = select_modality(series, "SEG")
        cts = [
            one
            for one in select_modality(series, "CT")
            if len(segs) == 1 and one.uid == segs[0].refers_to
        ]
        convert = partial(
            convert_union, wanted=select_manual_segment, label=_LABEL, same_shape_or=patient
        )
        yield make_single_case(
            patient, cts, segs, convert, expected="one CT and the one SEG that refers to it"
        )


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
    "removed; patients whose SEG has another shape than the CT are left out",
    differences={
        "dataset.json": "written; the published preparation writes none",
        "images without label": "not written for patients that are left out",
    },
)
