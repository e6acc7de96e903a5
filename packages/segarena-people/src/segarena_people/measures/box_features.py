"""Box features: offsets of a box's four edges from those of its goal's tight box."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import window_start
from segarena.errors import InvalidPrompt
from segarena.prompts import Box
from segarena.samples import Mask
from segarena_people.measures.goal_mask_geometry import GoalShape

BOX_FEATURES: dict[str, str] = {
    "top": "distance of the upper edge outside that of the goal, divided by the goal's height",
    "left": "distance of the left edge outside that of the goal, divided by the goal's width",
    "bottom": "distance of the lower edge outside that of the goal, divided by the goal's height",
    "right": "distance of the right edge outside that of the goal, divided by the goal's width",
}
"""Feature definitions in order; a value is negative if the edge cuts off part of the goal."""


def box_features(box: Box, goal: Mask | GoalShape) -> NDArray[np.float64]:
    """Return `BOX_FEATURES` of a box.

    >>> goal = np.zeros((20, 20), bool)
    >>> goal[5:15, 4:8] = True
    >>> box_features(Box((4, 5), (15, 9)), goal).tolist()
    [0.1, -0.25, 0.0, 0.25]

    Args:
        box: box in an image, or in one slice or frame; only its last two axes are used.
        goal: bool (H, W), or its `GoalShape`.

    Raises:
        InvalidPrompt: the box has fewer than two axes.
        InvalidMask: the goal is empty.
    """
    shape = goal if isinstance(goal, GoalShape) else GoalShape(goal)
    if len(box.start) < 2:
        raise InvalidPrompt(f"box: expected two axes or more, got {len(box.start)}")
    start = np.array(window_start(shape.window))
    extent = np.array(shape.extent)
    before = start - box.start[-2:]
    after = box.stop[-2:] - (start + extent)
    return np.concatenate([before / extent, after / extent])


def size_class(goal: Mask | GoalShape) -> str:
    """Return the octave of the square root of the goal's area: "16-32" means at least 16 and less than 32 px.

    >>> size_class(np.ones((20, 20), bool))
    '16-32'
    """
    shape = goal if isinstance(goal, GoalShape) else GoalShape(goal)
    lower = 1 << (int(shape.side).bit_length() - 1)
    return f"{lower}-{2 * lower}"
