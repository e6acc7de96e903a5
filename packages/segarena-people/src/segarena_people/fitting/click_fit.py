"""Maximum likelihood fit of click parameters to people's clicks, with a depth map of each goal.

Model: a person aims at a pixel of the goal that is sampled with a probability proportional to a
power of its depth, or with a small probability uniformly; normal noise of the hand then displaces
the click. The joint likelihood of all clicks determines the power, the share of uniform clicks and
the noise. A second likelihood, with a separate power for each person, determines the spread between
people. All parameters are optimized by grid search. Large goals are downscaled first.
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
"""Minimum number of clicks for a fit."""

# Power 0 samples pixels uniformly, spread 0 means no difference between people, and avoidance 0 no
# repulsion: these three grids include the value at which their effect vanishes.
POWER_GRID = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0])
UNSTEADY_GRID = np.array([0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03])
"""Standard deviations of the hand noise, in picture diagonals."""
ANYWHERE_GRID = np.array([0.001, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
BETWEEN_GRID = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0])
AVOID_GRID = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])

# Minimum standard deviation of the hand noise, in px of the downscaled window, which cannot resolve
# finer noise.
_LEAST_SIGMA = 0.3

# Margin of the window around a goal, because the hand may displace clicks out of the goal.
_MARGIN_DIAGONALS = 0.03
# Gauss-Hermite quadrature with 9 nodes is exact for polynomials up to degree 17.
_QUADRATURE_NODES = 9
# Subset of the steadiness grid for the fit of the repulsion, which hardly depends on steadiness.
_AVOIDANCE_UNSTEADY = slice(2, 3)
# Length of the longer side of a downscaled window.
_WINDOW_PX = 96
# Lower bound of the density of a click, per px of the downscaled window, so that one outlier does
# not dominate the fit.
_LEAST_DENSITY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PersonClick:
    """One click by a person, with its goal.

    Attributes:
        goal: region to click, bool (H, W).
        place: row and column.
        earlier: row and column of the person's earlier clicks on the same target.
        person: name of the person; "" if unknown.
        pointer: mouse, pen or touch; "" if unknown.
    """

    goal: Mask
    place: tuple[float, float]
    earlier: Sequence[tuple[float, float]] = ()
    person: str = ""
    pointer: str = ""


def fit_clicks(clicks: Iterable[PersonClick], source: str) -> ClickHabits:
    """Fit click parameters; the same clicks in the same order give the same result.

    Steadiness is fitted separately for each pointer with at least 20 clicks; other pointers get the
    overall value. The repulsion by earlier clicks is fitted if at least 20 clicks have earlier
    ones; otherwise it keeps the default.

    Raises:
        InvalidInput: there are fewer than 20 clicks on non-empty goals.
    """
    views: list[_ClickView] = []
    for click in clicks:
        view = _ClickView.of(click)
        if view is not None:
            views.append(view)
    if len(views) < FEWEST_CLICKS:
        raise InvalidInput(
            f"clicks: expected at least {FEWEST_CLICKS} for a fit, got {len(views)}; collect more"
        )
    start = read_habits(SHIPPED_HABITS / "clicks.toml", ClickHabits)
    densities = np.stack([view.densities() for view in views])  # (clicks, steadiness, powers)
    # Power 0 is the uniform component of the mixture.
    uniform = densities[:, :, 0]
    power, steadiness, share = _maximize_likelihood(densities, uniform)
    anywhere = ANYWHERE_GRID[share]
    # Fit the steadiness of each pointer and the spread between people separately, with all other
    # parameters fixed at their estimates.
    at_steadiness = (1 - anywhere) * densities[:, steadiness] + anywhere * uniform[:, [steadiness]]
    at_power = (1 - anywhere) * densities[:, :, power] + anywhere * uniform
    # Fitted per pointer, because a finger is less steady than a mouse.
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
    """Return the grid indices of power, steadiness and uniform share that maximize the likelihood."""
    # Exhaustive, because the grids are small and the likelihood may have several maxima.
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
    """Fit the steadiness of one pointer from the densities of its clicks, (clicks, steadiness).

    None if there are too few clicks with this pointer.
    """
    if len(densities) < FEWEST_CLICKS:
        return None
    log_likelihood = np.log(np.maximum(densities, _LEAST_DENSITY)).sum(axis=0)
    unsteady = float(UNSTEADY_GRID[int(log_likelihood.argmax())])
    return msgspec.structs.replace(shipped, unsteady=unsteady)


def _fit_spread_between_people(
    log_densities: NDArray[np.float64],
    power: int,
    people: Sequence[str],
) -> float:
    """Fit the spread of people's factors by maximum likelihood, from log densities (clicks, powers).

    The likelihood of each person is integrated over the factor by Gauss-Hermite quadrature. The
    spread is 0 if fewer than two people have several clicks, or if the power is 0.
    """
    clicks_of: defaultdict[str, list[int]] = defaultdict(list)
    for click, name in enumerate(people):
        clicks_of[name].append(click)
    of_person: list[NDArray[np.float64]] = []
    for name, clicks in clicks_of.items():
        # A single click does not show how a person differs from others.
        if name and len(clicks) > 1:
            of_person.append(log_densities[clicks].sum(axis=0))
    # The factor multiplies the power, so at power 0 it has no effect.
    if len(of_person) < 2 or not POWER_GRID[power]:
        return 0.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(_QUADRATURE_NODES)
    probabilities = weights / weights.sum()
    likelihoods: list[float] = []
    for spread in BETWEEN_GRID:
        # Factors are log-normal: positive, with a median of 1.
        factors = np.exp(spread * nodes)
        # Powers outside the grid cannot be interpolated.
        powers = np.clip(POWER_GRID[power] * factors, POWER_GRID[0], POWER_GRID[-1])
        at_nodes = np.stack([np.interp(powers, POWER_GRID, own) for own in of_person])
        # Log-sum-exp: subtract the maximum so that the exponentials stay in range.
        highest = at_nodes.max(axis=1, keepdims=True)
        integrals = highest[:, 0] + np.log(np.exp(at_nodes - highest) @ probabilities)
        likelihoods.append(float(integrals.sum()))
    return float(BETWEEN_GRID[int(np.argmax(likelihoods))])


def _fit_avoidance(
    views: Sequence[_ClickView],
    power: int,
    habits: ClickHabits,
) -> float:
    """Return the repulsion by earlier clicks under which the later clicks are most likely."""
    rows: list[list[float]] = []
    for view in views:
        densities: list[float] = []
        for avoid in AVOID_GRID:
            densities.append(view.density_avoiding(float(avoid), power, habits.reach))
        rows.append(densities)
    log_likelihood = np.log(np.maximum(rows, _LEAST_DENSITY)).sum(axis=0)
    return float(AVOID_GRID[int(log_likelihood.argmax())])


@dataclass(frozen=True, slots=True, eq=False)
class _ClickView:
    """Click in a downscaled window around its goal.

    Attributes:
        depths: depth map of the goal, 1 at its deepest pixel.
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
        """Build the window of a click; None if the goal is empty."""
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
            reduced_width = max(1, round(width * scale))
            reduced_height = max(1, round(height * scale))
            size = (reduced_width, reduced_height)
            # Average over areas, so that thin parts of a goal keep some depth in the downscaled
            # window.
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

    def density_avoiding(
        self,
        avoid: float,
        power: int,
        reach: float,
    ) -> float:
        """Return the density of the click given that the person avoids earlier clicks."""
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
        """Blur maps (powers, h, w) and return their densities at the click, (steadiness, powers).

        The blur is a separable Gaussian, evaluated at the click only.
        """
        sigmas = np.maximum(unsteady * self.diagonal, _LEAST_SIGMA)[:, None]
        height, width = maps.shape[1:]
        row, column = self.place.tolist()
        row_distances = np.arange(height) - row
        column_distances = np.arange(width) - column
        row_weights = np.exp(-0.5 * (row_distances / sigmas) ** 2)
        column_weights = np.exp(-0.5 * (column_distances / sigmas) ** 2)
        # A two-dimensional Gaussian is the product of one along each axis.
        by_row = (maps @ column_weights.T).transpose(2, 0, 1)  # (steadiness, powers, h)
        sums = (by_row * row_weights[:, None]).sum(axis=2)
        # Normalized by the sum of the whole map, so that each map is a probability distribution.
        totals = maps.sum(axis=(1, 2))
        return sums / (2 * math.pi * sigmas**2 * totals)
