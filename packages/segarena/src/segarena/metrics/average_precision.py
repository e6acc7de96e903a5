"""Mask AP and AR of scored instances, by the rules of COCO.

Source: Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014, and the official
evaluation code.
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
"""IoU thresholds."""
_AT_50 = 0  # indices of the thresholds 0.50 and 0.75
_AT_75 = 5
RECALLS = np.linspace(0, 1, 101)
"""Recall values at which precision is sampled."""
# COCO's upper limit for areas of any size.
_EVERY = 1e10
AREAS = {"": (0, _EVERY), "s": (0, 32**2), "m": (32**2, 96**2), "l": (96**2, _EVERY)}
"""Ranges of target areas in pixels, both ends inclusive: all, small, medium, large."""
_HIGHEST = 1 - 1e-10  # equal masks match at a threshold of 1 too

Flags: TypeAlias = NDArray[np.bool_]
_Floats: TypeAlias = NDArray[np.float64]


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class ImageInstances:
    """Predicted and true instances of one image.

    Attributes:
        predictions: masks, bool (or 0 and 1), (H, W).
        scores: confidence of each prediction.
        targets: masks of the same shape.
        prediction_classes: class of each prediction; empty if there is only one class.
        target_classes: class of each target; empty if there is only one class.
        crowds: whether each target is a crowd, in which any number of predictions count neither as right nor as wrong;
            empty if there are no crowds.
        target_areas: areas in pixels by which targets are small, medium or large; empty to use their pixel counts.
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
    """Return AP, AP50, AP75, AP of small, medium and large targets, and the AR values that COCO prints.

    AP is the mean, over classes, ten IoU thresholds from 0.5 to 0.95 and 101 recall values, of the
    highest precision at that recall or above. AR is the mean of the largest recall over classes and
    thresholds. A class without targets to find is left out of both. A prediction is matched to the
    free target with the largest IoU, if that reaches the threshold. Crowds, and targets outside the
    size range, count neither as found nor as missed; they are matched only if no other target is
    near enough. The overlap with a crowd is divided by the area of the prediction alone. A value is
    NaN if there are no targets to find.

    >>> square = np.zeros((40, 40), bool)
    >>> square[:20, :20] = True
    >>> half = square & (np.arange(40) < 12)
    >>> one = ImageInstances(predictions=[half, ~square], scores=[0.9, 0.8], targets=[square])
    >>> {name: round(value, 2) for name, value in mask_ap([one]).items() if name in ("AP", "AP50", "AP75", "AR1")}
    {'AP': 0.3, 'AP50': 1.0, 'AP75': 0.0, 'AR1': 0.3}

    Args:
        images: predicted and true instances of each image; iterated once.
        max_detections: limits on the predictions per class and image, of which the most confident
            are used: one AR for each limit, and AP for the last one.

    Raises:
        InvalidInput: `max_detections` is empty or has a limit below 1, or the lists of an image differ in length.
        InvalidMask: masks of an image differ in shape, or contain values other than 0 and 1.
    """
    if not max_detections or min(max_detections) < 1:
        raise InvalidInput(
            f"max_detections: expected one or more limits of at least 1, got {max_detections!r}"
        )
    overlaps_by_class: dict[Hashable, list[_Overlaps]] = {}
    for image in images:
        for label, overlaps in _by_class(image, max(max_detections)):
            overlaps_by_class.setdefault(label, []).append(overlaps)
    matches: dict[str, list[list[_Matches]]] = {}
    for area, (low, high) in AREAS.items():
        matches[area] = []
        for of_class in overlaps_by_class.values():
            matches[area].append([_match(overlaps, low, high) for overlaps in of_class])
    most = max_detections[-1]
    curves = {area: _curves(of_area, most) for area, of_area in matches.items()}
    all_sizes = curves[""].precision
    scores = {
        "AP": _mean(all_sizes),
        "AP50": _mean(all_sizes[:, _AT_50]),
        "AP75": _mean(all_sizes[:, _AT_75]),
    }
    # In the order in which COCO prints them.
    for area in ("s", "m", "l"):
        scores[f"AP{area}"] = _mean(curves[area].precision)
    for count in max_detections:
        scores[f"AR{count}"] = _mean(_curves(matches[""], count).recall)
    for area in ("s", "m", "l"):
        scores[f"AR{area}"] = _mean(curves[area].recall)
    return scores


