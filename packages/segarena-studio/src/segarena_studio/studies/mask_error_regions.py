"""Targets of the second round: parts that a segmenter's mask misses, and parts that it covers wrongly.

A segmenter answers each first click on an object; the best mask that people would still correct is
kept, and participants point at the missing part or at the surplus part. Source: RClicks, section
3.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from segarena.arrays.distance_transform import deepest_pixel
from segarena.dialogue import Dialogue, as_prediction
from segarena.prompts import Click
from segarena.readonly import read_only
from segarena.roles import Segmenter
from segarena.samples import ImageSample, Mask
from segarena_studio.studies.study_targets import StudyTarget

ENOUGH = 0.95
"""Highest IoU at which people would still correct a mask."""
LEAST_SHARE = 0.0005
"""Smaller parts, as a share of the picture, are skipped because nobody can hit them."""

Pixel = tuple[int, int]


def correction_items(
    items: Sequence[StudyTarget],
    segmenter: Segmenter,
    name: str,
    clicks: Mapping[int, Sequence[Pixel]] | None = None,
) -> list[StudyTarget]:
    """Return the second-round targets for one picture: the parts that the segmenter's masks miss or wrongly cover.

    Args:
        items: targets on one picture, whole objects.
        segmenter: answers clicks on images.
        name: name of its masks.
        clicks: people's first clicks, (row, column), by index in `items`; an object without any is
            clicked once, at the pixel farthest from its edge.

    Raises:
        PredictionInvalid: the segmenter returns no masks of the picture's shape.
    """
    if not items:
        return []
    clicks = clicks or {}
    clicks_of: list[list[Pixel]] = []
    for index, item in enumerate(items):
        clicks_of.append(list(clicks.get(index, ())) or [_middle(item.mask)])
    sample = ImageSample(id=items[0].image, image=read_only(items[0].picture))
    dialogues: list[Dialogue] = []
    for positions in clicks_of:
        dialogues += [Dialogue().ask((Click(position),)) for position in positions]
    # All dialogues in one batch, so that the picture is encoded once.
    predictions = iter(segmenter.predict(segmenter.encode(sample), dialogues))
    found: list[StudyTarget] = []
    for item, positions in zip(items, clicks_of, strict=True):
        masks: list[Mask] = []
        for _ in positions:
            prediction = as_prediction(next(predictions), sample.shape, name=name)
            masks.append(prediction.mask > 0)
        found += _parts(item, _best_to_correct(masks, item.mask), name)
    return found


def _middle(mask: Mask) -> Pixel:
    deepest = deepest_pixel(mask)
    row, column = deepest.position if deepest else (0, 0)
    return row, column


def _best_to_correct(masks: Sequence[Mask], target: Mask) -> Mask | None:
    """Return the best mask that people would still correct; None when all are good enough."""
    best: Mask | None = None
    best_iou = -1.0
    for mask in masks:
        iou = _iou(mask, target)
        # RClicks, section 3.3: people would not correct masks above this limit.
        if best_iou < iou <= ENOUGH:
            best = mask
            best_iou = iou
    return best


def _iou(mask: Mask, target: Mask) -> float:
    intersection = np.count_nonzero(mask & target)
    union = np.count_nonzero(mask | target)
    return float(intersection / max(1, union))


def _parts(
    item: StudyTarget,
    previous: Mask | None,
    name: str,
) -> list[StudyTarget]:
    if previous is None:
        return []
    goals: tuple[tuple[Literal["missing", "surplus"], Mask], ...] = (
        ("missing", item.mask & ~previous),
        ("surplus", previous & ~item.mask),
    )
    least = LEAST_SHARE * item.mask.size
    parts: list[StudyTarget] = []
    for goal, part in goals:
        if np.count_nonzero(part) >= max(1.0, least):
            parts.append(
                replace(
                    item,
                    goal=goal,
                    model=name,
                    mask=part,
                    previous=previous,
                )
            )
    return parts
