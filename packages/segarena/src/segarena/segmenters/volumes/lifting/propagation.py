"""Propagation through slices: the prediction of a slice prompts its neighbour."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from segarena.arrays.slices import snapped_box_centre, snapped_mean, tight_box
from segarena.dialogue import Dialogue, Prediction
from segarena.options import Protocol
from segarena.prompts import Box, Click, Prompt
from segarena.segmenters.volumes.lifting.slice_prompts import SlicePrompts

SliceDialogues: TypeAlias = dict[int, Dialogue]
"""Dialogues for an image segmenter, by slice; predictions have the same keys."""

SlicePredictions: TypeAlias = dict[int, Prediction]

PUBLISHED_POINTS = 5
"""Number of points that the published code expects in the prompted slice."""


@dataclass(slots=True)
class _Front:
    """One direction of a propagation from slice `seed`, which has reached `plane` and continues to `end`."""

    seed: int
    plane: int
    end: int

    def next_plane(self) -> int:
        return self.plane + (1 if self.end > self.seed else -1)


def propagate(
    seeds: SlicePrompts,
    first: int,
    last: int,
    protocol: Protocol = "careful",
) -> Generator[SliceDialogues, SlicePredictions, tuple[SlicePredictions, SlicePrompts]]:
    """Predict the seed slices, then their neighbours, and so on; return all predictions and prompts by slice.

    The prediction of a slice determines the prompt of the next slice: its bounding box if the seed
    has a box, otherwise one click in its middle. An empty prediction ends its direction. Between
    two seeds, each covers half of the slices. Both directions advance in the same step, because
    they are independent.

    With "careful", the middle is the centre of mass of the largest component, moved into it, as in
    the paper. With "published", it is the centre of the component's bounding box; a seed's box
    prompts both neighbours unchanged; and for a seed with n < 5 points, the 5 - n slices below it
    are dropped at the end. The published code predicts most slices twice, without any effect; here
    each slice is predicted once.

    Args:
        seeds: prompts by slice, all within the limits.
        first: lower limit, inclusive.
        last: upper limit, inclusive.
        protocol: "careful" or "published".

    Source: RadioActive, section 2.3 and appendix 7.
    """
    is_published = protocol == "published"
    prompts_by_plane = dict(seeds)
    seed_dialogues = {plane: _dialogue(prompts) for plane, prompts in seeds.items()}
    answers = dict((yield seed_dialogues))
    fronts = _fronts(sorted(seeds), first, last)
    while fronts:
        asked: SlicePrompts = {}
        for front in fronts:
            prompts = _next_prompts(
                front, seeds[front.seed], answers[front.plane], is_published=is_published
            )
            front.plane = front.next_plane()
            if prompts:
                asked[front.plane] = prompts
        prompts_by_plane |= asked
        answers |= yield {plane: _dialogue(prompts) for plane, prompts in asked.items()}
        fronts = [front for front in fronts if front.plane in asked and front.plane != front.end]
    if is_published:
        for plane in _dropped_planes(seeds):
            prompts_by_plane.pop(plane, None)
            answers.pop(plane, None)
    return answers, prompts_by_plane


def _dialogue(prompts: tuple[Prompt, ...]) -> Dialogue:
    return Dialogue((prompts,))


def _fronts(
    seeds: list[int],
    first: int,
    last: int,
) -> list[_Front]:
    """Return a front for each direction from each seed; between two seeds, each covers half of the slices."""
    lows = [first]
    highs: list[int] = []
    for lower, upper in pairwise(seeds):
        # The midpoint divides the slices between two seeds, so that each starts from the nearer
        # one.
        middle = (lower + upper) // 2
        highs.append(middle)
        lows.append(middle + 1)
    highs.append(last)
    fronts: list[_Front] = []
    for seed, low, high in zip(seeds, lows, highs, strict=True):
        for end in (low, high):
            if end != seed:
                fronts.append(_Front(seed, seed, end))
    return fronts


def _next_prompts(
    front: _Front,
    seed: tuple[Prompt, ...],
    answer: Prediction,
    *,
    is_published: bool,
) -> tuple[Prompt, ...]:
    """Return the prompts of the slice after `front.plane`; empty if the prediction is empty."""
    boxes = tuple(prompt for prompt in seed if isinstance(prompt, Box))
    # The published code prompts the slices next to the seed with its unchanged box.
    if boxes and is_published and front.plane == front.seed:
        return boxes
    mask = answer.mask.astype(np.bool_, copy=False)
    if boxes:
        corners = tight_box(mask)
        if corners is None:
            return ()
        return (Box(*corners, boxes[-1].object_id),)
    # The paper propagates the centre of mass, but its code the centre of the bounding box.
    middle = snapped_box_centre(mask) if is_published else snapped_mean(mask)
    if middle is None:
        return ()
    return (Click(middle),)


def _dropped_planes(seeds: SlicePrompts) -> set[int]:
    """Return the slices whose prompts the published code loses, because it assumes five points per seed."""
    lost: set[int] = set()
    for plane, prompts in seeds.items():
        clicks = sum(isinstance(prompt, Click) for prompt in prompts)
        # Other code propagates boxes, and loses none.
        if clicks and clicks == len(prompts):
            lost |= set(range(plane - PUBLISHED_POINTS + clicks, plane))
    return lost - set(seeds)
