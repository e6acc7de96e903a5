"""Click maps of any sample: how likely each pixel of an error is to be clicked; one map for several users.

Maps that look at photographs, the clickability network among them, are `segarena.systems.clicks.models.click_models`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, from_window
from segarena.arrays.depths import position_in
from segarena.arrays.distance import squared_distance
from segarena.comparison import Comparison
from segarena.errors import InvalidInput
from segarena.roles import Turn
from segarena.samples import Mask, Sample
from segarena.systems.clicks.sampling.weighted_draws import SamplingWeights
from segarena.users.centre import deepest_error

MAP_BATCH_SIZE = 8
"""Maps made at once: bounds the memory of a round with many targets and users."""


FrameBorder = Literal["background", "published"]


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


def uniform_map(sample: Sample, target: Mask, error: Mask) -> NDArray[Any]:
    """Return the error itself: each of its pixels is as likely as the others."""
    return error


DepthWeighting: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""From the squared depths of an error's pixels to their weights: what a click map does that looks at nothing else.

A map that has it as its attribute `of_depths` is not asked for a map of the frame: depths are known where clicks are.
"""


class DepthMap:
    """Likelihood in proportion to the Euclidean distance to the nearest pixel that is no error of that kind.

    Args:
        border: what lies beyond the frame: "background" as for `CentreClicker`, or "published" as in the published
            map, where pixels on the frame's border are not near an edge. An error that fills the whole frame is then
            far from any edge everywhere, and uniform.
    """

    def __init__(self, *, border: FrameBorder = "background") -> None:
        self._frame_is_edge = border == "background"
        self.of_depths: DepthWeighting | None = _depths_px if self._frame_is_edge else None

    def __call__(self, sample: Sample, target: Mask, error: Mask) -> NDArray[Any]:
        """Return distances in pixels, 0 outside the error."""
        return np.sqrt(squared_distance(error, frame_is_edge=self._frame_is_edge))


