"""Label volumes to targets: one per class, one per number, or one per connected component."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
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
    window_shape,
)
from segarena.arrays.components import Connectivity, grown_components
from segarena.errors import PluginInvalid
from segarena.samples import Mask, Target

Integers: TypeAlias = NDArray[np.integer[Any]]
LabelMeaning: TypeAlias = Literal["semantic", "instance", "components"]

# Above this, the numbers that are there are counted instead of all numbers up to the highest.
_MANY = 1 << 16


class LabelGroup(NamedTuple):
    """One label array of a case: a group of its file, or one of several files.

    `name` is that of its file where a case has one file per class; `names` says what its numbers are called.
    """

    labels: Integers
    name: str = ""
    names: Mapping[int, str] = {}


class _Found(NamedTuple):
    """What may become a target: `mask` is what lies in `window` of the whole volume."""

    id: str
    label: str
    window: Window
    mask: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRules:
    """What becomes a target; the attributes are the options of the dataset `nifti-folder`, where they are explained.

    A number in no class of `classes` is a class of its own.

    Raises:
        PluginInvalid: an option has no such value.

    Source: the datasets of RadioActive: components with connectivity 26 (D1, D4, D5) or 18 (lesions of D8), and with
        dilation by 1 and at least 30 voxels (D7); instances (D6, D9); classes (D2, D10).
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
        """Return the targets of one case, in the order of its files, groups, classes and numbers.

        Masks cover the whole volume, but their memory is only taken where they hold something. Where several groups
        have targets of the same id, the second is called `id#2`. With `labels="components"`, the components of class
        `liver` are `liver/1`, `liver/2`, ... in the order of their first voxels, left out ones counted too.
        """
        ignore = self._ignored(case)
        voxel_mm3 = math.prod(spacing_mm)
        seen: Counter[str] = Counter()
        targets: list[Target] = []
        for labelled in case:
            for found in self._find(labelled):
                voxels = int(np.count_nonzero(found.mask))
                if voxels < max(1, self.min_voxels) or voxels * voxel_mm3 < self.min_volume_mm3:
                    continue
                seen[found.id] += 1
                number = seen[found.id]
                # Pages of memory that nothing is written to stay unused, however large the volume.
                mask = np.zeros(labelled.labels.shape, dtype=np.bool_)
                mask[found.window] = found.mask
                name = found.id if number == 1 else f"{found.id}#{number}"
                attributes = self._attributes(found.label, voxels * voxel_mm3)
                targets.append(
                    Target(
                        id=name, mask=mask, ignore=ignore, label=found.label, attributes=attributes
                    )
                )
        return tuple(targets)

    def _find(self, labelled: LabelGroup) -> Iterator[_Found]:
        windows = find_label_windows(labelled.labels)
        windows.pop(self.ignore_value or 0, None)
        if self.labels == "instance":
            yield from self._instances(labelled, windows)
            return
        for name, numbers in self._classes_in(labelled, sorted(windows)).items():
            if name in self.excluded_classes:
                continue
            window = reduce(join_windows, (windows[number] for number in numbers))
            crop = labelled.labels[window]
            mask = crop == numbers[0] if len(numbers) == 1 else np.isin(crop, numbers)
            if self.labels == "components":
                yield from self._components(name, window, mask, labelled.labels.shape)
            else:
                yield _Found(name, name, window, mask)

    def _instances(self, labelled: LabelGroup, windows: Mapping[int, Window]) -> Iterator[_Found]:
        only = next(iter(self.classes), "") if len(self.classes) == 1 else ""
        for number, window in windows.items():
            named = [name for name, numbers in self.classes.items() if number in numbers]
            label = labelled.name or labelled.names.get(number) or (named[0] if named else only)
            if label not in self.excluded_classes and str(number) not in self.excluded_classes:
                yield _Found(
                    _joined(labelled.name, str(number)),
                    label,
                    window,
                    labelled.labels[window] == number,
                )

    def _classes_in(self, labelled: LabelGroup, numbers: Sequence[int]) -> dict[str, list[int]]:
        """Return the numbers that are there, by class; a number may be in several classes."""
        if labelled.name and len(numbers) == 1:
            return {labelled.name: list(numbers)}
        classes = {
            name: [n for n in numbers if n in wanted] for name, wanted in self.classes.items()
        }
        known = set(chain.from_iterable(classes.values()))
        for number in numbers:
            if number not in known:
                classes.setdefault(labelled.names.get(number, str(number)), []).append(number)
        return {_joined(labelled.name, name): some for name, some in classes.items() if some}

    def _components(
        self, name: str, window: Window, mask: Mask, shape: tuple[int, ...]
    ) -> Iterator[_Found]:
        if (
            self.dilation_voxels
        ):  # the grown parts may meet outside the window, but not outside the volume
            outer = grow_window(window, self.dilation_voxels, shape)
            mask = np.pad(
                mask,
                [(w.start - o.start, o.stop - w.stop) for w, o in zip(window, outer, strict=True)],
            )
            window = outer
        labels = grown_components(
            mask, connectivity=self.connectivity, dilation_voxels=self.dilation_voxels
        )
        # The dilated components come in the order of their own first voxels, which may differ.
        inner = find_label_windows(labels)
        ordered = sorted(inner, key=lambda number: _first_voxel(labels, inner[number], number))
        for count, number in enumerate(ordered, start=1):
            yield _Found(
                f"{name}/{count}",
                name,
                from_window(inner[number], window),
                labels[inner[number]] == number,
            )

    def _attributes(self, label: str, volume_mm3: float) -> dict[str, str | float]:
        kind = self.kind if isinstance(self.kind, str) else self.kind.get(label, "")
        known = {"modality": self.modality, "kind": kind}
        return {**{key: value for key, value in known.items() if value}, "volume_mm3": volume_mm3}

    def _ignored(self, case: Sequence[LabelGroup]) -> Mask | None:
        if self.ignore_value is None:
            return None
        ignore = np.logical_or.reduce([labelled.labels == self.ignore_value for labelled in case])
        return ignore if ignore.any() else None


def find_label_windows(labels: Integers) -> dict[int, Window]:
    """Return the window of each number but 0 in a label array (plane, row, column), by number, ascending."""
    from scipy import ndimage

    frame = bounding_window(cast("Mask", labels))  # it asks only what is not zero
    if is_empty(frame):
        return {}
    crop = labels[frame]
    highest = int(crop.max())
    numbers = np.arange(1, highest + 1) if highest < _MANY else np.unique(crop[crop > 0])
    if highest >= _MANY:
        crop = np.where(crop > 0, np.searchsorted(numbers, crop) + 1, 0)
    found = cast("list[Window | None]", ndimage.find_objects(crop))
    return {
        int(n): from_window(window, frame)
        for n, window in zip(numbers, found, strict=True)
        if window is not None
    }


def _first_voxel(labels: Integers, window: Window, number: int) -> tuple[int, ...]:
    place = np.unravel_index(int((labels[window] == number).argmax()), window_shape(window))
    return tuple(int(index) + w.start for index, w in zip(place, window, strict=True))


def _joined(first: str, second: str) -> str:
    return f"{first}/{second}" if first else second
