"""A prediction held against its target, looked at once and read by everybody.

Metrics, users and stop rules of one round all ask where the two masks differ and by how many pixels. A
`Comparison` finds that out once, on the smallest window that holds both masks, and keeps it. What depends on
the target alone stays in its `Reference` over all rounds and all dialogues about that target.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from segarena.arrays.boxes import Window, bounding_window, join_windows
from segarena.arrays.lazy_volume import LazyVolume
from segarena.arrays.pixel_depths import PixelDepths, pixel_depths, thin_mask_depths
from segarena.errors import InvalidMask
from segarena.readonly import freeze, read_only
from segarena.samples import Mask, Target, as_mask

T = TypeVar("T")


class Memory:
    """Keeps values computed the first time they are asked for; arrays among them are read-only.

    All dialogues about a target start from one comparison, the empty prediction's: what a user computes there serves
    the first round of all.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the value kept under `key`, computing it the first time it is asked for."""
        if key not in self._values:
            value = compute()
            freeze(value)
            self._values[key] = value
        return self._values[key]


class Reference(Memory):
    """What can be known of a one-object target before any prediction: its window, its area, and a memory.

    `mask` has no ignored pixels. `given` is the target as drawn: what asks for its outline reads this one, so that
    the edge of an ignored region is not taken for an edge of the target.

    Args:
        mask: bool, any number of axes.
        ignore: bool, same shape, True for pixels excluded from scoring; None when every pixel counts.
        spacing_mm: edge lengths of a voxel along the axes of a volume; None where pixels are the unit.

    Raises:
        InvalidMask: the shapes differ, or the values are not 0 and 1.
    """

    def __init__(
        self, mask: Any, ignore: Any = None, spacing_mm: tuple[float, ...] | None = None
    ) -> None:
        super().__init__()
        self.spacing_mm = spacing_mm
        self.ignore: Mask | None = (
            None if ignore is None else as_mask(ignore, np.shape(mask), name="ignore")
        )
        self.given: Mask = read_only(as_mask(mask, name="target"))
        self.mask: Mask = _judged(self.given, self.ignore)

    @classmethod
    def of(cls, target: Target, spacing_mm: tuple[float, ...] | None = None) -> Reference:
        """Return the reference of `target`."""
        return cls(target.mask, target.ignore, spacing_mm)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the sample."""
        return self.mask.shape

    @cached_property
    def window(self) -> Window:
        """Smallest window that holds the target; empty when the target is."""
        return bounding_window(self.mask)

    @cached_property
    def given_window(self) -> Window:
        """Smallest window that holds the target as drawn."""
        return self.window if self.ignore is None else bounding_window(self.given)

    @cached_property
    def area(self) -> int:
        """Target pixels, ignored ones apart."""
        return int(np.count_nonzero(self.mask[self.window]))


