"""Controls for testing protocols: segmenters without a model, which use either the ground truth or no image at all."""

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
from segarena.segmenters.drawing.nearest_prompt import marked_places
from segarena.segmenters.drawing.prompt_pixel_marks import check_prompt_kinds
from segarena.segmenters.oneshot.support_segmenter import cell_coverage, support_key, supports_of
from segarena.segmenters.volumes.lifting.slice_prompts import limits_window
from segarena.segmenters.volumes.seeding.seed_layout import VOLUME_KINDS, require_volume
from segarena.segmenters.volumes.seeding.seed_marks import DrawnPrompt, drawn_points, grow_by_mm
from segarena.segmenters.volumes.seeding.voxel_blocks import Blocks


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """A sample with its targets, and a cache of values computed from them."""

    sample: Sample
    memory: Memory = field(default_factory=Memory)

    def extents(self) -> list[Window]:
        """Return the smallest window around each target."""
        # Cached, because every dialogue about the sample needs all extents.
        masks = [target.mask.astype(np.bool_, copy=False) for target in self.sample.targets]
        return self.memory.remember("extents", lambda: [bounding_window(mask) for mask in masks])


@segmenter("degraded-truth")
@dataclass(kw_only=True, eq=False)
class DegradedTruth:
    """A control that LOOKS AT THE TRUTH: it returns the prompted target with controlled errors.

    The first round identifies the target by its fit to boxes, limits and masks and by the positive
    points inside it; the smallest target wins ties. The prediction is this target with a shifted,
    randomly displaced and smoothed border and without some of its slices. Around every click or
    line and inside every lasso of any round, it equals the ground truth, so well-placed corrections
    help. This makes it possible to test a protocol on label volumes without any model or image.

    Args:
        border_mm: shift of the border; negative values make the prediction too small, positive ones
            too large.
        wobble_mm: standard deviation of a random displacement of the border.
        wobble_scale_mm: correlation length of the displacement.
        smooth_mm: standard deviation of the blur that rounds off the shape.
        lost_slices: share of the target's axial slices that are missing, 0 to 1.
        heal_mm: radius around prompts in which the prediction equals the ground truth.
        seed: random seed of displacement and missing slices; the same target is always degraded in
            the same way.

    Raises:
        PluginInvalid: an option is out of range.
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
                "degraded-truth: wobble_mm, smooth_mm and heal_mm must be at least 0, wobble_scale_mm above 0, "
                "and lost_slices between 0 and 1"
            )

    def encode(self, sample: Sample) -> Truth:
        """Return the scan with its targets.

        Raises:
            SegmenterError: the sample is not a volume, has no target, or has a target with several
                objects.
        """
        volume = require_volume(sample, "degraded-truth")
        if not volume.targets or any(target.mask.dtype != np.bool_ for target in volume.targets):
            raise SegmenterError(
                f"degraded-truth: expected targets with one object each in scan {volume.id}, "
                "got none, or one with several objects"
            )
        return Truth(volume)

    def predict(self, encoded: Truth, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Predict each dialogue from the ground truth, regardless of the previous prediction.

        Raises:
            SegmenterError: a prompt has an unsupported kind, or refers to an object other than the first.
            InvalidPrompt: a prompt is outside the scan.
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
        """Return a window around the target, and the degraded target within it."""
        from scipy import ndimage

        # Filters run on a window only, because they are slow on a whole scan.
        extent = bounding_window(target.mask.astype(np.bool_, copy=False))
        if is_empty(extent):
            return extent, np.zeros((0, 0, 0), dtype=np.bool_)
        # Random displacement and blur rarely reach farther than three standard deviations.
        margin = abs(self.border_mm) + 3 * (self.wobble_mm + self.smooth_mm)
        window = grow_by_mm(extent, (margin,) * 3, sample.spacing_mm, sample.shape)
        mask = target.mask[window].astype(np.bool_)
        # Seeding with a checksum of the id makes the result independent of the order of targets.
        stream = zlib.crc32(f"{sample.id}/{target.id}".encode())
        rng = np.random.default_rng([self.seed, stream])
        depth_mm = _depth_mm(mask, sample.spacing_mm) + self.border_mm
        wobble_mm = self._wobble(mask.shape, sample.spacing_mm, rng)
        worse = depth_mm + wobble_mm > 0
        if self.smooth_mm:
            sigmas = [self.smooth_mm / edge for edge in sample.spacing_mm]
            blurred = ndimage.gaussian_filter(worse.astype(np.float32), sigmas)
            worse = np.asarray(blurred) > 0.5
        planes = np.flatnonzero(mask.any(axis=(1, 2)))
        lost = round(self.lost_slices * len(planes))
        worse[rng.permutation(planes)[:lost]] = False
        return window, worse

    def _wobble(
        self,
        shape: tuple[int, ...],
        spacing_mm: tuple[float, ...],
        rng: np.random.Generator,
    ) -> NDArray[np.float32]:
        """Return correlated Gaussian noise with a standard deviation of `wobble_mm`."""
        from scipy import ndimage

        if not self.wobble_mm:
            return np.zeros(shape, dtype=np.float32)
        white = rng.standard_normal(shape, dtype=np.float32)
        sigmas = [self.wobble_scale_mm / edge for edge in spacing_mm]
        noise = ndimage.gaussian_filter(white, sigmas)
        # The blur lowers the standard deviation by an amount that depends on spacing and scale, so
        # rescale afterwards.
        deviation = max(float(noise.std()), 1e-9)
        return np.asarray(noise / deviation * self.wobble_mm, dtype=np.float32)

    def _heal(
        self,
        mask: Mask,
        truth: Mask,
        prompt: Click | Scribble | Lasso,
        sample: VolumeSample,
    ) -> None:
        """Restore the ground truth near a click or line, or inside a lasso."""
        positions = _places(prompt, sample)
        if isinstance(prompt, Lasso):
            voxels = tuple(positions.T)
            mask[voxels] = truth[voxels]
            return
        reach_mm = (self.heal_mm,) * 3
        for position in positions:
            extent = tuple(slice(int(index), int(index) + 1) for index in position)
            window = grow_by_mm(extent, reach_mm, sample.spacing_mm, sample.shape)
            axes = np.ogrid[window]
            squared_mm = np.zeros(())
            for axis, index, edge in zip(axes, position, sample.spacing_mm, strict=True):
                squared_mm = squared_mm + ((axis - index) * edge) ** 2
            near = squared_mm <= self.heal_mm**2
            mask[window][near] = truth[window][near]


@segmenter("nothing")
class Nothing:
    """A control that always predicts an empty mask: the lower bound of a metric."""

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
    """A control that always predicts a full mask; its scores grow with the size of the targets."""

    def predict(self, encoded: tuple[int, ...], dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Return a full mask for each dialogue."""
        return [Prediction(mask=np.ones(encoded, dtype=np.bool_)) for _ in dialogues]


