"""Users who click where a map says that people click: uniform, by depth, or any other map of the error.

Source: the sampled clicks and the clicking groups of RClicks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.geometry.boxes import bounding_window, grow_window
from segarena.geometry.distance import squared_distance
from segarena.interfaces import Turn
from segarena.prompts import Click
from segarena.registry import user
from segarena.samples import Mask, Sample
from segarena.users.centre import CentreClicker, WhenSolved

Groups = Literal["exact", "published"]
Border = Literal["background", "object"]


class ClickMap(Protocol):
    """Says how likely each pixel of an error is to be clicked."""

    def __call__(self, sample: Sample, target: Mask, error: Mask) -> NDArray[Any]:
        """Return weights of 0 or more, shape of the sample; only those of error pixels are read.

        Args:
            sample: the sample.
            target: the target, full frame, ignored pixels False.
            error: the missing or the surplus part, full frame, clicked pixels included.
        """
        ...


class UniformMap:
    """Every error pixel is as likely as the others."""

    def __call__(self, sample: Sample, target: Mask, error: Mask) -> NDArray[Any]:
        """Return the error itself."""
        return error


class DepthMap:
    """Likelihood in proportion to the Euclidean distance to the nearest pixel that is no error of that kind.

    Args:
        border: what lies beyond the frame: "background" as for `CentreClicker`, or "object" as in the published
            map, where pixels on the frame's border are not near an edge. An error that fills the whole frame is then
            far from any edge everywhere, and uniform.
    """

    def __init__(self, *, border: Border = "background") -> None:
        if border not in ("background", "object"):
            raise InvalidInput(f'border: expected "background" or "object", got {border!r}')
        self._border = border

    def __call__(self, sample: Sample, target: Mask, error: Mask) -> NDArray[Any]:
        """Return distances in pixels, 0 outside the error."""
        if self._border == "background":
            return np.sqrt(squared_distance(error))
        if error.all():
            return error
        return _open_distance(error)


def _open_distance(error: Mask) -> NDArray[np.float64]:
    """Return distances to the nearest pixel of the frame that is no error."""
    from scipy.ndimage import distance_transform_edt

    distance = np.zeros(error.shape)
    # The nearest pixel outside a window lies beside it, so one more row and column on each side are enough.
    window = grow_window(bounding_window(error), 1, error.shape)
    distance[window] = distance_transform_edt(error[window])
    return distance


class MapClicker:
    """Draws its clicks from a map of the error, wholly or between two bounds of its mass.

    Which error is clicked, missing or surplus, is decided as by `CentreClicker`. The map over that error, without
    pixels clicked before, is then sampled: a pixel's probability is its share of the sum. When the map is zero
    there, the click is that of `CentreClicker`.

    Bounds make clicking groups: with pixels sorted from the least to the most likely, only those between the shares
    `low` and `high` of the total can be drawn. So 0.0 to 0.1 is where the unlikeliest tenth of all clicks falls, 0.9 to
    1.0 the likeliest.

    Args:
        click_map: the map.
        low: lower bound, 0 to 1.
        high: upper bound, above `low`, at most 1.
        groups: "exact" cuts at the bounds themselves: a pixel across a bound is in either group with its part
            of the mass, equally likely pixels count in row-major order. "published" keeps every pixel whose value is
            between those of the pixels at the bounds, which are wholly in both groups with all their equals.
        when_solved: see `CentreClicker`.

    Raises:
        InvalidInput: bounds or options out of range.
    """

    def __init__(
        self,
        click_map: ClickMap,
        *,
        low: float = 0.0,
        high: float = 1.0,
        groups: Groups = "exact",
        when_solved: WhenSolved = "stop",
    ) -> None:
        if not 0.0 <= low < high <= 1.0:
            raise InvalidInput(f"expected 0 <= low < high <= 1, got low={low}, high={high}")
        if groups not in ("exact", "published"):
            raise InvalidInput(f'groups: expected "exact" or "published", got {groups!r}')
        self._map = click_map
        self._low, self._high = low, high
        self._draw = draw_between if groups == "exact" else draw_published
        self._centre = CentreClicker(when_solved=when_solved)

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return one click, or None when nothing is left to correct."""
        click = self._centre.click(turn)
        if click is None:
            return None
        comparison = turn.comparison
        error = np.zeros(turn.sample.shape, dtype=np.bool_)
        error[comparison.window] = comparison.missing if click.is_positive else comparison.surplus
        pixels = np.flatnonzero(error)
        weights = _weights_at(pixels, self._map(turn.sample, comparison.target, error), error.shape)
        clicked = [np.ravel_multi_index(other.position, error.shape) for other in turn.dialogue.clicks]
        weights[np.isin(pixels, clicked)] = 0
        if not weights.sum() > 0:
            return (click,)
        pixel = pixels[self._draw(weights, self._low, self._high, turn.rng.random())]
        return (Click(tuple(map(int, np.unravel_index(pixel, error.shape))), is_positive=click.is_positive),)


