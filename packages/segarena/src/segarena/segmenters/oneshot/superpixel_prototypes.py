"""Superpixels that look like those of the support's object: one-shot segmentation without weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.colours import rgb_to_lab
from segarena.comparison import Memory
from segarena.dialogue import Prediction
from segarena.errors import PluginInvalid
from segarena.registry import segmenter
from segarena.samples import Sample, Support
from segarena.segmenters.drawing.colour_cut import refine_by_colours
from segarena.segmenters.drawing.image_size import shrunk_size
from segarena.segmenters.drawing.marks import require_image
from segarena.segmenters.drawing.superpixels import gradient, label_superpixels
from segarena.segmenters.oneshot.support_segmenter import (
    Supports,
    SupportSegmenter,
    empty_prediction,
    encoding_of,
    shows_object,
)

_WORK_PX = 224 * 224
_COMPACTNESS = 10.0
_SCALES_PX = (1.0, 2.0, 4.0)
_PATTERNS = 10  # uniform local binary patterns of 8 neighbours
_GROUPS = (3, len(_SCALES_PX), _PATTERNS)


@dataclass(frozen=True, slots=True, eq=False)
class DescribedSuperpixels:
    """An image in superpixels.

    Attributes:
        image: uint8 (H, W, 3).
        labels: intp (h, w), the superpixel of each pixel, at working size.
        features: float64 (n, 16): mean colour, gradients at three scales, histogram of local binary patterns.
    """

    image: NDArray[np.uint8]
    labels: NDArray[np.intp]
    features: NDArray[np.float64]


@segmenter("superpixel-prototypes")
@dataclass(kw_only=True, eq=False)
class SuperpixelPrototypes(SupportSegmenter):
    """Superpixels, each nearer to those of the supports' object than to those of their background.

    A superpixel is described by its mean colour (CIELAB), the strength of its gradients at three scales and its
    texture (local binary patterns); in each, a unit is the spread within the supports. It scores the mean distance to
    the nearest superpixels of the background, as a share of that and the same for the object: 0 to 1. Where no support
    has any background, all is object. For trying protocols, and to show what colour and texture alone can do; nothing
    is learned, and the answer does not depend on chance.

    Args:
        superpixels: about how many an image has.
        neighbours: how many of the nearest on either side count.
        threshold: of the score; a superpixel above it is in.
        refine: "grabcut" refines by colour models seeded where the score is most confident.

    Raises:
        PluginInvalid: an option out of range.
    """

    superpixels: int = 250
    neighbours: int = 5
    threshold: float = 0.5
    refine: Literal["none", "grabcut"] = "none"

    def __post_init__(self) -> None:
        if self.superpixels < 2 or self.neighbours < 1:
            raise PluginInvalid(
                f"superpixels={self.superpixels!r}, neighbours={self.neighbours!r}: expected at least 2, and at least 1"
            )
        if not 0 <= self.threshold < 1:
            raise PluginInvalid(
                f"threshold={self.threshold!r}: expected a share of at least 0 and less than 1"
            )

    def encode(self, sample: Sample) -> DescribedSuperpixels:
        """Return the superpixels of an image and what they look like, at 50 000 pixels or its own size.

        Raises:
            SegmenterError: the sample is not an image.
        """
        image = require_image(sample, "superpixel-prototypes")
        size = shrunk_size(image.shape[:2], _WORK_PX)
        small = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
        labels = label_superpixels(small, self.superpixels, _COMPACTNESS)
        return DescribedSuperpixels(image, labels, _describe(small, labels))

    def pack(self, encoded: DescribedSuperpixels) -> dict[str, NDArray[Any]]:
        """Return an encoding as arrays, so that other runs can have it."""
        return {"image": encoded.image, "labels": encoded.labels, "features": encoded.features}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> DescribedSuperpixels:
        """Return the encoding that `pack` was given."""
        return DescribedSuperpixels(arrays["image"], arrays["labels"], arrays["features"])

    def _answer(
        self, encoded: DescribedSuperpixels, asked: Sequence[Supports], memory: Memory
    ) -> list[Prediction]:
        return [self._answer_one(encoded, supports, memory) for supports in asked]

    def _answer_one(
        self, encoded: DescribedSuperpixels, supports: Sequence[Support], memory: Memory
    ) -> Prediction:
        shape = encoded.image.shape[:2]
        if not shows_object(supports):
            return empty_prediction(shape)
        parts = [self._parts(support, memory) for support in supports]
        features = np.concatenate([features for features, _ in parts])
        inside = np.concatenate([inside for _, inside in parts])
        unit = _units(features)
        shown = features / unit
        asked = encoded.features / unit
        near, far = (self._distance(asked, shown[part]) for part in (inside, ~inside))
        scores = np.divide(far, near + far, out=np.full_like(far, 0.5), where=near + far > 0)
        scores = scores if not inside.all() else np.ones_like(scores)
        small = scores.astype(np.float32)[encoded.labels]
        full = np.asarray(
            cv2.resize(small, shape[::-1], interpolation=cv2.INTER_NEAREST), np.float32
        )
        mask = full > self.threshold
        return Prediction(
            mask=refine_by_colours(encoded.image, full, mask) if self.refine == "grabcut" else mask
        )

    def _parts(
        self, support: Support, memory: Memory
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return a support's superpixels and which are the object: more than half covered, else those covered most."""
        shown: DescribedSuperpixels = encoding_of(support, self.encode, memory)
        share = np.asarray(
            cv2.resize(
                support.mask.astype(np.float32),
                shown.labels.shape[::-1],
                interpolation=cv2.INTER_AREA,
            )
        )
        covered = np.bincount(shown.labels.ravel(), share.ravel()) / np.bincount(
            shown.labels.ravel()
        )
        most = float(covered.max())
        return shown.features, (covered >= min(0.5, most)) & (covered > 0)

    def _distance(
        self, asked: NDArray[np.float64], shown: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the mean distance of each superpixel to the nearest ones shown; 0 where there are none."""
        if not len(shown):
            return np.zeros(len(asked))
        from scipy.spatial.distance import cdist

        count = min(self.neighbours, len(shown))
        return np.partition(cdist(asked, shown), count - 1, axis=1)[:, :count].mean(axis=1)


def _describe(image: NDArray[np.uint8], labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return what each superpixel looks like, float64 (n, 16)."""
    from skimage.feature import local_binary_pattern

    areas = np.bincount(labels.ravel())
    lab = rgb_to_lab(image)
    planes = [lab[..., channel] for channel in range(3)] + [
        gradient(lab, px, scale=px / 4) for px in _SCALES_PX
    ]
    means = [np.bincount(labels.ravel(), plane.ravel()) / areas for plane in planes]
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    patterns = np.asarray(local_binary_pattern(grey, 8, 1, "uniform"), np.intp)
    counts = np.bincount((labels * _PATTERNS + patterns).ravel(), minlength=len(areas) * _PATTERNS)
    # Square roots of shares: the distance of two histograms is then Hellinger's.
    return np.hstack(
        [np.stack(means, axis=1), np.sqrt(counts.reshape(-1, _PATTERNS) / areas[:, None])]
    )


def _units(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what to divide features by: each group's spread within the supports, so that all groups count alike."""
    starts = np.cumsum((0, *_GROUPS))
    units = np.ones(features.shape[1])
    for start, stop in pairwise(starts):
        spread = float(np.sqrt(features[:, start:stop].var(axis=0).sum()))
        units[start:stop] = max(spread, 1e-6)
    return units
