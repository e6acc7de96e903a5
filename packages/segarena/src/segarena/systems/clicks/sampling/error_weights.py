"""Click maps restricted to an error: one click weight per error pixel, shared between users.

Click maps that are computed from photographs, such as the clickability network's, are plug-ins; see
`segarena.systems.clicks.models.click_models`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, from_window
from segarena.arrays.distance_transform import squared_distance
from segarena.arrays.pixel_depths import position_of_pixel
from segarena.comparison import Comparison
from segarena.errors import InvalidInput
from segarena.roles import Turn
from segarena.samples import Mask, Sample
from segarena.systems.clicks.sampling.weighted_draws import SamplingWeights
from segarena.users.centre import deepest_error

MAP_BATCH_SIZE = 8
"""Maximum number of maps computed at once, which limits memory in rounds with many targets and users."""


FrameBorder = Literal["background", "published"]


class ClickMap(Protocol):
    """Model of the click likelihood of each error pixel."""

    def __call__(
        self,
        sample: Sample,
        target: Mask,
        error: Mask,
    ) -> NDArray[Any]:
        """Return non-negative weights in the shape of the sample; values outside the error are ignored.

        Args:
            sample: the sample.
            target: mask of the target over the full frame, with ignored pixels False.
            error: mask of the missing or of the surplus part over the full frame, including pixels
                that were already clicked.
        """
        ...


def uniform_map(
    sample: Sample,
    target: Mask,
    error: Mask,
) -> NDArray[Any]:
    """Return the error itself: all its pixels are equally likely."""
    return error


DepthWeighting: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""Function from the squared depths of the error pixels to their click weights.

A click map that depends on depth alone has such a function as its attribute `of_depths`. The map
itself then does not have to be computed, because the depths are already known from choosing the
error.
"""


class DepthMap:
    """Click map proportional to the Euclidean distance to the nearest pixel outside the error.

    Args:
        border: whether the image border counts as an edge. "background": it does, as for
            `CentreClicker`. "published": it does not, as in the published map; an error that fills
            the whole image then has no edge, and its map is uniform.
    """

    def __init__(self, *, border: FrameBorder = "background") -> None:
        self._frame_is_edge = border == "background"
        self.of_depths: DepthWeighting | None = _depth_px if self._frame_is_edge else None

    def __call__(
        self,
        sample: Sample,
        target: Mask,
        error: Mask,
    ) -> NDArray[Any]:
        """Return the distances in pixels, and 0 outside the error."""
        return np.sqrt(squared_distance(error, frame_is_edge=self._frame_is_edge))


