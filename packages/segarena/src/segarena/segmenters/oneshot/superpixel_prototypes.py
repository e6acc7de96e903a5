"""One-shot segmentation without weights: finds superpixels similar to those of the support's object."""

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
from segarena.segmenters.drawing.grabcut_refinement import refine_by_colours
from segarena.segmenters.drawing.image_size import shrunk_size
from segarena.segmenters.drawing.prompt_pixel_marks import require_image
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
"""Number of uniform local binary patterns with 8 neighbours."""

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

    The features of a superpixel are its mean colour (CIELAB), the strength of its gradients at
    three scales and its texture (local binary patterns). Each group is scaled by its spread within
    the supports. With d_o and d_b as the mean distances to the nearest superpixels of object and
    background, the score is d_b / (d_o + d_b), from 0 to 1. If the supports have no background,
    everything is object. Use it to try out protocols, and as a baseline from colour and texture
    alone. Nothing is trained, and the prediction is deterministic.

    Args:
        superpixels: approximate number per image.
        neighbours: number of nearest superpixels of object and background in the mean distances.
        threshold: threshold of the score; superpixels above it belong to the object.
        refine: "grabcut" refines by colour models seeded where the score is most confident.

    Raises:
        PluginInvalid: an option is out of range.
    """

    superpixels: int = 250
    neighbours: int = 5
    threshold: float = 0.5
    refine: Literal["none", "grabcut"] = "none"

    def __post_init__(self) -> None:
        if self.superpixels < 2 or self.neighbours < 1:
            raise PluginInvalid(
                f"superpixels={self.superpixels!r}, neighbours={self.neighbours!r}: "
                "expected at least 2 and at least 1, respectively"
            )
        if not 0 <= self.threshold < 1:
            raise PluginInvalid(
                f"threshold={self.threshold!r}: expected a share of at least 0 and less than 1"
            )

    def encode(self, sample: Sample) -> DescribedSuperpixels:
        """Return an image's superpixels and their features.

        Images of more than about 50 000 pixels are shrunk to that size first.

        Raises:
            SegmenterError: the sample is not an image.
        """
        image = require_image(sample, "superpixel-prototypes")
        size = shrunk_size(image.shape[:2], _WORK_PX)
        small = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
        labels = label_superpixels(small, self.superpixels, _COMPACTNESS)
        return DescribedSuperpixels(image, labels, _describe(small, labels))

    def pack(self, encoded: DescribedSuperpixels) -> dict[str, NDArray[Any]]:
        """Convert an encoding to arrays for the cache."""
        return {"image": encoded.image, "labels": encoded.labels, "features": encoded.features}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> DescribedSuperpixels:
        """Restore an encoding from the arrays of `pack`."""
        return DescribedSuperpixels(arrays["image"], arrays["labels"], arrays["features"])

    def _answer(
        self,
        encoded: DescribedSuperpixels,
        requests: Sequence[Supports],
        memory: Memory,
    ) -> list[Prediction]:
        return [self._answer_one(encoded, supports, memory) for supports in requests]

    def _answer_one(
        self,
        encoded: DescribedSuperpixels,
        supports: Sequence[Support],
        memory: Memory,
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
        # The distance is a mean over several nearest superpixels, because single ones vary.
        to_object = self._distance(queries, references[inside])
        to_background = self._distance(queries, references[~inside])
        total = to_object + to_background
        if inside.all():
            scores = np.ones_like(total)
        else:
            # A superpixel with distance 0 to both sides gets the neutral score.
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
        """Return a support's features, and which superpixels belong to the object.

        An object superpixel is covered by half or more. If there is none, those with the largest
        coverage are used.
        """
        described: DescribedSuperpixels = encoding_of(support, self.encode, memory)
        labels = described.labels
        size = labels.shape[::-1]
        mask = support.mask.astype(np.float32)
        share = np.asarray(cv2.resize(mask, size, interpolation=cv2.INTER_AREA))
        areas = np.bincount(labels.ravel())
        covered = np.bincount(labels.ravel(), share.ravel()) / areas
        # A small object may not cover half of any superpixel.
        least = min(0.5, float(covered.max()))
        is_object = (covered >= least) & (covered > 0)
        return described.features, is_object

    def _distance(
        self, queries: NDArray[np.float64], references: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the mean distance from each query to its nearest references; 0 without references."""
        if not len(references):
            return np.zeros(len(queries))
        from scipy.spatial.distance import cdist

        count = min(self.neighbours, len(references))
        distances = cdist(queries, references)
        # Only the smallest distances are needed, in any order, so a partition suffices.
        nearest = np.partition(distances, count - 1, axis=1)[:, :count]
        return nearest.mean(axis=1)


def _describe(image: NDArray[np.uint8], labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the features of each superpixel, float64 (n, 16)."""
    from skimage.feature import local_binary_pattern

    flat_labels = labels.ravel()
    areas = np.bincount(flat_labels)
    lab = rgb_to_lab(image)
    planes = [lab[..., channel] for channel in range(3)]
    for scale_px in _SCALES_PX:
        # A stronger blur flattens gradients; the factor brings all scales to one range.
        planes.append(gradient(lab, scale_px, scale=scale_px / 4))
    means: list[NDArray[np.float64]] = []
    for plane in planes:
        totals = np.bincount(flat_labels, plane.ravel())
        means.append(totals / areas)
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    patterns = np.asarray(local_binary_pattern(grey, 8, 1, "uniform"), np.intp)
    bins = (labels * _PATTERNS + patterns).ravel()
    counts = np.bincount(bins, minlength=len(areas) * _PATTERNS)
    shares = counts.reshape(-1, _PATTERNS) / areas[:, None]
    # With square roots of shares, the distance between two histograms is the Hellinger distance.
    return np.hstack([np.stack(means, axis=1), np.sqrt(shares)])


def _feature_units(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit of each feature: the spread of its group, so that all groups have equal weight."""
    starts = np.cumsum((0, *_GROUPS))
    units = np.ones(features.shape[1])
    for start, stop in pairwise(starts):
        variances = features[:, start:stop].var(axis=0)
        spread = float(np.sqrt(variances.sum()))
        units[start:stop] = max(spread, 1e-6)
    return units
