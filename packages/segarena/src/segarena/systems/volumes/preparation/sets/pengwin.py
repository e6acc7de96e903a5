"""D9 of RadioActive: fragments of broken pelvises in CT (PENGWIN 2024, Zenodo 10927452)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from segarena.systems.volumes.preparation.dataset_case_types import (
    ConvertedCase,
    DatasetOutput,
    PublishedSet,
    RawCase,
    SkippedCase,
)
from segarena.systems.volumes.preparation.download_sources import ZenodoRecord
from segarena.systems.volumes.preparation.instance_labels import renumber_labels
from segarena.systems.volumes.preparation.sitk_images import read_image_and_labels


def _find_cases(folder: Path) -> Iterator[RawCase | SkippedCase]:
    """Yield the patients: the image `NNN.mha`, and its label below a folder with "label" in its name."""
    images: dict[str, Path] = {}
    labels: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.mha"), key=lambda path: path.name):
        # Images and labels have the same names; only the folder differs.
        parent = path.relative_to(folder).parent.as_posix()
        by_name = labels if "label" in parent.lower() else images
        by_name[path.name] = path
    for name, image in images.items():
        if name in labels:
            convert = partial(_convert, image, labels[name])
            yield RawCase(id=image.stem, inputs=(image, labels[name]), convert=convert)
        else:
            yield SkippedCase(id=image.stem, reason="no label of that name", by_rule=False)


def _convert(image_path: Path, label_path: Path) -> ConvertedCase:
    image, labels, notes = read_image_and_labels(image_path, label_path)
    return ConvertedCase(image=image, labels={"": renumber_labels(labels)}, notes=notes)


PENGWIN = PublishedSet(
    name="pengwin",
    paper="D9",
    title="PENGWIN 2024, fragments of broken pelvises in CT",
    modality="CT",
    cases=100,
    size_gb=7.5,
    licence="see the record on Zenodo",
    source=ZenodoRecord(record=10927452),
    archives=("PENGWIN_CT*.zip",),
    outputs=(DatasetOutput(kind="instance", classes=("bone fragment",)),),
    find=_find_cases,
    rule="each id of the label file is one fragment; ids renumbered 1, 2, ... in their order",
    differences={},
)