def _depth_px(squared: NDArray[Any]) -> NDArray[np.float64]:
    return np.sqrt(squared, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ErrorWeights:
    """Click weights of the error pixels.

    Attributes:
        window: part of the image that contains the error.
        pixels: flat indices of the error pixels in the window, ascending.
        weights: the weight of each error pixel.
    """

    window: Window
    pixels: NDArray[np.int64]
    weights: SamplingWeights

    def position(self, index: int) -> tuple[int, ...]:
        """Return the image position of the pixel at `index` in `pixels`."""
        return position_of_pixel(self.window, int(self.pixels[index]))

    def without(self, positions: Sequence[tuple[int, ...]]) -> SamplingWeights:
        """Return the weights with the given image positions set to zero."""
        clicked: list[int] = []
        for position in positions:
            index = self._index(position)
            if index is not None:
                clicked.append(index)
        if not clicked:
            return self.weights
        values = self.weights.values.copy()
        values[clicked] = 0
        return SamplingWeights(values)

    def _index(self, position: tuple[int, ...]) -> int | None:
        """Return the index in `pixels` of the pixel at `position`, or None if it is not an error pixel."""
        pixel = 0
        for side, coordinate in zip(self.window, position, strict=True):
            if not side.start <= coordinate < side.stop:
                return None
            pixel = pixel * (side.stop - side.start) + coordinate - side.start
        index = int(self.pixels.searchsorted(pixel))
        if index < len(self.pixels) and self.pixels[index] == pixel:
            return index
        return None


class SharedMap:
    """Cache of one click map per comparison and kind of error; in the first round, all users share a map.

    Args:
        click_map: the click map. If it has a method `many(samples, targets, errors)` that returns
            one map per sample, the maps of a round are computed in batches; see also
            `DepthWeighting`.
    """

    def __init__(self, click_map: ClickMap) -> None:
        self._map = click_map
        self._of_depths: DepthWeighting | None = getattr(click_map, "of_depths", None)

    def of(self, turn: Turn, is_positive: bool) -> ErrorWeights:
        """Return the weights for the missing part (if `is_positive`) or for the surplus part.

        Raises:
            InvalidInput: the shape of the map differs from that of the sample, or the map has
                negative values.
        """
        slot = self._slot(turn.of_one, is_positive)
        if not slot:
            slot.append(self._compute(turn, is_positive))
        return slot[0]

    def _compute(self, turn: Turn, is_positive: bool) -> ErrorWeights:
        comparison = turn.of_one
        if self._of_depths is not None:
            window, pixels, squared = comparison.depths(is_missing=is_positive)
            weights = _checked_weights(self._of_depths(squared))
            return ErrorWeights(from_window(window, comparison.window), pixels, weights)
        error = _full_frame(comparison, is_positive)
        values = self._map(turn.sample, comparison.target, error)
        return _weights_in_error(comparison, is_positive, values)

    def prepare(self, turns: Sequence[Turn]) -> None:
        """Compute the maps for the next clicks of `turns` in batches if the map can; see `segarena.roles.User`."""
        many = getattr(self._map, "many", None)
        if many is None or self._of_depths is not None:
            return
        missing = self._missing_maps(turns)
        for start in range(0, len(missing), MAP_BATCH_SIZE):
            batch = missing[start : start + MAP_BATCH_SIZE]
            samples = [turn.sample for turn, _ in batch]
            targets = [turn.of_one.target for turn, _ in batch]
            errors = [_full_frame(turn.of_one, is_positive) for turn, is_positive in batch]
            maps = many(samples, targets, errors)
            for (turn, is_positive), values in zip(batch, maps, strict=True):
                weights = _weights_in_error(turn.of_one, is_positive, values)
                self._slot(turn.of_one, is_positive).append(weights)

    def _missing_maps(self, turns: Sequence[Turn]) -> list[tuple[Turn, bool]]:
        """Return a (turn, sign) pair for each map that is not cached yet."""
        missing: dict[int, tuple[Turn, bool]] = {}
        for turn in turns:
            clicked = [click.position for click in turn.dialogue.clicks]
            click = deepest_error(turn.of_one, clicked)
            if click is None:
                continue
            slot = self._slot(turn.of_one, click.is_positive)
            if not slot:
                # Users with equal comparisons share the slot, so comparing identities removes
                # duplicates.
                missing[id(slot)] = (turn, click.is_positive)
        return list(missing.values())

    def _slot(self, comparison: Comparison, is_positive: bool) -> list[ErrorWeights]:
        """Return the cache entry: a list with one element, or empty before the first use."""
        return comparison.remember((self, is_positive), list[ErrorWeights])


def _full_frame(comparison: Comparison, is_positive: bool) -> Mask:
    error = np.zeros(comparison.reference.shape, dtype=np.bool_)
    error[comparison.window] = comparison.error(is_missing=is_positive)
    return error


def _weights_in_error(
    comparison: Comparison,
    is_positive: bool,
    values: NDArray[Any],
) -> ErrorWeights:
    """Restrict a full-frame map to one kind of error; for exceptions see `weights_at`."""
    _check_shape(values, comparison.reference.shape)
    window = comparison.window
    error = comparison.error(is_missing=is_positive)
    return replace(weights_at(error, values[window]), window=window)


def weights_at(error: Mask, values: NDArray[Any]) -> ErrorWeights:
    """Restrict the map `values` to the pixels of `error`.

    Raises:
        InvalidInput: the shape of the map differs from that of the error, or the map has negative
            values.
    """
    _check_shape(values, error.shape)
    pixels = np.flatnonzero(error)
    frame = tuple(slice(0, length) for length in error.shape)
    return ErrorWeights(frame, pixels, _checked_weights(values.ravel()[pixels]))


def _check_shape(values: NDArray[Any], shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise InvalidInput(f"click map: expected shape {shape}, got {values.shape}")


def _checked_weights(values: NDArray[Any]) -> SamplingWeights:
    if values.dtype != np.float32:
        values = values.astype(np.float64, copy=False)
    if (values < 0).any():
        raise InvalidInput(f"click map: expected weights of 0 or more, got {values.min()}")
    return SamplingWeights(values)
