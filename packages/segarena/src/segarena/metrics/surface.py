"""Surface distances: NSD (surface Dice), HD95 and the average symmetric surface distance.

Distances are Euclidean and in millimetres, from each element of one surface to the nearest element
of the other; for samples without spacing (photographs) they are in pixels. See
`segarena.arrays.surface` for the definition of an element. Both masks may have any number of parts.
An ignored voxel sets the weight of the elements that touch it to zero but does not remove them, so
the edge of an ignored region is not a surface of the object.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.surface import Convention, Surface, check_convention, surface
from segarena.comparison import Comparison, Reference
from segarena.errors import PluginInvalid
from segarena.registry import metric
from segarena.samples import Mask

# Relative tolerance, and absolute tolerance in millimetres: far above the rounding of float64 and
# far below a voxel.
_ROUNDING = 1e-9

# Limits of the grid in which elements within a tolerance are looked up. Beyond them, a tree needs less memory or time.
_MOST_GRID_CELLS = 1 << 23
_MOST_STEPS = 1 << 10
_LOOKUPS_AT_ONCE = 1 << 20
_NEXT_STEPS = 9
"""Number of shortest steps, including the step of length 0, that are looked up before the longer ones."""


def nsd(
    prediction: Any,
    target: Any,
    spacing_mm: tuple[float, ...] | None = None,
    ignore: Any = None,
    *,
    tolerance_mm: float = 2.0,
    empty: float = 1.0,
    convention: Convention = "marching-cubes",
) -> float:
    """Return the normalised surface Dice: the share of both surfaces within `tolerance_mm` of the other surface.

    >>> square = np.zeros((40, 40), bool)
    >>> square[10:30, 10:30] = True
    >>> nsd(np.roll(square, 1, axis=1), square, tolerance_mm=1.0)
    1.0
    >>> round(nsd(np.roll(square, 1, axis=1), square, tolerance_mm=0.5), 3)
    0.5

    Args:
        prediction: bool (or 0 and 1), two or three axes.
        target: same shape.
        spacing_mm: edge lengths of a voxel along the axes; None measures in pixels.
        ignore: same shape, True for ignored pixels; None if all count.
        tolerance_mm: maximum distance, at least 0, compared by <= with float64 distances.
        empty: value for two masks without any counted surface; surface-distance and the CVPR 2025
            script return NaN. If only one mask has no surface, the result is 0.
        convention: see `segarena.arrays.surface`.

    Raises:
        InvalidInput: shapes, values, spacing or convention are invalid.
        PluginInvalid: the tolerance is below 0.

    Source: Nikolov et al., "Clinically applicable segmentation of head and neck anatomy", 2021.
    """
    comparison = Comparison.of(prediction, target, ignore, spacing_mm=spacing_mm)
    return Nsd(tolerance_mm=tolerance_mm, empty=empty, convention=convention)(comparison)


@metric("nsd")
class Nsd:
    """NSD, also called surface Dice; see `nsd`.

    Args:
        tolerance_mm: largest distance at which an element counts as near the other surface, compared with <=; in pixels
            for samples without spacing.
        empty: value for two masks without surface; the published challenge scripts use "nan".
        convention: "marching-cubes" or "voxel-border".

    Raises:
        InvalidInput: the convention is unknown.
        PluginInvalid: the tolerance is negative.
    """

    columns = ("nsd",)
    titles = MappingProxyType({"nsd": "NSD"})

    def __init__(
        self,
        *,
        tolerance_mm: float = 2.0,
        empty: float | str = 1.0,
        convention: Convention = "marching-cubes",
    ) -> None:
        if not tolerance_mm >= 0:
            raise PluginInvalid(f"nsd: expected tolerance_mm of at least 0, got {tolerance_mm}")
        self._tolerance_mm = tolerance_mm
        self._empty = float(empty)
        check_convention(convention)
        self._convention: Convention = convention

    def __call__(self, comparison: Comparison) -> float:
        """Return the share of both surfaces within the tolerance; `empty` if neither mask has a counted surface."""
        first, second = _surfaces(comparison, self._convention)
        total = first.area + second.area
        if not total:
            return self._empty
        near_area = self._near_area(first, second) + self._near_area(second, first)
        # Sums of the same areas in another order differ in the last digit.
        return min(1.0, float(near_area) / total)

    def _near_area(self, one: _Elements, other: _Elements) -> np.float64:
        is_near = one.are_within(other, self._tolerance_mm)
        return one.areas[is_near].sum()

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return True for values outside 0 to 1; no more can be checked, because the surfaces are not recorded."""
        del parts
        # NaN compares as False, so undefined values are not reported.
        return (values["nsd"] < 0) | (values["nsd"] > 1)


