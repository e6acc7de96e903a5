"""The leak meter: how much of the ground truth the prompts alone reveal, without the sample.

The attack is `segarena.segmenters.drawing.nearest_prompt`, which is also the segmenter
`image-blind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.prompts import Prompt
from segarena.samples import Sample, Target, VideoSample, VolumeSample
from segarena.segmenters.drawing.nearest_prompt import blind_labels, frames_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """How much the prompts about a target reveal.

    Attributes:
        iou: IoU of the blind mask and the ground truth, averaged over the target's objects; 1 if both are empty.
        peak: for a video, the highest of `iou` and the IoUs of the single frames with prompts; otherwise `iou`.
        prompts: number of prompts.
    """

    iou: float
    peak: float
    prompts: int


def measure_leak(
    sample: Sample,
    target: Target,
    prompts: Sequence[Prompt],
) -> Leak:
    """Measure how much prompts about a target reveal; their order and dialogues do not matter."""
    spacing = sample.spacing_mm if isinstance(sample, VolumeSample) else None
    has_frames = isinstance(sample, VideoSample)
    blind, steps = blind_labels(prompts, sample.shape, spacing=spacing, has_frames=has_frames)
    # Large samples are subsampled, so the ground truth is subsampled in the same way.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakSummary:
    """Summary of the leaks of several targets; values are None without targets.

    Attributes:
        targets: number of targets.
        mean: mean over the targets.
        p95: 95th percentile, interpolated.
        highest: maximum over the targets.
    """

    targets: int
    mean: float | None
    p95: float | None
    highest: float | None


def summarise_leaks(ious: ArrayLike) -> LeakSummary:
    """Return the mean, 95th percentile and maximum of the IoUs of targets.

    A mean alone would hide a target that prompts reveal entirely.
    """
    values = np.asarray(ious, np.float64)
    if not values.size:
        return LeakSummary(
            targets=0,
            mean=None,
            p95=None,
            highest=None,
        )
    return LeakSummary(
        targets=values.size,
        mean=float(values.mean()),
        p95=float(np.percentile(values, 95)),
        highest=float(values.max()),
    )


def _iou(
    blind: NDArray[np.bool_],
    truth: NDArray[np.bool_],
    counts: NDArray[np.bool_],
) -> float:
    intersection = blind & truth & counts
    union = (blind | truth) & counts
    pixels = int(np.count_nonzero(union))
    if pixels == 0:
        return 1.0
    return int(np.count_nonzero(intersection)) / pixels
