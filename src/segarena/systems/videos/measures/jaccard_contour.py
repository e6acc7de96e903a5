"""J and F of video object segmentation: overlap of regions and of contours, per object and frame.

Source: Perazzi et al., DAVIS, CVPR 2016; as the DAVIS Interactive Challenge and the DAVIS 2017 toolkit compute them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import (
    Window,
    bounding_window,
    grow_window,
    intersect_windows,
    is_empty,
    join_windows,
    window_shape,
    within_window,
)
from segarena.arrays.contours import contour_radius_px, count_near, near
from segarena.arrays.label_edges import label_edges
from segarena.comparison import Comparison
from segarena.errors import InvalidInput
from segarena.objects import Judged, ObjectsComparison, ObjectsReference
from segarena.registry import metric
from segarena.samples import Labels, Mask, as_labels, without_void


@dataclass(frozen=True, slots=True)
class JaccardContour:
    """J and F: arrays (objects, frames)."""

    jaccard: NDArray[np.float64]
    contour: NDArray[np.float64]


Void: TypeAlias = Literal["ignore", "background"]


def jaccard_contour(
    prediction: Any,
    target: Any,
    ignore: Any = None,
    *,
    objects: int | None = None,
    bound_share: float = 0.008,
    void: Void = "ignore",
) -> JaccardContour:
    """Return J and F of every object in every frame.

    J is intersection over union. F is the harmonic mean of the share of predicted contour pixels near the target's
    contour and the share of target contour pixels near the predicted one. See `segarena.arrays.label_edges` for
    what a contour is, and `segarena.arrays.contours` for what is near.

    An object absent from both masks of a frame: J = F = 1. Contours: one empty, F = 0; both empty, F = 1, even where
    one mask fills the frame and the other is empty.

    Args:
        prediction: whole labels (T, H, W), or (H, W) for one frame; bool for one object. Labels that the target's
            objects do not have belong to none of them.
        target: the same shape; 255 belongs to no object, but to `ignore`.
        ignore: bool, same shape: excluded from scoring.
        objects: how many objects are judged; by default the highest label of the target below 255.
        bound_share: how far contours may run apart, as a share of the diagonal; 1 or more is pixels.
        void: "ignore": ignored pixels are removed from both masks before anything is looked at; "background": they are
            background as any other, as in the published interactive challenge.

    Raises:
        InvalidInput: no objects, the shapes differ, or labels other than 0 to 255.
    """
    labels, ignore = without_void(as_labels(target, name="target"), ignore)
    count = int(labels.max(initial=0)) if objects is None else objects
    if count < 1:
        raise InvalidInput("J and F need at least one object; the target has none, so say how many are judged")
    comparison = ObjectsComparison(np.asarray(prediction), ObjectsReference(labels, count, ignore))
    return JaccardContourMetric(bound_share=bound_share, void=void).of(comparison)


@metric("jaccard-contour")
@dataclass(kw_only=True, eq=False)
class JaccardContourMetric:
    """J, F and their mean, averaged over frames and objects; each of them in the table of parts.

    Args:
        bound_share: how far contours may run apart, as a share of the frame's diagonal; 1 or more is pixels.
        void: "ignore": ignored pixels are removed from both masks; "background": they are background as any other,
            so that what is predicted there is wrong, as in the published interactive challenge.
    """

    columns = ("jaccard", "contour", "j_and_f")
    titles = MappingProxyType({"jaccard": "J", "contour": "F", "j_and_f": "J&F"})
    judges_objects = True

    bound_share: float = 0.008
    void: Void = "ignore"

    def __call__(self, comparison: Judged) -> Mapping[str, float]:
        """Return the means over frames, then over objects."""
        values = self.of(comparison)
        jaccard, contours = float(values.jaccard.mean()), float(values.contour.mean())
        return {"jaccard": jaccard, "contour": contours, "j_and_f": (jaccard + contours) / 2}

    def parts(self, comparison: Judged) -> Mapping[str, NDArray[np.float64]]:
        """Return J and F of each object and frame."""
        values = self.of(comparison)
        return {"jaccard": values.jaccard, "contour": values.contour}

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return where J, F and their mean are not those of the parts."""
        jaccard, contours = values["jaccard"], values["contour"]
        is_wrong = np.abs(values["j_and_f"] - (jaccard + contours) / 2) > 1e-9
        for name, value in (("jaccard", jaccard), ("contour", contours)):
            is_wrong |= (value < 0) | (value > 1)
            if name in parts:
                is_wrong |= np.abs(value - parts[name]) > 1e-9
        return is_wrong

    def of(self, comparison: Judged) -> JaccardContour:
        """Return J and F of each object and frame, computed once per comparison."""
        # Without ignored pixels both rules give the same: either finds what the other computed.
        leaves_out = self.void == "ignore" and comparison.reference.ignore is not None
        key = ("jaccard-contour", self.bound_share, leaves_out)
        return comparison.remember(key, lambda: self._judge(comparison))

    def _judge(self, comparison: Judged) -> JaccardContour:
        prediction, target, ignore, objects = _stacks(comparison)
        ignore = None if self.void == "background" else ignore
        radius_px = contour_radius_px(target.shape[1:], self.bound_share)
        truths: dict[tuple[int, int], _Truth] = comparison.reference.remember(
            ("truths", ignore is None, radius_px), dict[tuple[int, int], _Truth]
        )
        values = JaccardContour(np.empty((objects, len(target))), np.empty((objects, len(target))))
        for frame, number in np.ndindex(len(target), objects):
            void = None if ignore is None else ignore[frame]
            if (number, frame) not in truths:
                truths[number, frame] = _truth(_piece(target[frame], number + 1, void), radius_px, target.shape[1:])
            piece = _piece(prediction[frame], number + 1, void)
            values.jaccard[number, frame], values.contour[number, frame] = _pair(
                piece, truths[number, frame], radius_px
            )
        return values


