"""Click maps of any sample: how likely each pixel of an error is to be clicked; one map for several users.

Maps that look at photographs, the clickability network among them, are `segarena.systems.clicks.models.by_name`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.distance import squared_distance
from segarena.comparison import Comparison
from segarena.errors import InvalidInput
from segarena.roles import Turn
from segarena.samples import Mask, Sample
from segarena.systems.clicks.sampling.draws import Weights
from segarena.users.centre import deepest_error

BATCH = 8
"""Maps made at once: bounds the memory of a round with many targets and users."""


Border = Literal["background", "published"]


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


class DepthMap:
    """Likelihood in proportion to the Euclidean distance to the nearest pixel that is no error of that kind.

    Args:
        border: what lies beyond the frame: "background" as for `CentreClicker`, or "published" as in the published
            map, where pixels on the frame's border are not near an edge. An error that fills the whole frame is then
            far from any edge everywhere, and uniform.
    """

    def __init__(self, *, border: Border = "background") -> None:
        self._border = border

    def __call__(self, sample: Sample, target: Mask, error: Mask) -> NDArray[Any]:
        """Return distances in pixels, 0 outside the error."""
        return np.sqrt(squared_distance(error, frame_is_edge=self._border == "background"))


@dataclass(frozen=True, slots=True, eq=False)
class ErrorWeights:
    """A click map where the error is.

    Attributes:
        pixels: flat indices of the error's pixels, ascending.
        weights: one per pixel.
    """

    pixels: NDArray[np.int64]
    weights: Weights


class SharedMap:
    """Remembers a click map with the comparison it was made for, so that the first round of all users has one map.

    Args:
        click_map: the map. If it has a method `many(samples, targets, errors)` that returns one map for each, the
            maps of a round are asked for in batches.
    """

    def __init__(self, click_map: ClickMap) -> None:
        self._map = click_map

    def of(self, turn: Turn, is_positive: bool) -> ErrorWeights:
        """Return the weights of what is missing (`is_positive`) or of what is too much.

        Raises:
            InvalidInput: the map has another shape than the sample, or values below 0.
        """
        slot = self._slot(turn.of_one, is_positive)
        if not slot:
            error = _full_frame(turn.of_one, is_positive)
            values = self._map(turn.sample, turn.of_one.target, error)
            slot.append(weights_at(error, values))
        return slot[0]

    def prepare(self, turns: Sequence[Turn]) -> None:
        """Make the maps that the next clicks of `turns` need, in batches; see `segarena.roles.User`."""
        many = getattr(self._map, "many", None)
        if many is None:
            return
        needed = self._needed(turns)
        for batch in (needed[start : start + BATCH] for start in range(0, len(needed), BATCH)):
            errors = [_full_frame(turn.of_one, is_positive) for turn, is_positive in batch]
            maps = many([turn.sample for turn, _ in batch], [turn.of_one.target for turn, _ in batch], errors)
            for (turn, is_positive), error, values in zip(batch, errors, maps, strict=True):
                self._slot(turn.of_one, is_positive).append(weights_at(error, values))

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
    error[comparison.window] = comparison.missing if is_positive else comparison.surplus
    return error


def weights_at(error: Mask, values: NDArray[Any]) -> ErrorWeights:
    """Return the weights of the map `values` on the pixels of `error`.

    Raises:
        InvalidInput: the map has another shape than the error, or values below 0.
    """
    if values.shape != error.shape:
        raise InvalidInput(f"click map: expected shape {error.shape}, got {values.shape}")
    pixels = np.flatnonzero(error)
    weights = values.ravel()[pixels]
    if weights.dtype != np.float32:
        weights = weights.astype(np.float64, copy=False)
    if (weights < 0).any():
        raise InvalidInput(f"click map: expected weights of 0 or more, got {weights.min()}")
    return ErrorWeights(pixels, Weights(weights))