@metric("surface_distance")
class SurfaceDistance:
    """HD95 and the average symmetric surface distance (ASSD).

    HD95 is the larger of two directed percentiles: the distance within which 95 % of the area of
    one surface lies from the other. ASSD is the mean distance over the area of both surfaces
    together.

    Args:
        percentile: percentile of HD95, above 0 and at most 100; 100 gives the Hausdorff distance.
        one_empty: value of both measures if only one mask has a counted surface: "diagonal" (of the sample, the upper
            bound of all distances), "inf" as in surface-distance, "nan", or a number. If neither has one, both
            measures are 0.
        convention: "marching-cubes" or "voxel-border".

    Raises:
        InvalidInput: the convention is unknown.
        PluginInvalid: the percentile is out of range, or `one_empty` has another value.
    """

    columns = ("hd95_mm", "assd_mm")
    titles = MappingProxyType({"hd95_mm": "HD95 (mm)", "assd_mm": "ASSD (mm)"})
    lower_is_better = ("hd95_mm", "assd_mm")

    def __init__(
        self,
        *,
        percentile: float = 95.0,
        one_empty: float | str = "diagonal",
        convention: Convention = "marching-cubes",
    ) -> None:
        if not 0 < percentile <= 100:
            raise PluginInvalid(
                f"surface_distance: expected a percentile above 0 and at most 100, got {percentile}"
            )
        self._percentile = percentile
        self._one_empty: float | None = None
        if one_empty != "diagonal":
            self._one_empty = _number(one_empty)
        check_convention(convention)
        self._convention: Convention = convention

    def __call__(self, comparison: Comparison) -> Mapping[str, float]:
        """Return both distances in millimetres, or in pixels for samples without spacing."""
        first, second = _surfaces(comparison, self._convention)
        if not first.area and not second.area:
            return {"hd95_mm": 0.0, "assd_mm": 0.0}
        if not first.area or not second.area:
            distance = self._distance_to_empty(comparison)
            return {"hd95_mm": distance, "assd_mm": distance}
        to_second = first.distances_to(second)
        to_first = second.distances_to(first)
        first_percentile = _percentile(to_second, first.areas, self._percentile)
        second_percentile = _percentile(to_first, second.areas, self._percentile)
        first_sum = (to_second * first.areas).sum()
        second_sum = (to_first * second.areas).sum()
        total = float(first_sum + second_sum)
        return {
            "hd95_mm": max(first_percentile, second_percentile),
            "assd_mm": total / (first.area + second.area),
        }

    def _distance_to_empty(self, comparison: Comparison) -> float:
        """Return the value for one empty surface: `one_empty`, by default the sample's diagonal."""
        if self._one_empty is not None:
            return self._one_empty
        shape = comparison.reference.shape
        sides = zip(shape, _spacing(comparison), strict=True)
        return math.hypot(*(size * edge for size, edge in sides))


