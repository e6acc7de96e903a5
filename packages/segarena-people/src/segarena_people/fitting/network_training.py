"""Training of small networks with scikit-learn; the same rows give the same network."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import MissingExtra
from segarena.users.stroke_model.drawing_surface import FloatArray
from segarena.users.stroke_model.network import Network

# Logit of a class without rows, so low that the class is practically never sampled.
_UNSEEN_LOGIT = -12.0
# Added to standard deviations to avoid dividing by 0 for constant inputs.
_LEAST_DEVIATION = 1e-3
_CLIP_DEVIATIONS = 5
_LARGEST_BATCH = 256
_LEARNING_RATE = 2e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """Hyperparameters of a network.

    Attributes:
        hidden: number of units of each hidden layer.
        epochs: number of passes over all rows.
        decay: weight decay.
    """

    hidden: tuple[int, ...]
    epochs: int
    decay: float = 1e-3


def train_network(
    rows: FloatArray,
    classes: NDArray[np.int64],
    count: int,
    config: TrainingConfig,
    seed: int,
) -> Network:
    """Train a network that outputs the logits of `count` classes; for two classes, only that of the second.

    A class without training rows gets a logit so low that it is practically never sampled.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise MissingExtra(
            'fitting strokes needs scikit-learn: pip install "segarena[people]"'
        ) from error

    mean = rows.mean(axis=0)
    scale = 1 / (rows.std(axis=0) + _LEAST_DEVIATION)
    # Typed as Any: scikit-learn's stubs lack the attributes of a fitted model.
    classifier: Any = MLPClassifier
    model = classifier(
        config.hidden,
        max_iter=config.epochs,
        alpha=config.decay,
        batch_size=min(_LARGEST_BATCH, len(rows)),
        learning_rate_init=_LEARNING_RATE,
        random_state=seed,
    )
    inputs = np.clip((rows - mean) * scale, -_CLIP_DEVIATIONS, _CLIP_DEVIATIONS)
    # Use one thread, so that floating-point sums have a fixed order and the result is reproducible.
    with threadpool_limits(1), warnings.catch_warnings():
        # Training deliberately stops after a fixed number of epochs, so ignore the convergence
        # warning.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(inputs, classes)
    layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
    for weights, biases in zip(model.coefs_, model.intercepts_, strict=True):
        layers.append((weights.astype(np.float32), biases.astype(np.float32)))
    if count > 2 and len(model.classes_) < count:
        layers[-1] = _add_unseen_classes(*layers[-1], model.classes_, count)
    return Network(mean.astype(np.float32), scale.astype(np.float32), layers)


def _add_unseen_classes(
    weights: FloatArray,
    biases: FloatArray,
    classes: NDArray[np.int64],
    count: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the last layer with an output for every class, including classes without training rows."""
    all_weights = np.zeros((len(weights), count), np.float32)
    all_biases = np.full(count, _UNSEEN_LOGIT, np.float32)
    # For two classes scikit-learn has a single output, the logit of the second class.
    has_one_output = weights.shape[1] == 1
    if has_one_output:
        with_output = classes[1:]
    else:
        with_output = classes
    all_weights[:, with_output] = weights
    all_biases[with_output] = biases
    if has_one_output:
        all_biases[classes[0]] = 0
    return all_weights, all_biases
