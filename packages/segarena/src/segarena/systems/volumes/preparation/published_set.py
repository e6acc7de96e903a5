"""Data classes of the preparation: a published set, its outputs, and its raw, converted and skipped cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.systems.volumes.preparation.download_sources import DownloadSource

if TYPE_CHECKING:
    from segarena.systems.volumes.preparation.optional_packages import sitk

LabelArray: TypeAlias = NDArray[np.integer[Any]]
"""(plane, row, column) in the stored grid of the image; 0 is background."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetOutput:
    """One dataset folder that the preparation writes."""

    # "instance": each id of a label map is one object; "organ": each id is one class.
    kind: Literal["instance", "organ"]
    # For "organ" the names of ids 1, 2, ...; for "instance" the one name of all objects.
    classes: tuple[str, ...]
    folder: str = ""  # below the set's own folder; "" is that folder
    # Whether classes share voxels, so that each is a file `labelsTr/CASE/CLASS.nii.gz`.
    overlapping: bool = False
    # The side of Table 7 of the paper on which the targets are; "" for neither.
    tissue: Literal["pathology", "organ", ""] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedCase:
    """A case that is left out, by the published rule or because its files cannot be used."""

    id: str
    reason: str
    by_rule: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedCase:
    """A case ready to be written."""

    image: sitk.Image  # the scan, in its stored grid
    # For each output's folder a label map, or masks by class where classes overlap; shape of the image.
    labels: Mapping[str, LabelArray | Mapping[str, LabelArray]]
    notes: tuple[str, ...] = ()  # facts about this case for readers of `prepared.json`


@dataclass(frozen=True, slots=True, kw_only=True)
class RawCase:
    """A case as downloaded."""

    id: str  # its name in the output
    inputs: tuple[Path, ...]  # all its files
    # Reads them; raises SampleInvalid when they cannot be used. It is pickled for other processes, so it must be a
    # `partial` of a module's function.
    convert: Callable[[], ConvertedCase | SkippedCase]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSet:
    """One of the ten sets."""

    name: str  # its name in the command
    paper: str  # "D1" to "D10"
    title: str
    modality: Literal["CT", "MR"]
    sequence: str = ""  # of an MR, such as "T1"
    cases: int  # number of cases in Table 1
    size_gb: float
    licence: str  # where to read the terms, which the user must accept
    source: DownloadSource
    outputs: tuple[DatasetOutput, ...]
    # Finds every case in a download folder, in the order of their names, without reading pixels.
    find: Callable[[Path], Iterable[RawCase | SkippedCase]]
    rule: str  # how targets are made
    # Patterns of the archives in the download folder that are unpacked.
    archives: tuple[str, ...] = ()
    differences: Mapping[str, str]  # deviations from the published preparation, by name
