"""SSSI: a wrapper that blurs the salient region of the query if the target is not salient."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid, PredictionInvalid, SegmenterError
from segarena.plugin_capabilities import segmenter_capabilities
from segarena.prompts import Prompt
from segarena.readonly import without_truth
from segarena.registry import build, segmenter
from segarena.roles import Segmenter
from segarena.samples import ImageSample, Mask, Sample, Support, Target
from segarena.segmenters.drawing.prompt_pixel_marks import require_image
from segarena.segmenters.oneshot.support_segmenter import SUPPORT_PROMPT_KINDS, supports_of
from segarena.systems.oneshot.saliency import build_saliency

T = TypeVar("T")
SssiMode: TypeAlias = Literal["oracle", "feedback", "always"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionBlur:
    """Gaussian blur of a region with feathered edges."""

    sigma: float = 0.05  # of the Gaussian, as a share of the image's longer side
    # Radius in sigmas by which the region grows before blurring. Half of it is the standard
    # deviation of the Gaussian that feathers the edge.
    dilation: float = 0.5

    def __call__(self, image: NDArray[np.uint8], region: Mask) -> NDArray[np.uint8]:
        """Blur the image, uint8 (H, W, 3), inside the region, bool (H, W); an empty region changes nothing."""
        if not region.any():
            return image
        # Relative to the image size, because the paper gives no radius ("wide-radius").
        sigma_px = max(self.sigma * max(image.shape[:2]), 1e-3)
        reach = round(self.dilation * sigma_px)
        diameter = 2 * reach + 1
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (diameter, diameter))
        grown = np.asarray(cv2.dilate(region.astype(np.float32), disc))
        # The edge is feathered, so that the blur creates no edge of its own.
        feather_px = max(reach / 2, 1e-3)
        share = np.asarray(cv2.GaussianBlur(grown, (0, 0), feather_px))[..., None]
        blurred = np.asarray(cv2.GaussianBlur(image.astype(np.float32), (0, 0), sigma_px))
        difference = blurred.reshape(image.shape) - image
        mixed = np.rint(image + share * difference)
        return mixed.clip(0, 255).astype(np.uint8)


class LazyBlurredImage:
    """An encoded image, and the encoding of its blurred version, which is computed on first access.

    Attributes:
        plain: the wrapped segmenter's encoding of the original image.
        pass_seconds: duration of each encoder pass of the wrapped segmenter.
    """

    def __init__(
        self,
        sample: ImageSample,
        encode: Callable[[Sample], Any],
        region: Callable[[ImageSample], Mask],
        blur: RegionBlur,
    ) -> None:
        self.sample = sample
        self.pass_seconds: list[float] = []
        self._encode = encode
        self._region = region
        self._blur = blur
        self.shown = without_truth(sample)
        # Encoded without the ground truth, which only this wrapper may use.
        self.plain = self._timed(lambda: encode(self.shown))

    @cached_property
    def salient(self) -> Mask:
        """The salient region, bool (H, W)."""
        return np.asarray(self._region(self.shown), np.bool_)

    @cached_property
    def blurred(self) -> Any:
        """The wrapped segmenter's encoding of the image with its salient region blurred."""
        image = require_image(self.sample, "sssi")
        shown = replace(self.shown, image=self._blur(image, self.salient))
        return self._timed(lambda: self._encode(shown))

    def _timed(self, compute: Callable[[], T]) -> T:
        started = time.perf_counter()
        value = compute()
        self.pass_seconds.append(time.perf_counter() - started)
        return value


