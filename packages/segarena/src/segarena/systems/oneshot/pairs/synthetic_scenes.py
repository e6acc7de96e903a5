"""Synthetic scenes of one textured shape among others: salient or not, easy or hard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask

SCENE_SHAPE_PX = (96, 128)
SCENE_CLASSES: Mapping[str, tuple[str, str, tuple[int, int, int]]] = {
    "striped disc": ("disc", "stripes", (205, 60, 50)),
    "checked square": ("square", "checks", (50, 110, 205)),
    "dotted triangle": ("triangle", "dots", (70, 165, 70)),
    "striped cross": ("cross", "stripes", (220, 165, 40)),
    "checked ring": ("ring", "checks", (150, 70, 175)),
    "dotted star": ("star", "dots", (45, 170, 175)),
    "checked disc": ("disc", "checks", (225, 110, 150)),
    "dotted cross": ("cross", "dots", (140, 95, 50)),
    "striped star": ("star", "stripes", (95, 95, 215)),
}
"""Shape, texture and colour of each class. Folds test the first six; the others make the Generalization tier."""

_GREY = np.asarray((128.0, 128.0, 128.0))


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticScene:
    """An RGB image, uint8 (H, W, 3), and the mask of each visible class."""

    image: NDArray[np.uint8]
    masks: Mapping[str, Mask]


def draw_scene(
    label: str,
    number: int,
    *,
    is_easy: bool,
    is_salient: bool,
) -> SyntheticScene:
    """Render the scene with index `number` of a class; the same arguments give the same scene.

    Easy scenes have a large object and one distractor. Hard scenes have a small object, noise over
    the whole image, and three distractors, preferably with the object's shape or texture. In
    salient scenes the object's colour contrasts with a grey background. In other scenes the
    background resembles the object's colour, and the distractors contrast with it.
    """
    class_number = list(SCENE_CLASSES).index(label)
    rng = np.random.default_rng([class_number, number, is_easy, is_salient])
    height, width = SCENE_SHAPE_PX
    _, _, class_colour = SCENE_CLASSES[label]
    colour = np.asarray(class_colour, dtype=np.float64)
    # Every scene depends on the order of the random draws, so this order must not change.
    if is_salient:
        ground = _GREY + float(rng.integers(-25, 26))
    else:
        ground = 0.55 * colour + 0.45 * _GREY
    grain = rng.normal(0, 6, (height, width, 1))
    image = np.clip(ground + grain, 0, 255) * np.ones(3)
    radius = rng.uniform(24, 29) if is_easy else rng.uniform(12, 16)
    shares = rng.permutation([(0.3, 0.26), (0.32, 0.76), (0.72, 0.28), (0.7, 0.74)])
    centres = shares * SCENE_SHAPE_PX
    if is_easy:
        # Large objects would reach beyond the frame, so they are moved towards its centre.
        to_middle = np.asarray(SCENE_SHAPE_PX) / 2 - centres[0]
        centres[0] = centres[0] + to_middle * 0.35
    masks: dict[str, Mask] = {}
    others = _choose_others(label, 1 if is_easy else 3, rng)
    objects = list(zip(others, centres[1:], strict=False))
    # The object is painted last, so that no distractor covers it.
    objects.append((label, centres[0]))
    for name, centre in objects:
        is_target = name == label
        size = radius if is_target else rng.uniform(10, 13)
        contrast = 1.0 if is_target == is_salient else 0.45
        mask = _paint(image, name, centre, size, contrast, ground, rng)
        masks = {known: known_mask & ~mask for known, known_mask in masks.items()}
        masks[name] = masks.get(name, np.zeros_like(mask)) | mask
    if not is_easy:
        image += rng.normal(0, 18, image.shape)
    pixels = np.clip(image, 0, 255).astype(np.uint8)
    visible = {name: mask for name, mask in masks.items() if mask.any()}
    return SyntheticScene(pixels, visible)


def _choose_others(
    label: str,
    count: int,
    rng: np.random.Generator,
) -> list[str]:
    """Return the classes of the distractors; if there are several, like shapes and textures come first."""
    shape, texture, _ = SCENE_CLASSES[label]
    others = rng.permutation([name for name in SCENE_CLASSES if name != label])
    names = [str(name) for name in others]

    def is_unlike(name: str) -> bool:
        return shape not in SCENE_CLASSES[name] and texture not in SCENE_CLASSES[name]

    if count > 1:
        names.sort(key=is_unlike)
    return names[:count]


def _paint(
    image: NDArray[np.float64],
    label: str,
    centre: NDArray[np.float64],
    radius_px: float,
    contrast: float,
    ground: NDArray[np.float64],
    rng: np.random.Generator,
) -> Mask:
    """Paint an object over the image and return its mask."""
    shape, texture, colour = SCENE_CLASSES[label]
    height, width = SCENE_SHAPE_PX
    rows, columns = np.mgrid[:height, :width].astype(np.float64)
    angle = rng.uniform(-0.5, 0.5)
    cosine = np.cos(angle)
    sine = np.sin(angle)
    down = rows - centre[0]
    right = columns - centre[1]
    across = (cosine * right + sine * down) / radius_px
    along = (cosine * down - sine * right) / radius_px
    mask: Mask = _SHAPES[shape](across, along)
    # Texture coordinates are in pixels, so that small and large objects have the same texture
    # scale.
    is_bright = _TEXTURES[texture](across * radius_px, along * radius_px)
    own_colour = np.asarray(colour) + rng.normal(0, 8, 3)
    tint = np.where(is_bright[..., None], 1.25, 0.7) * own_colour
    mixed = contrast * tint + (1 - contrast) * ground
    image[mask] = mixed[mask]
    return mask


def _star(across: NDArray[np.float64], along: NDArray[np.float64]) -> Mask:
    # Ten corners, which alternate between the tips and the notches of a five-pointed star.
    corners = np.arange(10)
    angles = corners * np.pi / 5
    radii = np.where(corners % 2, 0.45, 1.1)
    x_y = np.stack([radii * np.sin(angles), -radii * np.cos(angles)], axis=1)
    outline = x_y.astype(np.float32)
    inside: list[bool] = []
    for x, y in zip(across.flat, along.flat, strict=True):
        side = cv2.pointPolygonTest(outline, (float(x), float(y)), measureDist=False)
        inside.append(side >= 0)
    return np.reshape(inside, across.shape)


_SHAPES: Mapping[str, Callable[[NDArray[np.float64], NDArray[np.float64]], Mask]] = {
    "disc": lambda x, y: np.hypot(x, y) <= 1,
    "square": lambda x, y: np.maximum(abs(x), abs(y)) <= 0.88,
    "triangle": lambda x, y: (y <= 0.75) & (y >= 2 * abs(x) - 1.1),
    "cross": lambda x, y: (np.minimum(abs(x), abs(y)) <= 0.34) & (np.maximum(abs(x), abs(y)) <= 1),
    "ring": lambda x, y: (np.hypot(x, y) <= 1.05) & (np.hypot(x, y) >= 0.5),
    "star": _star,
}
_TEXTURES: Mapping[str, Callable[[NDArray[np.float64], NDArray[np.float64]], Mask]] = {
    "stripes": lambda x, y: np.floor(x / 3) % 2 == 0,
    "checks": lambda x, y: (np.floor(x / 4) + np.floor(y / 4)) % 2 == 0,
    "dots": lambda x, y: np.hypot(x % 7 - 3.5, y % 7 - 3.5) <= 2.2,
}
