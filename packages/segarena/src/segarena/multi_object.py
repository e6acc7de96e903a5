"""Several objects judged together: label masks held against each other, as a video challenge does.

`Comparison` judges one object. Here a prediction and a target are uint8 labels (0 background, 1..N the objects);
each object is available as a `Comparison` of its own, and what a metric computes once for all objects is kept.
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
    """What can be known of a target of several objects before any prediction.

    Args:
        labels: uint8, 0 background, 1..`objects`.
        objects: how many are judged.
        ignore: bool, same shape, True for pixels excluded from scoring; None when every pixel counts.

    Raises:
        InvalidMask: no labels, or the shapes differ.
    """

    def __init__(self, labels: Labels, objects: int, ignore: Mask | None = None) -> None:
        if labels.dtype != np.uint8:
            raise InvalidMask(f"expected uint8 labels for several objects, got {labels.dtype}")
        super().__init__()
        self.labels = read_only(labels)
        self.objects = objects
        self.ignore: Mask | None = (
            None if ignore is None else as_mask(ignore, labels.shape, name="ignore")
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the sample."""
        return self.labels.shape

    def one(self, number: int) -> Reference:
        """Return the reference of object `number` (from 1), made when first asked for and kept."""
        return self.remember(("one", number), lambda: Reference(self.labels == number, self.ignore))


class ObjectsComparison(Memory):
    """Predicted labels against a target of several objects.

    Args:
        prediction: uint8 labels, or bool for object 1 alone; shape of the reference. Numbers above
            `reference.objects` belong to no object.
        reference: the target.

    Raises:
        InvalidMask: the shapes differ, or the prediction is neither bool nor whole numbers 0 to 255.
    """

    def __init__(self, prediction: Labels | Mask, reference: ObjectsReference) -> None:
        if prediction.shape != reference.shape:
            raise InvalidMask(
                f"prediction has shape {prediction.shape}, the target {reference.shape}"
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
        """How many objects are judged."""
        return self.reference.objects

    def one(self, number: int) -> Comparison:
        """Return the comparison of object `number` (from 1)."""
        return Comparison(self.prediction == number, self.reference.one(number))

    def each(self) -> Iterator[Comparison]:
        """Yield the comparison of each object, in order; none is kept."""
        return (self.one(number) for number in range(1, self.objects + 1))


Judged: TypeAlias = Comparison | ObjectsComparison
"""A prediction held against its target, whatever the target is."""


def begin(sample: Sample, target: Target) -> Judged:
    """Return the comparison from which every dialogue about `target` starts: nothing predicted yet."""
    if target.mask.dtype == np.uint8:
        several = ObjectsReference(
            target.mask.astype(np.uint8, copy=False), target.objects, target.ignore
        )
        return ObjectsComparison(np.zeros(several.shape, dtype=np.uint8), several)
    spacing_mm = sample.spacing_mm if isinstance(sample, VolumeSample) else None
    return Comparison.empty(Reference.of(target, spacing_mm))


def compare(mask: Any, start: Judged) -> Judged:
    """Return `mask` held against the target that `start` is about."""
    if isinstance(start, ObjectsComparison):
        return ObjectsComparison(mask, start.reference)
    return Comparison(as_mask(mask), start.reference)
