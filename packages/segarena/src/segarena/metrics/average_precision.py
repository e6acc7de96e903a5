"""Mask AP and AR of instances with scores, by the rules of COCO.

Source: Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014, and the evaluation that comes with it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.samples import Mask, as_mask

THRESHOLDS = np.linspace(0.5, 0.95, 10)
"""Of IoU."""
RECALLS = np.linspace(0, 1, 101)
"""Where precision is read off."""
_EVERY = 1e10
AREAS = {"": (0, _EVERY), "s": (0, 32**2), "m": (32**2, 96**2), "l": (96**2, _EVERY)}
"""Sizes in pixels, both ends included: all, small, medium, large."""
_HIGHEST = 1 - 1e-10  # equal masks match at a threshold of 1 too

Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageInstances:
    """Predicted and true instances of one image.

    Attributes:
        predictions: masks, bool (or 0 and 1), (H, W).
        scores: confidence of each prediction.
        targets: masks of the same shape.
        prediction_classes: the class of each; empty if there is one class.
        target_classes: likewise.
        crowds: whether a target is a crowd, in which any number of predictions count neither as right nor as wrong;
            empty if none is.
        target_areas: area by which a target is small, medium or large; empty: its pixel count.
    """

    predictions: Sequence[Any]
    scores: Sequence[float]
    targets: Sequence[Any]
    prediction_classes: Sequence[Hashable] = ()
    target_classes: Sequence[Hashable] = ()
    crowds: Sequence[bool] = ()
    target_areas: Sequence[float] = ()


def mask_ap(
    images: Iterable[ImageInstances], *, max_detections: Sequence[int] = (1, 10, 100)
) -> dict[str, float]:
    """Return AP, AP50, AP75, AP of small, medium and large targets, and AR likewise, as COCO prints them.

    AP is the mean over classes, ten thresholds of IoU from 0.5 to 0.95 and 101 recalls of the highest precision at that
    recall or above; AR is the mean of the largest recall. A prediction is matched to the free target with the largest
    overlap; targets outside a range of sizes, and crowds, are neither found nor missed. The overlap with a crowd is a
    share of the prediction alone. NaN if there are no targets to find.

    >>> square = np.zeros((40, 40), bool)
    >>> square[:20, :20] = True
    >>> half = square & (np.arange(40) < 12)
    >>> one = ImageInstances(predictions=[half, ~square], scores=[0.9, 0.8], targets=[square])
    >>> {name: round(value, 2) for name, value in mask_ap([one]).items() if name in ("AP", "AP50", "AP75", "AR1")}
    {'AP': 0.3, 'AP50': 1.0, 'AP75': 0.0, 'AR1': 0.3}

    Args:
        images: predicted and true instances of each image; iterated once.
        max_detections: maximum numbers of predictions per class and image, the most confident
            first; AP uses the last.

    Raises:
        InvalidInput: `max_detections` is empty, or the lists of an image differ in length.
        InvalidMask: masks of an image differ in shape, or contain values other than 0 and 1.
    """
    if not max_detections or min(max_detections) < 1:
        raise InvalidInput(
            f"max_detections: expected numbers of at least 1, got {max_detections!r}"
        )
    found: dict[Hashable, list[_Overlaps]] = {}
    for image in images:
        for label, overlaps in _by_class(image, max(max_detections)):
            found.setdefault(label, []).append(overlaps)
    matches = {
        area: [[_matched(one, *limits) for one in of_class] for of_class in found.values()]
        for area, limits in AREAS.items()
    }
    most = max_detections[-1]
    curves = {area: _curves(of_area, most) for area, of_area in matches.items()}
    whole = curves[""].precision
    scores = {"AP": _mean(whole), "AP50": _mean(whole[:, 0]), "AP75": _mean(whole[:, 5])}
    scores |= {f"AP{area}": _mean(curves[area].precision) for area in AREAS if area}
    scores |= {f"AR{count}": _mean(_curves(matches[""], count).recall) for count in max_detections}
    return scores | {f"AR{area}": _mean(curves[area].recall) for area in AREAS if area}


class _Overlaps(NamedTuple):
    """Predictions of one class in one image, the most confident first, compared with its targets.

    Attributes:
        ious: (predictions, targets); for a crowd, the share of the prediction inside it.
    """

    scores: NDArray[np.float64]
    ious: NDArray[np.float64]
    areas: NDArray[np.float64]
    target_areas: NDArray[np.float64]
    crowds: Flags


class _Matches(NamedTuple):
    """Matches of the predictions of an image at each threshold of IoU.

    Attributes:
        right: (thresholds, predictions), whether a prediction found a target.
        counted: likewise, whether it counts; others are neither right nor wrong.
        targets: number of targets to find.
    """

    scores: NDArray[np.float64]
    right: Flags
    counted: Flags
    targets: int


class _Curves(NamedTuple):
    precision: NDArray[np.float64]  # (classes, thresholds, recalls)
    recall: NDArray[np.float64]  # (classes, thresholds)


def _by_class(image: ImageInstances, most: int) -> Iterator[tuple[Hashable, _Overlaps]]:
    amounts = len(image.predictions), len(image.targets)
    told = {
        "scores": (image.scores, amounts[0], False),
        "prediction_classes": (image.prediction_classes, amounts[0], True),
        "target_classes": (image.target_classes, amounts[1], True),
        "crowds": (image.crowds, amounts[1], True),
        "target_areas": (image.target_areas, amounts[1], True),
    }
    for name, (given, amount, may_be_empty) in told.items():
        if len(given) != amount and (given or not may_be_empty):
            raise InvalidInput(f"{name}: expected {amount}, one for each mask, got {len(given)}")
    masks = [as_mask(mask) for mask in (*image.predictions, *image.targets)]
    masks = [as_mask(mask, masks[0].shape) for mask in masks]
    predictions = masks[: amounts[0]]
    targets = masks[amounts[0] :]
    own = list(image.prediction_classes) or [None] * amounts[0]
    theirs = list(image.target_classes) or [None] * amounts[1]
    order = np.argsort(-np.asarray(image.scores, np.float64), kind="stable").tolist()
    crowds = np.asarray(image.crowds or [False] * amounts[1], np.bool_)
    areas = np.asarray(
        image.target_areas or [np.count_nonzero(mask) for mask in targets], np.float64
    )
    for label in dict.fromkeys((*own, *theirs)):
        shown = [place for place in order if own[place] == label][:most]
        there = [place for place, other in enumerate(theirs) if other == label]
        chosen = [predictions[place] for place in shown]
        yield (
            label,
            _Overlaps(
                scores=np.asarray([image.scores[place] for place in shown], np.float64),
                ious=_ious(chosen, [targets[place] for place in there], crowds[there]),
                areas=np.asarray([np.count_nonzero(mask) for mask in chosen], np.float64),
                target_areas=areas[there],
                crowds=crowds[there],
            ),
        )


def _ious(
    predictions: Sequence[Mask], targets: Sequence[Mask], crowds: Flags
) -> NDArray[np.float64]:
    ious = np.zeros((len(predictions), len(targets)))
    if not ious.size:
        return ious
    stack = np.stack([mask.ravel() for mask in targets])
    target_areas = np.count_nonzero(stack, axis=1)
    for row, mask in zip(ious, predictions, strict=True):
        intersections = np.count_nonzero(stack[:, mask.ravel()], axis=1)
        area = np.count_nonzero(mask)
        unions = area + target_areas - intersections
        denominators = np.where(crowds, area, unions)
        row[:] = intersections / np.maximum(denominators, 1)
    return ious


def _matched(one: _Overlaps, low: float, high: float) -> _Matches:
    """Match predictions greedily, most confident first, at each threshold."""
    is_counted = ~one.crowds & (one.target_areas >= low) & (one.target_areas <= high)
    has_size = (one.areas >= low) & (one.areas <= high)
    is_free = np.ones((len(THRESHOLDS), len(one.target_areas)), np.bool_)
    right = np.zeros((len(THRESHOLDS), len(one.scores)), np.bool_)
    counted = np.tile(has_size, (len(THRESHOLDS), 1))
    lowest = np.minimum(THRESHOLDS, _HIGHEST)[:, None]
    if not one.ious.size:
        return _Matches(one.scores, right, counted, int(np.count_nonzero(is_counted)))
    for place, ious in enumerate(one.ious):
        is_near = is_free & (ious >= lowest)
        # Match an ignored target only if no counted target overlaps enough.
        has_counted = (is_near & is_counted).any(axis=1, keepdims=True)
        is_near &= is_counted | ~has_counted
        matched = np.flatnonzero(is_near.any(axis=1))
        # Break ties by the last target, as in the published evaluation.
        near_ious = np.where(is_near, ious, -1)[matched]
        best = len(ious) - 1 - np.argmax(near_ious[:, ::-1], axis=1)
        right[matched, place] = is_counted[best]
        counted[matched, place] = is_counted[best]
        is_free[matched, best] = one.crowds[best]
    return _Matches(one.scores, right, counted, int(np.count_nonzero(is_counted)))


def _curves(classes: Sequence[Sequence[_Matches]], most: int) -> _Curves:
    """Return precision over recall of each class that has targets, with at most `most` predictions of an image."""
    precisions: list[NDArray[np.float64]] = []
    recalls: list[NDArray[np.float64]] = []
    for images in classes:
        targets = sum(one.targets for one in images)
        if not targets:
            continue
        scores = np.concatenate([one.scores[:most] for one in images])
        order = np.argsort(-scores, kind="stable")
        right = np.concatenate([one.right[:, :most] for one in images], axis=1)[:, order]
        counted = np.concatenate([one.counted[:, :most] for one in images], axis=1)[:, order]
        found = np.cumsum(right, axis=1)
        tried = np.cumsum(counted, axis=1)
        recall = found / targets
        precision = found / np.maximum(tried, 1)
        # The highest precision from each recall on; 0 where that recall is never reached.
        best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        best = np.hstack([best, np.zeros((len(best), 1))])
        places = np.stack([np.searchsorted(row, RECALLS) for row in recall])
        precisions.append(np.take_along_axis(best, places, axis=1))
        recalls.append(recall[:, -1] if recall.shape[1] else np.zeros(len(recall)))
    if not precisions:
        no_classes = (0, len(THRESHOLDS))
        return _Curves(np.empty((*no_classes, len(RECALLS))), np.empty(no_classes))
    return _Curves(np.stack(precisions), np.stack(recalls))


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else float("nan")