@segmenter("sssi")
class SssiSegmenter:
    """Wraps a one-shot segmenter and blurs the query's salient region if the target is not salient.

    The mode decides which queries count as having a target that is not salient. "oracle" LOOKS AT
    THE TRUTH: a target is not salient if its IoU with the salient region is below `salient_from`.
    With "feedback", the first round uses the original image and later rounds the blurred one. With
    "always", all rounds use the blurred image. Supports are never blurred.

    Args:
        segmenter: segmenter that accepts supports, as a plug-in specification or an object.
        mode: "oracle" looks at the ground truth, as the paper does; "feedback" waits until the user
            prompts once more, as `support-again` does; "always" blurs every query.
        saliency: "boundary-contrast", "spectral-residual", a folder of maps, or `file.py:function`.
        threshold: minimum saliency of the region, above 0 and up to 1.
        sigma: standard deviation of the Gaussian, as a share of the image's longer side.
        dilation: radius of the region's dilation, in sigmas; half of it is the standard deviation
            of the Gaussian that feathers the edge.
        salient_from: for "oracle", the minimum IoU of a salient target.

    Raises:
        PluginInvalid: an option is out of range, or the segmenter does not accept supports.
        InvalidInput, DatasetMissing: see `build_saliency`.

    Source: TOSS, section 5 (SSSI). The paper does not publish the width, threshold and edge of its
    blur.
    """

    prompt_kinds = SUPPORT_PROMPT_KINDS
    sees_truth = True  # of "oracle", the default mode

    def __init__(
        self,
        *,
        segmenter: str | Segmenter,
        mode: SssiMode = "oracle",
        saliency: str = "boundary-contrast",
        threshold: float = 0.5,
        sigma: float = 0.05,
        dilation: float = 0.5,
        salient_from: float = 0.5,
    ) -> None:
        if not (
            0 < threshold <= 1 and 0 < salient_from <= 1 and 0 < sigma <= 1 and 0 <= dilation <= 10
        ):
            raise PluginInvalid(
                f"threshold={threshold!r}, salient_from={salient_from!r}, sigma={sigma!r}, dilation={dilation!r}: "
                "expected dilation from 0 to 10, and the others above 0 and up to 1"
            )
        self.segmenter: Any = (
            build("segmenter", segmenter) if isinstance(segmenter, str) else segmenter
        )
        abilities = segmenter_capabilities(self.segmenter)
        if not any(map(abilities.understands, SUPPORT_PROMPT_KINDS)):
            name = type(self.segmenter).__name__
            raise PluginInvalid(f"sssi needs a segmenter that accepts supports; {name} does not")
        self.sees_truth = mode == "oracle"
        self.mode = mode
        self.threshold = threshold
        self.salient_from = salient_from
        self.saliency = build_saliency(saliency)
        self.blur = RegionBlur(sigma=sigma, dilation=dilation)

    @property
    def device(self) -> str:
        """The device of the wrapped segmenter."""
        return segmenter_capabilities(self.segmenter).device

    def encode(self, sample: Sample) -> LazyBlurredImage:
        """Encode the image; the blurred image is encoded only when a dialogue needs it.

        Raises:
            SegmenterError: the sample is not an image.
        """
        if not isinstance(sample, ImageSample):
            raise SegmenterError(f"sssi accepts only images, got a {type(sample).__name__}")
        return LazyBlurredImage(
            sample,
            self.segmenter.encode,
            lambda shown: self.saliency(shown) >= self.threshold,
            self.blur,
        )

    def predict(self, encoded: LazyBlurredImage, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Predict each dialogue on the original or the blurred image.

        Raises:
            SegmenterError: "oracle" cannot identify the requested target, or the wrapped segmenter
                failed.
            PredictionInvalid: the wrapped segmenter returned the wrong number of predictions.
        """
        blurs = [self._blurs(encoded, dialogue) for dialogue in dialogues]
        answers: list[Any] = [None] * len(dialogues)
        # Dialogues on the same image form one call, so that the wrapped segmenter can batch them.
        for is_blurred in sorted(set(blurs)):
            places = [place for place, each in enumerate(blurs) if each == is_blurred]
            image = encoded.blurred if is_blurred else encoded.plain
            unwrapped = [_unwrapped(dialogues[place]) for place in places]
            found = list(self.segmenter.predict(image, unwrapped))
            if len(found) != len(places):
                raise PredictionInvalid(f"expected {len(places)} predictions, got {len(found)}")
            for place, answer in zip(places, found, strict=True):
                answers[place] = (
                    answer
                    if isinstance(answer, Prediction)
                    else Prediction(mask=np.asarray(answer))
                )
        return answers

    def _blurs(self, encoded: LazyBlurredImage, dialogue: Dialogue) -> bool:
        if self.mode == "feedback":
            return len(dialogue.rounds) > 1
        if self.mode == "always":
            return True
        # Like the paper, use the ground truth, with the rule that divides targets into salient and
        # others.
        target = find_requested_target(encoded.sample, supports_of(dialogue))
        mask = target.mask.astype(np.bool_)
        # IoU below `salient_from`, written without a division; two empty masks count as not
        # salient.
        both = np.count_nonzero(mask & encoded.salient)
        either = np.count_nonzero(mask | encoded.salient)
        return bool(both < self.salient_from * max(either, 1))


def find_requested_target(sample: ImageSample, supports: Sequence[Support]) -> Target:
    """Return the only target of the sample, or the first target that has exactly these supports.

    Raises:
        SegmenterError: the sample has no target, or several of which none has these supports.
    """
    if len(sample.targets) == 1:
        return sample.targets[0]
    shown = [support.sample.id for support in supports]
    for target in sample.targets:
        own = sample.supports.get(target.id, ())
        is_same = [support.sample.id for support in own] == shown
        if is_same and all(
            np.array_equal(a.mask, b.mask) for a, b in zip(own, supports, strict=True)
        ):
            return target
    raise SegmenterError(
        f"sample {sample.id}: the supports do not identify which of its {len(sample.targets)} targets is requested; "
        "mode 'oracle' needs a one-shot dataset with its user 'support'"
    )


def _unwrapped(dialogue: Dialogue) -> Dialogue:
    """Return a dialogue whose supports have the encodings of the wrapped segmenter."""

    def unwrap(prompt: Prompt) -> Prompt:
        if isinstance(prompt, Support) and isinstance(prompt.encoded, LazyBlurredImage):
            return replace(prompt, encoded=prompt.encoded.plain)
        return prompt

    rounds: list[tuple[Prompt, ...]] = []
    for prompts in dialogue.rounds:
        rounds.append(tuple(unwrap(prompt) for prompt in prompts))
    return replace(dialogue, rounds=tuple(rounds))