@segmenter("target-box")
class TargetBox:
    """A control that LOOKS AT THE TRUTH: it predicts the bounding box of the prompted target.

    In a video it predicts the box of the target in each frame. All prompts so far identify the
    target. The image is ignored: a model with a lower score is worse than the target's bounding
    box.
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
                f"target-box: expected a sample with targets, got none in sample {sample.id}"
            )
        return Truth(sample)

    def predict(self, encoded: Truth, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Return the boxes of all objects of each dialogue's target; none for an empty target.

        Raises:
            InvalidPrompt: a prompt is outside the sample.
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
    """Return a target in which each object fills its bounding box; where boxes overlap, the later object wins."""
    boxed = np.zeros_like(target.mask)
    for number in range(1, target.objects + 1):
        mask = target.mask == number
        if not has_frames:
            boxed[bounding_window(mask)] = number
            continue
        for frame_mask, frame in zip(mask, boxed, strict=True):
            frame[bounding_window(frame_mask)] = number
    return boxed


@segmenter("copy-support-mask")
class CopySupportMask(Nothing):
    """A control that copies the support's mask, to measure the score that position and size alone achieve.

    The masks are stretched to the image, and a pixel is predicted if the supports' masks cover at
    least half of it on average. Images are ignored.
    """

    prompt_kinds = frozenset({"support"})
    sample_kinds = frozenset({"image"})

    def predict(self, encoded: tuple[int, ...], dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Threshold the mean of each dialogue's support masks at one half.

        Raises:
            SegmenterError, InvalidPrompt, InvalidMask: see `supports_of`.
        """
        memory = Memory()
        shape = (encoded[0], encoded[1])

        def share_of(support: Support) -> NDArray[np.float32]:
            # Dialogues about one query often share supports, so their means are cached.
            key = support_key(support)
            return memory.remember(key, lambda: cell_coverage(support.mask, shape))

        predictions: list[Prediction] = []
        for dialogue in dialogues:
            shares = [share_of(support) for support in supports_of(dialogue)]
            mean = np.asarray(np.mean(shares, axis=0))
            predictions.append(Prediction(mask=mean >= 0.5))
        return predictions


