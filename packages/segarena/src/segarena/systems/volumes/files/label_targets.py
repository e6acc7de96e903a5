"""Conversion of label volumes to targets: one per class, label value, or connected component."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import (
    Window,
    bounding_window,
    from_window,
    grow_window,
    is_empty,
    join_windows,
    window_start,
)
from segarena.arrays.connected_components import Connectivity, label_grown_components
from segarena.errors import PluginInvalid
from segarena.samples import Mask, Target

Integers: TypeAlias = NDArray[np.integer[Any]]
LabelMeaning: TypeAlias = Literal["semantic", "instance", "components"]

# Above this maximum, only the label values that occur are counted, not the whole range up to the
# highest.
_MOST_CONSECUTIVE_LABELS = 1 << 16


class LabelGroup(NamedTuple):
    """One label array of a case: one group of a label file, or one of several label files.

    `name` is the class of the file if a case has one file per class; `names` contains the names of
    the label values.
    """

    labels: Integers
    name: str = ""
    names: Mapping[int, str] = {}


class _Candidate(NamedTuple):
    """Potential target; `mask` covers only `window`, a part of the volume."""

    id: str
    label: str
    window: Window
    mask: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRules:
    """Rules that convert labels to targets; the attributes are the options of the dataset `nifti-folder`.

    A label value that is in no class of `classes` is a separate class.

    Raises:
        PluginInvalid: the value of an option is invalid.

    Source: the datasets of RadioActive. They use components with connectivity 26 (D1, D4, D5) or 18
    (lesions of D8), components after dilation by 1 with at least 30 voxels (D7), instances (D6,
    D9), or classes (D2, D10).
    """

    labels: LabelMeaning = "semantic"
    connectivity: Connectivity = 26
    dilation_voxels: int = 0
    min_voxels: int = 1
    min_volume_mm3: float = 0.0
    classes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    excluded_classes: tuple[str, ...] = ()
    kind: str | Mapping[str, str] = ""
    ignore_value: int | None = None
    modality: str = ""

    def __post_init__(self) -> None:
        if self.dilation_voxels < 0 or (self.dilation_voxels and self.labels != "components"):
            raise PluginInvalid(
                f"dilation_voxels={self.dilation_voxels} with labels={self.labels!r}: expected 0 or more, "
                "and only with labels='components'"
            )

    def targets(
        self, case: Sequence[LabelGroup], spacing_mm: Sequence[float]
    ) -> tuple[Target, ...]:
        """Return the targets of one case, in the order of files, groups, classes and label values.

        Masks have the shape of the volume but use memory only where they are not empty. If several
        groups have targets with the same id, the second one is called `id#2`. With
        `labels="components"`, the components of class `liver` are called `liver/1`, `liver/2`, ...
        in the order of their first voxels; the numbers of components that are too small stay
        unused.
        """
        ignore = self._ignore_mask(case)
        voxel_mm3 = math.prod(spacing_mm)
        occurrences: Counter[str] = Counter()
        targets: list[Target] = []
        for group in case:
            for candidate in self._candidates(group):
                voxels = int(np.count_nonzero(candidate.mask))
                volume_mm3 = voxels * voxel_mm3
                if voxels < max(1, self.min_voxels) or volume_mm3 < self.min_volume_mm3:
                    continue
                occurrences[candidate.id] += 1
                number = occurrences[candidate.id]
                # The operating system allocates the pages of a zeroed array only when they are
                # first written.
                mask = np.zeros(group.labels.shape, dtype=np.bool_)
                mask[candidate.window] = candidate.mask
                target = Target(
                    id=candidate.id if number == 1 else f"{candidate.id}#{number}",
                    mask=mask,
                    ignore=ignore,
                    label=candidate.label,
                    attributes=self._attributes(candidate.label, volume_mm3),
                )
                targets.append(target)
        return tuple(targets)

    def _candidates(self, group: LabelGroup) -> Iterator[_Candidate]:
        windows = find_label_windows(group.labels)
        windows.pop(self.ignore_value or 0, None)
        if self.labels == "instance":
            yield from self._instances(group, windows)
            return
        for name, numbers in self._group_by_class(group, sorted(windows)).items():
            if name in self.excluded_classes:
                continue
            window = reduce(join_windows, (windows[number] for number in numbers))
            crop = group.labels[window]
            if len(numbers) == 1:
                mask = crop == numbers[0]
            else:
                mask = np.isin(crop, numbers)
            if self.labels == "components":
                yield from self._components(name, window, mask, group.labels.shape)
            else:
                yield _Candidate(name, name, window, mask)

    def _instances(self, group: LabelGroup, windows: Mapping[int, Window]) -> Iterator[_Candidate]:
        for number, window in windows.items():
            label = self._instance_label(group, number)
            # A class without a name is excluded by its label value.
            if label in self.excluded_classes or str(number) in self.excluded_classes:
                continue
            name = _join_names(group.name, str(number))
            mask = group.labels[window] == number
            yield _Candidate(name, label, window, mask)

    def _instance_label(self, group: LabelGroup, number: int) -> str:
        """Return an instance's class: from its file, from the options, or the only class; "" if unknown."""
        own_name = group.name or group.names.get(number)
        if own_name:
            return own_name
        for name, numbers in self.classes.items():
            if number in numbers:
                return name
        if len(self.classes) == 1:
            (only,) = self.classes
            return only
        return ""

    def _group_by_class(self, group: LabelGroup, numbers: Sequence[int]) -> dict[str, list[int]]:
        """Return the label values that occur, by class; a value may be in several classes."""
        if group.name and len(numbers) == 1:
            return {group.name: list(numbers)}
        by_class: dict[str, list[int]] = {}
        known: set[int] = set()
        for name, wanted in self.classes.items():
            by_class[name] = [number for number in numbers if number in wanted]
            # The options may assign a label value to several classes.
            known.update(by_class[name])
        for number in numbers:
            if number not in known:
                name = group.names.get(number, str(number))
                by_class.setdefault(name, []).append(number)
        return {_join_names(group.name, name): found for name, found in by_class.items() if found}

    def _components(
        self,
        name: str,
        window: Window,
        mask: Mask,
        shape: tuple[int, ...],
    ) -> Iterator[_Candidate]:
        if self.dilation_voxels:
            # The dilated parts may touch outside the window, but not outside the volume.
            outer = grow_window(window, self.dilation_voxels, shape)
            margins: list[tuple[int, int]] = []
            for inside, around in zip(window, outer, strict=True):
                margins.append((inside.start - around.start, around.stop - inside.stop))
            mask = np.pad(mask, margins)
            window = outer
        labels = label_grown_components(
            mask, connectivity=self.connectivity, dilation_voxels=self.dilation_voxels
        )
        # Labels are in the order of the first voxels after dilation. Targets are in the order of
        # the first voxels of the mask itself, which may differ.
        inner = find_label_windows(labels)
        ordered = sorted(inner, key=lambda number: _first_voxel(labels, inner[number], number))
        for count, number in enumerate(ordered, start=1):
            component = labels[inner[number]] == number
            yield _Candidate(f"{name}/{count}", name, from_window(inner[number], window), component)

    def _attributes(self, label: str, volume_mm3: float) -> dict[str, str | float]:
        attributes: dict[str, str | float] = {}
        if self.modality:
            attributes["modality"] = self.modality
        kind = self.kind if isinstance(self.kind, str) else self.kind.get(label, "")
        if kind:
            attributes["kind"] = kind
        attributes["volume_mm3"] = volume_mm3
        return attributes

    def _ignore_mask(self, case: Sequence[LabelGroup]) -> Mask | None:
        if self.ignore_value is None:
            return None
        ignored = [group.labels == self.ignore_value for group in case]
        # A voxel that any of several label files marks as ignored is ignored for all targets.
        union = np.logical_or.reduce(ignored)
        return union if union.any() else None


