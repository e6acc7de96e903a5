"""Masks of whole objects, read from the dataset that was shown to people."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from segarena.errors import InvalidMask, SampleInvalid
from segarena.registry import build
from segarena.roles import Dataset
from segarena.samples import Mask, Sample, Target
from segarena_people.prompts import PersonPrompt


class TargetMasks:
    """Reads the masks of a dataset's targets; the most recent sample stays in memory.

    Args:
        dataset: a dataset, or its specification as for `segarena run -d`.
    """

    def __init__(self, dataset: Dataset | str) -> None:
        self.dataset: Dataset = build("dataset", dataset) if isinstance(dataset, str) else dataset
        # Keep one sample: consecutive prompts are about the same sample, and volumes are large.
        self.load = lru_cache(maxsize=1)(self._load)

    def _load(self, sample_id: str) -> Sample:
        return self.dataset.load(sample_id)

    def whole(self, sample_id: str, target_id: str | None) -> Mask:
        """Return the mask of an object in an image, bool (H, W); an image with one object needs no target id.

        Raises:
            SampleInvalid: the sample has no such target, the target id was omitted although there
                are several, or the sample is not an image.
        """
        targets = self.load(sample_id).targets
        found: list[Target] = []
        for one in targets:
            if target_id in (None, one.id):
                found.append(one)
        if len(found) != 1 or found[0].mask.ndim != 2:
            names = ", ".join(one.id for one in targets) or "none"
            raise SampleInvalid(
                f"{self.dataset.name}, sample {sample_id}: expected target {target_id!r}, found {names}"
            )
        return found[0].mask > 0

    def read(self, row: PersonPrompt) -> Mask:
        """Return the object of a prompt in the slice or frame that was shown, bool (H, W).

        If the target has several objects, the prompt's `object_id` selects one; 0, the number of the
        background, selects all of them.

        Raises:
            SampleInvalid: the sample has no such target.
            InvalidMask: the size of the mask differs from that of the picture shown to people.
        """
        targets = {target.id: target for target in self.load(row.sample).targets}
        target = targets.get(row.target)
        if target is None:
            raise SampleInvalid(
                f"{self.dataset.name}, sample {row.sample}: no such target {row.target!r}"
            )
        stack = target.mask if row.plane is None else target.mask[row.plane : row.plane + 1]
        if not len(stack):
            raise SampleInvalid(
                f"{self.dataset.name}, sample {row.sample}: no slice or frame {row.plane}"
            )
        shown = stack if row.plane is None else stack[0]
        if shown.shape != (row.height, row.width):
            raise InvalidMask(
                f"{self.dataset.name}, sample {row.sample}: expected {row.width} x {row.height} px as shown to people, "
                f"got shape {shown.shape}; is it the same dataset?"
            )
        if shown.dtype == np.bool_:
            return shown.view(np.bool_)
        if row.object_id:
            return shown == row.object_id
        return shown > 0
