"""Fit of click habits to people's clicks by maximum likelihood, with a map of depths.

The model of a click: its intended place is drawn from the goal in proportion to a power of the
depth, or with a small probability uniformly, and the hand displaces it by normal noise. The joint
likelihood of all clicks gives the power, the share of uniform clicks and the noise; a likelihood
with a power for each person gives the spread between people. All are searched on grids. Pictures
are reduced in size.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import msgspec
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window, is_empty
from segarena.arrays.distance_transform import squared_distance
from segarena.errors import InvalidInput
from segarena.samples import Mask
from segarena.users.habits.click_habits import ClickHabits, PointerSteadiness
from segarena.users.habits.habit_files import SHIPPED_HABITS, read_habits

FEWEST_CLICKS = 20
"""Least number of clicks for a fit."""

POWER_GRID = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0])
UNSTEADY_GRID = np.array([0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03])
"""Standard deviations of the hand, in diagonals."""
ANYWHERE_GRID = np.array([0.001, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
BETWEEN_GRID = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0])
AVOID_GRID = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])

_LEAST_SIGMA = 0.3
"""Least standard deviation in px of the reduced window: finer noise cannot be resolved."""

_MARGIN_DIAGONALS = 0.03
"""Margin of the window around a goal, where the hand may displace clicks to."""
_QUADRATURE_NODES = 9
_AVOIDANCE_UNSTEADY = slice(2, 3)
"""Part of the grid at which repulsion is fitted: it hardly depends on steadiness."""
_WINDOW_PX = 96
"""The longer side of a reduced window."""
_LEAST_DENSITY = 1e-9
"""Least density of a click, per px of the reduced window, so that one outlier does not decide the fit."""


@dataclass(frozen=True, slots=True, eq=False)
class PersonClick:
    """Click that a person gave, with its goal.

    Attributes:
        goal: region to click, bool (H, W).
        place: row and column.
        earlier: row and column of their earlier clicks on the same target.
        person: name of the person; "" where unknown.
        pointer: mouse, pen, touch; "" where unknown.
    """

    goal: Mask
    place: tuple[float, float]
    earlier: Sequence[tuple[float, float]] = ()
    person: str = ""
    pointer: str = ""


def fit_clicks(clicks: Iterable[PersonClick], source: str) -> ClickHabits:
    """Fit click habits to clicks; the same clicks in the same order give the same habits.

    Steadiness is fitted by pointer where 20 clicks or more were given with it; other pointers get
    the overall value. The repulsion by earlier clicks is fitted where 20 clicks have earlier ones,
    else it stays as shipped.

    Raises:
        InvalidInput: fewer than 20 clicks on goals with pixels.
    """
    views: list[_ClickView] = []
    for click in clicks:
        view = _ClickView.of(click)
        if view is not None:
            views.append(view)
    if len(views) < FEWEST_CLICKS:
        raise InvalidInput(
            f"clicks: expected {FEWEST_CLICKS} at least to fit habits to, got {len(views)}"
        )
    start = read_habits(SHIPPED_HABITS / "clicks.toml", ClickHabits)
    densities = np.stack([view.densities() for view in views])  # (clicks, steadiness, powers)
    # Power 0 is the uniform choice of a place.
    uniform = densities[:, :, 0]
    power, steadiness, share = _maximize_likelihood(densities, uniform)
    anywhere = ANYWHERE_GRID[share]
    at_steadiness = (1 - anywhere) * densities[:, steadiness] + anywhere * uniform[:, [steadiness]]
    at_power = (1 - anywhere) * densities[:, :, power] + anywhere * uniform
    pointers = np.array([view.pointer for view in views])
    overall = PointerSteadiness(unsteady=float(UNSTEADY_GRID[steadiness]))
    hands: dict[str, PointerSteadiness] = {}
    for name, shipped in start.hands.items():
        hands[name] = _fit_steadiness(at_power[pointers == name], shipped) or overall
    with_earlier = [view for view in views if len(view.earlier)]
    if len(with_earlier) >= FEWEST_CLICKS:
        avoid = _fit_avoidance(with_earlier, power, start)
    else:
        avoid = start.avoid
    log_densities = np.log(np.maximum(at_steadiness, _LEAST_DENSITY))
    people = [view.person for view in views]
    return msgspec.structs.replace(
        start,
        source=source,
        centredness=float(POWER_GRID[power]),
        anywhere=float(anywhere),
        between_people=_fit_spread_between_people(log_densities, power, people),
        avoid=avoid,
        hands=hands,
    )


def _maximize_likelihood(
    densities: NDArray[np.float64], uniform: NDArray[np.float64]
) -> tuple[int, int, int]:
    """Return the grid indices of power, steadiness and uniform share with the greatest likelihood."""
    likelihoods: dict[tuple[int, int, int], float] = {}
    for share, anywhere in enumerate(ANYWHERE_GRID):
        mixed = (1 - anywhere) * densities + anywhere * uniform[:, :, None]
        log_likelihood = np.log(np.maximum(mixed, _LEAST_DENSITY)).sum(axis=0)
        best = int(log_likelihood.argmax())
        steadiness, power = np.unravel_index(best, log_likelihood.shape)
        likelihoods[int(power), int(steadiness), share] = float(log_likelihood.max())
    return max(likelihoods, key=lambda indices: likelihoods[indices])


def _fit_steadiness(
    densities: NDArray[np.float64], shipped: PointerSteadiness
) -> PointerSteadiness | None:
    """Return the steadiness with one pointer from its clicks' densities, (clicks, steadiness).

    None where too few clicks were given with it.
    """
    if len(densities) < FEWEST_CLICKS:
        return None
    log_likelihood = np.log(np.maximum(densities, _LEAST_DENSITY)).sum(axis=0)
    unsteady = float(UNSTEADY_GRID[int(log_likelihood.argmax())])
    return msgspec.structs.replace(shipped, unsteady=unsteady)


def _fit_spread_between_people(
    log_densities: NDArray[np.float64], power: int, people: Sequence[str]
) -> float:
    """Return the spread of people's factors with the greatest likelihood, from (clicks, powers).

    Each person's likelihood is integrated over their factor by Gauss-Hermite quadrature.
    """
    clicks_of: defaultdict[str, list[int]] = defaultdict(list)
    for click, name in enumerate(people):
        clicks_of[name].append(click)
    of_person: list[NDArray[np.float64]] = []
    for name, clicks in clicks_of.items():
        if name and len(clicks) > 1:
            of_person.append(log_densities[clicks].sum(axis=0))
    if len(of_person) < 2 or not POWER_GRID[power]:
        return 0.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(_QUADRATURE_NODES)
    probabilities = weights / weights.sum()
    likelihoods: list[float] = []
    for spread in BETWEEN_GRID:
        powers = np.clip(POWER_GRID[power] * np.exp(spread * nodes), POWER_GRID[0], POWER_GRID[-1])
        at_nodes = np.stack([np.interp(powers, POWER_GRID, own) for own in of_person])
        # Log-sum-exp: subtracting the largest keeps exponentials in range.
        highest = at_nodes.max(axis=1, keepdims=True)
        integrals = highest[:, 0] + np.log(np.exp(at_nodes - highest) @ probabilities)
        likelihoods.append(float(integrals.sum()))
    return float(BETWEEN_GRID[int(np.argmax(likelihoods))])


def _fit_avoidance(views: Sequence[_ClickView], power: int, habits: ClickHabits) -> float:
    """Return the repulsion by earlier clicks with the greatest likelihood of the later ones."""
    rows: list[list[float]] = []
    for view in views:
        rows.append(
            [view.density_avoiding(float(avoid), power, habits.reach) for avoid in AVOID_GRID]
        )
    log_likelihood = np.log(np.maximum(rows, _LEAST_DENSITY)).sum(axis=0)
    return float(AVOID_GRID[int(log_likelihood.argmax())])


@dataclass(frozen=True, slots=True, eq=False)
class _ClickView:
    """Click in the reduced window around its goal.

    Attributes:
        depths: depth of the goal, 1 at its deepest.
        place, earlier: positions in the window.
        diagonal: diagonal of the picture, in px of the window.
    """

    depths: NDArray[np.float64]
    place: NDArray[np.float64]
    earlier: NDArray[np.float64]
    diagonal: float
    person: str
    pointer: str

    @classmethod
    def of(cls, click: PersonClick) -> _ClickView | None:
        """Return the view of a click; None where the goal has no pixel."""
        tight = bounding_window(click.goal)
        if is_empty(tight):
            return None
        diagonal = math.hypot(*click.goal.shape)
        margin = max(2, round(_MARGIN_DIAGONALS * diagonal))
        window = grow_window(tight, margin, click.goal.shape)
        goal = click.goal[window]
        scale = min(1.0, _WINDOW_PX / max(goal.shape))
        depths = np.sqrt(squared_distance(goal))
        if scale < 1:
            height, width = goal.shape
            size = (max(1, round(width * scale)), max(1, round(height * scale)))
            depths = np.asarray(
                cv2.resize(depths, size, interpolation=cv2.INTER_AREA), dtype=np.float64
            )
        start = np.array([side.start for side in window], dtype=np.float64)
        earlier = np.asarray(click.earlier, dtype=np.float64).reshape(-1, 2)
        return cls(
            depths=depths / depths.max(),
            place=(np.asarray(click.place) - start) * scale,
            earlier=(earlier - start) * scale,
            diagonal=diagonal * scale,
            person=click.person,
            pointer=click.pointer,
        )

    def densities(self) -> NDArray[np.float64]:
        """Return the density of the click, (steadiness, powers), per px of the window."""
        powers = POWER_GRID[:, None, None]
        maps = np.where(self.depths > 0, self.depths**powers, 0.0)
        return self._blurred_densities(maps, UNSTEADY_GRID)

    def density_avoiding(self, avoid: float, power: int, reach: float) -> float:
        """Return the density of the click for a person who avoids earlier clicks."""
        rows, columns = np.indices(self.depths.shape)
        weights = np.where(self.depths > 0, self.depths ** POWER_GRID[power], 0.0)
        for row, column in self.earlier.tolist():
            squared = (rows - row) ** 2 + (columns - column) ** 2
            distance = squared / (2 * (reach * self.diagonal) ** 2)
            weights *= np.exp(-avoid * np.exp(-distance))
        unsteady = UNSTEADY_GRID[_AVOIDANCE_UNSTEADY]
        return float(self._blurred_densities(weights[None], unsteady)[0, 0])

    def _blurred_densities(
        self, maps: NDArray[np.float64], unsteady: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the densities of maps, (powers, h, w), at the click after blurring: (steadiness, powers).

        The blur is a separable Gaussian that is evaluated at one place only.
        """
        sigmas = np.maximum(unsteady * self.diagonal, _LEAST_SIGMA)[:, None]
        height, width = maps.shape[1:]
        row, column = self.place.tolist()
        row_weights = np.exp(-0.5 * ((np.arange(height) - row) / sigmas) ** 2)
        column_weights = np.exp(-0.5 * ((np.arange(width) - column) / sigmas) ** 2)
        by_row = (maps @ column_weights.T).transpose(2, 0, 1)  # (steadiness, powers, h)
        sums = (by_row * row_weights[:, None]).sum(axis=2)
        return sums / (2 * math.pi * sigmas**2 * maps.sum(axis=(1, 2)))
