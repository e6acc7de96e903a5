"""Small networks, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from segarena.users.stroke_model.surface import FloatArray

_FARTHEST = np.float32(5)
"""Inputs count as at most so many standard deviations from the mean: of goals unlike all seen before too."""


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Layers with rectifiers between them.

    Attributes:
        mean, scale: inputs have `mean` subtracted and are multiplied by `scale`, (inputs,).
        layers: weights (inputs, outputs) and what is added, (outputs,).
        low, high: inputs count as no less and no more.
    """

    mean: FloatArray
    scale: FloatArray
    layers: Sequence[tuple[FloatArray, FloatArray]]
    low: FloatArray = field(init=False)
    high: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Find the least and the most of each input."""
        reach = _FARTHEST / self.scale
        object.__setattr__(self, "low", self.mean - reach)
        object.__setattr__(self, "high", self.mean + reach)

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Return the last layer's outputs, (n, outputs), of `inputs` (n, inputs)."""
        values = np.maximum(inputs, self.low)
        np.minimum(values, self.high, out=values)
        values -= self.mean
        values *= self.scale
        for weights, added in self.layers[:-1]:
            values = values @ weights
            values += added
            np.maximum(values, 0, out=values)
        weights, added = self.layers[-1]
        return values @ weights + added

    def arrays(self) -> dict[str, FloatArray]:
        """Return it as named arrays."""
        layers = {
            f"{name}{at}": array
            for at, layer in enumerate(self.layers)
            for name, array in zip("wb", layer, strict=True)
        }
        return {"mean": self.mean, "scale": self.scale, **layers}

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> Network:
        """Return what `arrays` were made of; `KeyError` where some are missing."""
        count = sum(name.startswith("w") for name in arrays)
        return cls(
            arrays["mean"],
            arrays["scale"],
            [(arrays[f"w{at}"], arrays[f"b{at}"]) for at in range(count)],
        )


def sample_categorical(
    logits: FloatArray, rng: np.random.Generator
) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return for each row of `logits` (n, m) one of m, with probabilities in proportion to exp(logit)."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    sums = weights.cumsum(axis=1)
    return (sums < rng.random((len(logits), 1), dtype=np.float32) * sums[:, -1:]).sum(axis=1)
