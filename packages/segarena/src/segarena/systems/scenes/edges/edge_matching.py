"""One-to-one matching of the pixels of two edge maps: a maximum number of pairs at minimum total distance.

The published benchmark solves an assignment problem with random outliers, whose result falls
slightly short of the maximum. This matching reaches the maximum and is deterministic. As published,
costs are integers in hundredths of a pixel, so their sums are exact. The order of the pixels
decides between equally good matchings.

Source: BSDS500, `correspondPixels`; Martin, Fowlkes & Malik, PAMI 2004, appendix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.chunks import row_chunks
from segarena.errors import InvalidInput, InvalidMask
from segarena.samples import Mask, Shape
from segarena.systems.scenes.edges.bipartite_matching import best_matching

# The value that the BSDS benchmark passes. The default of its MATLAB function is 0.01.
TOLERANCE = 0.0075
"""Maximum distance of matched pixels, as a share of the image diagonal."""
# The published matcher rounds distances to hundredths of a pixel, to solve in integers.
COSTS_PER_PX = 100
# Maximum number of pixel pairs per batch, which bounds the memory for large images.
_AT_ONCE = 1 << 22


def match_radius_px(shape: Shape, tolerance: float = TOLERANCE) -> float:
    """Return the maximum distance of matched pixels in an image of (H, W), without rounding."""
    return tolerance * math.hypot(*shape)


@dataclass(frozen=True, slots=True, eq=False)
class EdgeMatch:
    """A matching: pixel `prediction[k]` is matched to pixel `target[k]`.

    Attributes:
        prediction: int (n,), row-major indices of the matched pixels in the first map.
        target: int (n,), row-major indices of their partners in the second map.
    """

    prediction: NDArray[np.intp]
    target: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.prediction)


def match_edges(
    prediction: Mask,
    target: Mask,
    *,
    radius_px: float,
) -> EdgeMatch:
    """Match the pixels of two thin edge maps, bool (H, W), at most `radius_px` apart.

    The number of pairs does not depend on which map comes first. The result is empty if no edge
    pixels are within reach of each other.

    Raises:
        InvalidMask: shapes differ, or the maps do not have two axes.
        InvalidInput: the radius is negative, infinite or NaN.
    """
    return Candidates(prediction, target, radius_px=radius_px).match()


class Candidates:
    """Candidate pairs of pixels of two edge maps, for matching all or part of the first map.

    An image's edge maps at many thresholds are parts of one map, so the candidates of all its
    pixels are computed only once.
    """

    def __init__(
        self,
        prediction: Mask,
        target: Mask,
        *,
        radius_px: float,
    ) -> None:
        if prediction.shape != target.shape or prediction.ndim != 2:
            raise InvalidMask(
                f"edge maps: expected two of the same shape (H, W), got {prediction.shape} and {target.shape}; "
                "do they belong to one image?"
            )
        if not radius_px >= 0 or math.isinf(radius_px):
            raise InvalidInput(f"radius_px={radius_px}: expected a number of pixels, 0 or more")
        self._pixels = np.flatnonzero(prediction)
        self._target_pixels = np.flatnonzero(target)
        self._degrees, self._partners, self._costs = _within_reach(self._pixels, target, radius_px)

    def match(self, prediction: Mask | None = None) -> EdgeMatch:
        """Match the target with `prediction`, a part of the first map; None matches the whole map."""
        # SciPy is slow to import, and most commands do not need it.
        from scipy.sparse import csr_array

        is_chosen = self._chosen(prediction)
        # `best_matching` needs at least one candidate in every row.
        rows = np.flatnonzero(is_chosen & (self._degrees > 0))
        is_used = np.repeat(is_chosen, self._degrees)
        partners = self._partners[is_used]
        costs = self._costs[is_used]
        columns = np.flatnonzero(np.bincount(partners, minlength=len(self._target_pixels)))
        if not len(rows):
            return EdgeMatch(rows, columns)
        column_of = np.empty(len(self._target_pixels), dtype=np.int32)
        column_of[columns] = np.arange(len(columns))
        ends = np.concatenate(([0], np.cumsum(self._degrees[rows])))
        graph = csr_array((costs, column_of[partners], ends), shape=(len(rows), len(columns)))
        # The solver starts a search from every row, so the smaller side becomes the rows.
        if len(rows) <= len(columns):
            first, second = best_matching(graph)
        else:
            second, first = best_matching(graph.T.tocsr())
        order = np.argsort(first)
        matched_rows = rows[first[order]]
        matched_columns = columns[second[order]]
        return EdgeMatch(self._pixels[matched_rows], self._target_pixels[matched_columns])

    def _chosen(self, prediction: Mask | None) -> NDArray[np.bool_]:
        """Return which edge pixels of the first map are in `prediction`."""
        if prediction is None:
            return np.ones(len(self._pixels), np.bool_)
        is_chosen = prediction.reshape(-1)[self._pixels]
        if np.count_nonzero(is_chosen) != np.count_nonzero(prediction):
            raise InvalidMask(
                "edge map: expected pixels of the map that these candidates are for, got pixels outside it"
            )
        return is_chosen


def _within_reach(
    pixels: NDArray[np.intp],
    target: Mask,
    radius_px: float,
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.float64]]:
    """Return, for all pixels, the number of target pixels within reach, their indices and their costs."""
    offsets = _offsets(radius_px)
    margin = int(radius_px)
    # The margin keeps offsets inside the array, so that none wraps from the end of a row into the
    # next.
    running_numbers = np.cumsum(target).reshape(target.shape) - 1
    numbers = np.where(target, running_numbers, -1).astype(np.int32)
    numbers = np.pad(numbers, margin, constant_values=-1)
    width = numbers.shape[1]
    flat_numbers = numbers.reshape(-1)
    row, column = np.divmod(pixels, max(1, target.shape[1]))
    flat_pixels = (row + margin) * width + column + margin
    steps = offsets[:, 0] * width + offsets[:, 1]
    step_costs = _costs(offsets)
    degrees = np.zeros(len(pixels), np.intp)
    partners = [np.zeros(0, np.int32)]
    costs = [np.zeros(0)]
    for part in row_chunks(len(pixels), len(offsets), most=_AT_ONCE):
        found = flat_numbers[flat_pixels[part, None] + steps]
        is_edge = found >= 0
        degrees[part] = is_edge.sum(axis=1)
        partners.append(found[is_edge])
        costs.append(np.broadcast_to(step_costs, found.shape)[is_edge])
    return degrees, np.concatenate(partners), np.concatenate(costs)


def _offsets(radius_px: float) -> NDArray[np.intp]:
    """Return all offsets (row, column) up to the radius, in row-major order."""
    farthest = int(radius_px)
    reach = np.arange(-farthest, farthest + 1)
    row, column = np.meshgrid(reach, reach, indexing="ij")
    is_near = row**2 + column**2 <= radius_px**2
    return np.stack([row[is_near], column[is_near]], axis=1)


def _costs(offsets: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the cost of each offset (row, column)."""
    distances = np.hypot(offsets[:, 0], offsets[:, 1])
    # One is added because the solver treats a stored zero as a missing entry. Every maximum
    # matching pays the same extra cost.
    return np.rint(COSTS_PER_PX * distances) + 1
