"""Generated scenes of which everything is known, and five annotators who draw them with stated sloppiness.

Things are boxes with whole corners, whose pixels any rule fills alike, and ellipses, which are drawn as polygons and
so differ a little from their true pixels. Sky and ground share the vertices of the horizon.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.samples import Mask
from segarena.systems.scenes.model.polygons import Points
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, make_scene

SHAPE = (240, 320)

_THINGS = ("ball", "box", "crate", "barrel", "stone", "drum")
_OTHER_NAMES = {
    "ball": "sphere",
    "box": "case",
    "crate": "chest",
    "barrel": "cask",
    "stone": "rock",
    "drum": "tub",
}
_LEAST_SEEN = 0.25
_SIDE_PX = 40
_ELLIPSE_VERTICES = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueShape:
    """What a region truly is: a box of whole corners, half-open, or the largest ellipse in it."""

    name: str
    kind: Literal["box", "ellipse"]
    top: int
    left: int
    bottom: int
    right: int
    is_stuff: bool = False

    def covers(self, shape: tuple[int, int]) -> Mask:
        """Return the pixels whose centre lies in it, bool (H, W)."""
        rows, columns = np.ogrid[0.5 : shape[0] : 1.0, 0.5 : shape[1] : 1.0]
        if self.kind == "box":
            return (
                (rows > self.top)
                & (rows < self.bottom)
                & (columns > self.left)
                & (columns < self.right)
            )
        across = (2 * rows - self.top - self.bottom) / (self.bottom - self.top)
        along = (2 * columns - self.left - self.right) / (self.right - self.left)
        return across**2 + along**2 <= 1

    def outline(self) -> Points:
        """Return it as a polygon: boxes exactly, ellipses of the same area."""
        if self.kind == "box":
            return _box_outline(self.top, self.left, self.bottom, self.right)
        angles = np.linspace(0, 2 * np.pi, _ELLIPSE_VERTICES, endpoint=False)
        # A polygon inside an ellipse has less area; this factor makes up for it.
        grown = 1 / np.sqrt(np.sin(2 * np.pi / _ELLIPSE_VERTICES) * _ELLIPSE_VERTICES / (2 * np.pi))
        halves = np.array([self.bottom - self.top, self.right - self.left]) / 2 * grown
        middle = np.array([self.top + self.bottom, self.left + self.right]) / 2
        return np.round(middle + halves * np.stack([np.sin(angles), np.cos(angles)], axis=1), 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class TrueScene:
    """A generated scene.

    Attributes:
        shapes: front first.
        photo: uint8 (H, W, 3), what a camera would see.
        scene: what somebody without fault would draw; region ids are "1" for the front, "2", ...
    """

    shapes: tuple[TrueShape, ...]
    photo: NDArray[np.uint8]
    scene: Scene

    @cached_property
    def masks(self) -> NDArray[np.bool_]:
        """True full extents, bool (N, H, W), front first."""
        return np.stack([shape.covers(self.scene.shape) for shape in self.shapes])

    @cached_property
    def visible(self) -> NDArray[np.bool_]:
        """True visible parts, bool (N, H, W)."""
        before = np.cumsum(self.masks, axis=0) - self.masks
        return self.masks & (before == 0)

    @property
    def occlusion(self) -> tuple[float, ...]:
        """Hidden share of each region."""
        areas = self.masks.sum(axis=(1, 2))
        seen = self.visible.sum(axis=(1, 2))
        return tuple(float(value) for value in (areas - seen) / areas)

    @property
    def overlap_px(self) -> NDArray[np.int64]:
        """Pixels that every two regions share, int64 (N, N); areas on the diagonal."""
        flat = self.masks.reshape(len(self.shapes), -1).astype(np.int64)
        return flat @ flat.T

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Places (in front, behind) of all regions that overlap, 0 for the front."""
        return tuple((int(a), int(b)) for a, b in np.argwhere(np.triu(self.overlap_px, 1)))

    @property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """Places of the regions that hang together by overlapping, each component ascending."""
        group = list(range(len(self.shapes)))
        for front, behind in self.pairs:
            old = group[behind]
            new = group[front]
            group = [new if value == old else value for value in group]
        members: dict[int, list[int]] = {}
        for place, value in enumerate(group):
            members.setdefault(value, []).append(place)
        return tuple(map(tuple, members.values()))

    @property
    def layers(self) -> tuple[int, ...]:
        """How many depth layers each component has: regions on its longest chain of occluders."""
        depth = [1] * len(self.shapes)
        for front, behind in sorted(self.pairs, key=lambda pair: pair[1]):
            depth[behind] = max(depth[behind], depth[front] + 1)
        return tuple(max(map(depth.__getitem__, component)) for component in self.components)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sloppiness:
    """How an annotator errs.

    Attributes:
        annotator: who.
        vertex_noise_px: standard deviation of each vertex in rows and in columns; shared vertices stay shared, and
            those on the frame of the image stay on it.
        missing: chance of each thing to be left out.
        swapped: chance of each neighbouring pair in the order to change places.
        renamed: chance of each thing to get another word.
    """

    annotator: str
    vertex_noise_px: float = 0.0
    missing: float = 0.0
    swapped: float = 0.0
    renamed: float = 0.0


