"""D5 of RadioActive: mediastinal lymph nodes in CT (LNQ 2023, TCIA)."""

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
    find_series,
    group_series,
    select_modality,
)
from segarena.systems.volumes.preparation.download_sources import TciaCollection
from segarena.systems.volumes.preparation.instance_labels import label_instances


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield the studies, each with one CT and one SEG."""
    studies = group_series(find_series(folder), lambda series: series.study)
    for number, study in enumerate(studies.values()):
        cts = select_modality(study, "CT")
        segs = select_modality(study, "SEG")
        convert = partial(convert_union, label=label_instances)
        expected = f"one CT and one SEG in study {study[0].study}"
        yield make_single_case(f"lnq_{number:04d}", cts, segs, convert, expected=expected)


LNQ = PublishedSet(
    name="lnq",
    paper="D5",
    title="Mediastinal lymph nodes (LNQ 2023) in CT",
    modality="CT",
    cases=513,
    size_gb=35,
    licence="see the collection's page at TCIA",
    source=TciaCollection(
        collection="Mediastinal-Lymph-Node-SEG",
        page="https://www.cancerimagingarchive.net/collection/mediastinal-lymph-node-seg/",
    ),
    outputs=(DatasetOutput(kind="instance", classes=("lymph node",), tissue="pathology"),),
    find=_find_cases,
    rule="26-connected components; frames put on the CT by their positions",
    differences={
        "extra label files": "not written; the published not_padded_* files become cases without images",
    },
)
