"""Simulated user that clicks the centre of the largest error: the usual simulated click."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import add, sub
from typing import Literal

from segarena.arrays.boxes import window_start
from segarena.arrays.distance_transform import DeepestPixel, deepest_pixel
from segarena.comparison import Comparison
from segarena.prompts import Click
from segarena.registry import user
from segarena.roles import Turn
from segarena.samples import Sample, Target

SolvedBehaviour = Literal["stop", "published"]


@user("centre")
class CentreClicker:
    """Clicks the pixel that lies deepest in the missing or in the surplus part, whichever is deeper.

    Depth is the Euclidean distance to the nearest pixel that is not an error of that kind; the
    frame's border counts as one. The click is positive only if the missing part is strictly deeper.
    Among equally deep pixels it is the first in row-major order; pixels clicked before are passed
    over. Ignored pixels are no errors.

    Source: the baseline clicker of RITM and RClicks. Depths are compared as exact integers here;
    the published code compares float32 values, whose last digit varies between runs and decides
    ties.

    Args:
        when_solved: "stop" ends the dialogue when no error pixel is left to click. "published"
            gives a negative click in the first pixel of the frame instead, again and again, as the
            published code does.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(self, *, when_solved: SolvedBehaviour = "stop") -> None:
        self._when_solved = when_solved

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return 1: the user is deterministic, so that a second dialogue would be the same."""
        return 1

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return one click, or None when nothing is left to correct."""
        click = self.click(turn)
        return None if click is None else (click,)

    def click(self, turn: Turn) -> Click | None:
        """Return the click itself, or None when nothing is left to correct."""
        clicked = [click.position for click in turn.dialogue.clicks]
        click = deepest_error(turn.of_one, clicked)
        if click is None and self._when_solved == "published":
            return Click((0,) * len(turn.sample.shape), is_positive=False)
        return click


def deepest_error(comparison: Comparison, clicked: Sequence[tuple[int, ...]] = ()) -> Click | None:
    """Return the click in the deepest error pixel outside `clicked`; None when there is no such pixel.

    A tie between missing and surplus gives a negative click. The comparison caches the click for
    the next caller.
    """
    return comparison.remember(
        ("deepest error", *clicked), lambda: _compute_deepest_error(comparison, clicked)
    )


def _compute_deepest_error(
    comparison: Comparison, clicked: Sequence[tuple[int, ...]]
) -> Click | None:
    start = window_start(comparison.window)
    forbidden = {tuple(map(sub, position, start)) for position in clicked}
    # The larger error first: its depth often rules out the other one without a distance transform.
    surplus_first = comparison.surplus_area > comparison.missing_area
    first = _deepest(comparison, not surplus_first, forbidden)
    to_win = 1 if first is None else first.squared_distance + surplus_first
    second = _deepest(comparison, surplus_first, forbidden, to_win)
    deepest = first if second is None else second
    if deepest is None:
        return None
    position = tuple(map(add, deepest.position, start))
    return Click(position, is_positive=surplus_first != (deepest is first))


def _deepest(
    comparison: Comparison,
    is_missing: bool,
    forbidden: Collection[tuple[int, ...]],
    at_least: int = 1,
) -> DeepestPixel | None:
    """Return the deepest pixel of one kind of error, in coordinates of the comparison's window."""
    thin = comparison.thin_depths(is_missing=is_missing)
    if thin is None:
        error = comparison.error(is_missing=is_missing)
        return deepest_pixel(error, forbidden=forbidden, at_least=at_least)
    index = thin.deepest(forbidden)
    if index is None or thin.squared[index] < at_least:
        return None
    return DeepestPixel(thin.position(index), int(thin.squared[index]))
