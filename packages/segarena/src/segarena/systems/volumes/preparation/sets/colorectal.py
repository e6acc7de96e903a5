"""D6 of RadioActive: liver metastases of colorectal cancer in CT (Colorectal-Liver-Metastases, IDC)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from segarena.errors import SampleInvalid
from segarena.systems.volumes.preparation.dataset_case_types import (
    ConvertedCase,
    DatasetOutput,
    PublishedSet,
    RawCase,
    SkippedCase,
)
from segarena.systems.volumes.preparation.dicom_cases import (
    make_single_case,
    read_ct_and_segmentation,
)
from segarena.systems.volumes.preparation.dicom_series import (
    DicomSeries,
    find_series,
    group_series,
    select_modality,
)
from segarena.systems.volumes.preparation.download_sources import IdcManifest
from segarena.systems.volumes.preparation.instance_labels import renumber_labels

OVERLAPPING_PATIENTS = (
    1020,
    1026,
    1027,
    1031,
    1037,
    1049,
    1053,
    1057,
    1070,
    1078,
    1080,
    1081,
    1083,
    1088,
    1112,
    1122,
    1127,
    1133,
    1139,
    1145,
    1155,
    1168,
    1173,
    1186,
    1190,
)
"""N of the patients CRLM-CT-N whose tumours overlap."""

MISSING_PATIENTS = (1183,)
"""The patient whose files were incomplete when the paper's authors downloaded them."""


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield the patients, each with one CT and one SEG with the description "Segmentation"."""
    patients = group_series(find_series(folder), lambda series: series.patient)
    for patient, series in patients.items():
        if patient in _EXCLUDED:
            yield SkippedCase(id=patient, reason=_EXCLUDED[patient], by_rule=True)
            continue
        cts = select_modality(series, "CT")
        segs = [seg for seg in select_modality(series, "SEG") if seg.description == "Segmentation"]
        expected = "one CT and one SEG 'Segmentation'"
        yield make_single_case(patient, cts, segs, _convert, expected=expected)


_EXCLUDED: dict[str, str] = {}
for _number in OVERLAPPING_PATIENTS:
    _EXCLUDED[f"CRLM-CT-{_number}"] = "tumours overlap"
for _number in MISSING_PATIENTS:
    _EXCLUDED[f"CRLM-CT-{_number}"] = "left out by the paper, whose download lacked it"


def _convert(ct: DicomSeries, seg: DicomSeries) -> ConvertedCase:
    image, segmentation, notes = read_ct_and_segmentation(ct, seg, wanted=_tumours)
    if not segmentation.masks:
        names = ", ".join(segmentation.names)
        raise SampleInvalid(f"SEG {seg.uid}: no segment's name starts with 'Tumor'; it has {names}")
    labels = np.zeros(segmentation.masks[0].shape, dtype=np.uint16)
    for number, mask in enumerate(segmentation.masks, start=1):
        if labels[mask].any():
            raise SampleInvalid(
                f"SEG {seg.uid}: tumours overlap, which one label map cannot represent"
            )
        labels[mask] = number
    return ConvertedCase(image=image, labels={"": renumber_labels(labels)}, notes=notes)


def _tumours(names: tuple[str, ...]) -> list[int]:
    return [index for index, name in enumerate(names) if name.startswith("Tumor")]


COLORECTAL = PublishedSet(
    name="colorectal",
    paper="D6",
    title="Liver metastases of colorectal cancer in CT",
    modality="CT",
    cases=171,
    size_gb=11,
    licence="see the collection's page at TCIA or IDC",
    source=IdcManifest(collection="colorectal_liver_metastases"),
    outputs=(DatasetOutput(kind="instance", classes=("liver metastasis",), tissue="pathology"),),
    find=_find_cases,
    rule='each segment whose name starts with "Tumor" is one instance; of 197 patients 26 are left out by name: 25 '
    "with overlapping tumours, and 1 that was missing",
    differences={
        "extra label files": "not written; the published orig_* files become cases without images",
    },
)
