"""Simulated user that clicks the centre of the largest error, the usual simulated click."""

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
    """Clicks the pixel deepest inside the missing or the surplus part, whichever is deeper.

    Depth is the Euclidean distance to the nearest pixel that is not an error of the same kind, or
    to the frame's border. The click is positive only if the missing part is strictly deeper. Of
    several equally deep pixels, the first in row-major order is clicked; pixels clicked before are
    skipped. Ignored pixels are not errors.

    Source: the baseline clicker of RITM and RClicks. Here depths are compared as exact integers.
    The published code compares float32 values, whose last digit varies between runs and decides
    ties.

    Args:
        when_solved: "stop" ends the dialogue when no error pixel is left to click. "published"
            gives a negative click in the first pixel of the frame instead, each time, as the published
            code does.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(self, *, when_solved: SolvedBehaviour = "stop") -> None:
        self._when_solved = when_solved

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return 1, because the user is deterministic and a second dialogue would be identical."""
        return 1

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return one click, or None when nothing is left to correct."""
        click = self.click(turn)
        if click is None:
            return None
        return (click,)

    def click(self, turn: Turn) -> Click | None:
        """Return the click that `next` gives, or None if it gives none."""
        clicked = [click.position for click in turn.dialogue.clicks]
        click = deepest_error(turn.of_one, clicked)
        if click is None and self._when_solved == "published":
            return Click((0,) * len(turn.sample.shape), is_positive=False)
        return click


def deepest_error(comparison: Comparison, clicked: Sequence[tuple[int, ...]] = ()) -> Click | None:
    """Return a click in the deepest error pixel outside `clicked`; None if there is no such pixel.

    A tie between missing and surplus part gives a negative click. The comparison caches the click
    for the next caller.
    """
    return comparison.remember(
        ("deepest error", *clicked), lambda: _compute_deepest_error(comparison, clicked)
    )


def _compute_deepest_error(
    comparison: Comparison, clicked: Sequence[tuple[int, ...]]
) -> Click | None:
    start = window_start(comparison.window)
    forbidden = {tuple(map(sub, position, start)) for position in clicked}
    # Larger error first: its depth often rules out the other one without a second distance
    # transform.
    surplus_first = comparison.surplus_area > comparison.missing_area
    deepest = _deepest(comparison, not surplus_first, forbidden)
    is_positive = not surplus_first
    # The surplus part wins ties, so a missing part that is checked second must be strictly deeper.
    at_least = 1
    if deepest is not None:
        at_least = deepest.squared_distance
        if surplus_first:
            at_least += 1
    second = _deepest(comparison, surplus_first, forbidden, at_least)
    if second is not None:
        deepest = second
        is_positive = surplus_first
    if deepest is None:
        return None
    position = tuple(map(add, deepest.position, start))
    return Click(position, is_positive=is_positive)


def _deepest(
    comparison: Comparison,
    is_missing: bool,
    forbidden: Collection[tuple[int, ...]],
    at_least: int = 1,
) -> DeepestPixel | None:
    """Return the deepest pixel of one kind of error, in coordinates relative to the comparison's window."""
    area = comparison.missing_area if is_missing else comparison.surplus_area
    # All pixels nearer to a pixel than its depth are errors too, and a circle of squared radius n
    # contains at least n of them.
    if area < at_least:
        return None
    thin = comparison.thin_depths(is_missing=is_missing)
    if thin is None:
        error = comparison.error(is_missing=is_missing)
        return deepest_pixel(error, forbidden=forbidden, at_least=at_least)
    index = thin.deepest(forbidden)
    if index is None or thin.squared[index] < at_least:
        return None
    return DeepestPixel(thin.position(index), int(thin.squared[index]))
