"""SSSI: a one-shot segmenter that sees non-salient targets with the salient region blurred."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.capabilities import segmenter_capabilities
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid, PredictionInvalid, SegmenterError
from segarena.prompts import Prompt
from segarena.readonly import without_truth
from segarena.registry import build, segmenter
from segarena.roles import Segmenter
from segarena.samples import ImageSample, Mask, Sample, Support, Target
from segarena.segmenters.drawing.marks import require_image
from segarena.segmenters.oneshot.support_segmenter import SUPPORT_PROMPT_KINDS, supports_of
from segarena.systems.oneshot.saliency import build_saliency

T = TypeVar("T")
SssiMode: TypeAlias = Literal["oracle", "feedback", "always"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionBlur:
    """Gaussian blur of a region with a feathered edge."""

    sigma: float = 0.05  # of the Gaussian, as a share of the image's longer side
    # How far the region is grown first, in sigmas; half of that is the width of its feathered edge.
    dilation: float = 0.5

    def __call__(self, image: NDArray[np.uint8], region: Mask) -> NDArray[np.uint8]:
        """Blur an image, uint8 (H, W, 3), in a region, bool (H, W); an empty one changes nothing."""
        if not region.any():
            return image
        sigma_px = max(self.sigma * max(image.shape[:2]), 1e-3)
        reach = round(self.dilation * sigma_px)
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
        grown = np.asarray(cv2.dilate(region.astype(np.float32), disc))
        share = np.asarray(cv2.GaussianBlur(grown, (0, 0), max(reach / 2, 1e-3)))[..., None]
        blurred = np.asarray(cv2.GaussianBlur(image.astype(np.float32), (0, 0), sigma_px)).reshape(
            image.shape
        )
        return np.rint(image + share * (blurred - image)).clip(0, 255).astype(np.uint8)


class LazyBlurredImage:
    """An encoded image, and its encoded blurred version, computed on first access.

    Attributes:
        plain: the segmenter's encoding of the image.
        pass_seconds: duration of each pass of the segmenter's encoder.
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
        self.plain = self._timed(lambda: encode(self.shown))

    @cached_property
    def salient(self) -> Mask:
        """The salient region, bool (H, W)."""
        return np.asarray(self._region(self.shown), np.bool_)

    @cached_property
    def blurred(self) -> Any:
        """The segmenter's encoding of the image with its salient region blurred."""
        image = self._blur(require_image(self.sample, "sssi"), self.salient)
        return self._timed(lambda: self._encode(replace(self.shown, image=image)))

    def _timed(self, compute: Callable[[], T]) -> T:
        started = time.perf_counter()
        value = compute()
        self.pass_seconds.append(time.perf_counter() - started)
        return value


@segmenter("sssi")
class SssiSegmenter:
    """One-shot segmenter that sees the query with its salient region blurred for non-salient targets.

    The mode decides how it knows that a target is not salient. "oracle" LOOKS AT THE TRUTH: the
    target is not salient when its IoU with the salient region is below `salient_from`. With
    "feedback", the first round sees the image and later rounds the blurred one. Supports and
    salient targets are unchanged.

    Args:
        segmenter: segmenter that understands supports: a plug-in as written, or an object.
        mode: "oracle" looks at the truth, as the paper does; "feedback" waits until the user
            prompts once more, as `support-again` does; "always" blurs every query.
        saliency: "boundary-contrast", "spectral-residual", a folder of maps, or `file.py:function`.
        threshold: minimum saliency of the region, above 0 and up to 1.
        sigma: of the Gaussian, as a share of the image's longer side.
        dilation: radius of the region's dilation, in sigmas; half of it feathers the edge.
        salient_from: for "oracle", the minimum IoU of a salient target.

    Raises:
        PluginInvalid: an option out of range, or a segmenter that does not understand supports.
        InvalidInput, DatasetMissing: see `build_saliency`.

    Source: TOSS, section 5 (SSSI); width, threshold and edge of its blur are not published.
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
                "expected above 0 and up to 1, and for dilation 0 to 10"
            )
        self.segmenter: Any = (
            build("segmenter", segmenter) if isinstance(segmenter, str) else segmenter
        )
        abilities = segmenter_capabilities(self.segmenter)
        if not any(map(abilities.understands, SUPPORT_PROMPT_KINDS)):
            name = type(self.segmenter).__name__
            raise PluginInvalid(f"sssi needs a segmenter that answers supports; {name} does not")
        self.sees_truth = mode == "oracle"
        self.mode = mode
        self.threshold = threshold
        self.salient_from = salient_from
        self.saliency = build_saliency(saliency)
        self.blur = RegionBlur(sigma=sigma, dilation=dilation)

    @property
    def device(self) -> str:
        """The device of the segmenter."""
        return segmenter_capabilities(self.segmenter).device

    def encode(self, sample: Sample) -> LazyBlurredImage:
        """Encode the image; the blurred image is encoded only when a prompt needs it.

        Raises:
            SegmenterError: the sample is not an image.
        """
        if not isinstance(sample, ImageSample):
            raise SegmenterError(f"sssi takes images only, got a {type(sample).__name__}")
        return LazyBlurredImage(
            sample,
            self.segmenter.encode,
            lambda shown: self.saliency(shown) >= self.threshold,
            self.blur,
        )

    def predict(self, encoded: LazyBlurredImage, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue on the image or on the blurred one.

        Raises:
            SegmenterError: "oracle" cannot identify the requested target; or see the segmenter.
            PredictionInvalid: the segmenter returned another number of predictions.
        """
        blurs = [self._blurs(encoded, dialogue) for dialogue in dialogues]
        answers: list[Any] = [None] * len(dialogues)
        for is_blurred in sorted(set(blurs)):
            places = [place for place, each in enumerate(blurs) if each == is_blurred]
            image = encoded.blurred if is_blurred else encoded.plain
            found = list(
                self.segmenter.predict(image, [_unwrapped(dialogues[place]) for place in places])
            )
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
        target = find_requested_target(encoded.sample, supports_of(dialogue)).mask.astype(np.bool_)
        union = np.count_nonzero(target | encoded.salient)
        return bool(np.count_nonzero(target & encoded.salient) < self.salient_from * max(union, 1))


def find_requested_target(sample: ImageSample, supports: Sequence[Support]) -> Target:
    """Return the target that the supports show: the only one, or the first with these supports.

    Raises:
        SegmenterError: the sample has no target, or several without their supports.
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
        f"sample {sample.id}: which of its {len(sample.targets)} targets is meant cannot be told from the supports; "
        "mode 'oracle' needs a one-shot dataset with its user 'support'"
    )


def _unwrapped(dialogue: Dialogue) -> Dialogue:
    """Return the dialogue with the wrapped segmenter's own encodings of the supports."""

    def unwrap(prompt: Prompt) -> Prompt:
        if isinstance(prompt, Support) and isinstance(prompt.encoded, LazyBlurredImage):
            return replace(prompt, encoded=prompt.encoded.plain)
        return prompt

    return replace(
        dialogue, rounds=tuple(tuple(map(unwrap, prompts)) for prompts in dialogue.rounds)
    )
