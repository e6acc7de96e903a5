"""Which pixel of one edge map belongs to which of another: one to one, as many as possible, as near as possible.

The published benchmark solves an assignment with random outliers and reaches almost the maximum; this one reaches it,
and is deterministic. Costs are whole hundredths of a pixel, as published, so that sums are exact: of all matchings with
the most pairs one of the least total cost is returned. Which one, where several have it, is settled by the order of
the pixels.

Source: BSDS500, `correspondPixels`; Martin, Fowlkes & Malik, PAMI 2004, appendix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.chunks import chunks
from segarena.errors import InvalidInput, InvalidMask
from segarena.samples import Mask, Shape
from segarena.systems.scenes.edges.bipartite_matching import best_matching

TOLERANCE = 0.0075
"""How far matched pixels may lie apart, as a share of the image's diagonal."""
COSTS_PER_PX = 100
_AT_ONCE = (
    1 << 22
)  # places looked up at once, so that large images need no more memory than small ones


def match_radius_px(shape: Shape, tolerance: float = TOLERANCE) -> float:
    """Return how far matched pixels may lie apart in an image of (H, W): a share of the diagonal, not rounded."""
    return tolerance * math.hypot(*shape)


@dataclass(frozen=True, slots=True, eq=False)
class EdgeMatch:
    """A matching: pixel `prediction[k]` belongs to pixel `target[k]`.

    Attributes:
        prediction: int (n,), matched pixels of the first map by their number in row-major order of the image.
        target: int (n,), their partners in the second.
    """

    prediction: NDArray[np.intp]
    target: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.prediction)


def match_edges(prediction: Mask, target: Mask, *, radius_px: float) -> EdgeMatch:
    """Return the matching of two thin edge maps, bool (H, W), whose pixels lie at most `radius_px` apart.

    The count does not depend on the order of the two. No edges, or none in reach, give no pairs.

    Raises:
        InvalidMask: shapes differ, or there are not two axes.
        InvalidInput: the radius is negative or not a number.
    """
    return Candidates(prediction, target, radius_px=radius_px).match()


class Candidates:
    """Which pixels of two maps lie in reach of each other; matched for all of the first map, or a part of it.

    Maps of one image at many thresholds are parts of one: the list is made once, of all their pixels.
    """

    def __init__(self, prediction: Mask, target: Mask, *, radius_px: float) -> None:
        if prediction.shape != target.shape or prediction.ndim != 2:
            raise InvalidMask(
                f"edge maps: expected two of one shape (H, W), got {prediction.shape} and {target.shape}; "
                "do they belong to one image?"
            )
        if not radius_px >= 0 or math.isinf(radius_px):
            raise InvalidInput(f"radius_px={radius_px}: expected a number of pixels, 0 or more")
        self._pixels = np.flatnonzero(prediction)
        self._target_pixels = np.flatnonzero(target)
        self._degrees, self._partners, self._costs = _within_reach(self._pixels, target, radius_px)

    def match(self, prediction: Mask | None = None) -> EdgeMatch:
        """Return the matching of the target with `prediction`, a part of the first map; None: all of it."""
        from scipy.sparse import csr_array

        if prediction is None:
            chosen = np.ones(len(self._pixels), np.bool_)
        else:
            chosen = prediction.reshape(-1)[self._pixels]
        if prediction is not None and np.count_nonzero(chosen) != np.count_nonzero(prediction):
            raise InvalidMask(
                "edge map: expected a part of the map whose candidates these are, got pixels outside it"
            )
        # Pixels with nothing in reach take no part.
        rows = np.flatnonzero(chosen & (self._degrees > 0))
        is_used = np.repeat(chosen, self._degrees)
        partners = self._partners[is_used]
        costs = self._costs[is_used]
        columns = np.flatnonzero(np.bincount(partners, minlength=len(self._target_pixels)))
        if not len(rows):
            return EdgeMatch(rows, columns)
        place = np.empty(len(self._target_pixels), dtype=np.int32)
        place[columns] = np.arange(len(columns))
        ends = np.concatenate(([0], np.cumsum(self._degrees[rows])))
        graph = csr_array((costs, place[partners], ends), shape=(len(rows), len(columns)))
        # The solver walks from every row, so the fewer rows the better.
        if len(rows) <= len(columns):
            first, second = best_matching(graph)
        else:
            second, first = best_matching(graph.T.tocsr())
        order = np.argsort(first)
        return EdgeMatch(
            self._pixels[rows[first[order]]], self._target_pixels[columns[second[order]]]
        )


def _within_reach(
    pixels: NDArray[np.intp], target: Mask, radius_px: float
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.float64]]:
    """Return how many target pixels each pixel reaches, which ones one pixel after the other, and what each costs."""
    offsets = _offsets(radius_px)
    margin = int(radius_px)
    # The margin keeps steps inside: none leads beyond the end of a row into the next.
    numbers = np.where(target, np.cumsum(target).reshape(target.shape) - 1, -1).astype(np.int32)
    numbers = np.pad(numbers, margin, constant_values=-1)
    row, column = np.divmod(pixels, max(1, target.shape[1]))
    places = (row + margin) * numbers.shape[1] + column + margin
    steps = offsets[:, 0] * numbers.shape[1] + offsets[:, 1]
    costs = _costs(offsets)
    degrees = np.zeros(len(pixels), np.intp)
    partners = [np.zeros(0, np.int32)]
    prices = [np.zeros(0)]
    for part in chunks(len(pixels), len(offsets), most=_AT_ONCE):
        found = numbers.reshape(-1)[places[part, None] + steps]
        is_there = found >= 0
        degrees[part] = is_there.sum(axis=1)
        partners.append(found[is_there])
        prices.append(np.broadcast_to(costs, found.shape)[is_there])
    return degrees, np.concatenate(partners), np.concatenate(prices)


def _offsets(radius_px: float) -> NDArray[np.intp]:
    """Return the steps (row, column) no longer than the radius, in row-major order."""
    reach = np.arange(-int(radius_px), int(radius_px) + 1)
    row, column = np.meshgrid(reach, reach, indexing="ij")
    is_near = row**2 + column**2 <= radius_px**2
    return np.stack([row[is_near], column[is_near]], axis=1)


def _costs(offsets: NDArray[np.intp]) -> NDArray[np.float64]:
    # One more than the distance: the solver takes a stored zero for no candidate. All maximum matchings pay it equally.
    return np.rint(COSTS_PER_PX * np.hypot(offsets[:, 0], offsets[:, 1])) + 1
