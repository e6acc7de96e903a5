"""From a prompted slice to its neighbours: each slice is prompted by the prediction of the one before."""

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
"""What an image segmenter is asked about slices; the answers come back under the same numbers."""

SlicePredictions: TypeAlias = dict[int, Prediction]

PUBLISHED_POINTS = 5
"""The published code takes so many points for granted in the prompted slice."""


@dataclass(slots=True)
class _Front:
    """A propagation that has come from slice `seed` to `plane` and goes on to `end`."""

    seed: int
    plane: int
    end: int

    def next_plane(self) -> int:
        return self.plane + (1 if self.end > self.seed else -1)


def propagate(
    seeds: SlicePrompts, first: int, last: int, protocol: Protocol = "careful"
) -> Generator[SliceDialogues, SlicePredictions, tuple[SlicePredictions, SlicePrompts]]:
    """Ask about the seeds, then their neighbours, and so on; return all answers, and what each slice was asked.

    The prediction of a slice becomes the prompt of the next: its tight box when the seed was prompted with a box, else
    one click in its middle. An empty prediction ends its direction. Between two seeds each goes half way. Up and
    down are walked together: they have nothing to do with each other.

    "careful": the middle is the mean of the largest component, moved into it, as the paper says.
    "published": it is the centre of the component's bounding box; a seed's box is given to both neighbours unchanged
    and only their predictions are looked at; of a seed with n < 5 points, 5 - n slices below it are dropped
    afterwards. The published code asks about most slices twice, which changes no answer; here each is asked once.
    Seeds lie within the limits `first` and `last`, both included.

    Source: RadioActive, section 2.3 and appendix 7.
    """
    is_published = protocol == "published"
    said = dict(seeds)
    answers = dict((yield {plane: _dialogue(prompts) for plane, prompts in seeds.items()}))
    fronts = _fronts(sorted(seeds), first, last)
    while fronts:
        asked: SlicePrompts = {}
        for front in fronts:
            prompts = _following(
                front, seeds[front.seed], answers[front.plane], is_published=is_published
            )
            front.plane = front.next_plane()
            if prompts:
                asked[front.plane] = prompts
        said |= asked
        answers |= yield {plane: _dialogue(prompts) for plane, prompts in asked.items()}
        fronts = [front for front in fronts if front.plane in asked and front.plane != front.end]
    for plane in _dropped(seeds) if is_published else ():
        said.pop(plane, None)
        answers.pop(plane, None)
    return answers, said


def _dialogue(prompts: tuple[Prompt, ...]) -> Dialogue:
    return Dialogue((prompts,))


def _fronts(seeds: list[int], first: int, last: int) -> list[_Front]:
    """Return a front for each way that leads away from a seed; between two seeds the lower one goes half way."""
    middles = [(lower + upper) // 2 for lower, upper in pairwise(seeds)]
    lows = [first, *(middle + 1 for middle in middles)]
    highs = [*middles, last]
    ways = [(seed, end) for seed, *ends in zip(seeds, lows, highs, strict=True) for end in ends]
    return [_Front(seed, seed, end) for seed, end in ways if end != seed]


def _following(
    front: _Front, seed: tuple[Prompt, ...], answer: Prediction, *, is_published: bool
) -> tuple[Prompt, ...]:
    """Return what the slice after `front.plane` is asked; nothing where the prediction is empty."""
    boxes = tuple(prompt for prompt in seed if isinstance(prompt, Box))
    if boxes and is_published and front.plane == front.seed:
        return boxes
    mask = answer.mask.astype(np.bool_, copy=False)
    if boxes:
        corners = tight_box(mask)
        return () if corners is None else (Box(*corners, boxes[-1].object_id),)
    middle = snapped_box_centre(mask) if is_published else snapped_mean(mask)
    return () if middle is None else (Click(middle),)


def _dropped(seeds: SlicePrompts) -> set[int]:
    """Return the slices whose prompts get lost as published: it takes a shorter list of points for a longer one."""
    lost: set[int] = set()
    for plane, prompts in seeds.items():
        clicks = sum(isinstance(prompt, Click) for prompt in prompts)
        if clicks and clicks == len(prompts):
            lost |= set(range(plane - PUBLISHED_POINTS + clicks, plane))
    return lost - set(seeds)
