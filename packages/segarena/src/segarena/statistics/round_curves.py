"""Statistics over the rounds of dialogues: NoC, NoF, AuC, the value after k rounds.

Everything here takes the values of many dialogues as one array (dialogues, rounds) and returns one value
per dialogue, float64; all raise `InvalidInput` for anything else, or NaN in it. Means and their intervals are
`segarena.statistics.intervals`. Round k is the answer to the k-th prompt, counted from 1.

Source: RClicks, section 5 ("NoC", "NoF", "AuC"); the areas of challenges on volumes are sums instead of means.
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
    """Return the values as one array (dialogues, rounds); a dialogue that ended early keeps its last value.

    Rounds beyond `rounds` are left out. No dialogues give an array of 0 rows.

    >>> hold_last([[0.5, 0.9], [0.4, 0.6, 0.8]], 3)
    array([[0.5, 0.9, 0.9],
           [0.4, 0.6, 0.8]])

    Args:
        values_per_dialogue: one sequence per dialogue, a value for each of its rounds, at least one.
        rounds: how many columns to return, at least 1.

    Raises:
        InvalidInput: a dialogue without a round, or `rounds` below 1.
    """
    if rounds < 1:
        raise InvalidInput(f"rounds: expected at least 1, got {rounds}")
    held = np.empty((len(values_per_dialogue), rounds))
    for row, values in zip(held, values_per_dialogue, strict=True):
        given = np.asarray(values, dtype=np.float64)[:rounds]
        if given.ndim != 1 or not len(given):
            raise InvalidInput(
                f"dialogue: expected a value for each round, got shape {np.shape(values)}"
            )
        row[: len(given)] = given
        row[len(given) :] = given[-1]
    return held


def number_of_clicks(values: ArrayLike, threshold: float, *, limit: int | None = None) -> Values:
    """Return NoC: the first round whose value is at least `threshold`, `limit` when none is.

    >>> number_of_clicks([[0.5, 0.9, 0.95], [0.3, 0.4, 0.5]], 0.9).tolist()
    [2.0, 3.0]

    Args:
        values: (dialogues, rounds).
        threshold: compared with >=, exactly.
        limit: only that many rounds count; all of them by default.

    Raises:
        InvalidInput: `limit` not within 1..rounds.
    """
    curve = _up_to(values, limit)
    is_solved = curve >= threshold
    first_solved = is_solved.argmax(axis=1) + 1.0
    return np.where(is_solved.any(axis=1), first_solved, float(curve.shape[1]))


def number_of_failures(
    values: ArrayLike,
    threshold: float,
    *,
    limit: int | None = None,
    solved_at_last: SolvedAtLast = "solved",
) -> Values:
    """Return NoF of each dialogue: 1 where `threshold` was not reached, 0 where it was.

    The sum over dialogues is the NoF of the papers, the mean is the share that failed.

    >>> number_of_failures([[0.5, 0.9], [0.3, 0.4]], 0.9).tolist()
    [0.0, 1.0]
    >>> number_of_failures([[0.5, 0.9], [0.3, 0.4]], 0.9, solved_at_last="failure").tolist()
    [1.0, 1.0]

    Args:
        values: (dialogues, rounds).
        threshold: compared with >=, exactly.
        limit: only that many rounds count; all of them by default.
        solved_at_last: whether a dialogue that reaches the threshold only in the very last round is "solved" or a
            "failure". The published numbers count NoC == 20, so they take it for a failure.

    Raises:
        InvalidInput: also for any other value of `solved_at_last`.
    """
    if solved_at_last not in ("solved", "failure"):
        raise InvalidInput(
            f"solved_at_last: expected 'solved' or 'failure', got {solved_at_last!r}"
        )
    curve = _up_to(values, limit)
    counted = curve[:, :-1] if solved_at_last == "failure" else curve
    is_solved = (counted >= threshold).any(axis=1)
    return np.where(is_solved, 0.0, 1.0)


def area_under_curve(values: ArrayLike) -> Values:
    """Return AuC: trapezoids over rounds 1..n divided by n - 1; with one round, its value.

    >>> area_under_curve([[0.0, 0.5, 1.0], [1.0, 1.0, 1.0]]).tolist()
    [0.5, 1.0]
    """
    curve = _checked(values)
    if curve.shape[1] == 1:
        return curve[:, 0].copy()
    half_ends = (curve[:, 0] + curve[:, -1]) / 2
    trapezoids = half_ends + curve[:, 1:-1].sum(axis=1)
    return trapezoids / (curve.shape[1] - 1)


def area_over_all(values: ArrayLike) -> Values:
    """Return the sum of the trapezoids over all rounds, at most rounds - 1; 0 with one round.

    >>> area_over_all([[0.0, 0.5, 1.0]]).tolist()
    [1.0]

    Source: autoPET, whose 11 values (no click, then 10) give at most 10.
    """
    curve = _checked(values)
    return area_under_curve(curve) * (curve.shape[1] - 1)


def area_over_last_five(values: ArrayLike) -> Values:
    """Return the sum of the trapezoids over the last five rounds, at most 4.

    >>> area_over_last_five([[0.9, 0.0, 0.25, 0.5, 0.75, 1.0]]).tolist()
    [2.0]

    Raises:
        InvalidInput: fewer than five rounds.

    Source: the script of the CVPR 2025 challenge on interactive 3D biomedical segmentation: a box, then five clicks;
    the box does not count.
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
        InvalidInput: `k` not within 1..rounds.
    """
    return _up_to(values, k)[:, -1].copy()


def _up_to(values: ArrayLike, limit: int | None) -> Values:
    curve = _checked(values)
    if limit is None:
        return curve
    if not 1 <= limit <= curve.shape[1]:
        raise InvalidInput(
            f"round {limit}: expected 1..{curve.shape[1]}, as many as the values have"
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
            "values: contain NaN; leave out the dialogues where the metric is not defined"
        )
    return curve
