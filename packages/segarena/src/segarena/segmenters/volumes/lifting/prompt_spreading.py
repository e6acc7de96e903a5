"""Spreads the prompts of a few slices over the slices between them, before any prediction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from segarena.arrays.slices import interpolate_boxes, interpolate_points
from segarena.dialogue import Spread
from segarena.prompts import Box, Click, Limits, Prompt


def spread_prompts(prompts: Sequence[Prompt], spread: Spread) -> tuple[Prompt, ...]:
    """Return the prompts of a first round, spread over other slices by the rule `spread`.

    "interpolate": positive clicks and boxes of single slices are keyframes. Every slice from the
    first to the last keyframe gets a prompt by linear interpolation. Slices in a gap of the object
    get one too, because the segmenter must not learn where gaps are. A single keyframe stays as it
    is. If slices have several clicks, the first click of a slice continues with the first click of
    the next keyframe, the second with the second, and so on. "extrude": a box of a single slice is
    drawn on all slices within the limits, if there are limits. All other prompts are unchanged.

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
    """Return whether a prompt can be interpolated: a positive click, or a box of a single slice."""
    if isinstance(prompt, Box):
        return prompt.stop[0] - prompt.start[0] == 1
    return isinstance(prompt, Click) and prompt.is_positive


def _interpolated(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
    """Return prompts with boxes and clicks added on the slices between keyframes."""
    boxes: dict[int, list[Box]] = defaultdict(list)
    chains: dict[tuple[int, int], list[Click]] = defaultdict(list)
    clicks_on_plane: dict[tuple[int, int], int] = defaultdict(int)
    keyframes = [prompt for prompt in prompts if is_keyframe(prompt)]
    others = [prompt for prompt in prompts if not is_keyframe(prompt)]
    # A duplicate of a prompt must not start a second chain of clicks.
    for prompt in dict.fromkeys(keyframes):
        if isinstance(prompt, Box):
            boxes[prompt.object_id].append(prompt)
        elif isinstance(prompt, Click):
            # The n-th click of each slice belongs to the n-th chain.
            plane = (prompt.object_id, prompt.position[0])
            chains[prompt.object_id, clicks_on_plane[plane]].append(prompt)
            clicks_on_plane[plane] += 1
    spread: list[Prompt] = []
    for keys in boxes.values():
        spread += _between_boxes(keys)
    for clicks in chains.values():
        spread += _between_clicks(clicks)
    return (*spread, *others)


def _between_boxes(keys: Sequence[Box]) -> Iterable[Box]:
    corners = interpolate_boxes((key.start, key.stop) for key in keys)
    for plane, (start, stop) in corners.items():
        yield replace(keys[0], start=(plane, *start), stop=(plane + 1, *stop))


def _between_clicks(keys: Sequence[Click]) -> Iterable[Click]:
    pixels = interpolate_points(key.position for key in keys)
    for plane, pixel in pixels.items():
        yield replace(keys[0], position=(plane, *pixel))


def _extruded(prompt: Prompt, ends: Limits) -> Prompt:
    """Extend a box of one slice over all slices of the limits; return other prompts unchanged."""
    if not isinstance(prompt, Box) or not is_keyframe(prompt):
        return prompt
    start = (ends.first, *prompt.start[1:])
    stop = (ends.last + 1, *prompt.stop[1:])
    return replace(prompt, start=start, stop=stop)
