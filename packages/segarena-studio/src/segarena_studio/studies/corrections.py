"""The second round: what a segmenter's mask misses, and what it has too much.

A segmenter answers each first click on an object; the best mask that is not good enough to stop at is kept, and people
are asked to point at the part that is missing, or at the part that is too much. Source: RClicks, section 3.3.
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
from segarena_studio.studies.items import StudyTarget

ENOUGH = 0.95
"""A person would stop at such an IoU."""
LEAST_SHARE = 0.0005
"""Parts of less than this share of the picture are not asked for: nobody can hit them."""

Pixel = tuple[int, int]


def correction_items(
    items: Sequence[StudyTarget],
    segmenter: Segmenter,
    name: str,
    clicks: Mapping[int, Sequence[Pixel]] | None = None,
) -> list[StudyTarget]:
    """Return what is to be corrected of the masks that a segmenter makes of one picture's objects.

    Args:
        items: on one picture, of whole objects.
        segmenter: answers clicks on images.
        name: what its masks are called.
        clicks: first clicks of people, (row, column), by place in `items`; an object without any is clicked once, in
            its middle, the pixel farthest from its edge.

    Raises:
        PredictionInvalid: the segmenter gives no masks of the picture's shape.
    """
    if not items:
        return []
    given = [
        list((clicks or {}).get(place, ())) or [_middle(item.mask)]
        for place, item in enumerate(items)
    ]
    sample = ImageSample(id=items[0].image, image=read_only(items[0].picture))
    asked = [Dialogue().ask((Click(position),)) for positions in given for position in positions]
    answers = iter(segmenter.predict(segmenter.encode(sample), asked))
    found: list[StudyTarget] = []
    for item, positions in zip(items, given, strict=True):
        masks = [as_prediction(next(answers), sample.shape, name=name).mask > 0 for _ in positions]
        found += _parts(item, _best(masks, item.mask), name)
    return found


def _middle(mask: Mask) -> Pixel:
    deepest = deepest_pixel(mask)
    row, column = deepest.position if deepest else (0, 0)
    return row, column


def _best(masks: Sequence[Mask], target: Mask) -> Mask | None:
    """Return the best mask that is not good enough; None when all are."""
    scores = [_iou(mask, target) for mask in masks]
    left = [(score, -place) for place, score in enumerate(scores) if score <= ENOUGH]
    return masks[-max(left)[1]] if left else None


def _iou(mask: Mask, target: Mask) -> float:
    return float(np.count_nonzero(mask & target) / max(1, np.count_nonzero(mask | target)))


def _parts(item: StudyTarget, previous: Mask | None, name: str) -> list[StudyTarget]:
    if previous is None:
        return []
    goals: tuple[tuple[Literal["missing", "surplus"], Mask], ...] = (
        ("missing", item.mask & ~previous),
        ("surplus", previous & ~item.mask),
    )
    least = LEAST_SHARE * item.mask.size
    return [
        replace(item, goal=goal, model=name, mask=part, previous=previous)
        for goal, part in goals
        if np.count_nonzero(part) >= max(1.0, least)
    ]
