"""Masks of whole objects from the dataset that people saw."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from segarena.errors import InvalidMask, SampleInvalid
from segarena.registry import build
from segarena.roles import Dataset
from segarena.samples import Mask, Sample
from segarena_people.prompts import PersonPrompt


class TargetMasks:
    """Reads the masks of a dataset's targets; the last sample stays in memory.

    Args:
        dataset: a dataset, or its text as for `segarena run -d`.
    """

    def __init__(self, dataset: Dataset | str) -> None:
        self.dataset: Dataset = build("dataset", dataset) if isinstance(dataset, str) else dataset
        self.load = lru_cache(maxsize=1)(self._load)

    def _load(self, sample_id: str) -> Sample:
        return self.dataset.load(sample_id)

    def whole(self, sample_id: str, target_id: str | None) -> Mask:
        """Return the mask of an object of an image, bool (H, W); without a target id, of its only one.

        Raises:
            SampleInvalid: the sample has no such target, has several and none was named, or is no
                image.
        """
        targets = self.load(sample_id).targets
        found = [one for one in targets if target_id in (None, one.id)]
        if len(found) != 1 or found[0].mask.ndim != 2:
            names = ", ".join(one.id for one in targets) or "none"
            raise SampleInvalid(
                f"{self.dataset.name}, sample {sample_id}: expected target {target_id!r}, has {names}"
            )
        return found[0].mask > 0

    def read(self, row: PersonPrompt) -> Mask:
        """Return the object of a prompt in the plane or frame that was shown, bool (H, W).

        Of several objects in one target it is that of the prompt's number; number 0, the
        background, means all objects.

        Raises:
            SampleInvalid: the sample has no such target.
            InvalidMask: the mask has another size than people saw.
        """
        target = next((one for one in self.load(row.sample).targets if one.id == row.target), None)
        if target is None:
            raise SampleInvalid(
                f"{self.dataset.name}, sample {row.sample}: it has no target {row.target!r}"
            )
        stack = target.mask if row.plane is None else target.mask[row.plane : row.plane + 1]
        if not len(stack):
            raise SampleInvalid(
                f"{self.dataset.name}, sample {row.sample}: it has no plane {row.plane}"
            )
        shown = stack if row.plane is None else stack[0]
        if shown.shape != (row.height, row.width):
            raise InvalidMask(
                f"{self.dataset.name}, sample {row.sample}: expected {row.width} x {row.height} px as people saw it, "
                f"got shape {shown.shape}; is it the same dataset?"
            )
        if shown.dtype == np.bool_:
            return shown.view(np.bool_)
        return shown == row.object_id if row.object_id else shown > 0