class Comparison(Memory):
    """One prediction against one reference; everything is computed when first asked for.

    Ignored pixels count nowhere: they are False in `prediction` and `target`. `given` is the prediction with them.

    Args:
        prediction: bool, shape of the reference.
        reference: the target.

    Raises:
        InvalidMask: the shapes differ.
    """

    def __init__(self, prediction: Mask, reference: Reference) -> None:
        if prediction.shape != reference.shape:
            raise InvalidMask(
                f"prediction has shape {prediction.shape}, the target {reference.shape}"
            )
        super().__init__()
        self.reference = reference
        self.given = read_only(prediction)

    @classmethod
    def of(
        cls,
        prediction: Any,
        target: Any,
        ignore: Any = None,
        *,
        spacing_mm: tuple[float, ...] | None = None,
    ) -> Comparison:
        """Return the comparison of bare masks.

        Raises:
            InvalidMask: the shapes differ, or values are not 0 and 1.
        """
        return cls(as_mask(prediction, name="prediction"), Reference(target, ignore, spacing_mm))

    @classmethod
    def empty(cls, reference: Reference) -> Comparison:
        """Return the comparison of a prediction that has no pixel."""
        return cls(np.zeros(reference.shape, dtype=np.bool_), reference)

    @cached_property
    def prediction(self) -> Mask:
        """The prediction, full frame, ignored pixels False."""
        return _judged(self.given, self.reference.ignore)

    @property
    def target(self) -> Mask:
        """The target, full frame, ignored pixels False."""
        return self.reference.mask

    @property
    def ignore(self) -> Mask | None:
        """The pixels excluded from scoring, full frame; None when every pixel counts."""
        return self.reference.ignore

    @property
    def spacing_mm(self) -> tuple[float, ...] | None:
        """Edge lengths of a voxel; None where pixels are the unit."""
        return self.reference.spacing_mm

    @cached_property
    def prediction_window(self) -> Window:
        """Smallest window that holds the prediction."""
        return bounding_window(self.prediction)

    @cached_property
    def given_window(self) -> Window:
        """Smallest window that holds the prediction with its ignored pixels."""
        return self.prediction_window if self.ignore is None else bounding_window(self.given)

    @cached_property
    def window(self) -> Window:
        """Smallest window that holds prediction and target; both are False outside it."""
        return join_windows(self.prediction_window, self.reference.window)

    @cached_property
    def intersection(self) -> int:
        """Pixels in both."""
        if (
            self.prediction.ndim == 2
        ):  # who corrects an image looks at its errors next, and they are there then
            return self.target_area - int(np.count_nonzero(self.missing))
        inside = self.reference.window
        return int(np.count_nonzero(self.prediction[inside] & self.target[inside]))

    @cached_property
    def prediction_area(self) -> int:
        """Predicted pixels."""
        if self.prediction.ndim == 2:
            return self.intersection + int(np.count_nonzero(self.surplus))
        return int(np.count_nonzero(self.prediction[self.prediction_window]))

    @property
    def target_area(self) -> int:
        """Target pixels."""
        return self.reference.area

    @property
    def union(self) -> int:
        """Pixels in either."""
        return self.prediction_area + self.target_area - self.intersection

    @property
    def missing_area(self) -> int:
        """Target pixels that were not predicted (false negatives)."""
        return self.target_area - self.intersection

    @property
    def surplus_area(self) -> int:
        """Predicted pixels that are not target (false positives)."""
        return self.prediction_area - self.intersection

    @cached_property
    def missing(self) -> Mask:
        """False negatives, on `window` only."""
        return read_only(np.greater(self.target[self.window], self.prediction[self.window]))

    @cached_property
    def surplus(self) -> Mask:
        """False positives, on `window` only."""
        return read_only(np.greater(self.prediction[self.window], self.target[self.window]))

    @property
    def missing_planes(self) -> LazyVolume:
        """`missing` of a volume, made plane by plane when it is looked at: it takes no memory."""
        return LazyVolume(np.greater, self.target[self.window], self.prediction[self.window])

    @property
    def surplus_planes(self) -> LazyVolume:
        """`surplus` of a volume in the same way."""
        return LazyVolume(np.greater, self.prediction[self.window], self.target[self.window])

    @property
    def wrong_planes(self) -> LazyVolume:
        """Both together, in the same way."""
        return LazyVolume(np.not_equal, self.prediction[self.window], self.target[self.window])

    def error(self, *, is_missing: bool) -> Mask:
        """Return `missing` or `surplus`."""
        return self.missing if is_missing else self.surplus

    def depths(self, *, is_missing: bool) -> PixelDepths:
        """Return how deep each pixel of one kind of error lies in it, on `window`."""
        return self.thin_depths(is_missing=is_missing) or pixel_depths(
            self.error(is_missing=is_missing)
        )

    def thin_depths(self, *, is_missing: bool) -> PixelDepths | None:
        """Return the same where that is quick: in images, where the error is thin; None elsewhere."""
        if self.prediction.ndim != 2:
            return None
        missing, surplus = self.remember(
            "thin depths", lambda: thin_mask_depths(self.missing, self.surplus)
        )
        return missing if is_missing else surplus


def _judged(mask: Mask, ignore: Mask | None) -> Mask:
    """Return `mask` without ignored pixels; on bool masks a > b is a & ~b in one pass instead of two."""
    return read_only(mask if ignore is None else np.greater(mask, ignore))
