"""Small networks learnt from rows, with scikit-learn; the same rows give the same network."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import MissingExtra
from segarena.users.stroke_model.network import Network
from segarena.users.stroke_model.surface import FloatArray

_UNSEEN = -12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """How a network learns.

    Attributes:
        hidden: units of each hidden layer.
        epochs: how often it sees every row.
        decay: of its weights.
    """

    hidden: tuple[int, ...]
    epochs: int
    decay: float = 1e-3


def train_network(
    rows: FloatArray, classes: NDArray[np.int64], count: int, learning: TrainingConfig, seed: int
) -> Network:
    """Return a network whose outputs are the logits of the classes; of two classes one, for the second.

    A class of which there are no rows gets a logit at which it never happens.

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
    scale = 1 / (rows.std(axis=0) + 1e-3)
    classifier: Any = MLPClassifier
    model = classifier(
        learning.hidden, max_iter=learning.epochs, alpha=learning.decay, batch_size=min(256, len(rows)),
        learning_rate_init=2e-3, random_state=seed,
    )  # fmt: skip
    with threadpool_limits(1), warnings.catch_warnings():
        # It is stopped after so many epochs on purpose.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(np.clip((rows - mean) * scale, -5, 5), classes)
    layers = [
        (weights.astype(np.float32), added.astype(np.float32))
        for weights, added in zip(model.coefs_, model.intercepts_, strict=True)
    ]
    if count > 2 and len(model.classes_) < count:
        layers[-1] = _with_unseen(*layers[-1], model.classes_, count)
    return Network(mean.astype(np.float32), scale.astype(np.float32), layers)


def _with_unseen(
    weights: FloatArray, added: FloatArray, classes: NDArray[np.int64], count: int
) -> tuple[FloatArray, FloatArray]:
    all_weights = np.zeros((len(weights), count), np.float32)
    all_added = np.full(count, _UNSEEN, np.float32)
    # Of two classes scikit-learn gives one output, for the second.
    seen = classes[1:] if weights.shape[1] == 1 else classes
    all_weights[:, seen], all_added[seen] = weights, added
    if weights.shape[1] == 1:
        all_added[classes[0]] = 0
    return all_weights, all_added
