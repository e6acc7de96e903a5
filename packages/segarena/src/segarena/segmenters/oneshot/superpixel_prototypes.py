"""One-shot segmentation without weights: superpixels similar to those of the support's object."""

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
_PATTERNS = 10
"""Number of uniform local binary patterns of 8 neighbours."""

# Number of features per group: colour, gradients, texture.
_GROUPS = (3, len(_SCALES_PX), _PATTERNS)


@dataclass(frozen=True, slots=True, eq=False)
class DescribedSuperpixels:
    """Superpixels of an image with their features.

    Attributes:
        image: uint8 (H, W, 3).
        labels: intp (h, w), superpixel of each pixel, at working size.
        features: float64 (n, 16): mean colour, gradients at three scales, histogram of local binary patterns.
    """

    image: NDArray[np.uint8]
    labels: NDArray[np.intp]
    features: NDArray[np.float64]


@segmenter("superpixel-prototypes")
@dataclass(kw_only=True, eq=False)
class SuperpixelPrototypes(SupportSegmenter):
    """Classifies superpixels by their distance to the supports' object and background.

    The features of a superpixel are its mean colour (CIELAB), the strength of its gradients at three
    scales and its texture (local binary patterns), each group in units of its spread within the
    supports. With the mean distances d_o and d_b to the nearest superpixels of object and background,
    the score is d_b / (d_o + d_b), from 0 to 1. Without any background in the supports, everything is
    object. For trying protocols, and as a baseline from colour and texture alone; nothing is learned,
    and the answer does not depend on chance.

    Args:
        superpixels: approximate number per image.
        neighbours: number of nearest superpixels on either side in the mean distances.
        threshold: of the score; superpixels above it belong to the object.
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
                f"superpixels={self.superpixels!r}, neighbours={self.neighbours!r}: "
                "expected at least 2, and at least 1"
            )
        if not 0 <= self.threshold < 1:
            raise PluginInvalid(
                f"threshold={self.threshold!r}: expected a share of at least 0 and less than 1"
            )

    def encode(self, sample: Sample) -> DescribedSuperpixels:
        """Return the superpixels of an image with features, at 50 000 pixels or its own size.

        Raises:
            SegmenterError: the sample is not an image.
        """
        image = require_image(sample, "superpixel-prototypes")
        size = shrunk_size(image.shape[:2], _WORK_PX)
        small = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
        labels = label_superpixels(small, self.superpixels, _COMPACTNESS)
        return DescribedSuperpixels(image, labels, _describe(small, labels))

    def pack(self, encoded: DescribedSuperpixels) -> dict[str, NDArray[Any]]:
        """Return an encoding as arrays for the cache."""
        return {"image": encoded.image, "labels": encoded.labels, "features": encoded.features}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> DescribedSuperpixels:
        """Return the encoding from arrays of `pack`."""
        return DescribedSuperpixels(arrays["image"], arrays["labels"], arrays["features"])

    def _answer(
        self, encoded: DescribedSuperpixels, requests: Sequence[Supports], memory: Memory
    ) -> list[Prediction]:
        return [self._answer_one(encoded, supports, memory) for supports in requests]

    def _answer_one(
        self, encoded: DescribedSuperpixels, supports: Sequence[Support], memory: Memory
    ) -> Prediction:
        shape = encoded.image.shape[:2]
        if not shows_object(supports):
            return empty_prediction(shape)
        parts = [self._object_superpixels(support, memory) for support in supports]
        features = np.concatenate([features for features, _ in parts])
        inside = np.concatenate([inside for _, inside in parts])
        units = _feature_units(features)
        references = features / units
        queries = encoded.features / units
        to_object = self._distance(queries, references[inside])
        to_background = self._distance(queries, references[~inside])
        total = to_object + to_background
        if inside.all():
            scores = np.ones_like(total)
        else:
            even = np.full_like(total, 0.5)
            scores = np.divide(to_background, total, out=even, where=total > 0)
        small = scores.astype(np.float32)[encoded.labels]
        full = np.asarray(
            cv2.resize(small, shape[::-1], interpolation=cv2.INTER_NEAREST), np.float32
        )
        mask = full > self.threshold
        if self.refine == "grabcut":
            mask = refine_by_colours(encoded.image, full, mask)
        return Prediction(mask=mask)

    def _object_superpixels(
        self, support: Support, memory: Memory
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return a support's features and which superpixels are the object.

        These are covered by half or more; if none is, those covered most.
        """
        described: DescribedSuperpixels = encoding_of(support, self.encode, memory)
        share = np.asarray(
            cv2.resize(
                support.mask.astype(np.float32),
                described.labels.shape[::-1],
                interpolation=cv2.INTER_AREA,
            )
        )
        covered = np.bincount(described.labels.ravel(), share.ravel()) / np.bincount(
            described.labels.ravel()
        )
        most = float(covered.max())
        return described.features, (covered >= min(0.5, most)) & (covered > 0)

    def _distance(
        self, queries: NDArray[np.float64], references: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the mean distance of each query to its nearest references; 0 without references."""
        if not len(references):
            return np.zeros(len(queries))
        from scipy.spatial.distance import cdist

        count = min(self.neighbours, len(references))
        distances = cdist(queries, references)
        nearest = np.partition(distances, count - 1, axis=1)[:, :count]
        return nearest.mean(axis=1)


def _describe(image: NDArray[np.uint8], labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the features of each superpixel, float64 (n, 16)."""
    from skimage.feature import local_binary_pattern

    areas = np.bincount(labels.ravel())
    lab = rgb_to_lab(image)
    planes = [lab[..., channel] for channel in range(3)]
    planes += [gradient(lab, px, scale=px / 4) for px in _SCALES_PX]
    means = [np.bincount(labels.ravel(), plane.ravel()) / areas for plane in planes]
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    patterns = np.asarray(local_binary_pattern(grey, 8, 1, "uniform"), np.intp)
    counts = np.bincount((labels * _PATTERNS + patterns).ravel(), minlength=len(areas) * _PATTERNS)
    # With square roots of shares, the distance of two histograms is Hellinger's.
    shares = counts.reshape(-1, _PATTERNS) / areas[:, None]
    return np.hstack([np.stack(means, axis=1), np.sqrt(shares)])


def _feature_units(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit of each feature: the spread of its group, so that all groups weigh equally."""
    starts = np.cumsum((0, *_GROUPS))
    units = np.ones(features.shape[1])
    for start, stop in pairwise(starts):
        spread = float(np.sqrt(features[:, start:stop].var(axis=0).sum()))
        units[start:stop] = max(spread, 1e-6)
    return units
