"""How much people plan to draw, fitted: least squares with a ridge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from segarena.users.stroke_model.model import PlanModel
from segarena.users.stroke_model.surface import FloatArray

_RIDGE = 3.0
_USUAL_RIDGE = 3e-3
"""What is usual for a person is hardly held back."""
_LEAST_VARIANCE = 1e-4


def fit_plan_model(shapes: FloatArray, habits: FloatArray, plans: FloatArray) -> PlanModel:
    """Return how much people plan to draw.

    Args:
        shapes: of goals, (n, shape).
        habits: of whoever drew, (n, people), 1 for one person each.
        plans: what they must have planned, (n, 2).
    """
    own = [habits[:, person] > 0 for person in range(habits.shape[1])]
    blank = PlanModel(
        mean=shapes.mean(axis=0).astype(np.float32),
        scale=(1 / (shapes.std(axis=0) + 1e-3)).astype(np.float32),
        weights=np.zeros((0, 2), np.float32),
        spread=np.zeros((0, 2, 2), np.float32),
        low=np.array([plans[mine].min(axis=0) for mine in own], np.float32),
        high=np.array([plans[mine].max(axis=0) for mine in own], np.float32),
    )
    told = blank.regression_inputs(shapes, habits).astype(np.float64)
    ridge = np.full(told.shape[1], _RIDGE)
    ridge[2 * shapes.shape[1] :][: habits.shape[1]] = _USUAL_RIDGE
    weights = np.linalg.solve(told.T @ told + np.diag(ridge), told.T @ plans)
    left = plans - told @ weights
    spread = [np.cov(left[mine].T, bias=True) + _LEAST_VARIANCE * np.eye(2) for mine in own]
    factors = np.linalg.cholesky(np.array(spread))
    return replace(blank, weights=weights.astype(np.float32), spread=factors.astype(np.float32))