ANNOTATORS = (
    Sloppiness(annotator="exact"),
    Sloppiness(annotator="steady", vertex_noise_px=0.5),
    Sloppiness(annotator="shaky", vertex_noise_px=2.0),
    Sloppiness(annotator="forgetful", vertex_noise_px=0.5, missing=0.3),
    Sloppiness(annotator="confused", vertex_noise_px=1.0, swapped=0.3, renamed=0.3),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDrawing:
    """What an annotator made of a scene, and where it went wrong: ids of regions, as in the true scene."""

    scene: Scene
    sloppiness: Sloppiness
    missing: tuple[str, ...]
    swapped: tuple[tuple[str, str], ...]
    renamed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoScene:
    """A true scene and what everyone drew of it."""

    truth: TrueScene
    drawings: tuple[DemoDrawing, ...]


def demo_scenes(
    *, images: int = 6, seed: int = 0, shape: tuple[int, int] = SHAPE
) -> tuple[DemoScene, ...]:
    """Return generated scenes, each drawn by the five annotators; the same options give the same scenes.

    Every second scene has a sky and a ground behind its things. In the others, things stand alone or in groups. A side
    has at least 120 pixels.
    """
    if images < 1 or min(shape) < 120:
        raise InvalidInput(
            f"expected at least 1 image of 120 x 120 pixels, got {images} of {shape[0]} x {shape[1]}"
        )
    truths = [
        _true_scene(number, shape, np.random.default_rng((seed, number)))
        for number in range(images)
    ]
    scenes: list[DemoScene] = []
    for number, truth in enumerate(truths):
        rngs = (np.random.default_rng((seed, number, place)) for place in range(len(ANNOTATORS)))
        drawings = map(draw_scene, repeat(truth), ANNOTATORS, rngs)
        scenes.append(DemoScene(truth=truth, drawings=tuple(drawings)))
    return tuple(scenes)


def draw_scene(truth: TrueScene, sloppiness: Sloppiness, rng: np.random.Generator) -> DemoDrawing:
    """Return what an annotator of this sloppiness draws of a scene; at least one thing is always drawn."""
    scene = replace(
        _with_noise(truth.scene, sloppiness.vertex_noise_px, rng), annotator=sloppiness.annotator
    )
    things = [region.id for region in scene.regions if not region.is_stuff]
    missing = tuple(region_id for region_id in things[1:] if rng.random() < sloppiness.missing)
    for region_id in missing:
        scene = scene.without(region_id)
    order = [region.id for region in scene.regions]
    swapped: list[tuple[str, str]] = []
    for place in range(len(order) - 1):
        if rng.random() < sloppiness.swapped:
            swapped.append((order[place], order[place + 1]))
            order[place : place + 2] = order[place + 1], order[place]
    scene = scene.reordered(order)
    renamed = tuple(i for i in things if i not in missing and rng.random() < sloppiness.renamed)
    for region_id in renamed:
        scene = scene.renamed(region_id, _OTHER_NAMES[scene.region(region_id).name])
    return DemoDrawing(
        scene=scene, sloppiness=sloppiness, missing=missing, swapped=tuple(swapped), renamed=renamed
    )


def _true_scene(number: int, shape: tuple[int, int], rng: np.random.Generator) -> TrueScene:
    height, width = shape
    horizon = int(rng.integers(height // 3, height // 2))
    stuff = (
        TrueShape(
            name="sky", kind="box", top=0, left=0, bottom=horizon, right=width, is_stuff=True
        ),
        TrueShape(
            name="ground",
            kind="box",
            top=horizon,
            left=0,
            bottom=height,
            right=width,
            is_stuff=True,
        ),
    )
    shapes = (*_things(shape, rng), *(stuff if number % 2 == 0 else ()))
    image = ImageRecord(id=str(number + 1), shape=shape, file_name=f"scene-{number + 1}.png")
    drawn = [
        (Region(id=str(place), name=one.name, is_stuff=one.is_stuff), [one.outline()])
        for place, one in enumerate(shapes, 1)
    ]
    scene = make_scene(image, drawn, annotator="truth")
    truth = TrueScene(shapes=shapes, photo=np.zeros((*shape, 3), np.uint8), scene=scene)
    return replace(truth, photo=_photo(truth, rng))


def _things(shape: tuple[int, int], rng: np.random.Generator) -> tuple[TrueShape, ...]:
    """Return four to eight things, drawn again until a quarter of each is seen."""
    height, width = shape
    wanted = int(rng.integers(4, 9))
    while True:
        things = tuple(_thing(height, width, rng) for _ in range(wanted))
        masks = np.stack([thing.covers(shape) for thing in things])
        seen = (masks & (np.cumsum(masks, axis=0) == 1)).sum(axis=(1, 2))
        if (seen >= _LEAST_SEEN * masks.sum(axis=(1, 2))).all():
            return things


def _thing(height: int, width: int, rng: np.random.Generator) -> TrueShape:
    tall = int(rng.integers(36, height // 2))
    wide = int(rng.integers(36, height // 2))
    top = int(rng.integers(1, height - tall))
    left = int(rng.integers(1, width - wide))
    kind: Literal["box", "ellipse"] = "box" if rng.random() < 0.5 else "ellipse"
    name = str(rng.choice(_THINGS))
    return TrueShape(name=name, kind=kind, top=top, left=left, bottom=top + tall, right=left + wide)


def _box_outline(top: int, left: int, bottom: int, right: int) -> Points:
    """Return a box with a vertex every 40 pixels, which boxes side by side share."""
    columns = [left, *range((left // _SIDE_PX + 1) * _SIDE_PX, right, _SIDE_PX), right]
    rows = [top, *range((top // _SIDE_PX + 1) * _SIDE_PX, bottom, _SIDE_PX), bottom]
    sides = [(top, column) for column in columns[:-1]] + [(row, right) for row in rows[:-1]]
    sides += [(bottom, column) for column in columns[:0:-1]] + [(row, left) for row in rows[:0:-1]]
    return np.array(sides, dtype=np.float64)


def _with_noise(scene: Scene, noise_px: float, rng: np.random.Generator) -> Scene:
    points = np.array(scene.vertices)
    limit = np.array(scene.shape, dtype=np.float64)
    on_frame = (points <= 0) | (points >= limit)
    moved = np.clip(points + rng.normal(0.0, 1.0, points.shape) * noise_px, 0, limit)
    kept = np.round(np.where(on_frame, points, moved), 2)  # two decimals, as people's tools store
    return replace(scene, vertices=tuple((row, column) for row, column in kept.tolist()))


def _photo(truth: TrueScene, rng: np.random.Generator) -> NDArray[np.uint8]:
    colours = rng.integers(40, 216, (len(truth.shapes) + 1, 3))
    owner = (truth.visible * np.arange(1, len(truth.shapes) + 1)[:, None, None]).sum(axis=0)
    noise = rng.normal(0, 6, (*truth.scene.shape, 3))
    return np.clip(colours[owner] + noise, 0, 255).astype(np.uint8)
