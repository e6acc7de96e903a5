"""Controls: segmenters without a model, for testing protocols; they see the truth or no image at all."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, is_empty, window_shape
from segarena.comparison import Memory
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid, SegmenterError
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Prompt, Scribble, check_prompt
from segarena.registry import segmenter
from segarena.samples import Labels, Mask, Sample, Support, Target, VideoSample, VolumeSample
from segarena.segmenters.drawing.marks import check_prompt_kinds
from segarena.segmenters.drawing.nearest_prompt import marked_places
from segarena.segmenters.oneshot.support_segmenter import cell_coverage, support_key, supports_of
from segarena.segmenters.volumes.lifting.slice_prompts import limits_window
from segarena.segmenters.volumes.seeding.seed_layout import VOLUME_KINDS, require_volume
from segarena.segmenters.volumes.seeding.seed_marks import DrawnPrompt, grow_by_mm, prompt_points
from segarena.segmenters.volumes.seeding.voxel_blocks import Blocks


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """A sample with its targets, and a cache of values derived from them."""

    sample: Sample
    memory: Memory = field(default_factory=Memory)

    def extents(self) -> list[Window]:
        """Return the smallest window around each target."""
        masks = [target.mask.astype(np.bool_, copy=False) for target in self.sample.targets]
        return self.memory.remember("extents", lambda: [bounding_window(mask) for mask in masks])


@segmenter("degraded-truth")
@dataclass(kw_only=True, eq=False)
class DegradedTruth:
    """A control that LOOKS AT THE TRUTH: the prompted target, degraded in a defined way.

    The first round identifies the target: boxes, limits and masks that fit it, positive points in it;
    ties go to the smallest. The answer is the target with a shifted, randomly displaced and smoothed
    border, without some of its slices; around every click, line or lasso of any round it is the truth
    itself. So well-placed corrections help, and a protocol can be tested on label volumes without any
    model or image.

    Args:
        border_mm: shift of the border; below 0 the answer is too small, above 0 too large.
        wobble_mm: standard deviation of a random displacement of the border.
        wobble_scale_mm: correlation length of the displacement.
        smooth_mm: standard deviation of the blur that rounds the shape off.
        lost_slices: share of the target's axial slices that are missing, 0 to 1.
        heal_mm: radius around prompts in which the answer is the truth.
        seed: of displacement and missing slices; the same target is always degraded in the same way.

    Raises:
        PluginInvalid: an option out of range.
    """

    prompt_kinds = VOLUME_KINDS
    sample_kinds = frozenset({"volume"})
    sees_truth = True

    border_mm: float = -2.0
    wobble_mm: float = 2.0
    wobble_scale_mm: float = 8.0
    smooth_mm: float = 0.0
    lost_slices: float = 0.0
    heal_mm: float = 10.0
    seed: int = 0

    def __post_init__(self) -> None:
        lengths_mm = (self.wobble_mm, self.smooth_mm, self.heal_mm)
        if min(lengths_mm) < 0 or self.wobble_scale_mm <= 0 or not 0 <= self.lost_slices <= 1:
            raise PluginInvalid(
                "degraded-truth: lengths must not be below 0, and lost_slices lies between 0 and 1"
            )

    def encode(self, sample: Sample) -> Truth:
        """Return the scan with its targets.

        Raises:
            SegmenterError: the sample is no volume, has no target, or a target of several objects.
        """
        volume = require_volume(sample, "degraded-truth")
        if not volume.targets or any(target.mask.dtype != np.bool_ for target in volume.targets):
            raise SegmenterError(
                f"degraded-truth looks at targets of one object each; "
                f"scan {volume.id} has others, or none"
            )
        return Truth(volume)

    def predict(self, encoded: Truth, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue from the truth, regardless of the previous prediction.

        Raises:
            SegmenterError: a prompt of another kind, or about another object than the first.
            InvalidPrompt: a prompt outside of the scan.
        """
        return [self._answer(encoded, dialogue) for dialogue in dialogues]

    def _answer(self, truth: Truth, dialogue: Dialogue) -> Prediction:
        check_prompt_kinds(dialogue.prompts, VOLUME_KINDS)
        for prompt in dialogue.prompts:
            check_prompt(prompt, truth.sample.shape)
        scan = require_volume(truth.sample, "degraded-truth")
        target = find_meant_target(truth, dialogue.rounds[0] if dialogue.rounds else ())
        window, worse = truth.memory.remember(
            ("worse", target.id), lambda: self._degrade(scan, target)
        )
        mask = np.zeros(truth.sample.shape, dtype=np.bool_)
        mask[window] = worse
        for prompt in dialogue.prompts:
            if isinstance(prompt, DrawnPrompt):
                self._heal(mask, target.mask.astype(np.bool_, copy=False), prompt, scan)
        cut = np.zeros_like(mask)
        limits = limits_window(dialogue.prompts, truth.sample.shape)
        cut[limits] = mask[limits]
        return Prediction(mask=cut)

    def _degrade(self, sample: VolumeSample, target: Target) -> tuple[Window, Mask]:
        """Return a window and the degraded target in it."""
        from scipy import ndimage

        extent = bounding_window(target.mask.astype(np.bool_, copy=False))
        if is_empty(extent):
            return extent, np.zeros((0, 0, 0), dtype=np.bool_)
        margin = abs(self.border_mm) + 3 * (self.wobble_mm + self.smooth_mm)
        window = grow_by_mm(extent, (margin,) * 3, sample.spacing_mm, sample.shape)
        rng = np.random.default_rng([self.seed, zlib.crc32(f"{sample.id}/{target.id}".encode())])
        worse = _depth_mm(target.mask[window].astype(np.bool_), sample.spacing_mm) + self.border_mm
        worse = worse + self._wobble(worse.shape, sample.spacing_mm, rng) > 0
        if self.smooth_mm:
            sigmas = [self.smooth_mm / edge for edge in sample.spacing_mm]
            worse = np.asarray(ndimage.gaussian_filter(worse.astype(np.float32), sigmas)) > 0.5
        planes = np.flatnonzero(target.mask[window].any(axis=(1, 2)))
        worse[rng.permutation(planes)[: round(self.lost_slices * len(planes))]] = False
        return window, worse

    def _wobble(
        self, shape: tuple[int, ...], spacing_mm: tuple[float, ...], rng: np.random.Generator
    ) -> NDArray[np.float32]:
        from scipy import ndimage

        if not self.wobble_mm:
            return np.zeros(shape, dtype=np.float32)
        sigmas = [self.wobble_scale_mm / edge for edge in spacing_mm]
        noise = ndimage.gaussian_filter(rng.standard_normal(shape, dtype=np.float32), sigmas)
        return np.asarray(noise / max(float(noise.std()), 1e-9) * self.wobble_mm, dtype=np.float32)

    def _heal(
        self, mask: Mask, truth: Mask, prompt: Click | Scribble | Lasso, sample: VolumeSample
    ) -> None:
        """Restore the truth near a prompt, and exactly within a lasso."""
        everywhere = Blocks(sample, tuple(slice(0, n) for n in sample.shape), (1, 1, 1))
        positions = everywhere.at(prompt_points(prompt, everywhere))
        if isinstance(prompt, Lasso):
            mask[tuple(positions.T)] = truth[tuple(positions.T)]
            return
        for position in positions:
            extent = tuple(slice(int(i), int(i) + 1) for i in position)
            window = grow_by_mm(extent, (self.heal_mm,) * 3, sample.spacing_mm, sample.shape)
            axes = np.ogrid[window]
            away = sum(
                ((axis - i) * edge) ** 2
                for axis, i, edge in zip(axes, position, sample.spacing_mm, strict=True)
            )
            near = np.asarray(away) <= self.heal_mm**2
            mask[window][near] = truth[window][near]


