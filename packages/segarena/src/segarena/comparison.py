"""Comparison of a prediction with its target, computed once for metrics, users and stop rules.

They all need the pixels in which the two masks differ. A `Comparison` computes these pixels once,
on the smallest window that contains both masks, and caches them. Values that depend only on the
target are cached in its `Reference`, for all rounds and dialogues about the target.
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
    """A cache of computed values that makes its arrays read-only.

    All dialogues about a target start from the comparison with the empty prediction. Values that a
    user computes for it therefore serve the first round of all dialogues.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the cached value of `key`; compute it on the first call."""
        if key not in self._values:
            value = compute()
            freeze(value)
            self._values[key] = value
        return self._values[key]


class Reference(Memory):
    """A target of one object with its window, its area, and a cache.

    `mask` excludes ignored pixels. `given` is the target including ignored pixels; outline measures
    use it, so that the border of an ignored region does not count as an edge of the target.

    Args:
        mask: bool, any number of axes.
        ignore: bool, same shape, True for ignored pixels; None if there are none.
        spacing_mm: edge lengths of a voxel along the axes of a volume; None for other samples.

    Raises:
        InvalidMask: the shapes differ, or the values are not 0 and 1.
    """

    def __init__(
        self,
        mask: Any,
        ignore: Any = None,
        spacing_mm: tuple[float, ...] | None = None,
    ) -> None:
        super().__init__()
        self.spacing_mm = spacing_mm
        self.ignore: Mask | None = None
        if ignore is not None:
            self.ignore = as_mask(ignore, np.shape(mask), name="ignore")
        self.given: Mask = read_only(as_mask(mask, name="target"))
        self.mask: Mask = _without_ignored(self.given, self.ignore)

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
        """Smallest window that contains the target; empty if the target is."""
        return bounding_window(self.mask)

    @cached_property
    def given_window(self) -> Window:
        """Smallest window that contains the target including ignored pixels."""
        if self.ignore is None:
            return self.window
        return bounding_window(self.given)

    @cached_property
    def area(self) -> int:
        """Number of target pixels, without ignored ones."""
        inside = self.mask[self.window]
        return int(np.count_nonzero(inside))


class Comparison(Memory):
    """A prediction compared with a reference; all values are computed lazily.

    Ignored pixels are False in `prediction` and `target`. `given` is the prediction including
    ignored pixels.

    Args:
        prediction: bool, shape of the reference.
        reference: the target.

    Raises:
        InvalidMask: the shapes differ.
    """

    def __init__(self, prediction: Mask, reference: Reference) -> None:
        if prediction.shape != reference.shape:
            raise InvalidMask(
                f"prediction: expected the target's shape {reference.shape}, got {prediction.shape}"
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
        """Compare two masks that are given as arrays.

        Raises:
            InvalidMask: the shapes differ, or values are not 0 and 1.
        """
        return cls(as_mask(prediction, name="prediction"), Reference(target, ignore, spacing_mm))

    @classmethod
    def empty(cls, reference: Reference) -> Comparison:
        """Compare an empty prediction with `reference`."""
        return cls(np.zeros(reference.shape, dtype=np.bool_), reference)

    @cached_property
    def prediction(self) -> Mask:
        """The prediction, in full shape, with ignored pixels False."""
        return _without_ignored(self.given, self.reference.ignore)

    @property
    def target(self) -> Mask:
        """The target, in full shape, with ignored pixels False."""
        return self.reference.mask

    @property
    def ignore(self) -> Mask | None:
        """The ignored pixels, in full shape; None if there are none."""
        return self.reference.ignore

    @property
    def spacing_mm(self) -> tuple[float, ...] | None:
        """Edge lengths of a voxel; None for samples without them."""
        return self.reference.spacing_mm

    @cached_property
    def prediction_window(self) -> Window:
        """Smallest window that contains the prediction."""
        return bounding_window(self.prediction)

    @cached_property
    def given_window(self) -> Window:
        """Smallest window that contains the prediction including ignored pixels."""
        if self.ignore is None:
            return self.prediction_window
        return bounding_window(self.given)

    @cached_property
    def window(self) -> Window:
        """Smallest window that contains prediction and target."""
        return join_windows(self.prediction_window, self.reference.window)

    @cached_property
    def intersection(self) -> int:
        """Number of pixels in both masks."""
        if self.given.ndim == 2:
            # Users of images need the errors next, so computing and caching them here costs nothing.
            return self.target_area - int(np.count_nonzero(self.missing))
        # In a volume the error masks of the whole window would take more memory than this mask.
        window = self.reference.window
        in_both = self.prediction[window] & self.target[window]
        return int(np.count_nonzero(in_both))

    @cached_property
    def prediction_area(self) -> int:
        """Number of predicted pixels."""
        if self.given.ndim == 2:
            return self.intersection + int(np.count_nonzero(self.surplus))
        inside = self.prediction[self.prediction_window]
        return int(np.count_nonzero(inside))

    @property
    def target_area(self) -> int:
        """Number of target pixels."""
        return self.reference.area

    @property
    def union(self) -> int:
        """Number of pixels in either mask."""
        return self.prediction_area + self.target_area - self.intersection

    @property
    def missing_area(self) -> int:
        """Number of false negatives."""
        return self.target_area - self.intersection

    @property
    def surplus_area(self) -> int:
        """Number of false positives."""
        return self.prediction_area - self.intersection

    @cached_property
    def missing(self) -> Mask:
        """False negatives, on `window` only."""
        target = self.target[self.window]
        prediction = self.prediction[self.window]
        return read_only(np.greater(target, prediction))

    @cached_property
    def surplus(self) -> Mask:
        """False positives, on `window` only."""
        target = self.target[self.window]
        prediction = self.prediction[self.window]
        return read_only(np.greater(prediction, target))

    @property
    def missing_planes(self) -> LazyVolume:
        """`missing` of a volume, computed plane by plane on access to save memory."""
        return LazyVolume(np.greater, self.target[self.window], self.prediction[self.window])

    @property
    def surplus_planes(self) -> LazyVolume:
        """`surplus` of a volume, computed plane by plane on access."""
        return LazyVolume(np.greater, self.prediction[self.window], self.target[self.window])

    @property
    def wrong_planes(self) -> LazyVolume:
        """All errors of a volume, computed plane by plane on access."""
        return LazyVolume(np.not_equal, self.prediction[self.window], self.target[self.window])

    def error(self, *, is_missing: bool) -> Mask:
        """Return `missing` or `surplus`."""
        return self.missing if is_missing else self.surplus

    def depths(self, *, is_missing: bool) -> PixelDepths:
        """Return the depths of all missing, or of all surplus, pixels on `window`; see `PixelDepths`."""
        thin = self.thin_depths(is_missing=is_missing)
        if thin:
            return thin
        return pixel_depths(self.error(is_missing=is_missing))

    def thin_depths(self, *, is_missing: bool) -> PixelDepths | None:
        """Return `depths` if that is fast, for thin errors in an image; None if not, see `thin_mask_depths`."""
        if self.given.ndim != 2:
            return None
        # Compute both kinds at once: a user compares their depths, and one joint search takes less
        # time than two.
        missing, surplus = self.remember(
            "thin depths", lambda: thin_mask_depths(self.missing, self.surplus)
        )
        return missing if is_missing else surplus


def _without_ignored(mask: Mask, ignore: Mask | None) -> Mask:
    """Return `mask` without ignored pixels."""
    if ignore is None:
        return read_only(mask)
    # On bool masks a > b is a & ~b in one pass instead of two.
    return read_only(np.greater(mask, ignore))
