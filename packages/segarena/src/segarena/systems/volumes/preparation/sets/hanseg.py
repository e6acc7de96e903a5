"""D2 of RadioActive: 30 organs at risk in T1 MR of the head and neck (HaN-Seg, Zenodo 7442914), drawn on CT.

The preparation transfers the labels from CT to MR by rigid registration.
"""

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
from segarena.systems.volumes.preparation.registration import register_rigidly
from segarena.systems.volumes.preparation.sitk_images import (
    image_to_labels,
    read_image,
    resample_labels,
)

HANSEG_ORGANS = (
    "A_Carotid_L",
    "A_Carotid_R",
    "Arytenoid",
    "Bone_Mandible",
    "Brainstem",
    "BuccalMucosa",
    "Cavity_Oral",
    "Cochlea_L",
    "Cochlea_R",
    "Cricopharyngeus",
    "Esophagus_S",
    "Eye_AL",
    "Eye_AR",
    "Eye_PL",
    "Eye_PR",
    "Glnd_Lacrimal_L",
    "Glnd_Lacrimal_R",
    "Glnd_Submand_L",
    "Glnd_Submand_R",
    "Glnd_Thyroid",
    "Glottis",
    "Larynx_SG",
    "Lips",
    "OpticChiasm",
    "OpticNrv_L",
    "OpticNrv_R",
    "Parotid_L",
    "Parotid_R",
    "Pituitary",
    "SpinalCord",
)
"""Class names of the ids 1 to 30, in alphabetical order."""


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield the patients: folders `case_NN` with `*_IMG_CT.nrrd`, `*_IMG_MR_T1.nrrd` and `*_OAR_ORGAN.seg.nrrd`."""
    for mr in sorted(folder.rglob("case_*_IMG_MR_T1.nrrd"), key=lambda path: path.name):
        case = mr.name.removesuffix("_IMG_MR_T1.nrrd")
        ct = mr.with_name(f"{case}_IMG_CT.nrrd")
        organs: dict[int, Path] = {}
        for number, organ in enumerate(HANSEG_ORGANS, start=1):
            path = mr.with_name(f"{case}_OAR_{organ}.seg.nrrd")
            if path.is_file():
                organs[number] = path
        if not ct.is_file() or not organs:
            lacking = "organs" if ct.is_file() else "CT"
            yield SkippedCase(id=case, reason=f"no {lacking} next to the MR", by_rule=False)
        else:
            convert = partial(_convert, mr, ct, organs)
            yield RawCase(id=case, inputs=(mr, ct, *organs.values()), convert=convert)


def _convert(
    mr_path: Path,
    ct_path: Path,
    organs: dict[int, Path],
) -> ConvertedCase:
    mr = read_image(mr_path)
    ct = read_image(ct_path)
    # The published preparation resets the direction before registration.
    mr.SetDirection(tuple(np.eye(3).ravel()))
    transform = register_rigidly(ct, mr)
    # SimpleITK returns sizes as (x, y, z).
    shape = mr.GetSize()[::-1]
    labels = np.zeros(shape, dtype=np.uint8)
    # In ascending order of the ids: where organs overlap, the higher id wins.
    for number, path in organs.items():
        organ = resample_labels(read_image(path), mr, transform)
        is_organ = image_to_labels(organ, path.name) == 1
        labels[is_organ] = number
    angles, shifts_mm = np.split(np.array(transform.GetParameters()), 2)
    degrees = np.rad2deg(angles).round(2).tolist()
    note = f"CT to MR: rotated by {degrees} degrees, moved by {shifts_mm.round(2).tolist()} mm"
    return ConvertedCase(image=mr, labels={"": labels}, notes=(note,))


HANSEG = PublishedSet(
    name="hanseg",
    paper="D2",
    title="HaN-Seg, organs at risk of head and neck in T1 MR",
    modality="MR",
    sequence="T1",
    cases=42,
    size_gb=4.9,
    licence="see the record on Zenodo; the archive's password comes from its providers",
    source=ZenodoRecord(record=7442914),
    archives=("*.zip",),
    outputs=(DatasetOutput(kind="organ", classes=HANSEG_ORGANS, tissue="organ"),),
    find=_find_cases,
    rule="30 classes, ids alphabetical; the MR's direction set to identity, the CT registered to it rigidly, its "
    "organs resampled by nearest neighbour; where organs overlap, the higher id wins",
    differences={
        "registration": "SimpleITK (mutual information, centre of gravity) instead of elastix, which its wheels lack",
        "direction of the image": "written after it was set to identity, so that image and labels coincide; "
        "the published image keeps the original direction",
        "overlaps": "the higher id wins; in the published code the order of the folder decides",
    },
)
