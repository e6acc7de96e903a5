"""Surface distances: NSD (surface Dice), HD95 and the average symmetric surface distance.

Distances are Euclidean, in millimetres, from each element of one surface to the nearest element of the other; where
a sample has no spacing (photographs), in pixels. See `segarena.arrays.surface` for what an element is. Both masks may
have any number of parts; an ignored voxel takes the weight of the elements that touch it, not the elements, so the edge
of an ignored region is no surface of the object.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.surface import Convention, Surface, surface
from segarena.comparison import Comparison, Reference
from segarena.errors import PluginInvalid
from segarena.registry import metric
from segarena.samples import Mask


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
    """Return the normalised surface Dice: the share of both surfaces that is at most `tolerance_mm` from the other.

    >>> square = np.zeros((40, 40), bool)
    >>> square[10:30, 10:30] = True
    >>> nsd(np.roll(square, 1, axis=1), square, tolerance_mm=1.0)
    1.0
    >>> round(nsd(np.roll(square, 1, axis=1), square, tolerance_mm=0.5), 3)
    0.5

    Args:
        prediction: bool (or 0 and 1), two or three axes.
        target: same shape.
        spacing_mm: edge lengths of a voxel along the axes; None makes pixels the unit.
        ignore: same shape, True where pixels count nowhere; None when all count.
        tolerance_mm: at least 0, compared with <=, on float64 distances.
        empty: value for two masks without any counted surface; surface-distance and the CVPR 2025
            script get NaN.
            One mask without surface gives 0.
        convention: see `segarena.arrays.surface`.

    Raises:
        InvalidInput: shapes, values, spacing, tolerance or convention are not such.

    Source: Nikolov et al., "Clinically applicable segmentation of head and neck anatomy", 2021.
    """
    comparison = Comparison.of(prediction, target, ignore, spacing_mm=spacing_mm)
    return Nsd(tolerance_mm=tolerance_mm, empty=empty, convention=convention)(comparison)


@metric("nsd")
class Nsd:
    """NSD, also called surface Dice; see `nsd`.

    Args:
        tolerance_mm: how far the surfaces may be apart; compared with <=. In pixels where there is no spacing.
        empty: what two masks without surface give; "nan" as in the published challenge scripts.
        convention: "marching-cubes" or "voxel-border".
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
        self._convention: Convention = convention

    def __call__(self, comparison: Comparison) -> float:
        """Return the share of both surfaces within the tolerance; 0 when one mask is empty."""
        first, second = _surfaces(comparison, self._convention)
        total = first.area + second.area
        if not total:
            return self._empty
        near = (
            one.areas[
                one.distances_to(other, at_most=self._tolerance_mm) <= self._tolerance_mm
            ].sum()
            for one, other in ((first, second), (second, first))
        )
        # Sums of the same areas in another order differ in the last digit.
        return min(1.0, float(sum(near)) / total)

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return where NSD is no share; the surfaces themselves are not recorded."""
        del parts
        return (values["nsd"] < 0) | (values["nsd"] > 1)


@metric("surface_distance")
class SurfaceDistance:
    """HD95 and the average symmetric surface distance (ASSD).

    HD95 is the larger of two directed percentiles: the distance that 95 % of the area of one surface does not exceed.
    ASSD is the mean distance over the area of both surfaces together.

    Args:
        percentile: the 95 of HD95, above 0 and at most 100; 100 gives the Hausdorff distance.
        one_empty: what both give when one mask has no surface: "diagonal" (of the sample: no distance is larger),
            "inf" as in surface-distance, or a number. Two empty masks are 0 apart.
        convention: "marching-cubes" or "voxel-border".

    Raises:
        PluginInvalid: percentile out of range, another word for `one_empty`, or another convention.
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
        self._one_empty = None if one_empty == "diagonal" else _number(one_empty)
        self._convention: Convention = convention

    def __call__(self, comparison: Comparison) -> Mapping[str, float]:
        """Return both distances, in millimetres; in pixels where there is no spacing."""
        first, second = _surfaces(comparison, self._convention)
        if not (first.area and second.area):
            far = 0.0 if not (first.area or second.area) else self._far(comparison)
            return {"hd95_mm": far, "assd_mm": far}
        there = first.distances_to(second)
        back = second.distances_to(first)
        total = float((there * first.areas).sum() + (back * second.areas).sum())
        return {
            "hd95_mm": max(
                _percentile(there, first.areas, self._percentile),
                _percentile(back, second.areas, self._percentile),
            ),
            "assd_mm": total / (first.area + second.area),
        }

    def _far(self, comparison: Comparison) -> float:
        if self._one_empty is not None:
            return self._one_empty
        shape = comparison.reference.shape
        return math.hypot(*(n * edge for n, edge in zip(shape, _spacing(comparison), strict=True)))


