"""A user who draws boxes as people do: near the object's edges, sometimes far from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from segarena.abilities import prompt_kinds
from segarena.arrays.boxes import Window, bounding_window, from_window, is_empty, window_shape
from segarena.arrays.slices import key_slices, median_slice
from segarena.comparison import Comparison
from segarena.dialogue import Lift
from segarena.errors import InvalidInput
from segarena.prompts import Box, Limits, Prompt
from segarena.registry import build, user
from segarena.roles import Turn, User
from segarena.users.habits.box_habits import BoxHabits
from segarena.users.habits.crowd import Crowd
from segarena.users.habits.habit_files import SHIPPED_HABITS, read_habits

DrawingMethod = Literal["drag", "extreme"]


@user("box-drawer")
class BoxDrawer:
    """Draws boxes whose edges lie as far from the object's as those of people do, with their heavy tails.

    An image gets a box around the target. A volume gets one in each of several slices spread over the object, for a
    lift to interpolate; or with `slices=1` one in the median slice and the exact limits, to be propagated. Edges are
    cut at the frame. An empty target ends the dialogue.

    Source: see `segarena_people.fitting.box_fit.published_boxes` for what the spreads were fitted to.

    Args:
        drawn: how the box is made: "drag" from corner to corner, "extreme" by clicks on the object's four outermost
            points. Of no effect with `fitted`.
        fitted: a file that `segarena people fit boxes` wrote; None takes the habits that come with segarena.
        people: how many people there are, each with a dialogue about every target; 1 is somebody else each time.
        crowd: the seed of the crowd.
        slices: of a volume, how many get a box.
        then: who corrects in later rounds: a user as written in `segarena list users`; "box" draws the box anew;
            None ends the dialogue.

    Raises:
        InvalidInput: a number out of range, or `fitted` cannot be read.
    """

    def __init__(
        self,
        *,
        drawn: DrawingMethod = "drag",
        fitted: str | None = None,
        people: int = 1,
        crowd: int = 0,
        slices: int = 3,
        then: str | None = "centre",
    ) -> None:
        if slices < 1:
            raise InvalidInput(f"slices: expected 1 or more, got {slices}")
        self._habits = read_habits(fitted or SHIPPED_HABITS / f"boxes-{drawn}.toml", BoxHabits)
        self._crowd = Crowd(people=people, seed=crowd)
        self._slices = slices
        self._draws_again = then == "box"
        self._then: User | None = None if then is None or self._draws_again else build("user", then)
        later = frozenset[str]() if self._then is None else prompt_kinds(self._then)
        first = {"box", "limits"} if slices == 1 else {"box"}
        self.prompt_kinds = None if later is None else later | first
        self.lift = Lift(spread="propagate" if slices == 1 else "interpolate")
        if people > 1:
            self.repeats = self._crowd.repeats

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return the boxes in the first round, then what `then` says; None where nothing is left to do."""
        comparison = turn.of_one
        if turn.round > 1 and not self._draws_again:
            return None if self._then is None else self._then.next(turn)
        if is_empty(comparison.reference.window) or not (
            comparison.missing_area or comparison.surplus_area
        ):
            return None
        return self._boxes(turn, comparison)

    def _boxes(self, turn: Turn, comparison: Comparison) -> Sequence[Prompt]:
        factor = self._habits.factor(self._crowd.person(turn))
        window = comparison.reference.window
        if len(window) == 2:
            return (self._around(window, comparison.reference.shape, factor, turn.rng),)
        planes = _tight_windows(comparison)
        prompts: list[Prompt] = []
        for plane in _chosen(sorted(planes), self._slices):
            flat = self._around(planes[plane], comparison.reference.shape[1:], factor, turn.rng)
            prompts.append(Box((plane, *flat.start), (plane + 1, *flat.stop)))
        return prompts if self._slices > 1 else (*prompts, Limits(min(planes), max(planes)))

    def _around(
        self, window: Window, shape: tuple[int, ...], factor: float, rng: np.random.Generator
    ) -> Box:
        """Return a box around a window of a picture."""
        top, left, bottom, right = (
            factor * self._habits.offsets_px([window_shape(window)], rng)[0]
        ).tolist()
        rows = _side(window[0].start - top, window[0].stop + bottom, shape[0])
        columns = _side(window[1].start - left, window[1].stop + right, shape[1])
        return Box((rows[0], columns[0]), (rows[1], columns[1]))


def _side(start: float, stop: float, length: int) -> tuple[int, int]:
    """Return whole ends within the picture, at least a pixel apart; ends that crossed are those of the other drag."""
    low, high = sorted((round(start), round(stop)))
    low = min(max(low, 0), length - 1)
    return low, min(max(high, low + 1), length)


def _tight_windows(comparison: Comparison) -> dict[int, Window]:
    """Return the smallest window around the target in each slice that has some of it."""
    window = comparison.reference.window
    found: dict[int, Window] = {}
    for plane in range(window[0].start, window[0].stop):
        inside = bounding_window(comparison.target[plane][window[1:]])
        if not is_empty(inside):
            found[plane] = from_window(inside, window[1:])
    return found


def _chosen(planes: Sequence[int], count: int) -> list[int]:
    if count == 1:
        return [median_slice(planes)]
    return list(dict.fromkeys(key_slices(planes, count)))