class _Elements:
    """Elements of a surface with the search structures for distances, cached with the mask."""

    def __init__(self, found: Surface, spacing: tuple[float, ...]) -> None:
        self._positions = found.positions
        self._spacing = np.array(spacing)
        self.areas = found.areas
        self.area = float(found.areas.sum())

    # Cached, because the target's surface is compared with a prediction in every round.
    @cached_property
    def _tree(self) -> Any:
        return _tree(self._positions * self._spacing)

    @cached_property
    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        first = self._positions.min(axis=0)
        last = self._positions.max(axis=0)
        return first, last

    def distances_to(self, other: _Elements, *, at_most: float = math.inf) -> NDArray[np.float64]:
        """Return the distance of each element to the nearest element of `other`; inf if it is above `at_most`.

        The nearest element is found in floating-point coordinates, but its distance is computed
        from whole voxel steps, so that it does not depend on the position in the frame.
        """
        distances = np.full(len(self.areas), math.inf)
        if not (len(self.areas) and len(other.areas)):
            return distances
        may_be_near = self._near(other, at_most)
        is_other_near = other._near(self, at_most)
        own_positions = self._positions[may_be_near]
        other_positions = other._positions[is_other_near]
        if is_other_near.all():
            tree = other._tree
        else:
            tree = _tree(other_positions * self._spacing)
        # Widen the search, because rounding must not lose an element at exactly `at_most`.
        reach = at_most * (1 + _ROUNDING) + _ROUNDING
        _, nearest = tree.query(own_positions * self._spacing, distance_upper_bound=reach)
        # SciPy returns the number of elements if none is within reach.
        is_found = nearest < tree.n
        steps = own_positions[is_found] - other_positions[nearest[is_found]]
        squared = np.square(steps * self._spacing).sum(axis=1)
        found = np.flatnonzero(may_be_near)[is_found]
        distances[found] = np.sqrt(squared)
        return distances

    def are_within(self, other: _Elements, at_most: float) -> Mask:
        """Return which elements are at most `at_most` from an element of `other`, by the distances of `distances_to`.

        Steps between elements are whole voxels, so the few steps up to this length can be looked up.
        """
        if not (len(self.areas) and len(other.areas)):
            return np.zeros(len(self.areas), dtype=np.bool_)
        steps = _steps_within(tuple(self._spacing.tolist()), at_most)
        grid = other._grid(steps)
        if steps is None or grid is None:
            return self.distances_to(other, at_most=at_most) <= at_most
        reach = steps.max(axis=0)
        low, high = other._ends
        own_low, own_high = self._ends
        # Usually all elements are in the box around the other surface; testing each takes as long as a search.
        if (own_low >= low - reach).all() and (own_high <= high + reach).all():
            waiting = np.arange(len(self.areas))
        else:
            is_above = self._positions >= low - reach
            is_below = self._positions <= high + reach
            waiting = np.flatnonzero(np.all(is_above & is_below, axis=1))
        first_cell = _flat_index((low - 2 * reach)[None], grid.shape)
        cells = (_flat_index(self._positions, grid.shape) - first_cell)[waiting]
        flat_grid = grid.reshape(-1)
        are_near = np.zeros(len(self.areas), dtype=np.bool_)
        flat_steps = _flat_index(steps, grid.shape)
        # Most elements of a good prediction coincide with one of the target or are next to one.
        for some_steps in (flat_steps[:1], flat_steps[1:_NEXT_STEPS], flat_steps[_NEXT_STEPS:]):
            if not len(waiting):
                break
            is_found = _has_neighbour(flat_grid, cells, some_steps)
            are_near[waiting[is_found]] = True
            waiting = waiting[~is_found]
            cells = cells[~is_found]
        return are_near

    def _grid(self, steps: NDArray[np.int64] | None) -> Mask | None:
        """Return a grid that is True at the elements; None without `steps`, or if the grid would be too large.

        Along each axis, the margin on either end is twice the longest step.
        """
        if steps is None:
            return None
        low, high = self._ends
        reach = steps.max(axis=0)
        shape = tuple((high - low + 1 + 4 * reach).tolist())
        if math.prod(shape) > _MOST_GRID_CELLS:
            return None
        grid = np.zeros(shape, dtype=np.bool_)
        first_cell = _flat_index((low - 2 * reach)[None], shape)
        grid.reshape(-1)[_flat_index(self._positions, shape) - first_cell] = True
        return grid

    def _near(self, other: _Elements, at_most: float) -> Mask:
        """Return which elements lie in the box around `other`, grown by `at_most`; all others are farther away.

        A prediction may have specks throughout the volume; a small target needs only those near it.
        """
        low, high = other._ends
        # Grow by one more voxel, so that rounding of the quotient cannot exclude an element at
        # exactly `at_most`.
        reach = at_most / self._spacing + 1
        is_above = self._positions >= low - reach
        is_below = self._positions <= high + reach
        return np.all(is_above & is_below, axis=1)