class _Overlaps(NamedTuple):
    """Predictions of one class in one image, sorted by descending confidence, and their overlaps with the targets.

    Attributes:
        ious: (predictions, targets); for a crowd, the share of the prediction inside it.
    """

    scores: _Floats
    ious: _Floats
    areas: _Floats
    target_areas: _Floats
    crowds: Flags


class _Matches(NamedTuple):
    """Matches of the predictions of one class in one image, at each IoU threshold.

    Attributes:
        is_correct: (thresholds, predictions), whether a prediction found a target.
        is_counted: (thresholds, predictions), whether a prediction counts; others are neither right nor wrong.
        target_count: number of targets to find.
    """

    scores: _Floats
    is_correct: Flags
    is_counted: Flags
    target_count: int


class _Curves(NamedTuple):
    precision: _Floats  # (classes, thresholds, recalls)
    recall: _Floats  # (classes, thresholds)


def _by_class(image: ImageInstances, most: int) -> Iterator[tuple[Hashable, _Overlaps]]:
    """Yield each class of an image with its targets and up to `most` of its most confident predictions."""
    _check_lengths(image)
    prediction_count = len(image.predictions)
    target_count = len(image.targets)
    masks = [as_mask(mask) for mask in (*image.predictions, *image.targets)]
    masks = [as_mask(mask, masks[0].shape) for mask in masks]
    predictions = masks[:prediction_count]
    targets = masks[prediction_count:]
    prediction_areas = _areas(predictions)
    if image.target_areas:
        target_areas = np.asarray(image.target_areas, np.float64)
    else:
        target_areas = _areas(targets)
    prediction_classes = list(image.prediction_classes) or [None] * prediction_count
    target_classes = list(image.target_classes) or [None] * target_count
    crowds = np.asarray(image.crowds or [False] * target_count, np.bool_)
    scores = np.asarray(image.scores, np.float64)
    # Between equal scores, the earlier prediction comes first, as in the published evaluation.
    order = np.argsort(-scores, kind="stable").tolist()
    # A dict removes duplicates but keeps the order, unlike a set, whose order differs between
    # processes.
    for label in dict.fromkeys((*prediction_classes, *target_classes)):
        of_class = [index for index in order if prediction_classes[index] == label]
        # COCO limits the predictions per class and image, not per image.
        chosen = of_class[:most]
        present = [index for index, other in enumerate(target_classes) if other == label]
        chosen_masks = [predictions[index] for index in chosen]
        target_masks = [targets[index] for index in present]
        overlaps = _Overlaps(
            scores=scores[chosen],
            ious=_ious(chosen_masks, target_masks, crowds[present]),
            areas=prediction_areas[chosen],
            target_areas=target_areas[present],
            crowds=crowds[present],
        )
        yield label, overlaps


def _check_lengths(image: ImageInstances) -> None:
    prediction_count = len(image.predictions)
    target_count = len(image.targets)
    if len(image.scores) != prediction_count:
        raise _length_error("scores", prediction_count, len(image.scores))
    optional = (
        ("prediction_classes", image.prediction_classes, prediction_count),
        ("target_classes", image.target_classes, target_count),
        ("crowds", image.crowds, target_count),
        ("target_areas", image.target_areas, target_count),
    )
    for name, values, expected in optional:
        if values and len(values) != expected:
            raise _length_error(name, expected, len(values))


def _length_error(
    name: str,
    expected: int,
    length: int,
) -> InvalidInput:
    return InvalidInput(f"{name}: expected {expected}, one for each mask, got {length}")


def _areas(masks: Sequence[Mask]) -> _Floats:
    areas = [np.count_nonzero(mask) for mask in masks]
    return np.asarray(areas, np.float64)


def _ious(
    predictions: Sequence[Mask],
    targets: Sequence[Mask],
    crowds: Flags,
) -> _Floats:
    ious = np.zeros((len(predictions), len(targets)))
    if not ious.size:
        return ious
    stack = np.stack([mask.ravel() for mask in targets])
    target_areas = np.count_nonzero(stack, axis=1)
    for row, mask in zip(ious, predictions, strict=True):
        # Index with the prediction first, so that targets are counted only within it.
        in_prediction = stack[:, mask.ravel()]
        intersections = np.count_nonzero(in_prediction, axis=1)
        area = np.count_nonzero(mask)
        unions = area + target_areas - intersections
        denominators = np.where(crowds, area, unions)
        # The maximum only avoids dividing 0 by 0 for empty masks.
        row[:] = intersections / np.maximum(denominators, 1)
    return ious