@segmenter("nothing")
class Nothing:
    """A control that always answers with an empty mask: the lower bound of a metric."""

    ignores_image = True
    prompt_kinds = VOLUME_KINDS | {"support"}
    sample_kinds = frozenset({"image", "volume", "video"})

    def encode(self, sample: Sample) -> tuple[int, ...]:
        """Return the shape of the sample."""
        return sample.shape

    def predict(self, encoded: tuple[int, ...], dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Return an empty mask for each dialogue."""
        return [Prediction(mask=np.zeros(encoded, dtype=np.bool_)) for _ in dialogues]


@segmenter("everything")
class Everything(Nothing):
    """A control that always answers with a full mask, whose scores grow with the targets' size."""

    def predict(self, encoded: tuple[int, ...], dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Return a full mask for each dialogue."""
        return [Prediction(mask=np.ones(encoded, dtype=np.bool_)) for _ in dialogues]


@segmenter("target-box")
class TargetBox:
    """A control that LOOKS AT THE TRUTH: the bounding box of the prompted target.

    In a video it answers with the box in each frame. All prompts so far identify the target. It ignores
    the image: a model with lower scores knows less about a target than its extent.
    """

    ignores_image = True
    sees_truth = True
    prompt_kinds = VOLUME_KINDS
    sample_kinds = frozenset({"image", "volume", "video"})

    def encode(self, sample: Sample) -> Truth:
        """Return the sample with its targets.

        Raises:
            SegmenterError: the sample has no targets.
        """
        if not sample.targets:
            raise SegmenterError(
                f"target-box: sample {sample.id} has no targets; it answers with their boxes"
            )
        return Truth(sample)

    def predict(self, encoded: Truth, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Return the boxes of all objects of each dialogue's target; none for an empty target.

        Raises:
            InvalidPrompt: a prompt outside of the sample.
        """
        predictions: list[Prediction] = []
        for dialogue in dialogues:
            for prompt in dialogue.prompts:
                check_prompt(prompt, encoded.sample.shape)
            target = find_meant_target(encoded, dialogue.prompts)
            has_frames = isinstance(encoded.sample, VideoSample)
            predictions.append(Prediction(mask=_boxed(target, has_frames=has_frames)))
        return predictions


def _boxed(target: Target, *, has_frames: bool) -> Mask | Labels:
    """Return a target with each object grown to its box; where boxes overlap, the later object wins."""
    boxed = np.zeros_like(target.mask)
    for number in range(1, target.objects + 1):
        mask = target.mask == number
        for part, into in zip(mask, boxed, strict=True) if has_frames else [(mask, boxed)]:
            into[bounding_window(part)] = number
    return boxed


@segmenter("copy-support-mask")
class CopySupportMask(Nothing):
    """A control that copies the support's mask: the score from position and size alone.

    The mask is stretched to the image; a pixel belongs to the answer if the supports' masks cover at
    least half of it on average. Images are ignored.
    """

    prompt_kinds = frozenset({"support"})
    sample_kinds = frozenset({"image"})

    def predict(self, encoded: tuple[int, ...], dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Return the mean of each dialogue's support masks, thresholded at one half.

        Raises:
            SegmenterError, InvalidPrompt, InvalidMask: see `supports_of`.
        """
        memory = Memory()
        shape = (encoded[0], encoded[1])

        def share_of(support: Support) -> NDArray[np.float32]:
            return memory.remember(support_key(support), lambda: cell_coverage(support.mask, shape))

        predictions: list[Prediction] = []
        for dialogue in dialogues:
            mean = np.mean([share_of(support) for support in supports_of(dialogue)], axis=0)
            predictions.append(Prediction(mask=np.asarray(mean) >= 0.5))
        return predictions


def find_meant_target(truth: Truth, prompts: Sequence[Prompt]) -> Target:
    """Return the target that prompts fit best; ties go to the smallest, then to the first."""
    sample = truth.sample
    extents = truth.extents()
    ranks: list[tuple[float, int, int]] = []
    for index, (target, extent) in enumerate(zip(sample.targets, extents, strict=True)):
        mask = target.mask.astype(np.bool_, copy=False)
        fit = sum(_fit(prompt, mask, extent, sample) for prompt in prompts)
        # Rounded, so that the order of floating point additions does not decide ties.
        ranks.append((-round(fit, 9), int(np.count_nonzero(mask[extent])), index))
    return sample.targets[min(ranks)[2]]


def _fit(prompt: Prompt, target: Mask, extent: Window, sample: Sample) -> float:
    """Return the fit of a prompt to a target, 0 to 1."""
    match prompt:
        case Box():
            box = tuple(slice(a, b) for a, b in zip(prompt.start, prompt.stop, strict=True))
            if box[0].stop - box[0].start == 1:  # in one slice: its target there
                there = bounding_window(target[box[0].start])
                return _overlap((box[0], *there), box)
            return _overlap(extent, box)
        case Limits():
            limits = slice(prompt.first, prompt.last + 1)
            return _overlap((extent[prompt.axis],), (limits,))
        case MaskPrompt():
            both = np.count_nonzero(target & prompt.mask)
            return both / max(1, np.count_nonzero(target) + np.count_nonzero(prompt.mask) - both)
        case Click() | Scribble() | Lasso():
            inside = float(target[tuple(_places(prompt, sample).T)].mean())
            return inside if prompt.is_positive else 0.0
        case _:
            return 0.0


def _places(prompt: Click | Scribble | Lasso, sample: Sample) -> NDArray[np.intp]:
    """Return the pixels of a prompt, (n, axes)."""
    if not isinstance(sample, VolumeSample):
        return marked_places(prompt, sample.shape)
    everywhere = Blocks(sample, tuple(slice(0, n) for n in sample.shape), (1, 1, 1))
    return everywhere.at(prompt_points(prompt, everywhere))


def _overlap(one: Window, other: Window) -> float:
    """Return the intersection over union of two boxes."""
    both = np.prod(
        [
            max(0, min(a.stop, b.stop) - max(a.start, b.start))
            for a, b in zip(one, other, strict=True)
        ]
    )
    volumes = [np.prod(window_shape(window)) for window in (one, other)]
    return float(both / max(1, volumes[0] + volumes[1] - both))


def _depth_mm(mask: Mask, spacing_mm: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the signed depth of each voxel in a mask that is not empty, negative outside.

    It is 0 halfway between two voxels.
    """
    from scipy import ndimage

    inside = np.asarray(ndimage.distance_transform_edt(mask, sampling=spacing_mm), dtype=np.float64)
    outside = np.asarray(
        ndimage.distance_transform_edt(~mask, sampling=spacing_mm), dtype=np.float64
    )
    return inside - outside - np.where(mask, 0.5, -0.5) * min(spacing_mm)
