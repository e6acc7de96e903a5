"""Statistics over the rounds of dialogues: NoC, NoF, AuC, and the value after k rounds.

`hold_last` stacks the values of many dialogues into one array (dialogues, rounds). Every other
function takes such an array and returns one value per dialogue, float64; it raises `InvalidInput`
for other shapes and for NaN. For means and their intervals see `segarena.statistics.intervals`.
Round k is the answer to the k-th prompt, counted from 1.

Source: RClicks, section 5 ("NoC", "NoF", "AuC"); volume challenges use sums instead of means for
their areas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput

Values: TypeAlias = NDArray[np.float64]
SolvedAtLast: TypeAlias = Literal["solved", "failure"]


def hold_last(values_per_dialogue: Sequence[ArrayLike], rounds: int) -> Values:
    """Stack values into one array (dialogues, rounds); a dialogue that ended early keeps its last value.

    Rounds beyond `rounds` are dropped. Without dialogues the array has 0 rows.

    >>> hold_last([[0.5, 0.9], [0.4, 0.6, 0.8]], 3)
    array([[0.5, 0.9, 0.9],
           [0.4, 0.6, 0.8]])

    Args:
        values_per_dialogue: one sequence per dialogue with a value for each of its rounds, at least one.
        rounds: number of columns to return, at least 1.

    Raises:
        InvalidInput: a dialogue has no round, or `rounds` is below 1.
    """
    if rounds < 1:
        raise InvalidInput(f"rounds: expected at least 1, got {rounds}")
    curves = np.empty((len(values_per_dialogue), rounds))
    for curve, values in zip(curves, values_per_dialogue, strict=True):
        recorded = np.asarray(values, dtype=np.float64)[:rounds]
        if recorded.ndim != 1 or not len(recorded):
            raise InvalidInput(
                f"dialogue: expected a value for each round, got shape {np.shape(values)}"
            )
        count = len(recorded)
        curve[:count] = recorded
        curve[count:] = recorded[-1]
    return curves


def number_of_clicks(
    values: ArrayLike,
    threshold: float,
    *,
    limit: int | None = None,
) -> Values:
    """Return NoC: the first round whose value is at least `threshold`, or `limit` if there is none.

    >>> number_of_clicks([[0.5, 0.9, 0.95], [0.3, 0.4, 0.5]], 0.9).tolist()
    [2.0, 3.0]

    Args:
        values: (dialogues, rounds).
        threshold: compared with >=, exactly.
        limit: number of rounds to count; by default all rounds.

    Raises:
        InvalidInput: `limit` is not within 1..rounds.
    """
    curve = _up_to(values, limit)
    rounds = curve.shape[1]
    is_solved = curve >= threshold
    # `argmax` returns the first True; rows without one are replaced below.
    first_solved = is_solved.argmax(axis=1) + 1.0
    return np.where(is_solved.any(axis=1), first_solved, float(rounds))


def number_of_failures(
    values: ArrayLike,
    threshold: float,
    *,
    limit: int | None = None,
    solved_at_last: SolvedAtLast = "solved",
) -> Values:
    """Return NoF of each dialogue: 1 if it never reaches `threshold`, else 0.

    The sum over dialogues is the NoF of the papers; the mean is the failure rate.

    >>> number_of_failures([[0.5, 0.9], [0.3, 0.4]], 0.9).tolist()
    [0.0, 1.0]
    >>> number_of_failures([[0.5, 0.9], [0.3, 0.4]], 0.9, solved_at_last="failure").tolist()
    [1.0, 1.0]

    Args:
        values: (dialogues, rounds).
        threshold: compared with >=, exactly.
        limit: number of rounds to count; by default all rounds.
        solved_at_last: whether a dialogue that reaches the threshold only in the very last round is "solved" or a
            "failure". The published numbers count NoC == 20, which makes it a failure.

    Raises:
        InvalidInput: `limit` is not within 1..rounds, or `solved_at_last` has another value.
    """
    if solved_at_last not in ("solved", "failure"):
        raise InvalidInput(
            f"solved_at_last: expected 'solved' or 'failure', got {solved_at_last!r}"
        )
    curve = _up_to(values, limit)
    if solved_at_last == "failure":
        # A dialogue solved only in the last round has NoC == rounds, which the papers count as
        # failed.
        curve = curve[:, :-1]
    is_solved = (curve >= threshold).any(axis=1)
    return np.where(is_solved, 0.0, 1.0)


def area_under_curve(values: ArrayLike) -> Values:
    """Return AuC: the trapezoidal area over rounds 1..n divided by n - 1; for a single round, its value.

    >>> area_under_curve([[0.0, 0.5, 1.0], [1.0, 1.0, 1.0]]).tolist()
    [0.5, 1.0]
    """
    curve = _checked(values)
    rounds = curve.shape[1]
    first = curve[:, 0]
    if rounds == 1:
        # A copy, because a view would change together with the input.
        return first.copy()
    half_ends = (first + curve[:, -1]) / 2
    between = curve[:, 1:-1].sum(axis=1)
    return (half_ends + between) / (rounds - 1)


def area_over_all(values: ArrayLike) -> Values:
    """Return the trapezoidal area over all rounds, at most rounds - 1 for values up to 1; 0 for a single round.

    >>> area_over_all([[0.0, 0.5, 1.0]]).tolist()
    [1.0]

    Source: autoPET, whose 11 values (without clicks, then after each of 10 clicks) give at most 10.
    """
    curve = _checked(values)
    intervals = curve.shape[1] - 1
    return area_under_curve(curve) * intervals


def area_over_last_five(values: ArrayLike) -> Values:
    """Return the trapezoidal area over the last five rounds, at most 4 for values up to 1.

    >>> area_over_last_five([[0.9, 0.0, 0.25, 0.5, 0.75, 1.0]]).tolist()
    [2.0]

    Raises:
        InvalidInput: there are fewer than five rounds.

    Source: the script of the CVPR 2025 challenge on interactive 3D biomedical segmentation, with a
    box and then five clicks; the round of the box does not count.
    """
    curve = _checked(values)
    if curve.shape[1] < 5:
        raise InvalidInput(
            f"area over the last five rounds: expected at least five, got {curve.shape[1]}"
        )
    return area_over_all(curve[:, -5:])


def at_round(values: ArrayLike, k: int) -> Values:
    """Return the value after round `k`, counted from 1.

    >>> at_round([[0.5, 0.9, 0.95]], 2).tolist()
    [0.9]

    Raises:
        InvalidInput: `k` is not within 1..rounds.
    """
    return _up_to(values, k)[:, -1].copy()


def _up_to(values: ArrayLike, limit: int | None) -> Values:
    curve = _checked(values)
    if limit is None:
        return curve
    rounds = curve.shape[1]
    if not 1 <= limit <= rounds:
        raise InvalidInput(
            f"round {limit}: expected 1..{rounds}, the number of rounds in the values"
        )
    return curve[:, :limit]


def _checked(values: Any) -> Values:
    curve = np.asarray(values, dtype=np.float64)
    if curve.ndim != 2 or not curve.shape[1]:
        raise InvalidInput(
            f"values: expected (dialogues, rounds) with at least one round, got shape {curve.shape}"
        )
    if np.isnan(curve).any():
        raise InvalidInput(
            "values: expected numbers, got NaN; leave out the dialogues where the metric is not defined"
        )
    return curve