def _match(
    overlaps: _Overlaps,
    low: float,
    high: float,
) -> _Matches:
    """Match predictions greedily, most confident first, at each threshold.

    Args:
        overlaps: predictions and targets of one class in one image.
        low: area of the smallest target that counts.
        high: area of the largest target that counts.
    """
    target_areas = overlaps.target_areas
    has_target_size = (target_areas >= low) & (target_areas <= high)
    is_target = ~overlaps.crowds & has_target_size
    target_count = int(np.count_nonzero(is_target))
    # Unmatched predictions outside the size range count neither as right nor as wrong, as in COCO.
    has_size = (overlaps.areas >= low) & (overlaps.areas <= high)
    # Matching is independent at each threshold.
    is_free = np.ones((len(THRESHOLDS), len(target_areas)), np.bool_)
    is_correct = np.zeros((len(THRESHOLDS), len(overlaps.scores)), np.bool_)
    is_counted = np.tile(has_size, (len(THRESHOLDS), 1))
    lowest = np.minimum(THRESHOLDS, _HIGHEST)[:, None]
    if not overlaps.ious.size:
        return _Matches(overlaps.scores, is_correct, is_counted, target_count)
    for index, ious in enumerate(overlaps.ious):
        is_near = is_free & (ious >= lowest)
        # Match an ignored target only if no counted target overlaps enough.
        near_target = is_near & is_target
        has_target = near_target.any(axis=1, keepdims=True)
        is_near &= is_target | ~has_target
        matched = np.flatnonzero(is_near.any(axis=1))
        # Of equal overlaps, take the last target, as in the published evaluation.
        near_ious = np.where(is_near, ious, -1)[matched]
        from_last = np.argmax(near_ious[:, ::-1], axis=1)
        best = len(ious) - 1 - from_last
        is_correct[matched, index] = is_target[best]
        is_counted[matched, index] = is_target[best]
        # A crowd remains available for further predictions.
        is_free[matched, best] = overlaps.crowds[best]
    return _Matches(overlaps.scores, is_correct, is_counted, target_count)


def _curves(classes: Sequence[Sequence[_Matches]], most: int) -> _Curves:
    """Return precision at each of `RECALLS` and the final recall, for each class that has targets.

    Only the first `most` predictions of each class in an image are used.
    """
    precisions: list[_Floats] = []
    recalls: list[_Floats] = []
    for images in classes:
        target_count = sum(matches.target_count for matches in images)
        # COCO leaves out classes without targets instead of counting them as 0.
        if target_count == 0:
            continue
        scores = np.concatenate([matches.scores[:most] for matches in images])
        is_correct = np.concatenate([matches.is_correct[:, :most] for matches in images], axis=1)
        is_counted = np.concatenate([matches.is_counted[:, :most] for matches in images], axis=1)
        # A stable sort keeps the image order between equal scores, as in the published evaluation.
        order = np.argsort(-scores, kind="stable")
        found = np.cumsum(is_correct[:, order], axis=1)
        tried = np.cumsum(is_counted[:, order], axis=1)
        recall = found / target_count
        precision = found / np.maximum(tried, 1)
        # The highest precision at each recall or above; 0 for recall values that are never reached.
        from_last = np.maximum.accumulate(precision[:, ::-1], axis=1)
        # `searchsorted` returns the length for recall values beyond the last one, which indexes
        # this column.
        never = np.zeros((len(precision), 1))
        best = np.hstack([from_last[:, ::-1], never])
        indices = np.stack([np.searchsorted(row, RECALLS) for row in recall])
        precisions.append(np.take_along_axis(best, indices, axis=1))
        # Without predictions there is no final recall, so use 0.
        has_predictions = recall.shape[1] > 0
        recalls.append(recall[:, -1] if has_predictions else np.zeros(len(recall)))
    if not precisions:
        no_precisions = np.empty((0, len(THRESHOLDS), len(RECALLS)))
        no_recalls = np.empty((0, len(THRESHOLDS)))
        return _Curves(no_precisions, no_recalls)
    return _Curves(np.stack(precisions), np.stack(recalls))


def _mean(values: _Floats) -> float:
    if not values.size:
        return float("nan")
    return float(values.mean())
