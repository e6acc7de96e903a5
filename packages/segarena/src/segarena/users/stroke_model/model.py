"""Stroke model file: people, the distribution of their plans, and the networks that draw."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from segarena.errors import InvalidInput
from segarena.files.npy import read_arrays
from segarena.users.stroke_model.drawing_agents import PLAN_PIECES
from segarena.users.stroke_model.network import Network
from segarena.users.stroke_model.surface import FloatArray

SHIPPED_MODEL = Path(__file__).parent / "fitted.npz"
SHIPPED_BACKGROUND_MODEL = Path(__file__).parent / "background.npz"
_NETWORKS = ("step", "start", "course", "likeness")
_MOST_SHAPE_DEVIATIONS = 3


@dataclass(frozen=True, slots=True, eq=False)
class PlanModel:
    """Distribution of plans given a goal's shape: a linear model of their logarithms with normal noise.

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
        """Return regression inputs, (n, inputs), for shapes (n, shape) and habits (n, people)."""
        deviations = (shapes - self.mean) * self.scale
        clipped = np.clip(deviations, -_MOST_SHAPE_DEVIATIONS, _MOST_SHAPE_DEVIATIONS)
        interactions = (habits[:, :, None] * clipped[:, None, :]).reshape(len(clipped), -1)
        return np.concatenate([clipped, np.square(clipped), habits, interactions], axis=1)

    def sample(self, shape: FloatArray, habits: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Sample a plan for each row of habits, (n, 2); the number of pieces is whole.

        The columns are `segarena.users.stroke_model.drawing_agents.PLAN_FIELDS`.
        """
        shapes = np.broadcast_to(shape, (len(habits), len(shape)))
        noise = rng.standard_normal((len(habits), 2), dtype=np.float32)
        factors = np.einsum("np,pij->nij", habits, self.spread)
        expected = self.regression_inputs(shapes, habits) @ self.weights
        plans = expected + np.einsum("nij,nj->ni", factors, noise)
        plans = np.clip(plans, habits @ self.low, habits @ self.high)
        pieces = np.maximum(1, np.rint(np.exp(plans[:, PLAN_PIECES])))
        plans[:, PLAN_PIECES] = np.log(pieces)
        return plans


@dataclass(frozen=True, slots=True, eq=False)
class StrokeModel:
    """Model that `segarena people fit scribbler` fits.

    Attributes:
        people: names of the people it was fitted to.
        planning: how much they draw.
        step: network for the turn class of a drawing agent, or the lift of its pen.
        start: network for the logit that a line begins at a point rather than at a random one.
        course: network for the direction class in which a line begins.
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
            InvalidInput: no person has this name.
        """
        if person not in self.people:
            raise InvalidInput(f"person: expected one of {', '.join(self.people)}, got {person!r}")
        return np.eye(len(self.people), dtype=np.float32)[self.people.index(person)]

    def packed(self) -> bytes:
        """Return the bytes of the model file; equal models have equal bytes."""
        groups: dict[str, dict[str, FloatArray]] = {}
        for name in _NETWORKS:
            groups[name] = getattr(self, name).arrays()
        groups["planning"] = {
            field.name: getattr(self.planning, field.name) for field in fields(PlanModel)
        }
        arrays: dict[str, Any] = {}
        for name, group in groups.items():
            for key, array in group.items():
                arrays[f"{name}.{key}"] = array
        people = np.array(self.people)
        file = io.BytesIO()
        np.savez_compressed(file, people=people, cohesion=np.float64(self.cohesion), **arrays)
        return file.getvalue()


def read_stroke_model(path: str | Path = SHIPPED_MODEL) -> StrokeModel:
    """Return the stroke model in a file.

    Raises:
        InvalidInput: the file cannot be read, is no stroke model, or is larger than `files.limits`
            allows.
    """
    file = Path(path)
    written_at = file.stat().st_mtime_ns if file.is_file() else 0
    return _read_cached(file, written_at)


# The time of writing is part of the key, so that a file that was fitted again is read again.
@lru_cache(maxsize=8)
def _read_cached(path: Path, _written_at: int) -> StrokeModel:
    try:
        arrays: dict[str, Any] = read_arrays(path, has_text=True)
        networks = {name: Network.of(_group(arrays, name)) for name in _NETWORKS}
        planning = PlanModel(**_group(arrays, "planning"))
        people: Sequence[str] = arrays["people"].tolist()
        cohesion = float(arrays["cohesion"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{path}: expected a file that `segarena people fit scribbler` wrote; {error}"
        ) from error
    return StrokeModel(people=tuple(people), planning=planning, cohesion=cohesion, **networks)


def _group(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the arrays whose keys begin with `name.`, by the rest of the key."""
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)
    }
