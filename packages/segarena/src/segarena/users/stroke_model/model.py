"""The file of a fitted hand: whose habits it has, how much they plan to draw, and the networks that lead it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from segarena.errors import InvalidInput
from segarena.files.arrays import read_arrays
from segarena.users.stroke_model.network import Network
from segarena.users.stroke_model.surface import FloatArray

SHIPPED_MODEL = Path(__file__).parent / "fitted.npz"
SHIPPED_BACKGROUND_MODEL = Path(__file__).parent / "background.npz"
_NETWORKS = ("step", "start", "course", "likeness")


@dataclass(frozen=True, slots=True, eq=False)
class PlanModel:
    """How much people plan to draw, given a goal's shape: a normal distribution of the logarithms.

    Attributes:
        mean, scale: of shapes, which are counted in standard deviations, (shape,).
        weights: (what is told of shape and people, 2).
        spread: of each person, factors of the covariance, (people, 2, 2).
        low, high: what was seen of each person, (people, 2).
    """

    mean: FloatArray
    scale: FloatArray
    weights: FloatArray
    spread: FloatArray
    low: FloatArray
    high: FloatArray

    def told(self, shapes: FloatArray, habits: FloatArray) -> FloatArray:
        """Return what a plan depends on, (n, inputs), for shapes (n, shape) and habits (n, people)."""
        seen = np.clip((shapes - self.mean) * self.scale, -3, 3)
        own = (habits[:, :, None] * seen[:, None, :]).reshape(len(seen), -1)
        return np.concatenate([seen, np.square(seen), habits, own], axis=1)

    def draw(self, shape: FloatArray, habits: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return a plan for each row of habits, (n, 2), see `segarena.users.stroke_model.drawing_agents.PLAN_FIELDS`; pieces are whole."""
        shapes = np.broadcast_to(shape, (len(habits), len(shape)))
        noise = rng.standard_normal((len(habits), 2), dtype=np.float32)
        factors = np.einsum("np,pij->nij", habits, self.spread)
        plans = self.told(shapes, habits) @ self.weights + np.einsum("nij,nj->ni", factors, noise)
        plans = np.clip(plans, habits @ self.low, habits @ self.high)
        plans[:, 1] = np.log(np.maximum(1, np.rint(np.exp(plans[:, 1]))))
        return plans


@dataclass(frozen=True, slots=True, eq=False)
class StrokeModel:
    """What `segarena people fit scribbler` learns.

    Attributes:
        people: names of those whose habits it has.
        planning: how much they draw.
        step: where a hand that draws turns, or whether it is lifted.
        start: the logit that a line begins at a place rather than at any.
        course: in which direction it begins.
        likeness: the logit that a draft is people's.
        cohesion: by how much that falls where a draft is farther from what was drawn on the next slice; see
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
        """Return the habits of somebody, (people,).

        Raises:
            InvalidInput: nobody has this name.
        """
        if person not in self.people:
            raise InvalidInput(f"person: expected one of {', '.join(self.people)}, got {person!r}")
        return np.eye(len(self.people), dtype=np.float32)[self.people.index(person)]

    def packed(self) -> bytes:
        """Return the bytes of the file; equal hands have equal ones."""
        held: dict[str, dict[str, FloatArray]] = {
            name: getattr(self, name).arrays() for name in _NETWORKS
        }
        held["planning"] = {
            field.name: getattr(self.planning, field.name) for field in fields(PlanModel)
        }
        arrays: dict[str, Any] = {
            f"{name}.{key}": array for name, own in held.items() for key, array in own.items()
        }
        file = io.BytesIO()
        np.savez_compressed(
            file, people=np.array(self.people), cohesion=np.float64(self.cohesion), **arrays
        )
        return file.getvalue()


def read_stroke_model(path: str | Path = SHIPPED_MODEL) -> StrokeModel:
    """Return the hand in a file.

    Raises:
        InvalidInput: it cannot be read, is no such file, or is larger than `files.limits` allows.
    """
    file = Path(path)
    return _read(file, file.stat().st_mtime_ns if file.is_file() else 0)


@lru_cache(maxsize=8)
def _read(path: Path, _written_at: int) -> StrokeModel:
    """Return the hand in a file; one that was fitted anew is read again."""
    try:
        arrays: dict[str, Any] = read_arrays(path, has_text=True)
        networks = {name: Network.of(_held(arrays, name)) for name in _NETWORKS}
        planning = PlanModel(**_held(arrays, "planning"))
        people: Sequence[str] = arrays["people"].tolist()
        cohesion = float(arrays["cohesion"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{path}: expected a file that `segarena people fit scribbler` wrote; {error}"
        ) from error
    return StrokeModel(people=tuple(people), planning=planning, cohesion=cohesion, **networks)


def _held(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        key.removeprefix(f"{name}."): array
        for key, array in arrays.items()
        if key.startswith(f"{name}.")
    }
