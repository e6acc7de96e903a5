"""D10 of RadioActive: 45 overlapping organs at risk in CT of head and neck (SegRap 2023)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from segarena.errors import SampleInvalid
from segarena.systems.volumes.preparation.dataset_case_types import (
    ConvertedCase,
    DatasetOutput,
    LabelArray,
    PublishedSet,
    RawCase,
    SkippedCase,
)
from segarena.systems.volumes.preparation.download_sources import ManualDownload
from segarena.systems.volumes.preparation.sitk_images import (
    check_label_grid,
    image_to_labels,
    read_image,
)

SEGRAP_ORGANS = (
    "Brain",
    "BrainStem",
    "Chiasm",
    "TemporalLobe_L",
    "TemporalLobe_R",
    "Hippocampus_L",
    "Hippocampus_R",
    "Eye_L",
    "Eye_R",
    "Lens_L",
    "Lens_R",
    "OpticNerve_L",
    "OpticNerve_R",
    "MiddleEar_L",
    "MiddleEar_R",
    "IAC_L",
    "IAC_R",
    "TympanicCavity_L",
    "TympanicCavity_R",
    "VestibulSemi_L",
    "VestibulSemi_R",
    "Cochlea_L",
    "Cochlea_R",
    "ETbone_L",
    "ETbone_R",
    "Pituitary",
    "OralCavity",
    "Mandible_L",
    "Mandible_R",
    "Submandibular_L",
    "Submandibular_R",
    "Parotid_L",
    "Parotid_R",
    "Mastoid_L",
    "Mastoid_R",
    "TMjoint_L",
    "TMjoint_R",
    "SpinalCord",
    "Esophagus",
    "Larynx",
    "Larynx_Glottic",
    "Larynx_Supraglot",
    "PharynxConst",
    "Thyroid",
    "Trachea",
)
"""Class names of the ids 1 to 45, in the order of the challenge."""

SEGRAP_CASES = 30


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield each patient: a folder `segrap_NNNN` with `image.nii.gz`, and one of the same name with `ORGAN.nii.gz`."""
    images = {path.parent.name: path for path in sorted(folder.rglob("image.nii.gz"))}
    organs: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.rglob("*.nii.gz")):
        organ = path.name.removesuffix(".nii.gz")
        if organ in SEGRAP_ORGANS and path.parent.name in images:
            organs.setdefault(path.parent.name, {})[organ] = path
    for rank, (case, image) in enumerate(sorted(images.items())):
        # The paper uses 30 patients. Its code takes them in directory order, which differs between
        # machines.
        if rank >= SEGRAP_CASES:
            yield SkippedCase(
                id=case,
                reason=f"only the first {SEGRAP_CASES} patients in sorted order are used",
                by_rule=True,
            )
        elif case not in organs:
            yield SkippedCase(id=case, reason="no organs for this image", by_rule=False)
        else:
            found = organs[case]
            # In the order of the class ids.
            paths = {organ: found[organ] for organ in SEGRAP_ORGANS if organ in found}
            convert = partial(_convert, image, paths)
            yield RawCase(id=case, inputs=(image, *paths.values()), convert=convert)


def _convert(image_path: Path, organs: dict[str, Path]) -> ConvertedCase:
    image = read_image(image_path)
    masks: dict[str, LabelArray] = {}
    notes: list[str] = []
    for organ, path in organs.items():
        label = read_image(path)
        notes += check_label_grid(label, image, path.name)
        mask = image_to_labels(label, path.name) != 0
        if mask.any():
            masks[organ] = mask.astype(np.uint8)
    if not masks:
        raise SampleInvalid(f"{image_path.parent.name}: all organs are empty")
    lacking = [organ for organ in SEGRAP_ORGANS if organ not in masks]
    if lacking:
        notes.append(f"without {', '.join(lacking)}")
    return ConvertedCase(image=image, labels={"": masks}, notes=tuple(notes))


SEGRAP = PublishedSet(
    name="segrap",
    paper="D10",
    title="SegRap 2023, organs at risk of head and neck in CT",
    modality="CT",
    cases=SEGRAP_CASES,
    size_gb=20,
    licence="see the challenge's page; the archives' password comes from its providers",
    source=ManualDownload(
        page="https://segrap2023.grand-challenge.org/dataset/",
        wanted=("SegRap2023_Training_Set_120cases.zip", "*Update_Labels*.zip"),
    ),
    archives=("SegRap2023_Training_Set_120cases.zip", "*Update_Labels*.zip"),
    outputs=(
        DatasetOutput(
            kind="organ",
            classes=SEGRAP_ORGANS,
            overlapping=True,
            tissue="organ",
        ),
    ),
    find=_find_cases,
    rule=f"45 classes that share voxels, one file each; the first {SEGRAP_CASES} patients in sorted order",
    differences={
        "which 30": "the first in sorted order; the published code counts 30 in the order of the folder, and then "
        "converts all 120",
        "layout": "labelsTr/CASE/CLASS.nii.gz; the published .in.nrrd files are not found by its own case finder",
    },
)
