"""Comparison of label masks with several objects, as in video challenges.

Prediction and target are uint8 labels (0 background, 1..N objects). Each object is available as a
`Comparison`, and values that metrics compute for all objects are cached.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from segarena.comparison import Comparison, Memory, Reference
from segarena.errors import InvalidMask
from segarena.readonly import read_only
from segarena.samples import Labels, Mask, Sample, Target, VolumeSample, as_labels, as_mask


class ObjectsReference(Memory):
    """A target of several objects, with a cache.

    Args:
        labels: uint8, 0 background, 1..`objects`.
        objects: number of objects to evaluate.
        ignore: bool, same shape, True for ignored pixels; None if there are none.

    Raises:
        InvalidMask: `labels` is not uint8, `ignore` is not a mask, or the shapes differ.
    """

    def __init__(
        self,
        labels: Labels,
        objects: int,
        ignore: Mask | None = None,
    ) -> None:
        if labels.dtype != np.uint8:
            raise InvalidMask(f"expected uint8 labels for several objects, got {labels.dtype}")
        super().__init__()
        self.labels = read_only(labels)
        self.objects = objects
        self.ignore: Mask | None = None
        if ignore is not None:
            self.ignore = as_mask(ignore, labels.shape, name="ignore")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the sample."""
        return self.labels.shape

    def one(self, number: int) -> Reference:
        """Return the cached reference of the object with label `number`, from 1."""
        return self.remember(("one", number), lambda: Reference(self.labels == number, self.ignore))


class ObjectsComparison(Memory):
    """Predicted labels compared with a target of several objects.

    Args:
        prediction: uint8 labels, or bool for object 1 alone; shape of the reference. Labels above
            `reference.objects` are ignored.
        reference: the target.

    Raises:
        InvalidMask: the shapes differ, or the prediction is neither bool nor whole numbers 0 to 255.
    """

    def __init__(self, prediction: Labels | Mask, reference: ObjectsReference) -> None:
        if prediction.shape != reference.shape:
            raise InvalidMask(
                f"prediction: expected the target's shape {reference.shape}, got {prediction.shape}"
            )
        super().__init__()
        self.prediction: Labels = read_only(as_labels(prediction, name="prediction"))
        self.reference = reference

    @property
    def target(self) -> Labels:
        """The labels of the target."""
        return self.reference.labels

    @property
    def objects(self) -> int:
        """Number of objects to evaluate."""
        return self.reference.objects

    def one(self, number: int) -> Comparison:
        """Return the comparison of the object with label `number`, from 1."""
        return Comparison(self.prediction == number, self.reference.one(number))

    def each(self) -> Iterator[Comparison]:
        """Yield the comparison of each object in order, without caching."""
        return (self.one(number) for number in range(1, self.objects + 1))


AnyComparison: TypeAlias = Comparison | ObjectsComparison
"""A comparison with a target of one or several objects."""


def empty_comparison(sample: Sample, target: Target) -> AnyComparison:
    """Return the comparison of the empty prediction, with which every dialogue about `target` starts."""
    if target.mask.dtype == np.uint8:
        labels = target.mask.astype(np.uint8, copy=False)
        reference = ObjectsReference(labels, target.objects, target.ignore)
        no_objects = np.zeros(reference.shape, dtype=np.uint8)
        return ObjectsComparison(no_objects, reference)
    spacing_mm = sample.spacing_mm if isinstance(sample, VolumeSample) else None
    return Comparison.empty(Reference.of(target, spacing_mm))


def compare_prediction(mask: Any, start: AnyComparison) -> AnyComparison:
    """Return the comparison of `mask` with the target that `start` was made for."""
    if isinstance(start, ObjectsComparison):
        return ObjectsComparison(mask, start.reference)
    return Comparison(as_mask(mask), start.reference)
