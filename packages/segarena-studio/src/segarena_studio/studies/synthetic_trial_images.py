"""Easy pictures for training and attention checks: one large shape on a calm background."""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena_studio.studies.study_targets import StudyTarget

_HEIGHT = 480
_WIDTH = 640
_RADIUS = 80
_COLOURS = {
    "red": (200, 45, 45),
    "blue": (40, 80, 190),
    "yellow": (235, 200, 40),
    "green": (50, 140, 70),
    "violet": (125, 60, 150),
    "white": (245, 245, 240),
}
_SIDES = {"disc": 0, "triangle": 3, "square": 4, "hexagon": 6}


def generate_easy_items(count: int, seed: int) -> Iterator[StudyTarget]:
    """Generate different pictures, each with one shape that no attentive person misses."""
    rng = np.random.default_rng([seed, 4])
    for number in range(count):
        colour = list(_COLOURS)[number % len(_COLOURS)]
        # Colours and shapes repeat together every 12 pictures; the second term shifts the shapes then.
        shape = list(_SIDES)[number % 4 ^ number // 12 % 4]
        centre = (
            int(rng.integers(2 * _RADIUS, _WIDTH - 2 * _RADIUS)),
            int(rng.integers(_RADIUS + 20, _HEIGHT - _RADIUS - 20)),
        )
        mask = _shape(_SIDES[shape], centre)
        picture = _background(rng)
        picture[mask] = _COLOURS[colour]
        yield StudyTarget(
            image=f"easy:{number}",
            sample=f"easy {number}",
            target="shape",
            label=f"the {colour} {shape}",
            is_easy=True,
            picture=picture,
            mask=mask,
        )


def _shape(sides: int, centre: tuple[int, int]) -> Mask:
    canvas = np.zeros((_HEIGHT, _WIDTH), dtype=np.uint8)
    if not sides:
        cv2.circle(canvas, centre, _RADIUS, 1, cv2.FILLED)
    else:
        # Half a step: squares and hexagons rest on a side.
        angles = [math.tau * (side + 0.5) / sides + math.pi / 2 for side in range(sides)]
        corners: list[list[float]] = []
        for angle in angles:
            x = centre[0] + _RADIUS * math.cos(angle)
            y = centre[1] + _RADIUS * math.sin(angle)
            corners.append([x, y])
        cv2.fillPoly(canvas, [np.rint(corners).astype(np.int32)], 1)
    return canvas > 0


def _background(rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return a slowly varying grey, like a sky."""
    # Between black and white, so that every colour of a shape stands out.
    corners = rng.uniform(95, 165, (2, 2)).astype(np.float32)
    smooth = cv2.resize(corners, (_WIDTH, _HEIGHT), interpolation=cv2.INTER_LINEAR)
    grey = np.rint(smooth).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)