def _depths_px(squared: NDArray[Any]) -> NDArray[np.float64]:
    return np.sqrt(squared, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ErrorWeights:
    """A click map where the error is.

    Attributes:
        window: of the frame, which holds the error.
        pixels: flat indices of the error's pixels in the window, ascending.
        weights: one per pixel.
    """

    window: Window
    pixels: NDArray[np.int64]
    weights: SamplingWeights

    def position(self, place: int) -> tuple[int, ...]:
        """Return where in the frame the pixel at a place in `pixels` lies."""
        return position_in(self.window, int(self.pixels[place]))

    def without(self, positions: Sequence[tuple[int, ...]]) -> SamplingWeights:
        """Return the weights, with nothing left on the pixels at `positions` of the frame."""
        taken = [place for position in positions if (place := self._place(position)) is not None]
        if not taken:
            return self.weights
        values = self.weights.values.copy()
        values[taken] = 0
        return SamplingWeights(values)

    def _place(self, position: tuple[int, ...]) -> int | None:
        """Return the place in `pixels` of the pixel at `position`; None when it is not among them."""
        pixel = 0
        for side, coordinate in zip(self.window, position, strict=True):
            if not side.start <= coordinate < side.stop:
                return None
            pixel = pixel * (side.stop - side.start) + coordinate - side.start
        place = int(self.pixels.searchsorted(pixel))
        return place if place < len(self.pixels) and self.pixels[place] == pixel else None


class SharedMap:
    """Remembers a click map with the comparison it was made for, so that the first round of all users has one map.

    Args:
        click_map: the map. If it has a method `many(samples, targets, errors)` that returns one map for each, the
            maps of a round are asked for in batches; see also `WeightsOfDepths`.
    """

    def __init__(self, click_map: ClickMap) -> None:
        self._map = click_map
        self._of_depths: DepthWeighting | None = getattr(click_map, "of_depths", None)

    def of(self, turn: Turn, is_positive: bool) -> ErrorWeights:
        """Return the weights of what is missing (`is_positive`) or of what is too much.

        Raises:
            InvalidInput: the map has another shape than the sample, or values below 0.
        """
        slot = self._slot(turn.of_one, is_positive)
        if not slot:
            slot.append(self._make(turn, is_positive))
        return slot[0]

    def _make(self, turn: Turn, is_positive: bool) -> ErrorWeights:
        comparison = turn.of_one
        if self._of_depths is not None:
            window, pixels, squared = comparison.depths(is_missing=is_positive)
            return ErrorWeights(
                from_window(window, comparison.window), pixels, _weights(self._of_depths(squared))
            )
        error = _full_frame(comparison, is_positive)
        return _weights_of(
            comparison, is_positive, self._map(turn.sample, comparison.target, error)
        )

    def prepare(self, turns: Sequence[Turn]) -> None:
        """Make the maps that the next clicks of `turns` need, in batches; see `segarena.roles.User`."""
        many = getattr(self._map, "many", None)
        if many is None or self._of_depths is not None:
            return
        needed = self._needed(turns)
        for batch in (
            needed[start : start + MAP_BATCH_SIZE]
            for start in range(0, len(needed), MAP_BATCH_SIZE)
        ):
            errors = [_full_frame(turn.of_one, is_positive) for turn, is_positive in batch]
            maps = many(
                [turn.sample for turn, _ in batch],
                [turn.of_one.target for turn, _ in batch],
                errors,
            )
            for (turn, is_positive), values in zip(batch, maps, strict=True):
                made = _weights_of(turn.of_one, is_positive, values)
                self._slot(turn.of_one, is_positive).append(made)

    def _needed(self, turns: Sequence[Turn]) -> list[tuple[Turn, bool]]:
        """Return a turn and a sign for each map that is not there yet."""
        needed: dict[int, tuple[Turn, bool]] = {}
        for turn in turns:
            click = deepest_error(turn.of_one, [click.position for click in turn.dialogue.clicks])
            if click is not None and not self._slot(turn.of_one, click.is_positive):
                needed[id(self._slot(turn.of_one, click.is_positive))] = (turn, click.is_positive)
        return list(needed.values())

    def _slot(self, comparison: Comparison, is_positive: bool) -> list[ErrorWeights]:
        """Return where the weights are kept: a list of one, empty until they are made."""
        return comparison.remember((self, is_positive), list[ErrorWeights])


def _full_frame(comparison: Comparison, is_positive: bool) -> Mask:
    error = np.zeros(comparison.reference.shape, dtype=np.bool_)
    error[comparison.window] = comparison.error(is_missing=is_positive)
    return error


def _weights_of(comparison: Comparison, is_positive: bool, values: NDArray[Any]) -> ErrorWeights:
    """Return the weights of a map of the frame where one kind of error is; raises as `weights_at`."""
    _check_shape(values, comparison.reference.shape)
    window = comparison.window
    return replace(
        weights_at(comparison.error(is_missing=is_positive), values[window]), window=window
    )


def weights_at(error: Mask, values: NDArray[Any]) -> ErrorWeights:
    """Return the weights of the map `values` on the pixels of `error`.

    Raises:
        InvalidInput: the map has another shape than the error, or values below 0.
    """
    _check_shape(values, error.shape)
    pixels = np.flatnonzero(error)
    return ErrorWeights(
        tuple(slice(0, n) for n in error.shape), pixels, _weights(values.ravel()[pixels])
    )


def _check_shape(values: NDArray[Any], shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise InvalidInput(f"click map: expected shape {shape}, got {values.shape}")


def _weights(values: NDArray[Any]) -> SamplingWeights:
    if values.dtype != np.float32:
        values = values.astype(np.float64, copy=False)
    if (values < 0).any():
        raise InvalidInput(f"click map: expected weights of 0 or more, got {values.min()}")
    return SamplingWeights(values)
