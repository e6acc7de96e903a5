"""D7: adrenocortical carcinoma in CT (Adrenal-ACC-Ki67-Seg, IDC)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from segarena.systems.volumes.preparation.components import instances
from segarena.systems.volumes.preparation.dicom_cases import convert_lesions
from segarena.systems.volumes.preparation.dicom_series import DicomSeries, find_series, grouped, of_modality
from segarena.systems.volumes.preparation.published import Converted, Output, PublishedSet, RawCase, Skipped
from segarena.systems.volumes.preparation.rules.rider_lung import second_or_only
from segarena.systems.volumes.preparation.sources import IdcManifest

LEAST_VOXELS = 30


def find(folder: Path) -> Iterator[RawCase | Skipped]:
    """Yield the patients, which have one study with one SEG; the CT is the one that it refers to."""
    for patient, series in grouped(find_series(folder), lambda one: one.patient).items():
        segs = of_modality(series, "SEG")
        cts = [one for one in of_modality(series, "CT") if len(segs) == 1 and one.uid == segs[0].refers_to]
        if len(cts) == len(segs) == 1:
            yield _case(patient, cts[0], segs[0])
        else:
            reason = f"expected one SEG and the CT that it refers to, found {len(segs)} and {len(cts)}"
            yield Skipped(id=patient, reason=reason, by_rule=False)


def _case(patient: str, ct: DicomSeries, seg: DicomSeries) -> RawCase:
    return RawCase(id=patient, inputs=(*ct.files, *seg.files), convert=partial(_convert, patient, ct, seg))


def _convert(patient: str, ct: DicomSeries, seg: DicomSeries) -> Converted | Skipped:
    label = partial(instances, dilation=1, least_voxels=LEAST_VOXELS)
    return convert_lesions(ct, seg, wanted=second_or_only, label=label, same_shape_or=patient)


ADRENAL = PublishedSet(
    name="adrenal",
    paper="D7",
    title="Adrenocortical carcinoma in CT",
    modality="CT",
    cases=53,
    size_gb=9.9,
    licence="see the collection's page at TCIA or IDC",
    source=IdcManifest(collection="adrenal_acc_ki67_seg"),
    outputs=(Output(kind="instance", classes=("adrenal tumour",), tissue="pathology"),),
    find=find,
    rule=f"26-connected components after growing by a ball of radius 1; those of fewer than {LEAST_VOXELS} voxels are "
    "removed; patients whose SEG has another shape than the CT are left out",
    differences={
        "dataset.json": "written; the published preparation writes none",
        "images without label": "not written for patients that are left out",
    },
)
