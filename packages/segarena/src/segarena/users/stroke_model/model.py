"""Stroke model file: fitted people, the distribution of their plans, and the networks that draw."""

from __future__ import annotations

import io
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from segarena.errors import InvalidInput
from segarena.files.npy import read_arrays
from segarena.users.stroke_model.drawing_agents import PLAN_FIELDS, PLAN_PIECES
from segarena.users.stroke_model.drawing_surface import FloatArray
from segarena.users.stroke_model.network import Network

SHIPPED_MODEL = Path(__file__).parent / "fitted.npz"
SHIPPED_BACKGROUND_MODEL = Path(__file__).parent / "background.npz"
_NETWORKS = ("step", "start", "course", "likeness")
_MOST_SHAPE_DEVIATIONS = 3


@dataclass(frozen=True, slots=True, eq=False)
class PlanModel:
    """Distribution of plans given a goal's shape: a linear model of their logarithms with Gaussian noise.

    Attributes:
        mean, scale: standardization of the shape features, (shape,).
        weights: regression weights, (inputs, 2).
        spread: Cholesky factors of the noise covariance of each person, (people, 2, 2).
        low, high: range of each person's training plans, (people, 2).
    """

    mean: FloatArray
    scale: FloatArray
    weights: FloatArray
    spread: FloatArray
    low: FloatArray
    high: FloatArray

    def regression_inputs(self, shapes: FloatArray, habits: FloatArray) -> FloatArray:
        """Return the regression inputs, (n, inputs), for shapes (n, shape) and habits (n, people)."""
        deviations = (shapes - self.mean) * self.scale
        # For a goal unlike any training goal, unbounded squares would give plans of extreme length.
        clipped = np.clip(deviations, -_MOST_SHAPE_DEVIATIONS, _MOST_SHAPE_DEVIATIONS)
        squares = np.square(clipped)
        products = habits[:, :, None] * clipped[:, None, :]
        interactions = products.reshape(len(clipped), -1)
        return np.concatenate([clipped, squares, habits, interactions], axis=1)

    def sample(
        self,
        shape: FloatArray,
        habits: FloatArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Sample a plan for each row of habits, (n, 2); its number of lines is an integer of at least 1.

        The columns are `segarena.users.stroke_model.drawing_agents.PLAN_FIELDS`, as logarithms.
        """
        count = len(habits)
        shapes = np.broadcast_to(shape, (count, len(shape)))
        expected = self.regression_inputs(shapes, habits) @ self.weights
        noise = rng.standard_normal((count, len(PLAN_FIELDS)), dtype=np.float32)
        factors = np.einsum("np,pij->nij", habits, self.spread)
        correlated_noise = np.einsum("nij,nj->ni", factors, noise)
        low = habits @ self.low
        high = habits @ self.high
        plans = np.clip(expected + correlated_noise, low, high)
        pieces = np.rint(np.exp(plans[:, PLAN_PIECES]))
        plans[:, PLAN_PIECES] = np.log(np.maximum(1, pieces))
        return plans


@dataclass(frozen=True, slots=True, eq=False)
class StrokeModel:
    """Stroke model, as fitted by `segarena people fit scribbler`.

    Attributes:
        people: names of the people to whom the model was fitted.
        planning: distribution of how much they draw.
        step: network for the turn class of a drawing agent, or the lift of its pen.
        start: network for the logit that a line starts at a point rather than at a random one.
        course: network for the direction class in which a line starts.
        likeness: network for the logit that a drawing is a person's rather than a candidate.
        cohesion: decrease of that logit with the distance from the drawing on the next slice; see
            `segarena.users.stroke_model.slice_distance`.
    """

    people: tuple[str, ...]
    planning: PlanModel
    step: Network
    start: Network
    course: Network
    likeness: Network
    cohesion: float = 0.0

    def habits_of(self, person: str) -> FloatArray:
        """Return the habits of one person as a one-hot vector, (people,).

        Raises:
            InvalidInput: the model has no person with this name.
        """
        if person not in self.people:
            raise InvalidInput(f"person: expected one of {', '.join(self.people)}, got {person!r}")
        habits = np.zeros(len(self.people), dtype=np.float32)
        habits[self.people.index(person)] = 1
        return habits

    def packed(self) -> bytes:
        """Return the bytes of the model file; equal models give equal bytes."""
        arrays: dict[str, Any] = {}
        for name in _NETWORKS:
            network: Network = getattr(self, name)
            for key, array in network.arrays().items():
                arrays[f"{name}.{key}"] = array
        for field in fields(PlanModel):
            arrays[f"planning.{field.name}"] = getattr(self.planning, field.name)
        people = np.array(self.people)
        file = io.BytesIO()
        np.savez_compressed(file, people=people, cohesion=np.float64(self.cohesion), **arrays)
        return file.getvalue()


def read_stroke_model(path: str | Path = SHIPPED_MODEL) -> StrokeModel:
    """Read the stroke model in a file.

    Raises:
        InvalidInput: the file cannot be read, is not a stroke model, or exceeds the limits of
            `files.limits`.
    """
    file = Path(path)
    written_at = file.stat().st_mtime_ns if file.is_file() else 0
    return _read_cached(file, written_at)


# The modification time is part of the cache key, so that a refitted file is read again.
@lru_cache(maxsize=8)
def _read_cached(path: Path, _written_at: int) -> StrokeModel:
    try:
        arrays: dict[str, Any] = read_arrays(path, has_text=True)
        networks = {name: Network.of(_group(arrays, name)) for name in _NETWORKS}
        planning = PlanModel(**_group(arrays, "planning"))
        # A damaged header can turn the list of names into a single number.
        people = tuple(str(name) for name in arrays["people"].tolist())
        cohesion = float(arrays["cohesion"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{path}: expected a file that `segarena people fit scribbler` wrote; {error}"
        ) from error
    return StrokeModel(
        people=people,
        planning=planning,
        cohesion=cohesion,
        **networks,
    )


def _group(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the arrays whose keys start with `name.`, by the rest of the key."""
    group: dict[str, Any] = {}
    for full_key, array in arrays.items():
        owner, _, key = full_key.partition(".")
        if owner == name and key:
            group[key] = array
    return group