def draw_between(weights: NDArray[np.float64], low: float, high: float, uniform: float) -> int:
    """Return the index drawn by `uniform`, in [0, 1), from the mass between `low` and `high` of sorted weights.

    Between 0 and 1 the order of the weights does not matter, and they are taken as they come.
    """
    if (low, high) == (0.0, 1.0):
        return _index_at(weights, uniform)
    order = np.argsort(weights, kind="stable")
    return int(order[_index_at(weights[order], low + uniform * (high - low))])


def draw_published(weights: NDArray[np.float64], low: float, high: float, uniform: float) -> int:
    """Return the index drawn by `uniform`, in [0, 1), from all weights between those found at the bounds.

    Sums are float64; the published code mixes two float32 sums and so loses the likeliest pixels of large maps.
    """
    ordered = np.sort(weights)
    sums = np.cumsum(ordered)
    first = int(np.searchsorted(sums, low * sums[-1], side="left"))
    last = min(int(np.searchsorted(sums, high * sums[-1], side="right")), len(sums) - 1)
    inside = (weights >= ordered[first]) & (weights <= ordered[last])
    return _index_at(np.where(inside, weights, 0.0), uniform)


def _index_at(weights: NDArray[np.float64], share: float) -> int:
    """Return the index where the running sum passes `share` of the total; never one of weight 0."""
    sums = np.cumsum(weights)
    index = int(np.searchsorted(sums, share * sums[-1], side="right"))
    # Rounding can lift the product to the total itself; then the last pixel with any mass is meant.
    return min(index, int(np.searchsorted(sums, sums[-1], side="left")))


def _weights_at(pixels: NDArray[np.int64], values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    if values.shape != shape:
        raise InvalidInput(f"click map: expected shape {shape}, got {values.shape}")
    weights = values.ravel()[pixels].astype(np.float64)
    if (weights < 0).any():
        raise InvalidInput(f"click map: expected weights of 0 or more, got {weights.min()}")
    return weights


@user("uniform")
def uniform_clicker(
    *, low: float = 0.0, high: float = 1.0, groups: Groups = "exact", when_solved: WhenSolved = "stop"
) -> MapClicker:
    """Return the user who clicks anywhere in the error (`UniformMap`); options are those of `MapClicker`."""
    return MapClicker(UniformMap(), low=low, high=high, groups=groups, when_solved=when_solved)


@user("depth")
def depth_clicker(
    *,
    border: Border = "background",
    low: float = 0.0,
    high: float = 1.0,
    groups: Groups = "exact",
    when_solved: WhenSolved = "stop",
) -> MapClicker:
    """Return the user who clicks deep in the error (`DepthMap`); options are those of it and of `MapClicker`."""
    return MapClicker(DepthMap(border=border), low=low, high=high, groups=groups, when_solved=when_solved)