@dataclass(frozen=True, slots=True)
class _Packed:
    """A mask that is False outside a window, a bit per pixel of it."""

    window: Window
    bits: NDArray[np.uint8]

    @classmethod
    def of(cls, window: Window, crop: Mask) -> _Packed:
        return cls(window, np.packbits(crop))

    def on(self, window: Window) -> Mask:
        """Return the mask on another window."""
        shape = window_shape(self.window)
        crop = np.unpackbits(self.bits, count=math.prod(shape)).view(np.bool_).reshape(shape)
        frame = np.zeros(window_shape(window), dtype=np.bool_)
        both = intersect_windows(self.window, window)
        if not is_empty(both):
            frame[within_window(both, window)] = crop[within_window(both, self.window)]
        return frame


@dataclass(frozen=True, slots=True)
class _Piece:
    """One object in one frame, on a window with a margin of one pixel where the frame goes on."""

    window: Window
    mask: Mask

    @property
    def area(self) -> int:
        return int(np.count_nonzero(self.mask))


@dataclass(frozen=True, slots=True)
class _Truth:
    """What is kept of one object of the target in one frame: found once, read after every round."""

    mask: _Packed
    area: int
    contour: _Packed
    contour_area: int
    near: _Packed


def _piece(labels: Labels, number: int, void: Mask | None) -> _Piece:
    mask = labels == number
    if void is not None:
        mask &= ~void
    window = bounding_window(mask)
    window = window if is_empty(window) else grow_window(window, 1, mask.shape)
    return _Piece(window, mask[window])


def _truth(piece: _Piece, radius_px: int, shape: tuple[int, ...]) -> _Truth:
    edge = label_edges(piece.mask)
    wide = piece.window if is_empty(piece.window) else grow_window(piece.window, radius_px, shape)
    return _Truth(
        mask=_Packed.of(piece.window, piece.mask),
        area=piece.area,
        contour=_Packed.of(piece.window, edge),
        contour_area=int(np.count_nonzero(edge)),
        near=_Packed.of(wide, near(_Packed.of(piece.window, edge).on(wide), radius_px)),
    )


def _pair(prediction: _Piece, target: _Truth, radius_px: int) -> tuple[float, float]:
    """Return J and F of one object in one frame."""
    if not (prediction.area or target.area):
        return 1.0, 1.0
    intersection = int(np.count_nonzero(target.mask.on(prediction.window) & prediction.mask))
    union = prediction.area + target.area - intersection
    return intersection / union, _f_measure(prediction, target, radius_px)


def _f_measure(prediction: _Piece, target: _Truth, radius_px: int) -> float:
    edge = label_edges(prediction.mask)
    predicted = int(np.count_nonzero(edge))
    if not (predicted and target.contour_area):
        return float(predicted == target.contour_area)
    hits = int(np.count_nonzero(edge & target.near.on(prediction.window)))
    window = join_windows(prediction.window, target.contour.window)
    drawn = np.zeros(window_shape(window), dtype=np.bool_)
    drawn[within_window(prediction.window, window)] = edge
    precision = hits / predicted
    recall = count_near(target.contour.on(window), drawn, radius_px) / target.contour_area
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _stacks(comparison: Judged) -> tuple[Labels, Labels, Mask | None, int]:
    """Return prediction, target and ignore as (T, H, W), and how many objects are judged."""
    if isinstance(comparison, ObjectsComparison):
        several = comparison
        prediction, target, ignore = several.prediction, several.target, several.reference.ignore
        objects = several.objects
    else:
        one: Comparison = comparison
        prediction, target = one.given.view(np.uint8), one.reference.given.view(np.uint8)
        ignore, objects = one.ignore, 1
    frames = cast("Any", (-1, *target.shape[-2:]))
    return (
        prediction.reshape(frames),
        target.reshape(frames),
        None if ignore is None else ignore.reshape(frames),
        objects,
    )
