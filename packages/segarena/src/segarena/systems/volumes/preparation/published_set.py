"""The words of the preparation: a published set, its outputs, a raw case, a converted case, a skipped one."""

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
    """One dataset folder that comes out."""

    # "instance": each id of a label map is one object; "organ": each id is one class.
    kind: Literal["instance", "organ"]
    classes: tuple[
        str, ...
    ]  # for "organ" the names of ids 1, 2, ...; for "instance" the one name of all objects
    folder: str = ""  # below the set's own folder; "" is that folder
    overlapping: bool = (
        False  # classes share voxels, so each is a file `labelsTr/CASE/CLASS.nii.gz`
    )
    # On which side of Table 7 of the paper the targets are; "" on neither.
    tissue: Literal["pathology", "organ", ""] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedCase:
    """A case that does not take part: the published rule leaves it out, or it should be there and cannot be used."""

    id: str
    reason: str
    by_rule: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedCase:
    """A case as it will be written."""

    image: sitk.Image  # the scan, in its stored grid
    # For each output's folder a label map, or masks by class where classes overlap; shape of the image.
    labels: Mapping[str, LabelArray | Mapping[str, LabelArray]]
    notes: tuple[str, ...] = ()  # what a reader of the result should know about this case


@dataclass(frozen=True, slots=True, kw_only=True)
class RawCase:
    """A case as downloaded."""

    id: str  # the name it will have
    inputs: tuple[Path, ...]  # every file it is made from
    # Reads them; raises SampleInvalid when they cannot be used. Travels to other processes: a `partial` of a function
    # of a module.
    convert: Callable[[], ConvertedCase | SkippedCase]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSet:
    """One of the ten."""

    name: str  # how the command calls it
    paper: str  # "D1" to "D10"
    title: str
    modality: Literal["CT", "MR"]
    sequence: str = ""  # of an MR, such as "T1"
    cases: int  # how many Table 1 states
    size_gb: float
    licence: str  # where its terms stand; they are the user's to accept
    source: DownloadSource
    outputs: tuple[DatasetOutput, ...]
    # Every case in a download folder, in the order of their names; no pixel is read.
    find: Callable[[Path], Iterable[RawCase | SkippedCase]]
    rule: str  # what becomes a target
    archives: tuple[
        str, ...
    ] = ()  # patterns of the archives in the download folder that are unpacked
    differences: Mapping[str, str]  # where this preparation departs from the published one, by name