def find_label_windows(labels: Integers) -> dict[int, Window]:
    """Return the bounding window of each nonzero value in a label array (plane, row, column), in ascending order."""
    # Imported late because SciPy makes `import segarena` slower.
    from scipy import ndimage

    # `bounding_window` only tests whether voxels are nonzero.
    frame = bounding_window(cast("Mask", labels))
    if is_empty(frame):
        return {}
    crop = labels[frame]
    highest = int(crop.max())
    if highest < _MOST_CONSECUTIVE_LABELS:
        numbers = np.arange(1, highest + 1)
    else:
        # `find_objects` takes time and memory proportional to the highest label value.
        numbers = np.unique(crop[crop > 0])
        crop = np.where(crop > 0, np.searchsorted(numbers, crop) + 1, 0)
    found = cast("list[Window | None]", ndimage.find_objects(crop))
    windows: dict[int, Window] = {}
    for number, window in zip(numbers, found, strict=True):
        if window is not None:
            windows[int(number)] = from_window(window, frame)
    return windows


def _first_voxel(
    labels: Integers,
    window: Window,
    number: int,
) -> tuple[int, ...]:
    """Return the position of a label's first voxel in raster order."""
    is_label = labels[window] == number
    first = np.unravel_index(int(is_label.argmax()), is_label.shape)
    starts = window_start(window)
    return tuple(int(index) + start for index, start in zip(first, starts, strict=True))


def _join_names(first: str, second: str) -> str:
    return f"{first}/{second}" if first else second
