"""The leak meter: how much of the truth someone has who keeps all prompts and never looks at the sample.

The whole attack is `segarena.segmenters.drawing.nearest`, which is the segmenter `image-blind` too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segarena.prompts import Prompt
from segarena.samples import Sample, Target, VideoSample, VolumeSample
from segarena.segmenters.drawing.nearest import blind_labels, frames_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """What prompts about a target give away.

    Attributes:
        iou: of the blind mask and the truth, the mean over the target's objects; 1 where there is neither.
        peak: of a video, the same in the frame where it is highest; otherwise `iou`.
        prompts: how many there were.
    """

    iou: float
    peak: float
    prompts: int


def measure_leak(sample: Sample, target: Target, prompts: Sequence[Prompt]) -> Leak:
    """Return what prompts about a target give away, in whatever order and dialogues they came."""
    spacing = sample.spacing_mm if isinstance(sample, VolumeSample) else None
    has_frames = isinstance(sample, VideoSample)
    blind, steps = blind_labels(prompts, sample.shape, spacing=spacing, has_frames=has_frames)
    read = tuple(slice(None, None, step) for step in steps)
    truth = target.mask[read].astype(np.uint8)
    if target.ignore is None:
        counts = np.ones(truth.shape, np.bool_)
    else:
        counts = ~target.ignore[read]
    numbers = range(1, target.objects + 1)
    if numbers:
        whole = float(np.mean([_iou(blind == n, truth == n, counts) for n in numbers]))
    else:
        whole = 1.0
    if not has_frames or not prompts:
        return Leak(iou=whole, peak=whole, prompts=len(prompts))
    frames = sorted({frame for prompt in prompts for frame in frames_of(prompt)})
    each = [[_iou(blind[f] == n, truth[f] == n, counts[f]) for n in numbers] for f in frames]
    peak = max((float(np.mean(values)) for values in each if values), default=whole)
    return Leak(iou=whole, peak=max(whole, peak), prompts=len(prompts))


def _iou(blind: NDArray[np.bool_], truth: NDArray[np.bool_], counts: NDArray[np.bool_]) -> float:
    union = int(np.count_nonzero((blind | truth) & counts))
    return int(np.count_nonzero(blind & truth & counts)) / union if union else 1.0
