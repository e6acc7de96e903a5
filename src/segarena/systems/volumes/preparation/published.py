"""The words of the preparation: a published set, its outputs, a raw case, a converted case, a skipped one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.systems.volumes.preparation.sources import DownloadSource

if TYPE_CHECKING:
    from segarena.systems.volumes.preparation.radiology import sitk

LabelArray: TypeAlias = NDArray[np.integer[Any]]
"""(plane, row, column) in the stored grid of the image; 0 is background."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One dataset folder that comes out.

    Attributes:
        folder: below the set's own folder; "" is that folder.
        kind: "instance": each id of a label map is one object; "organ": each id is one class.
        classes: for "organ" the names of ids 1, 2, ...; for "instance" the one name of all objects.
        overlapping: classes share voxels, so each is a file `labelsTr/CASE/CLASS.nii.gz`.
        tissue: on which side of Table 7 of the paper the targets are; "" on neither.
    """

    kind: Literal["instance", "organ"]
    classes: tuple[str, ...]
    folder: str = ""
    overlapping: bool = False
    tissue: Literal["pathology", "organ", ""] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A case that does not take part: the published rule leaves it out, or it should be there and cannot be used."""

    id: str
    reason: str
    by_rule: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """A case as it will be written.

    Attributes:
        image: the scan, in its stored grid.
        labels: for each output's folder a label map, or masks by class where classes overlap; shape of the image.
        notes: what a reader of the result should know about this case.
    """

    image: sitk.Image
    labels: Mapping[str, LabelArray | Mapping[str, LabelArray]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RawCase:
    """A case as downloaded.

    Attributes:
        id: the name it will have.
        inputs: every file it is made from.
        convert: reads them; raises SampleInvalid when they cannot be used. Travels to other processes: a `partial` of a
            function of a module.
    """

    id: str
    inputs: tuple[Path, ...]
    convert: Callable[[], Converted | Skipped]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSet:
    """One of the ten.

    Attributes:
        name: how the command calls it.
        paper: "D1" to "D10".
        sequence: of an MR, such as "T1".
        cases: how many Table 1 states.
        licence: where its terms stand; they are the user's to accept.
        archives: patterns of the archives in the download folder that are unpacked.
        find: every case in a download folder, in the order of their names; no pixel is read.
        rule: what becomes a target.
        differences: where this preparation departs from the published one, by name.
    """

    name: str
    paper: str
    title: str
    modality: Literal["CT", "MR"]
    sequence: str = ""
    cases: int
    size_gb: float
    licence: str
    source: DownloadSource
    outputs: tuple[Output, ...]
    find: Callable[[Path], Iterable[RawCase | Skipped]]
    rule: str
    archives: tuple[str, ...] = ()
    differences: Mapping[str, str]
