"""Simulated user that draws boxes as people do: near the object's edges, sometimes far from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from segarena.arrays.boxes import Window, bounding_window, from_window, is_empty, window_shape
from segarena.arrays.slices import key_slices, median_slice
from segarena.capabilities import prompt_kinds
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
    """Draws boxes whose edges are as far from the object's as those of people, with their heavy tails.

    An image gets a box around the target. A volume gets one in each of several slices spread over
    the object, for a lift to interpolate; with `slices=1` it gets one in the median slice and the
    exact limits, for a lift to propagate. Edges are cut at the frame. An empty target ends the
    dialogue.

    Source: see `segarena_people.fitting.published_boxes` for the figures that the spreads were
    fitted to.

    Args:
        drawn: how the box is made: "drag" from corner to corner, "extreme" by clicks on the
            object's four outermost points. No effect with `fitted`.
        fitted: a file that `segarena people fit boxes` wrote; None takes the habits shipped with
            segarena.
        people: number of simulated people, each with a dialogue about every target; 1 is a new
            person each time.
        crowd: seed of the simulated people.
        slices: number of slices of a volume that get a box.
        then: user for later rounds, as `segarena list users` writes it; "box" draws the box anew;
            None ends the dialogue.

    Raises:
        InvalidInput: a number is out of range, or `fitted` cannot be read.
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
        self._later_user: User | None = None
        if then is not None and not self._draws_again:
            self._later_user = build("user", then)
        self.prompt_kinds = self._all_prompt_kinds()
        self.lift = Lift(spread="propagate" if slices == 1 else "interpolate")
        if people > 1:
            self.repeats = self._crowd.repeats

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return the boxes in the first round, then the prompts of `then`; None when nothing is left to do."""
        comparison = turn.of_one
        if turn.round > 1 and not self._draws_again:
            return None if self._later_user is None else self._later_user.next(turn)
        has_errors = bool(comparison.missing_area or comparison.surplus_area)
        if is_empty(comparison.reference.window) or not has_errors:
            return None
        return self._draw_boxes(turn, comparison)

    def _all_prompt_kinds(self) -> frozenset[str] | None:
        """Return the prompt kinds of all rounds; None where the later user does not declare its own."""
        first = {"box", "limits"} if self._slices == 1 else {"box"}
        if self._later_user is None:
            return frozenset(first)
        later = prompt_kinds(self._later_user)
        return None if later is None else later | first

    def _draw_boxes(self, turn: Turn, comparison: Comparison) -> Sequence[Prompt]:
        factor = self._habits.factor(self._crowd.person(turn))
        window = comparison.reference.window
        if len(window) == 2:
            return (self._draw_box(window, comparison.reference.shape, factor, turn.rng),)
        windows = _windows_by_slice(comparison)
        prompts: list[Prompt] = []
        for plane in _select_slices(sorted(windows), self._slices):
            box = self._draw_box(windows[plane], comparison.reference.shape[1:], factor, turn.rng)
            prompts.append(Box((plane, *box.start), (plane + 1, *box.stop)))
        if self._slices == 1:
            prompts.append(Limits(min(windows), max(windows)))
        return prompts

    def _draw_box(
        self, window: Window, shape: tuple[int, ...], factor: float, rng: np.random.Generator
    ) -> Box:
        """Draw a box around a window of a picture."""
        offsets = factor * self._habits.offsets_px([window_shape(window)], rng)[0]
        top, left, bottom, right = offsets.tolist()
        rows = _whole_side(window[0].start - top, window[0].stop + bottom, shape[0])
        columns = _whole_side(window[1].start - left, window[1].stop + right, shape[1])
        return Box((rows[0], columns[0]), (rows[1], columns[1]))


def _whole_side(start: float, stop: float, length: int) -> tuple[int, int]:
    """Round ends to whole pixels within the picture, at least a pixel apart; crossed ends change places."""
    low, high = sorted((round(start), round(stop)))
    low = min(max(low, 0), length - 1)
    high = min(max(high, low + 1), length)
    return low, high


def _windows_by_slice(comparison: Comparison) -> dict[int, Window]:
    """Return the smallest window around the target in each slice that shows it."""
    window = comparison.reference.window
    windows: dict[int, Window] = {}
    for plane in range(window[0].start, window[0].stop):
        inside = bounding_window(comparison.target[plane][window[1:]])
        if not is_empty(inside):
            windows[plane] = from_window(inside, window[1:])
    return windows


def _select_slices(planes: Sequence[int], count: int) -> list[int]:
    if count == 1:
        return [median_slice(planes)]
    # Short objects repeat a slice; each gets one box.
    return list(dict.fromkeys(key_slices(planes, count)))
