"""Average recall of proposed segments over IoU thresholds, by occlusion range and kind of region.

Images are added one at a time, and only numbers of matches are stored, so sets of any size can be
streamed.

Source: the amodalAPI evaluation (2017), which follows COCO. The results are the same; its defects
are options.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput, InvalidMask
from segarena.samples import Mask

RegionKind: TypeAlias = Literal["all", "things", "stuff"]

# The ten thresholds of COCO.
IOU_THRESHOLDS = np.linspace(0.5, 0.95, 10)
OCCLUSIONS: Mapping[str, tuple[float, float]] = {
    "all": (0.0, 1.0),
    # The published code accepts these names only, although its help text calls the ranges slight,
    # medium and severe.
    "none": (0.0, 1e-5),
    "partial": (1e-5, 0.25),
    "heavy": (0.25, 1.0),
}
"""Ranges of the hidden share, both ends included as published: exactly .25 is partial and heavy."""
KINDS: tuple[RegionKind, ...] = ("all", "things", "stuff")
SEGMENT_LIMITS = (1, 10, 100)
"""Limits on the number of best segments per image."""
_AT_ONCE = 64  # segments compared at once, which bounds the memory


_NOT_FOUND = np.iinfo(np.int64).max


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class TrueRegion:
    """A ground truth region: its mask, its hidden share 0..1, and whether it is stuff."""

    mask: Mask
    occlusion: float = 0.0
    is_stuff: bool = False


class SegmentRecall(NamedTuple):
    """Average recall for one kind and occlusion range, using the best `most` segments; NaN if there are no regions."""

    kind: RegionKind
    occlusion: str
    most: int
    average_recall: float
    regions: int


class SegmentRecallMeter:
    """Average recall of class-agnostic segments.

    Segments are matched by descending score. Each takes the free region with the highest IoU, and
    each region is matched only once. Regions outside a kind or occlusion range are ignored, and so
    are segments that match no other region. Recall is pooled over the regions of all images and
    averaged over the IoU thresholds .50, .55, ... .95.

    Args:
        most: limits on the number of segments per image, ascending.
        open_upper_end: count an occlusion of exactly .25 as heavy only; in the published code it is
            partial too.
        none_value: result for a kind and range without regions: NaN, or -1 as published.
    """

    def __init__(
        self,
        *,
        most: Sequence[int] = SEGMENT_LIMITS,
        open_upper_end: bool = False,
        none_value: float = math.nan,
    ) -> None:
        if not most or sorted(set(most)) != list(most) or most[0] < 1:
            raise InvalidInput(
                f"most={list(most)}: expected numbers of segments, 1 or more, ascending"
            )
        self._most = tuple(most)
        self._has_open_end = open_upper_end
        self._none_value = none_value
        # Both dicts have keys (kind, occlusion range). The arrays in hits are (segment limits, IoU
        # thresholds).
        self._hits: dict[tuple[RegionKind, str], NDArray[np.int64]] = {}
        self._regions: dict[tuple[RegionKind, str], int] = {}
        for group in itertools.product(KINDS, OCCLUSIONS):
            self._hits[group] = np.zeros((len(self._most), len(IOU_THRESHOLDS)), np.int64)
            self._regions[group] = 0
        self.images = 0

    def add(
        self,
        segments: Sequence[Mask],
        scores: Sequence[float],
        regions: Sequence[TrueRegion],
    ) -> None:
        """Add one image: its segments, bool (H, W), each with a score, and the regions of one annotation.

        Segments with equal scores keep their order.

        Raises:
            InvalidMask: the masks differ in shape.
            InvalidInput: the number of scores differs, or a score is not finite.
        """
        values = np.asarray(scores, np.float64)
        if len(segments) != len(scores) or not np.isfinite(values).all():
            raise InvalidInput(
                f"expected a finite score per segment, got {len(scores)} for {len(segments)} segments"
            )
        # Segments beyond the largest limit never count, so they are not matched.
        order = np.argsort(-values, kind="stable")[: self._most[-1]]
        best = [segments[index] for index in order]
        region_masks = [region.mask for region in regions]
        ious = mask_ious(best, region_masks)
        occlusion = [region.occlusion for region in regions]
        is_stuff = [region.is_stuff for region in regions]
        self.add_ious(ious, occlusion, is_stuff)

    def add_ious(
        self,
        ious: NDArray[np.float64],
        occlusion: Sequence[float],
        is_stuff: Sequence[bool],
    ) -> None:
        """Add one image by its IoUs, (segments, regions), with segments sorted by descending score."""
        hidden = np.asarray(occlusion, np.float64)
        stuff = np.asarray(is_stuff, np.bool_)
        self.images += 1
        for (kind, name), hits in self._hits.items():
            counts = _counted_regions(hidden, stuff, kind, name, has_open_end=self._has_open_end)
            self._regions[kind, name] += int(counts.sum())
            if not counts.any():
                continue
            # Matching is greedy by score, so one matching with the largest limit serves all smaller
            # limits.
            found_by = _first_segment(ious[: self._most[-1]], counts)
            for row, most in enumerate(self._most):
                hits[row] += (found_by < most).sum(axis=1)

    def results(self) -> list[SegmentRecall]:
        """Return the average recall of every kind, occlusion range and segment limit."""
        results: list[SegmentRecall] = []
        for (kind, name), hits in self._hits.items():
            regions = self._regions[kind, name]
            for most, found in zip(self._most, hits, strict=True):
                recall = self._none_value
                if regions:
                    recall = float((found / regions).mean())
                results.append(SegmentRecall(kind, name, most, recall, regions))
        return results


def mask_ious(segments: Sequence[Mask], regions: Sequence[Mask]) -> NDArray[np.float64]:
    """Return the IoU of every segment with every region, (segments, regions); 0 if both masks are empty.

    Raises:
        InvalidMask: the masks differ in shape.
    """
    shapes = {mask.shape for mask in (*segments, *regions)}
    if len(shapes) > 1:
        raise InvalidMask(f"masks: expected a single shape, got {sorted(shapes)}")
    if not segments or not regions:
        return np.zeros((len(segments), len(regions)))
    # Float32 represents integers exactly up to 2 ** 24, so larger images need float64, which is
    # slower.
    dtype = np.float32 if segments[0].size <= 1 << 24 else np.float64
    region_rows = np.stack(regions).reshape(len(regions), -1)
    region_px = np.count_nonzero(region_rows, axis=1)
    region_columns = region_rows.astype(dtype).T
    tables: list[NDArray[np.float64]] = []
    # In batches, because each row is a whole image in floating point.
    for start in range(0, len(segments), _AT_ONCE):
        part = segments[start : start + _AT_ONCE]
        segment_rows = np.stack(part).reshape(len(part), -1)
        segment_px = np.count_nonzero(segment_rows, axis=1)
        shared = (segment_rows.astype(dtype) @ region_columns).astype(np.float64)
        union = segment_px[:, None] + region_px[None] - shared
        tables.append(shared / np.maximum(union, 1))
    return np.concatenate(tables)


def _counted_regions(
    hidden: NDArray[np.float64],
    is_stuff: NDArray[np.bool_],
    kind: RegionKind,
    name: str,
    *,
    has_open_end: bool,
) -> NDArray[np.bool_]:
    """Return which regions are of a kind and within an occlusion range; the others are ignored."""
    low, high = OCCLUSIONS[name]
    if has_open_end and name == "partial":
        inside = (hidden >= low) & (hidden < high)
    else:
        inside = (hidden >= low) & (hidden <= high)
    if kind == "all":
        return inside
    return inside & (is_stuff == (kind == "stuff"))


def _first_segment(ious: NDArray[np.float64], counts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the index of the segment that matches each counted region, (thresholds, regions), or `_NOT_FOUND`.

    A segment matches an ignored region only if no counted region is left for it. Of several regions
    with equal IoU, it matches the last.
    """
    columns = np.concatenate((np.flatnonzero(counts), np.flatnonzero(~counts)))
    counted = int(counts.sum())
    found_by = np.full((len(IOU_THRESHOLDS), counted), _NOT_FOUND)
    best = ious.max(axis=1, initial=0)
    for level, threshold in enumerate(IOU_THRESHOLDS):
        least = min(threshold, 1 - 1e-10)  # as published: an IoU of 1 counts in spite of rounding
        is_free = np.ones(len(columns), dtype=np.bool_)
        for segment in np.flatnonzero(best >= least):
            free_ious = np.where(is_free, ious[segment, columns], -1.0)
            for part in (slice(0, counted), slice(counted, None)):
                values = free_ious[part]
                if not len(values) or values.max() < least:
                    continue
                # argmax returns the first of equal values, but the published loop keeps the last.
                column = len(values) - 1 - int(np.argmax(values[::-1])) + part.start
                is_free[column] = False
                if column < counted:
                    found_by[level, column] = segment
                break
    return found_by
