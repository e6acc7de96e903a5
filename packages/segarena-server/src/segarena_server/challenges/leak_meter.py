"""The leak meter: how much of the truth the prompts reveal to somebody who never looks at the sample.

The attack is `segarena.segmenters.drawing.nearest_prompt`, which is the segmenter `image-blind` as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segarena.prompts import Prompt
from segarena.samples import Sample, Target, VideoSample, VolumeSample
from segarena.segmenters.drawing.nearest_prompt import blind_labels, frames_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """Information that the prompts about a target reveal.

    Attributes:
        iou: of the blind mask and the truth, the mean over the target's objects; 1 where both are empty.
        peak: of a video, the same in the frame where it is highest; otherwise `iou`.
        prompts: their number.
    """

    iou: float
    peak: float
    prompts: int


def measure_leak(sample: Sample, target: Target, prompts: Sequence[Prompt]) -> Leak:
    """Measure the leak of prompts about a target; their order and their dialogues do not matter."""
    spacing = sample.spacing_mm if isinstance(sample, VolumeSample) else None
    has_frames = isinstance(sample, VideoSample)
    blind, steps = blind_labels(prompts, sample.shape, spacing=spacing, has_frames=has_frames)
    # Large samples are subsampled, and the truth in the same way.
    subsampled = tuple(slice(None, None, step) for step in steps)
    truth = target.mask[subsampled].astype(np.uint8)
    if target.ignore is None:
        counts = np.ones(truth.shape, np.bool_)
    else:
        counts = ~target.ignore[subsampled]
    object_ids = range(1, target.objects + 1)
    whole = 1.0
    if object_ids:
        whole = float(np.mean([_iou(blind == n, truth == n, counts) for n in object_ids]))
    if not has_frames or not prompts:
        return Leak(iou=whole, peak=whole, prompts=len(prompts))
    frames: set[int] = set()
    for prompt in prompts:
        frames.update(frames_of(prompt))
    peak = whole
    for frame in sorted(frames):
        ious = [_iou(blind[frame] == n, truth[frame] == n, counts[frame]) for n in object_ids]
        if ious:
            peak = max(peak, float(np.mean(ious)))
    return Leak(iou=whole, peak=peak, prompts=len(prompts))


def _iou(blind: NDArray[np.bool_], truth: NDArray[np.bool_], counts: NDArray[np.bool_]) -> float:
    union = np.count_nonzero((blind | truth) & counts)
    intersection = np.count_nonzero(blind & truth & counts)
    return int(intersection) / int(union) if union else 1.0
