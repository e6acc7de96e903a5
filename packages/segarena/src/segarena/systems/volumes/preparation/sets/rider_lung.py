"""D4 of RadioActive: lung lesions in CT (RIDER Lung CT with segmentations, TCIA)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from segarena.systems.volumes.preparation.dataset_case_types import (
    DatasetOutput,
    PublishedSet,
    RawCase,
    SkippedCase,
)
from segarena.systems.volumes.preparation.dicom_cases import convert_union, make_case
from segarena.systems.volumes.preparation.dicom_series import (
    DicomSeries,
    find_series,
    group_series,
    select_modality,
)
from segarena.systems.volumes.preparation.download_sources import TciaManifests
from segarena.systems.volumes.preparation.instance_labels import label_instances


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield pairs of a CT and a SEG in the same study; of several pairs, those whose SEG refers to the CT."""
    studies = group_series(find_series(folder), lambda series: series.study)
    pairs: list[tuple[DicomSeries, DicomSeries]] = []
    for study in studies.values():
        pairs.extend(_find_pairs(study))
    convert = partial(convert_union, wanted=select_manual_segment, label=label_instances)
    for number, (ct, seg) in enumerate(pairs):
        yield make_case(f"rider_lung_{number:04d}", ct, seg, convert)
    paired = {ct.uid for ct, _ in pairs}
    for ct in select_modality(chain.from_iterable(studies.values()), "CT"):
        if ct.uid not in paired:
            yield SkippedCase(id=ct.uid, reason="a CT series without a segmentation", by_rule=True)


def _find_pairs(study: list[DicomSeries]) -> list[tuple[DicomSeries, DicomSeries]]:
    cts = select_modality(study, "CT")
    segs = select_modality(study, "SEG")
    if len(cts) == 1 and len(segs) == 1:
        return [(cts[0], segs[0])]
    # If several SEGs refer to one CT, the first is used.
    seg_by_ct = {seg.refers_to: seg for seg in reversed(segs)}
    pairs: list[tuple[DicomSeries, DicomSeries]] = []
    for ct in cts:
        if ct.uid in seg_by_ct:
            pairs.append((ct, seg_by_ct[ct.uid]))
    return pairs


def select_manual_segment(names: tuple[str, ...]) -> list[int]:
    """Return the index of the manual segment: the second if there are several, because the first is a prediction."""
    return [min(1, len(names) - 1)]


RIDER_LUNG = PublishedSet(
    name="rider_lung",
    paper="D4",
    title="RIDER Lung CT, lesions",
    modality="CT",
    cases=58,
    size_gb=8.5,
    licence="see the collection's page at TCIA",
    source=TciaManifests(
        page="https://www.cancerimagingarchive.net/analysis-result/rider-lungct-seg/", manifests=2
    ),
    outputs=(DatasetOutput(kind="instance", classes=("lung lesion",), tissue="pathology"),),
    find=_find_cases,
    rule="the SEG's second segment, or its only one; 26-connected components",
    differences={
        "resampling": "frames are resampled to CT slices by nearest neighbour; voxels of equal grids stay the same",
    },
)