class _Elements:
    """The elements of a surface with the search structures for distances, cached with the mask."""

    def __init__(self, found: Surface, spacing: tuple[float, ...]) -> None:
        self._positions = found.positions
        self._spacing = np.array(spacing)
        self.areas = found.areas
        self.area = float(found.areas.sum())

    @cached_property
    def _tree(self) -> Any:
        return _tree(self._positions * self._spacing)

    @cached_property
    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self._positions.min(axis=0), self._positions.max(axis=0)

    def distances_to(self, other: _Elements, *, at_most: float = math.inf) -> NDArray[np.float64]:
        """Return the distance of each element to the nearest of `other`; inf where that is above `at_most`.

        The nearest element is searched in floating-point coordinates, but its distance is computed from whole steps, so
        that it does not depend on the position in the frame.
        """
        distances = np.full(len(self.areas), math.inf)
        if not (len(self.areas) and len(other.areas)):
            return distances
        is_mine = self._near(other, at_most)
        is_theirs = other._near(self, at_most)
        mine = self._positions[is_mine]
        theirs = other._positions[is_theirs]
        tree = other._tree if is_theirs.all() else _tree(theirs * self._spacing)
        # Rounding in the search must not lose an element at exactly `at_most`.
        reach = at_most * (1 + 1e-9) + 1e-9
        nearest = tree.query(mine * self._spacing, distance_upper_bound=reach)[1]
        is_found = nearest < tree.n
        steps = mine[is_found] - theirs[nearest[is_found]]
        squared = np.square(steps * self._spacing).sum(axis=1)
        distances[np.flatnonzero(is_mine)[is_found]] = np.sqrt(squared)
        return distances

    def _near(self, other: _Elements, at_most: float) -> Mask:
        """Return which elements lie in the box around `other`, grown by `at_most`: no others can be as near.

        A prediction may have specks all over the volume; a small target needs only those around it.
        """
        low, high = other._ends
        reach = at_most / self._spacing + 1
        is_above = self._positions >= low - reach
        is_below = self._positions <= high + reach
        return np.all(is_above & is_below, axis=1)


def _tree(places: NDArray[Any]) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(places)


def _surfaces(comparison: Comparison, convention: Convention) -> tuple[_Elements, _Elements]:
    """Return the surfaces of prediction and target, each found once."""
    reference = comparison.reference
    spacing = _spacing(comparison)

    def elements(masks: Comparison | Reference) -> _Elements:
        found = surface(
            masks.given, masks.given_window, spacing, ignore=masks.ignore, convention=convention
        )
        return _Elements(found, spacing)

    key = ("surface", convention)
    return comparison.remember(key, lambda: elements(comparison)), reference.remember(
        key, lambda: elements(reference)
    )


def _spacing(comparison: Comparison) -> tuple[float, ...]:
    return comparison.spacing_mm or (1.0,) * len(comparison.reference.shape)


def _percentile(
    distances: NDArray[np.float64], areas: NDArray[np.float64], percentile: float
) -> float:
    """Return the least distance that at least `percentile` % of the area does not exceed."""
    order = np.lexsort((areas, distances))
    shares = np.cumsum(areas[order]) / areas.sum()
    index = int(np.searchsorted(shares, percentile / 100))
    return float(distances[order][min(index, len(order) - 1)])


def _number(text: float | str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise PluginInvalid(
            f"one_empty={text!r}: expected 'diagonal', 'inf', 'nan' or a number"
        ) from error
