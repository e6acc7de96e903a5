"""Data classes of the preparation: published datasets, their outputs, and raw, converted and skipped cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.systems.volumes.preparation.download_sources import DownloadSource
from segarena.systems.volumes.preparation.optional_packages import sitk

LabelArray: TypeAlias = NDArray[np.integer[Any]]
"""Label map (plane, row, column) in the stored grid of the image; 0 is background."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetOutput:
    """One dataset folder that the preparation writes."""

    # "instance": each id of a label map is one object; "organ": each id is one class.
    kind: Literal["instance", "organ"]
    # For "organ" the names of ids 1, 2, ...; for "instance" the common name of all objects.
    classes: tuple[str, ...]
    folder: str = ""  # below the set's own folder; "" is that folder
    # Whether classes overlap, so that each is written to a separate file
    # `labelsTr/CASE/CLASS.nii.gz`.
    overlapping: bool = False
    # Group of the targets in Table 7 of the paper; "" if the table does not contain them.
    tissue: Literal["pathology", "organ", ""] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedCase:
    """A case that is skipped, by the published rule or because its files cannot be used."""

    id: str
    reason: str
    by_rule: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedCase:
    """A case ready to be written."""

    image: sitk.Image  # the scan, in its stored grid
    # One entry per output folder: a label map, or masks by class if classes overlap; in the shape
    # of the image.
    labels: Mapping[str, LabelArray | Mapping[str, LabelArray]]
    notes: tuple[str, ...] = ()  # facts about this case for readers of `prepared.json`


@dataclass(frozen=True, slots=True, kw_only=True)
class RawCase:
    """A case in the downloaded files."""

    id: str  # its name in the output
    inputs: tuple[Path, ...]  # all its files
    # Function that reads the case; raises SampleInvalid if it cannot be used. It is pickled for
    # other processes, so it must be a `partial` of a module-level function.
    convert: Callable[[], ConvertedCase | SkippedCase]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSet:
    """One of the ten published datasets."""

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
    # Function that finds all cases in a download folder, in the order of their names, without
    # reading pixels.
    find: Callable[[Path], Iterable[RawCase | SkippedCase]]
    rule: str  # how targets are made
    # File patterns of the archives to unpack in the download folder.
    archives: tuple[str, ...] = ()
    differences: Mapping[str, str]  # deviations from the published preparation, by name
