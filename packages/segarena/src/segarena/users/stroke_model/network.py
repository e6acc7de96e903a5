"""Small multilayer perceptrons in plain numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from segarena.users.stroke_model.drawing_surface import FloatArray

_CLIP_DEVIATIONS = np.float32(5)
"""Inputs are clipped to this many standard deviations, so that goals unlike any training goal stay in range."""


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Multilayer perceptron with ReLU activations between its layers.

    Attributes:
        mean, scale: standardization of the inputs: `mean` is subtracted, then they are multiplied by
            `scale`, (inputs,).
        layers: weights (inputs, outputs) and biases (outputs,).
        low, high: bounds to which inputs are clipped.
    """

    mean: FloatArray
    scale: FloatArray
    layers: Sequence[tuple[FloatArray, FloatArray]]
    low: FloatArray = field(init=False)
    high: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Compute the input bounds."""
        reach = _CLIP_DEVIATIONS / self.scale
        object.__setattr__(self, "low", self.mean - reach)
        object.__setattr__(self, "high", self.mean + reach)

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Return the outputs of the last layer, (n, outputs), for `inputs` (n, inputs)."""
        values = np.maximum(inputs, self.low)
        np.minimum(values, self.high, out=values)
        values -= self.mean
        values *= self.scale
        for weights, biases in self.layers[:-1]:
            values = values @ weights
            values += biases
            np.maximum(values, 0, out=values)
        weights, biases = self.layers[-1]
        return values @ weights + biases

    def arrays(self) -> dict[str, FloatArray]:
        """Return the network as named arrays: mean, scale, w0, b0, w1, b1, ..."""
        arrays = {"mean": self.mean, "scale": self.scale}
        for number, (weights, biases) in enumerate(self.layers):
            arrays[f"w{number}"] = weights
            arrays[f"b{number}"] = biases
        return arrays

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> Network:
        """Restore a network from `arrays`; raise `KeyError` if one is missing."""
        count = sum(name.startswith("w") for name in arrays)
        layers: list[tuple[FloatArray, FloatArray]] = []
        for number in range(count):
            weights = arrays[f"w{number}"]
            biases = arrays[f"b{number}"]
            layers.append((weights, biases))
        return cls(arrays["mean"], arrays["scale"], layers)


def sample_categorical(
    logits: FloatArray, rng: np.random.Generator
) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Sample a column for each row of `logits` (n, m), with probabilities in proportion to exp(logit)."""
    # Subtracting the largest logit cancels out, and keeps `exp` from overflowing.
    largest = logits.max(axis=1, keepdims=True)
    weights = np.exp(logits - largest)
    cumulative = weights.cumsum(axis=1)
    totals = cumulative[:, -1:]
    thresholds = rng.random((len(logits), 1), dtype=np.float32) * totals
    return (cumulative < thresholds).sum(axis=1)
