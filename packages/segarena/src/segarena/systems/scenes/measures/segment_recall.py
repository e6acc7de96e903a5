"""How well proposed segments find the regions of a scene: average recall over IoU thresholds, by occlusion and kind.

Images are added one at a time; of each only which regions were found is kept, so that a set of any size streams.

Source: the amodalAPI evaluation (2017), which follows COCO; every step of it, its defects as options.
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

IOU_THRESHOLDS = np.linspace(0.5, 0.95, 10)
OCCLUSIONS: Mapping[str, tuple[float, float]] = {
    "all": (0.0, 1.0),
    "none": (0.0, 1e-5),
    "partial": (1e-5, 0.25),
    "heavy": (0.25, 1.0),
}
"""Ranges of the hidden share, both ends included: exactly .25 counts as partial and as heavy."""
KINDS: tuple[RegionKind, ...] = ("all", "things", "stuff")
SEGMENT_LIMITS = (1, 10, 100)
"""How many of the best segments of an image count."""
_AT_ONCE = 64  # segments compared at once: bounds the memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrueRegion:
    """A region of the ground truth: the mask to be found, its hidden share 0..1, and whether it is stuff."""

    mask: Mask
    occlusion: float = 0.0
    is_stuff: bool = False


class SegmentRecall(NamedTuple):
    """Average recall of one kind and occlusion with the best `most` segments; NaN without any region of that sort."""

    kind: RegionKind
    occlusion: str
    most: int
    average_recall: float
    regions: int


class SegmentRecallMeter:
    """Average recall of class-agnostic segments.

    A segment may find each region once; each takes, in the order of its score, the free region with the highest IoU.
    Regions outside a kind or range of occlusion are ignored, and so is a segment that can find no other. Recall is
    pooled over all regions of all images, and averaged over the IoU thresholds .50, .55, ... .95.

    Args:
        most: numbers of segments per image that count, ascending.
        open_upper_end: whether an occlusion of exactly .25 is heavy only; published it is partial as well.
        none_value: what a kind without regions gives: NaN, or -1 as published.
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
        self._open = open_upper_end
        self._none_value = none_value
        sorts = list(itertools.product(KINDS, OCCLUSIONS))
        self._found = {
            sort: np.zeros((len(self._most), len(IOU_THRESHOLDS)), np.int64) for sort in sorts
        }
        self._regions = dict.fromkeys(sorts, 0)
        self.images = 0

    def add(
        self, segments: Sequence[Mask], scores: Sequence[float], regions: Sequence[TrueRegion]
    ) -> None:
        """Add one image: its segments, bool (H, W), with a score each, and the regions of one annotation.

        Of equal scores the first comes first.

        Raises:
            InvalidMask: masks of different shape.
            InvalidInput: other scores than segments, or NaN.
        """
        if len(segments) != len(scores) or not np.isfinite(np.asarray(scores, np.float64)).all():
            raise InvalidInput(
                f"expected a finite score per segment, got {len(scores)} for {len(segments)} segments"
            )
        order = np.argsort(-np.asarray(scores, np.float64), kind="stable")[: self._most[-1]]
        ious = mask_ious([segments[k] for k in order], [region.mask for region in regions])
        self.add_ious(
            ious, [region.occlusion for region in regions], [region.is_stuff for region in regions]
        )

    def add_ious(
        self, ious: NDArray[np.float64], occlusion: Sequence[float], is_stuff: Sequence[bool]
    ) -> None:
        """Add one image whose IoUs are known, (segments, regions), the segments by descending score."""
        hidden = np.asarray(occlusion, np.float64)
        stuff = np.asarray(is_stuff, np.bool_)
        self.images += 1
        for kind, name in self._found:
            counts = _counts(hidden, stuff, kind, name, is_open=self._open)
            self._regions[kind, name] += int(counts.sum())
            if counts.any():
                rank = _found_by(ious[: self._most[-1]], counts)
                for place, most in enumerate(self._most):
                    self._found[kind, name][place] += (rank < most).sum(axis=1)

    def results(self) -> list[SegmentRecall]:
        """Return the average recall of every kind, occlusion and number of segments."""
        results: list[SegmentRecall] = []
        for (kind, name), found in self._found.items():
            regions = self._regions[kind, name]
            for most, hits in zip(self._most, found, strict=True):
                recall = float((hits / regions).mean()) if regions else self._none_value
                results.append(SegmentRecall(kind, name, most, recall, regions))
        return results


def mask_ious(segments: Sequence[Mask], regions: Sequence[Mask]) -> NDArray[np.float64]:
    """Return the IoU of every segment with every region, (segments, regions); 0 where both are empty.

    Raises:
        InvalidMask: masks of different shape.
    """
    if len({mask.shape for mask in (*segments, *regions)}) > 1:
        raise InvalidMask(
            f"masks: expected one shape, got {sorted({m.shape for m in (*segments, *regions)})}"
        )
    if not segments or not regions:
        return np.zeros((len(segments), len(regions)))
    # Float32 sums are exact up to 2 ** 24 pixels; beyond that the slower type.
    dtype = np.float32 if segments[0].size <= 1 << 24 else np.float64
    second = np.stack([mask.reshape(-1) for mask in regions]).astype(dtype)
    areas = np.array([np.count_nonzero(mask) for mask in regions])
    rows: list[NDArray[np.float64]] = []
    for start in range(0, len(segments), _AT_ONCE):
        part = segments[start : start + _AT_ONCE]
        shared = (np.stack([mask.reshape(-1) for mask in part]).astype(dtype) @ second.T).astype(
            np.float64
        )
        own = np.array([np.count_nonzero(mask) for mask in part])
        rows.append(shared / np.maximum(own[:, None] + areas[None] - shared, 1))
    return np.concatenate(rows)


def _counts(
    hidden: NDArray[np.float64],
    is_stuff: NDArray[np.bool_],
    kind: RegionKind,
    name: str,
    *,
    is_open: bool,
) -> NDArray[np.bool_]:
    """Return which regions count; the others are ignored."""
    low, high = OCCLUSIONS[name]
    inside = (hidden >= low) & (
        (hidden < high) if is_open and name == "partial" else (hidden <= high)
    )
    return inside if kind == "all" else inside & (is_stuff == (kind == "stuff"))


def _found_by(ious: NDArray[np.float64], counts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return by which segment each region that counts is found, (thresholds, regions); a huge number for none.

    A segment looks at ignored regions only when no region that counts is left for it; of equal IoUs the last is taken.
    """
    columns = np.concatenate((np.flatnonzero(counts), np.flatnonzero(~counts)))
    real = int(counts.sum())
    rank = np.full((len(IOU_THRESHOLDS), real), np.iinfo(np.int64).max)
    for level, threshold in enumerate(IOU_THRESHOLDS):
        least = min(threshold, 1 - 1e-10)  # as published: an IoU of 1 counts in spite of rounding
        is_free = np.ones(len(columns), dtype=np.bool_)
        for segment in np.flatnonzero(ious.max(axis=1, initial=0) >= least):
            allowed = np.where(is_free, ious[segment, columns], -1.0)
            for part in (slice(0, real), slice(real, None)):
                values = allowed[part]
                if len(values) and values.max() >= least:
                    # argmax finds the first of equals, the published loop keeps the last.
                    at = len(values) - 1 - int(np.argmax(values[::-1])) + part.start
                    is_free[at] = False
                    if at < real:
                        rank[level, at] = segment
                    break
    return rank