# Cached, because all volumes of a dataset share a few spacings.
@cache
def _steps_within(spacing: tuple[float, ...], at_most: float) -> NDArray[np.int64] | None:
    """Return all steps of whole voxels, int64 (n, axes), whose length is at most `at_most`; the shortest first.

    The result is None if there are too many steps. It is also None if rounding puts only some of the steps of length
    `at_most` above it: whether an element at such a step is near then depends on which element the search finds.
    """
    if any(at_most / edge > _MOST_STEPS for edge in spacing):
        return None
    counts = [math.floor(at_most / edge) + 1 for edge in spacing]
    if math.prod(2 * count + 1 for count in counts) > 8 * _MOST_STEPS:
        return None
    axes = [np.arange(-count, count + 1) for count in counts]
    grids = np.meshgrid(*axes, indexing="ij")
    steps = np.stack([grid.reshape(-1) for grid in grids], axis=1)
    lengths = np.sqrt(np.square(steps * np.array(spacing)).sum(axis=1))
    is_within = lengths <= at_most
    is_at_limit = np.abs(lengths - at_most) <= at_most * _ROUNDING + _ROUNDING
    is_ambiguous = is_within[is_at_limit].any() and not is_within[is_at_limit].all()
    if is_ambiguous or np.count_nonzero(is_within) > _MOST_STEPS:
        return None
    order = np.argsort(lengths[is_within], kind="stable")
    return steps[is_within][order]


def _has_neighbour(
    flat_grid: Mask,
    cells: NDArray[np.int64],
    flat_steps: NDArray[np.int64],
) -> Mask:
    """Return which cells have a True cell at the end of one of the steps."""
    found = np.zeros(len(cells), dtype=np.bool_)
    at_once = max(1, _LOOKUPS_AT_ONCE // max(1, len(flat_steps)))
    for first in range(0, len(cells), at_once):
        some = slice(first, first + at_once)
        # One row per step, because reducing over rows is several times as fast as within them.
        found[some] = flat_grid[flat_steps[:, None] + cells[some]].any(axis=0)
    return found


def _flat_index(positions: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the positions, (n, axes), as indices of a flattened array; steps give differences of indices."""
    # Column by column, because positions are stored by axis.
    index = positions[:, 0]
    for axis in range(1, len(shape)):
        index = index * shape[axis] + positions[:, axis]
    return index


def _tree(points: NDArray[Any]) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(points)


def _surfaces(comparison: Comparison, convention: Convention) -> tuple[_Elements, _Elements]:
    """Return the surfaces of prediction and target, each computed once."""
    reference = comparison.reference
    spacing = _spacing(comparison)

    def elements(masks: Comparison | Reference) -> _Elements:
        found = surface(
            masks.given, masks.given_window, spacing, ignore=masks.ignore, convention=convention
        )
        return _Elements(found, spacing)

    # NSD and surface distances of one round share the surfaces; the target's serve all rounds.
    key = ("surface", convention)
    predicted = comparison.remember(key, lambda: elements(comparison))
    target = reference.remember(key, lambda: elements(reference))
    return predicted, target


def _spacing(comparison: Comparison) -> tuple[float, ...]:
    return comparison.spacing_mm or (1.0,) * len(comparison.reference.shape)


def _percentile(
    distances: NDArray[np.float64],
    areas: NDArray[np.float64],
    percentile: float,
) -> float:
    """Return the smallest distance within which at least `percentile` % of the area lies."""
    # Order equal distances by area, so that the sums do not depend on the order of the elements.
    order = np.lexsort((areas, distances))
    shares = np.cumsum(areas[order]) / areas.sum()
    index = int(np.searchsorted(shares, percentile / 100))
    # The last share may be rounded to less than 1.
    last = len(order) - 1
    return float(distances[order][min(index, last)])


def _number(text: float | str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise PluginInvalid(
            f"one_empty={text!r}: expected 'diagonal', 'inf', 'nan' or a number"
        ) from error
