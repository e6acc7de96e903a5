"""D3 of RadioActive: primary tumours of head and neck in T2 MR before radiotherapy (HNTS-MRG 24, Zenodo 11199559)."""

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
from segarena.systems.volumes.preparation.download_sources import ZenodoRecord
from segarena.systems.volumes.preparation.sitk_images import read_image_and_labels


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield the patients: `preRT/ID_preRT_T2.nii.gz` with `ID_preRT_mask.nii.gz`."""
    for image in sorted(folder.rglob("preRT/*_preRT_T2.nii.gz"), key=lambda path: path.name):
        case = image.name.removesuffix("_T2.nii.gz")
        label = image.with_name(f"{case}_mask.nii.gz")
        if label.is_file():
            convert = partial(_convert, case, image, label)
            yield RawCase(id=case, inputs=(image, label), convert=convert)
        else:
            yield SkippedCase(id=case, reason="no mask next to the T2", by_rule=False)


def _convert(
    case: str,
    image_path: Path,
    label_path: Path,
) -> ConvertedCase | SkippedCase:
    image, labels, notes = read_image_and_labels(image_path, label_path)
    # The published preparation drops label 2, the lymph nodes.
    tumour = labels == 1
    if not tumour.any():
        return SkippedCase(id=case, reason="no primary tumour", by_rule=True)
    return ConvertedCase(image=image, labels={"": tumour.astype(np.uint8)}, notes=notes)


HNTSMRG = PublishedSet(
    name="hntsmrg",
    paper="D3",
    title="HNTS-MRG 2024, primary tumours in T2 MR before radiotherapy",
    modality="MR",
    sequence="T2",
    cases=135,
    size_gb=15,
    licence="see the record on Zenodo",
    source=ZenodoRecord(record=11199559),
    archives=("*.zip",),
    outputs=(DatasetOutput(kind="instance", classes=("primary tumour",), tissue="pathology"),),
    find=_find_cases,
    rule="label 1, at most one tumour per patient, so no components; lymph nodes (label 2) are background; patients "
    "without a primary tumour are left out",
    differences={},
)
