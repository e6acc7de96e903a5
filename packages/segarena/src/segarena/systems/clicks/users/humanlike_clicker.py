"""Simulated people who click: by a click model, each with habits of their own."""

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
    """Clicks where a click model expects people to, more or less in the middle, with a hand that slips, as a person.

    Which error is clicked, missing or surplus, is decided as by `CentreClicker`. Somebody is more centred and steadier
    than others, or less so; now and then a click is anywhere in the error, and places near earlier clicks are avoided.
    A click keeps its sign where the hand slips out of the error. Pixels clicked before are passed over.

    Args:
        click_model: as written, `depth` or `network(path='weights.pt')`; see `segarena list click-models`.
        pointer: the device; fingers are less steady.
        fitted: a file that `segarena people fit clicks` wrote; None takes the habits that come with segarena.
        people: how many people there are, each with a dialogue about every target; 1 is somebody else each time.
        crowd: the seed of the crowd.

    Raises:
        InvalidInput: a number out of range, or `fitted` cannot be read or says nothing of the pointer.
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
                f"pointer: expected one that the habits know, {known}; got {pointer!r}"
            )
        self._pointer = pointer
        self._crowd = Crowd(people=people, seed=crowd)
        self._centre = CentreClicker()
        self.shared = shared_map(click_model)
        if people > 1:
            self.repeats = self._crowd.repeats

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return one click, or None when nothing is left to correct."""
        aimed = self._centre.click(turn)
        if aimed is None:
            return None
        shape = turn.sample.shape
        diagonal = math.hypot(*shape[-2:])
        somebody = self._habits.of(self._crowd.person(turn), self._pointer)
        error = self.shared.of(turn, aimed.is_positive)
        clicked = [click.position for click in turn.dialogue.clicks]
        values = error.without(clicked).values
        places = np.stack(np.unravel_index(error.pixels, window_shape(error.window)), axis=1)[
            :, -2:
        ]
        earlier = (
            np.array([position[-2:] for position in clicked]).reshape(-1, 2)
            - window_start(error.window)[-2:]
        )
        is_hasty = turn.rng.random() < self._habits.anywhere
        if is_hasty:
            weights = (values > 0).astype(float)
        else:
            weights = somebody.weigh(values, places, earlier.tolist(), diagonal)
        drawn = SamplingWeights(weights)
        uniform = turn.rng.random()
        *plane, row, column = (
            error.position(drawn.draw(0.0, 1.0, uniform)) if drawn.total > 0 else aimed.position
        )
        down, right = somebody.slip(turn.rng, diagonal)
        place = (_inside(row + down, shape[-2]), _inside(column + right, shape[-1]))
        return (Click((*plane, *place), is_positive=aimed.is_positive),)


def _inside(place: float, length: int) -> int:
    return min(max(round(place), 0), length - 1)
