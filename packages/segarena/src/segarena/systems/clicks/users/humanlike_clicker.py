"""Simulated people that click according to a click model, each with personal habits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from segarena.arrays.boxes import window_shape, window_start
from segarena.errors import InvalidInput
from segarena.prompts import Click
from segarena.registry import user
from segarena.roles import Turn
from segarena.systems.clicks.models.click_models import shared_map
from segarena.systems.clicks.sampling.weighted_draws import SamplingWeights
from segarena.users.centre import CentreClicker
from segarena.users.habits.click_habits import ClickHabits
from segarena.users.habits.crowd import Crowd
from segarena.users.habits.habit_files import SHIPPED_HABITS, read_habits

PointingDevice = Literal["mouse", "pen", "touch"]


@user("clicker")
class HumanlikeClicker:
    """Click where a click model expects people to click, with individual centring and hand jitter.

    The kind of error to click, missing or surplus, is chosen in the same way as by `CentreClicker`.
    Simulated people differ in how close to the centre and how steadily they click. Some clicks fall
    anywhere in the error, and positions near earlier clicks are avoided. A click keeps its sign
    even if the hand slips out of the error. No person aims at a pixel that was already clicked, but
    the hand may slip onto one.

    Args:
        click_model: the click model, such as `depth` or `network(path='weights.pt')`; see `segarena
            list click-models`.
        pointer: the pointing device; fingers are less steady than a mouse.
        fitted: a file written by `segarena people fit clicks`; None uses the habits included in
            segarena.
        people: number of simulated people, each of whom has one dialogue per target; 1 samples a
            new person for each dialogue.
        crowd: seed for sampling the people.

    Raises:
        InvalidInput: a number is out of range, or `fitted` is unreadable or has no data for the
            pointer.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(
        self,
        *,
        click_model: str = "depth",
        pointer: PointingDevice = "mouse",
        fitted: str | None = None,
        people: int = 1,
        crowd: int = 0,
    ) -> None:
        self._habits = read_habits(fitted or SHIPPED_HABITS / "clicks.toml", ClickHabits)
        if pointer not in self._habits.hands:
            known = ", ".join(self._habits.hands)
            raise InvalidInput(
                f"pointer: expected one of {known}, for which there are habits; got {pointer!r}"
            )
        self._pointer = pointer
        self._crowd = Crowd(people=people, seed=crowd)
        self._centre = CentreClicker()
        self.shared = shared_map(click_model)
        if people > 1:
            self.repeats = self._crowd.repeats

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return one click, or None when nothing is left to correct."""
        centre_click = self._centre.click(turn)
        if centre_click is None:
            return None
        shape = turn.sample.shape
        diagonal = math.hypot(*shape[-2:])
        person = self._habits.of(self._crowd.person(turn), self._pointer)
        error = self.shared.of(turn, centre_click.is_positive)
        clicked = [click.position for click in turn.dialogue.clicks]
        values = error.without(clicked).values
        # Habits are defined in the image plane: the last two axes, relative to the error's window.
        pixels = np.unravel_index(error.pixels, window_shape(error.window))
        places = np.stack(pixels, axis=1)[:, -2:]
        earlier = np.array([position[-2:] for position in clicked]).reshape(-1, 2)
        earlier = earlier - window_start(error.window)[-2:]
        is_hasty = turn.rng.random() < self._habits.anywhere
        if is_hasty:
            weights = (values > 0).astype(float)
        else:
            weights = person.weigh(values, places, earlier.tolist(), diagonal)
        sampling = SamplingWeights(weights)
        uniform = turn.rng.random()
        position = centre_click.position
        if sampling.total > 0:
            position = error.position(sampling.draw(0.0, 1.0, uniform))
        *plane, row, column = position
        down, right = person.slip(turn.rng, diagonal)
        row = _clip(row + down, shape[-2])
        column = _clip(column + right, shape[-1])
        return (Click((*plane, row, column), is_positive=centre_click.is_positive),)


def _clip(coordinate: float, length: int) -> int:
    return min(max(round(coordinate), 0), length - 1)
