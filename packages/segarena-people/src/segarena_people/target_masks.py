"""The whole objects that prompts are about, from the dataset that was shown."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from segarena.errors import InvalidMask, SampleInvalid
from segarena.registry import build
from segarena.roles import Dataset
from segarena.samples import Mask, Sample
from segarena_people.prompts import PersonPrompt


class TargetMasks:
    """Gives the masks of a dataset's targets; the last sample stays in memory.

    Args:
        dataset: a dataset, or how it is written for `segarena run -d`.
    """

    def __init__(self, dataset: Dataset | str) -> None:
        self.dataset: Dataset = build("dataset", dataset) if isinstance(dataset, str) else dataset
        self.load = lru_cache(maxsize=1)(self._load)

    def _load(self, sample_id: str) -> Sample:
        return self.dataset.load(sample_id)

    def whole(self, sample_id: str, target_id: str | None) -> Mask:
        """Return an object of an image, bool (H, W); without a target, its only one.

        Raises:
            SampleInvalid: it has no such target, has several and none was named, or is no image.
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
        """Return the object that a prompt is about, in the plane or frame it was shown in, bool (H, W).

        Of several that are judged together it is the one of its number; number 0, as for what belongs to none, is all.

        Raises:
            SampleInvalid: the sample has no such target.
            InvalidMask: it is of another size than people saw.
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
