"""Base class of volume segmenters that grow regions from seeds in blocks of voxels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.prompts import check_prompt
from segarena.samples import Sample, VolumeSample
from segarena.segmenters.drawing.prompt_pixel_marks import check_prompt_kinds
from segarena.segmenters.volumes.lifting.slice_prompts import limits_window
from segarena.segmenters.volumes.seeding.seed_layout import (
    VOLUME_KINDS,
    SeededBlocks,
    SeedingOptions,
    plan_round,
    require_volume,
)


@dataclass(kw_only=True, eq=False)
class SeededSegmenter(SeedingOptions, ABC):
    """Base class that converts prompts to seeds; subclasses decide which blocks of a window are inside."""

    name: ClassVar[str]
    prompt_kinds: ClassVar[frozenset[str]] = VOLUME_KINDS
    sample_kinds: ClassVar[frozenset[str]] = frozenset({"volume"})

    def encode(self, sample: Sample) -> VolumeSample:
        """Return the scan itself; no preparation is needed.

        Raises:
            SegmenterError: the sample is not a volume, or its spacing is not positive.
        """
        return require_volume(sample, self.name)

    def predict(self, encoded: VolumeSample, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Predict each dialogue; `seed_layout.plan_round` describes the part of a scan that changes.

        Clicks and limits are exact to a single voxel.

        Raises:
            SegmenterError: a prompt has an unsupported kind, or refers to an object other than the first.
            InvalidPrompt: a prompt is outside the scan.
            InvalidImage: an intensity is NaN or infinite.
        """
        return [self._answer(encoded, dialogue) for dialogue in dialogues]

    def _answer(self, sample: VolumeSample, dialogue: Dialogue) -> Prediction:
        check_prompt_kinds(dialogue.prompts, VOLUME_KINDS)
        for prompt in dialogue.prompts:
            check_prompt(prompt, sample.shape)
        previous = dialogue.previous_mask(sample.shape).astype(np.bool_, copy=False)
        layout = plan_round(sample, dialogue, previous, self)
        if layout is None:
            mask = previous
        else:
            mask = layout.blocks.paste(self._solve(layout), layout.before)
        limits = limits_window(dialogue.prompts, sample.shape)
        cut = np.zeros(sample.shape, dtype=np.bool_)
        cut[limits] = mask[limits]
        for click in dialogue.clicks:
            cut[click.position] = click.is_positive
        return Prediction(mask=cut)

    @abstractmethod
    def _solve(self, layout: SeededBlocks) -> NDArray[np.floating]:
        """Return a level for each block; inside blocks have levels above 0."""
