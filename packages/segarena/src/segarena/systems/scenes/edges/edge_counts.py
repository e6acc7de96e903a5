"""Pixel counts for precision and recall of one image's edges, per threshold, against several annotators.

Source: BSDS500, `evaluation_bdry_image`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.connected_components import label_components
from segarena.arrays.thinning import thin
from segarena.errors import InvalidInput, InvalidMask
from segarena.samples import Mask, Shape
from segarena.systems.scenes.edges.edge_matching import Candidates, match_radius_px


@dataclass(frozen=True, slots=True, eq=False)
class EdgeCounts:
    """Edge pixels of one image at T thresholds; every array is float64 (T,) with integer values.

    Attributes:
        thresholds: levels of the soft map, or indices of the segmentations from 1.
        target_matched: number of matched reference pixels, added up over the references.
        target: number of reference pixels, added up over the references.
        prediction_matched: number of predicted pixels matched to at least one reference.
        prediction: number of predicted pixels.
    """

    thresholds: NDArray[np.float64]
    target_matched: NDArray[np.float64]
    target: NDArray[np.float64]
    prediction_matched: NDArray[np.float64]
    prediction: NDArray[np.float64]

    @property
    def recall(self) -> NDArray[np.float64]:
        """Share of the reference pixels that are matched; 0 if there are none."""
        return self.target_matched / np.maximum(self.target, 1)

    @property
    def precision(self) -> NDArray[np.float64]:
        """Share of the predicted pixels that are matched; 0 if there are none."""
        return self.prediction_matched / np.maximum(self.prediction, 1)

    @property
    def table(self) -> NDArray[np.float64]:
        """The four counts, (T, 4), in the order of the attributes."""
        return np.stack(
            [self.target_matched, self.target, self.prediction_matched, self.prediction], axis=1
        )


def edge_thresholds(count: int = 99) -> NDArray[np.float64]:
    """Return `count` >= 1 evenly spaced levels strictly between 0 and 1; 99 gives 0.01, 0.02, ... 0.99."""
    if count < 1:
        raise InvalidInput(f"thresholds: expected 1 or more, got {count}")
    return np.linspace(1 / (count + 1), 1 - 1 / (count + 1), count)


def maps_of_soft(
    levels: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    *,
    thins: bool = True,
) -> Iterable[Mask]:
    """Yield the pixels of a soft map (see `as_soft`) at or above each threshold, optionally thinned."""
    for threshold in thresholds:
        edges = levels >= threshold
        if thins:
            edges = thin(edges)
        yield edges


def as_soft(
    soft: NDArray[Any],
    shape: Shape,
    *,
    name: str = "edge map",
) -> NDArray[np.float64]:
    """Return a soft map as float64 (H, W) in 0..1.

    Args:
        soft: edge strength (H, W): bool, floats from 0 to 1, or unsigned integers of 8 or 16 bits,
            which are divided by the maximum of their type. An ultrametric map of double size
            (2 H + 1, 2 W + 1) is sampled at the positions of the published benchmark.
        shape: (H, W) of the image.
        name: name of the map in error messages.

    Raises:
        InvalidMask: the map has the wrong shape or dtype, NaN, or values outside 0..1.
    """
    if soft.shape == double_shape(shape):
        soft = soft[2::2, 2::2]  # the positions south-east of each pixel, as published
    if soft.shape != shape:
        raise InvalidMask(
            f"{name}: expected the image's size {shape}, or for an ultrametric map {double_shape(shape)}; "
            f"got {soft.shape}"
        )
    return as_levels(soft, name=name)


def as_levels(soft: NDArray[Any], *, name: str = "edge map") -> NDArray[np.float64]:
    """Convert soft edges of any shape to float64 in 0..1; see `as_soft`."""
    if soft.dtype.kind == "b":
        return soft.astype(np.float64)
    if soft.dtype.kind == "u" and soft.dtype.itemsize <= 2:
        return soft / float(np.iinfo(soft.dtype).max)
    if soft.dtype.kind == "f":
        levels = soft.astype(np.float64)
        is_in_range = levels.min(initial=0) >= 0 and levels.max(initial=0) <= 1
        if is_in_range and np.isfinite(levels).all():
            return levels
    raise InvalidMask(
        f"{name}: expected levels of 0 to 1, or 8- or 16-bit numbers; got {soft.dtype} values outside this range"
    )


def regions_of_ultrametric(
    soft: NDArray[Any],
    threshold: float,
    shape: Shape,
    *,
    name: str = "map",
) -> NDArray[Any]:
    """Return the regions of an ultrametric map at a threshold, int32 (H, W), numbered from 1.

    `soft` has double size (2 H + 1, 2 W + 1), and its edges lie between the pixels of an image of
    `shape`. Edges up to the threshold are removed.

    Raises:
        InvalidMask: the shape is wrong, or a value is invalid for `as_soft`.
    """
    if soft.shape != double_shape(shape):
        raise InvalidMask(
            f"{name}: expected an ultrametric map of double size {double_shape(shape)}, got {soft.shape}; regions "
            "can be derived only from edges between pixels"
        )
    joined = label_components(as_levels(soft, name=name) <= threshold)
    # Odd positions of the map are pixels of the image, even positions are the edges between them.
    return joined[1::2, 1::2]


def double_shape(shape: Shape) -> Shape:
    """Return the shape of an ultrametric map for an image of (H, W)."""
    return (2 * shape[0] + 1, 2 * shape[1] + 1)


def count_edges(
    maps: Iterable[Mask],
    references: Sequence[Mask],
    *,
    thresholds: NDArray[np.float64],
    radius_px: float | None = None,
) -> EdgeCounts:
    """Match the edges of one image and return the counts.

    Each reference is matched separately. References must already be thin.

    Args:
        maps: thin edge maps, bool (H, W), one per threshold; equal consecutive maps are matched
            only once.
        references: edge maps of one or more annotators, bool (H, W).
        thresholds: (T,), one per map.
        radius_px: maximum distance of matched pixels; None for 0.75 % of the diagonal.

    Raises:
        InvalidMask: there is no reference, or shapes differ.
        InvalidInput: the numbers of thresholds and maps differ.
    """
    kept = list(maps)
    shapes = {edges.shape for edges in (*kept, *references)}
    if not references or len(shapes) > 1:
        raise InvalidMask(
            f"edge maps: expected one reference or more, all of the same shape; got shapes {sorted(shapes)}"
        )
    if len(kept) != len(thresholds):
        raise InvalidInput(
            f"expected as many thresholds as maps, got {len(thresholds)} and {len(kept)}"
        )
    shape: Shape = references[0].shape
    radius = match_radius_px(shape) if radius_px is None else radius_px
    # The maps of all thresholds share one list of candidates, which is slow to build.
    all_edges = np.logical_or.reduce(kept) if kept else np.zeros(shape, np.bool_)
    candidates = [Candidates(all_edges, reference, radius_px=radius) for reference in references]
    target = float(sum(int(np.count_nonzero(reference)) for reference in references))
    rows: list[tuple[float, float, float, float]] = []
    for index, edges in enumerate(kept):
        # Soft maps with few distinct values give equal maps at neighbouring thresholds.
        if index and np.array_equal(edges, kept[index - 1]):
            rows.append(rows[-1])
            continue
        matches = [candidate.match(edges) for candidate in candidates]
        target_matched = sum(len(match) for match in matches)
        # Precision counts a pixel once, even if several references match it.
        matched = np.unique(np.concatenate([match.prediction for match in matches]))
        rows.append((target_matched, target, len(matched), int(np.count_nonzero(edges))))
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return EdgeCounts(np.asarray(thresholds, np.float64), *table.T)
