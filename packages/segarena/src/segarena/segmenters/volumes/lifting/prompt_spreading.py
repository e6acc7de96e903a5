"""Spread the prompts of a few slices over the slices between them, before any prediction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from segarena.arrays.slices import interpolate_boxes, interpolate_points
from segarena.dialogue import Spread
from segarena.prompts import Box, Click, Limits, Prompt


def spread_prompts(prompts: Sequence[Prompt], spread: Spread) -> tuple[Prompt, ...]:
    """Return the prompts of a first round, spread over all slices of the volume.

    "interpolate": positive clicks and boxes of single slices are keyframes. Every slice from the first
    to the last keyframe gets a prompt by linear interpolation, also where the object has a gap,
    because the segmenter must not know where. A single keyframe stays. Of several clicks in a slice,
    the first one continues with the first one of the next keyframe, the second with the second, etc.
    "extrude": a box of a single slice is drawn on all slices within the limits, if there are limits.
    All other prompts stay as they are.

    Source: RadioActive, sections 2.1 and 2.2; rounding as in its code (half to even).
    """
    if spread == "interpolate":
        return _interpolated(prompts)
    if spread == "extrude":
        ends = [prompt for prompt in prompts if isinstance(prompt, Limits) and prompt.axis == 0]
        if ends:
            return tuple(_extruded(prompt, ends[-1]) for prompt in prompts)
    return tuple(prompts)


def is_keyframe(prompt: Prompt) -> bool:
    """Return whether a prompt is interpolated: a positive click, or a box of a single slice."""
    if isinstance(prompt, Box):
        return prompt.stop[0] - prompt.start[0] == 1
    return isinstance(prompt, Click) and prompt.is_positive


def _interpolated(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
    boxes: dict[int, list[Box]] = defaultdict(list)
    chains: dict[tuple[int, int], list[Click]] = defaultdict(list)
    seen: dict[tuple[int, int], int] = defaultdict(int)
    for prompt in dict.fromkeys(prompt for prompt in prompts if is_keyframe(prompt)):
        if isinstance(prompt, Box):
            boxes[prompt.object_id].append(prompt)
        elif isinstance(prompt, Click):
            plane = (prompt.object_id, prompt.position[0])
            chains[prompt.object_id, seen[plane]].append(prompt)
            seen[plane] += 1
    return (
        *chain(*map(_between_boxes, boxes.values())),
        *chain(*map(_between_clicks, chains.values())),
        *(prompt for prompt in prompts if not is_keyframe(prompt)),
    )


def _between_boxes(keys: Sequence[Box]) -> Iterable[Box]:
    for plane, (start, stop) in interpolate_boxes((key.start, key.stop) for key in keys).items():
        yield replace(keys[0], start=(plane, *start), stop=(plane + 1, *stop))


def _between_clicks(keys: Sequence[Click]) -> Iterable[Click]:
    for plane, pixel in interpolate_points(key.position for key in keys).items():
        yield replace(keys[0], position=(plane, *pixel))


def _extruded(prompt: Prompt, ends: Limits) -> Prompt:
    if not isinstance(prompt, Box) or not is_keyframe(prompt):
        return prompt
    return replace(
        prompt, start=(ends.first, *prompt.start[1:]), stop=(ends.last + 1, *prompt.stop[1:])
    )
