"""Click features: position of a click relative to its goal."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import window_start
from segarena.errors import InvalidPrompt
from segarena.prompts import Click
from segarena.samples import Mask
from segarena_people.measures.goal_mask_geometry import GoalShape

CLICK_FEATURES: dict[str, str] = {
    "row": "vertical position in the goal's box, 0 at its upper edge, 1 at its lower edge",
    "column": "horizontal position in the goal's box, 0 at its left edge, 1 at its right edge",
    "depth": "depth in the goal, divided by the maximum depth; 0 outside the goal",
    "offset": "distance from the goal's centroid, divided by the square root of its area",
    "off_goal": "distance from the goal's nearest pixel, divided by the square root of its area; 0 on the goal",
}
"""Features with their definitions, in order."""


def click_features(click: Click, goal: Mask | GoalShape) -> NDArray[np.float64]:
    """Return `CLICK_FEATURES` of a click.

    >>> goal = np.zeros((20, 20), bool)
    >>> goal[5:14, 5:14] = True
    >>> click_features(Click((9, 9)), goal).tolist()
    [0.5, 0.5, 1.0, 0.0, 0.0]

    Args:
        click: click in an image, or in one slice or frame; only its last two axes are used.
        goal: bool (H, W), or its `GoalShape`.

    Raises:
        InvalidPrompt: the click has fewer than two axes.
        InvalidMask: the goal is empty.
    """
    shape = goal if isinstance(goal, GoalShape) else GoalShape(goal)
    if len(click.position) < 2:
        raise InvalidPrompt(f"click: expected two axes or more, got {len(click.position)}")
    position = np.array(click.position[-2:])
    # The centre of a pixel is half a pixel from its edges.
    in_box = (position - window_start(shape.window) + 0.5) / shape.extent
    depth = shape.depth_at(position[:1], position[1:])
    if depth[0]:
        away = 0.0
    else:
        squared = np.square(shape.pixels - position).sum(axis=1)
        away = math.sqrt(float(squared.min()))
    offset = float(np.linalg.norm(position - shape.centroid))
    return np.array([*in_box, *depth, offset / shape.side, away / shape.side])