def find_meant_target(truth: Truth, prompts: Sequence[Prompt]) -> Target:
    """Return the target that the prompts fit best; ties go to the smallest target, then to the first."""
    sample = truth.sample
    ranks: list[tuple[float, int, int]] = []
    for index, extent in enumerate(truth.extents()):
        mask = sample.targets[index].mask.astype(np.bool_, copy=False)
        fit = sum(_fit(prompt, mask, extent, sample) for prompt in prompts)
        area = int(np.count_nonzero(mask[extent]))
        # Rounding keeps the order of floating-point additions from deciding ties.
        ranks.append((-round(fit, 9), area, index))
    best = min(ranks)[2]
    return sample.targets[best]


def _fit(
    prompt: Prompt,
    target: Mask,
    extent: Window,
    sample: Sample,
) -> float:
    """Return how well a prompt fits a target, 0 to 1."""
    match prompt:
        case Box():
            box = _box_window(prompt)
            plane = box[0]
            if plane.stop - plane.start > 1:
                return _overlap(extent, box)
            # A box in a single slice is compared with the section of the target in that slice.
            section = bounding_window(target[plane.start])
            return _overlap((plane, *section), box)
        case Limits():
            limits = slice(prompt.first, prompt.last + 1)
            return _overlap((extent[prompt.axis],), (limits,))
        case MaskPrompt():
            both = np.count_nonzero(target & prompt.mask)
            either = np.count_nonzero(target) + np.count_nonzero(prompt.mask) - both
            return both / max(1, either)
        case Click() | Scribble() | Lasso():
            if not prompt.is_positive:
                return 0.0
            pixels = tuple(_places(prompt, sample).T)
            return float(target[pixels].mean())
        case _:
            return 0.0


def _box_window(box: Box) -> Window:
    return tuple(slice(start, stop) for start, stop in zip(box.start, box.stop, strict=True))


def _places(prompt: Click | Scribble | Lasso, sample: Sample) -> NDArray[np.intp]:
    """Return the pixel positions of a prompt, (n, axes)."""
    if not isinstance(sample, VolumeSample):
        return marked_places(prompt, sample.shape)
    whole = tuple(slice(0, length) for length in sample.shape)
    voxels = Blocks(sample, whole, (1, 1, 1))
    return voxels.at(drawn_points(prompt, voxels))


def _overlap(one: Window, other: Window) -> float:
    """Return the intersection over union of two boxes."""
    shared: list[int] = []
    for a, b in zip(one, other, strict=True):
        shared.append(max(0, min(a.stop, b.stop) - max(a.start, b.start)))
    both = np.prod(shared)
    total = np.prod(window_shape(one)) + np.prod(window_shape(other))
    return float(both / max(1, total - both))


def _depth_mm(mask: Mask, spacing_mm: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the signed depth of each voxel in a non-empty mask, negative outside.

    The border, halfway between an inside and an outside voxel, has depth 0.
    """
    from scipy import ndimage

    def distance(region: Mask) -> NDArray[np.float64]:
        found = ndimage.distance_transform_edt(region, sampling=spacing_mm)
        return np.asarray(found, dtype=np.float64)

    depth = distance(mask) - distance(~mask)
    # The transform measures to voxel centres, while the border is half a voxel nearer.
    half_voxel = np.where(mask, 0.5, -0.5) * min(spacing_mm)
    return depth - half_voxel
