"""Simulated user that draws boxes with human errors: usually close to the object's edges, sometimes far off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from segarena.arrays.boxes import Window, bounding_window, from_window, is_empty, window_shape
from segarena.arrays.slices import key_slices, median_slice
from segarena.comparison import Comparison
from segarena.dialogue import Lift
from segarena.errors import InvalidInput
from segarena.plugin_capabilities import prompt_kinds
from segarena.prompts import Box, Limits, Prompt
from segarena.registry import build, user
from segarena.roles import Turn, User
from segarena.users.habits.box_habits import BoxHabits
from segarena.users.habits.crowd import Crowd
from segarena.users.habits.habit_files import SHIPPED_HABITS, read_habits

DrawingMethod = Literal["drag", "extreme"]


@user("box-drawer")
class BoxDrawer:
    """Draws boxes whose distances from the object's edges are distributed like those of people, with heavy tails.

    An image gets one box around the target. A volume gets a box in each of several slices spread
    over the object, between which a lift interpolates. With `slices=1` it gets one box in the
    median slice and the exact limits, from which a lift propagates. Edges are clipped to the frame.
    An empty target, or a prediction without errors, ends the dialogue.

    Source: `segarena_people.fitting.published_boxes` names the published figures to which the
    spreads were fitted.

    Args:
        drawn: how the box is drawn: "drag" from corner to corner, or "extreme" by clicks on the
            object's four outermost points. No effect with `fitted`.
        fitted: a file written by `segarena people fit boxes`; None uses the habits shipped with
            segarena.
        people: number of simulated people, each with a dialogue about every target; 1 samples a new
            person for each dialogue.
        crowd: random seed of the simulated people.
        slices: number of slices of a volume that get a box.
        then: user for later rounds, as `segarena list users` writes it; "box" draws the box again;
            None ends the dialogue.

    Raises:
        InvalidInput: a number is out of range, or `fitted` is not a readable file of box habits.
        UnknownPlugin, PluginInvalid: the user `then` does not exist or cannot be built.
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
        habit_file = fitted or SHIPPED_HABITS / f"boxes-{drawn}.toml"
        self._habits = read_habits(habit_file, BoxHabits)
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
        """Return the boxes in the first round, then the prompts of `then`; None when no prompt is left."""
        comparison = turn.of_one
        if turn.round > 1 and not self._draws_again:
            if self._later_user is None:
                return None
            return self._later_user.next(turn)
        has_errors = bool(comparison.missing_area or comparison.surplus_area)
        if is_empty(comparison.reference.window) or not has_errors:
            return None
        return self._draw_boxes(turn, comparison)

    def _all_prompt_kinds(self) -> frozenset[str] | None:
        """Return the prompt kinds of all rounds; None if the later user declares no kinds."""
        first = {"box", "limits"} if self._slices == 1 else {"box"}
        if self._later_user is None:
            return frozenset(first)
        later = prompt_kinds(self._later_user)
        if later is None:
            return None
        return later | first

    def _draw_boxes(self, turn: Turn, comparison: Comparison) -> Sequence[Prompt]:
        person = self._crowd.person(turn)
        factor = self._habits.factor(person)
        window = comparison.reference.window
        shape = comparison.reference.shape
        if len(window) == 2:
            return (self._draw_box(window, shape, factor, turn.rng),)
        windows = _windows_by_slice(comparison)
        prompts: list[Prompt] = []
        for plane in _select_slices(sorted(windows), self._slices):
            box = self._draw_box(windows[plane], shape[1:], factor, turn.rng)
            start = (plane, *box.start)
            stop = (plane + 1, *box.stop)
            prompts.append(Box(start, stop))
        # A single slice does not show how far the object extends, so limits are given too.
        if self._slices == 1:
            prompts.append(Limits(min(windows), max(windows)))
        return prompts

    def _draw_box(
        self,
        window: Window,
        shape: tuple[int, ...],
        factor: float,
        rng: np.random.Generator,
    ) -> Box:
        """Draw a box around a window of a picture."""
        rows, columns = window
        height, width = shape
        average_offsets = self._habits.offsets_px([window_shape(window)], rng)[0]
        top, left, bottom, right = (factor * average_offsets).tolist()
        first_row, stop_row = _whole_side(rows.start - top, rows.stop + bottom, height)
        first_column, stop_column = _whole_side(columns.start - left, columns.stop + right, width)
        return Box((first_row, first_column), (stop_row, stop_column))


def _whole_side(
    start: float,
    stop: float,
    length: int,
) -> tuple[int, int]:
    """Round ends to whole pixels within the picture, at least one pixel apart; crossed ends are swapped."""
    first = round(start)
    last = round(stop)
    low = min(first, last)
    high = max(first, last)
    low = min(max(low, 0), length - 1)
    high = min(max(high, low + 1), length)
    return low, high


def _windows_by_slice(comparison: Comparison) -> dict[int, Window]:
    """Return the smallest window around the target in each slice that shows it."""
    planes, *in_plane = comparison.reference.window
    outer = tuple(in_plane)
    windows: dict[int, Window] = {}
    for plane in range(planes.start, planes.stop):
        crop = comparison.target[plane][outer]
        inside = bounding_window(crop)
        if not is_empty(inside):
            windows[plane] = from_window(inside, outer)
    return windows


def _select_slices(planes: Sequence[int], count: int) -> list[int]:
    if count == 1:
        return [median_slice(planes)]
    # Short objects repeat a slice, which must not get two boxes.
    return list(dict.fromkeys(key_slices(planes, count)))
