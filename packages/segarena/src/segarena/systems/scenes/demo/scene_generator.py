"""Generated scenes with known ground truth, and five simulated annotators with known error rates.

Things are boxes and ellipses. Boxes have integer corners, so all fill rules give the same pixels.
Ellipses are drawn as polygons, so they differ slightly from their true pixels. Sky and ground share
the vertices of the horizon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.polygon_points import Points
from segarena.errors import InvalidInput
from segarena.samples import Mask
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
# Minimum visible share of each thing.
_LEAST_VISIBLE = 0.25
# Distance between vertices along the sides of a box.
_SIDE_PX = 40
_ELLIPSE_VERTICES = 48


# Smaller images leave too little room for the largest things and the horizon.
_LEAST_SIDE_PX = 120


_LEAST_THING_PX = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueShape:
    """True shape of a region: a half-open box with integer corners, or the largest ellipse inside it."""

    name: str
    kind: Literal["box", "ellipse"]
    top: int
    left: int
    bottom: int
    right: int
    is_stuff: bool = False

    def covers(self, shape: tuple[int, int]) -> Mask:
        """Return the pixels whose centre lies inside the shape, bool (H, W)."""
        rows, columns = np.ogrid[0.5 : shape[0] : 1.0, 0.5 : shape[1] : 1.0]
        if self.kind == "box":
            in_rows = (rows > self.top) & (rows < self.bottom)
            in_columns = (columns > self.left) & (columns < self.right)
            return in_rows & in_columns
        # Coordinates relative to the centre, in units of the half axes.
        height = self.bottom - self.top
        width = self.right - self.left
        down = (2 * rows - self.top - self.bottom) / height
        right = (2 * columns - self.left - self.right) / width
        return down**2 + right**2 <= 1

    def outline(self) -> Points:
        """Return the shape as a polygon: exact for a box, with the same area for an ellipse."""
        if self.kind == "box":
            return _box_outline(self.top, self.left, self.bottom, self.right)
        angles = np.linspace(0, 2 * np.pi, _ELLIPSE_VERTICES, endpoint=False)
        # An inscribed polygon has a smaller area than the ellipse, which this factor corrects.
        step = 2 * np.pi / _ELLIPSE_VERTICES
        growth = 1 / np.sqrt(np.sin(step) * _ELLIPSE_VERTICES / (2 * np.pi))
        half_axes = np.array([self.bottom - self.top, self.right - self.left]) / 2 * growth
        centre = np.array([self.top + self.bottom, self.left + self.right]) / 2
        directions = np.stack([np.sin(angles), np.cos(angles)], axis=1)
        return np.round(centre + half_axes * directions, 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class TrueScene:
    """A generated scene.

    Attributes:
        shapes: true shapes, front first.
        photo: uint8 (H, W, 3), the rendered photograph.
        scene: the drawing of an annotator without errors; region ids are "1" for the front, "2",
            ...
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
        """Hidden share of each region, 0 to 1."""
        areas = self.masks.sum(axis=(1, 2))
        visible_areas = self.visible.sum(axis=(1, 2))
        hidden = (areas - visible_areas) / areas
        return tuple(float(value) for value in hidden)

    @property
    def overlap_px(self) -> NDArray[np.int64]:
        """Number of pixels shared by each pair of regions, int64 (N, N); areas on the diagonal."""
        flat = self.masks.reshape(len(self.shapes), -1).astype(np.int64)
        return flat @ flat.T

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Index pairs (in front, behind) of all overlapping regions; index 0 is the frontmost region."""
        overlapping = np.argwhere(np.triu(self.overlap_px, 1))
        return tuple((int(front), int(behind)) for front, behind in overlapping)

    @property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """Indices of regions that are connected by overlaps, ascending within each component."""
        group_of = list(range(len(self.shapes)))
        for front, behind in self.pairs:
            old = group_of[behind]
            for index, group in enumerate(group_of):
                if group == old:
                    group_of[index] = group_of[front]
        members: dict[int, list[int]] = {}
        for index, group in enumerate(group_of):
            members.setdefault(group, []).append(index)
        return tuple(tuple(component) for component in members.values())

    @property
    def layers(self) -> tuple[int, ...]:
        """Number of depth layers of each component: the regions on its longest chain of occluders."""
        depth = [1] * len(self.shapes)
        # Sorted by the region behind, so that the depth of the region in front is final when it is
        # read.
        for front, behind in sorted(self.pairs, key=lambda pair: pair[1]):
            depth[behind] = max(depth[behind], depth[front] + 1)
        deepest: list[int] = []
        for component in self.components:
            depths = [depth[index] for index in component]
            deepest.append(max(depths))
        return tuple(deepest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sloppiness:
    """Error rates of a simulated annotator.

    Attributes:
        annotator: name of the annotator.
        vertex_noise_px: standard deviation of the noise on rows and columns of a vertex; shared
            vertices stay shared, and vertices on the image frame stay on it.
        missing: probability that a thing other than the frontmost is left out.
        swapped: probability that two neighbours in the depth order are swapped.
        renamed: probability that a thing gets another name.
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
    Sloppiness(
        annotator="confused",
        vertex_noise_px=1.0,
        swapped=0.3,
        renamed=0.3,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDrawing:
    """One annotator's drawing of a scene, and its errors as region ids of the true scene."""

    scene: Scene
    sloppiness: Sloppiness
    missing: tuple[str, ...]
    swapped: tuple[tuple[str, str], ...]
    renamed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoScene:
    """A true scene and the drawings of all annotators."""

    truth: TrueScene
    drawings: tuple[DemoDrawing, ...]


def demo_scenes(
    *,
    images: int = 6,
    seed: int = 0,
    shape: tuple[int, int] = SHAPE,
) -> tuple[DemoScene, ...]:
    """Generate scenes and drawings by five annotators; the same options give the same scenes.

    Every second scene, beginning with the first, has a sky and a ground behind its things. In the
    others, things stand alone or in groups. Each side of an image has at least 120 pixels.
    """
    if images < 1 or min(shape) < _LEAST_SIDE_PX:
        raise InvalidInput(
            f"expected at least 1 image of at least 120 x 120 pixels, got {images} of {shape[0]} x {shape[1]}"
        )
    scenes: list[DemoScene] = []
    for number in range(images):
        truth = _true_scene(number, shape, np.random.default_rng((seed, number)))
        drawings: list[DemoDrawing] = []
        for index, sloppiness in enumerate(ANNOTATORS):
            rng = np.random.default_rng((seed, number, index))
            drawings.append(draw_annotation(truth, sloppiness, rng))
        scenes.append(DemoScene(truth=truth, drawings=tuple(drawings)))
    return tuple(scenes)


def draw_annotation(
    truth: TrueScene,
    sloppiness: Sloppiness,
    rng: np.random.Generator,
) -> DemoDrawing:
    """Simulate an annotator's drawing of a scene with given error rates; at least one thing is drawn."""
    noisy = _with_noise(truth.scene, sloppiness.vertex_noise_px, rng)
    scene = replace(noisy, annotator=sloppiness.annotator)
    things = [region.id for region in scene.regions if not region.is_stuff]
    # The first thing is never left out, so that no drawing is empty.
    missing = _draw_some(things[1:], sloppiness.missing, rng)
    for region_id in missing:
        scene = scene.without(region_id)
    order = [region.id for region in scene.regions]
    swapped: list[tuple[str, str]] = []
    for index in range(len(order) - 1):
        if rng.random() < sloppiness.swapped:
            swapped.append((order[index], order[index + 1]))
            order[index], order[index + 1] = order[index + 1], order[index]
    scene = scene.reordered(order)
    remaining = [region_id for region_id in things if region_id not in missing]
    renamed = _draw_some(remaining, sloppiness.renamed, rng)
    for region_id in renamed:
        name = scene.region(region_id).name
        scene = scene.renamed(region_id, _OTHER_NAMES[name])
    return DemoDrawing(
        scene=scene,
        sloppiness=sloppiness,
        missing=missing,
        swapped=tuple(swapped),
        renamed=renamed,
    )


def _draw_some(
    region_ids: Sequence[str],
    probability: float,
    rng: np.random.Generator,
) -> tuple[str, ...]:
    """Sample the ids, each with the given probability; every id uses exactly one random number."""
    drawn: list[str] = []
    for region_id in region_ids:
        if rng.random() < probability:
            drawn.append(region_id)
    return tuple(drawn)


def _true_scene(
    number: int,
    shape: tuple[int, int],
    rng: np.random.Generator,
) -> TrueScene:
    height, width = shape
    horizon = int(rng.integers(height // 3, height // 2))
    shapes = _things(shape, rng)
    if number % 2 == 0:
        sky = TrueShape(
            name="sky",
            kind="box",
            top=0,
            left=0,
            bottom=horizon,
            right=width,
            is_stuff=True,
        )
        ground = TrueShape(
            name="ground",
            kind="box",
            top=horizon,
            left=0,
            bottom=height,
            right=width,
            is_stuff=True,
        )
        shapes = (*shapes, sky, ground)
    image = ImageRecord(id=str(number + 1), shape=shape, file_name=f"scene-{number + 1}.png")
    regions: list[tuple[Region, list[Points]]] = []
    for order, one in enumerate(shapes, 1):
        region = Region(id=str(order), name=one.name, is_stuff=one.is_stuff)
        regions.append((region, [one.outline()]))
    scene = make_scene(image, regions, annotator="truth")
    truth = TrueScene(shapes=shapes, photo=np.zeros((*shape, 3), np.uint8), scene=scene)
    return replace(truth, photo=_photo(truth, rng))


def _things(shape: tuple[int, int], rng: np.random.Generator) -> tuple[TrueShape, ...]:
    """Return four to eight things, sampled again until at least a quarter of each is visible."""
    height, width = shape
    count = int(rng.integers(4, 9))
    while True:
        things: list[TrueShape] = []
        extents: list[Mask] = []
        for _ in range(count):
            thing = _thing(height, width, rng)
            things.append(thing)
            extents.append(thing.covers(shape))
        masks = np.stack(extents)
        # A pixel shows the first thing that covers it, which is the frontmost.
        is_visible = masks & (np.cumsum(masks, axis=0) == 1)
        areas = masks.sum(axis=(1, 2))
        visible_areas = is_visible.sum(axis=(1, 2))
        if (visible_areas >= _LEAST_VISIBLE * areas).all():
            return tuple(things)


def _thing(
    height: int,
    width: int,
    rng: np.random.Generator,
) -> TrueShape:
    # The generated scenes depend on the order of the random draws, so it must not change.
    thing_height = int(rng.integers(_LEAST_THING_PX, height // 2))
    thing_width = int(rng.integers(_LEAST_THING_PX, height // 2))
    top = int(rng.integers(1, height - thing_height))
    left = int(rng.integers(1, width - thing_width))
    kind: Literal["box", "ellipse"] = "box" if rng.random() < 0.5 else "ellipse"
    return TrueShape(
        name=str(rng.choice(_THINGS)),
        kind=kind,
        top=top,
        left=left,
        bottom=top + thing_height,
        right=left + thing_width,
    )


def _box_outline(
    top: int,
    left: int,
    bottom: int,
    right: int,
) -> Points:
    """Return a box with a vertex at every multiple of 40 pixels, so that adjacent boxes share vertices."""
    columns = _side_positions(left, right)
    rows = _side_positions(top, bottom)
    # Clockwise from the upper left. Each side omits its last corner, with which the next side
    # starts.
    corners: list[tuple[int, int]] = []
    for column in columns[:-1]:
        corners.append((top, column))
    for row in rows[:-1]:
        corners.append((row, right))
    for column in columns[:0:-1]:
        corners.append((bottom, column))
    for row in rows[:0:-1]:
        corners.append((row, left))
    return np.array(corners, dtype=np.float64)


def _side_positions(start: int, stop: int) -> list[int]:
    first = (start // _SIDE_PX + 1) * _SIDE_PX
    return [start, *range(first, stop, _SIDE_PX), stop]


def _with_noise(
    scene: Scene,
    noise_px: float,
    rng: np.random.Generator,
) -> Scene:
    points = np.array(scene.vertices)
    limit = np.array(scene.shape, dtype=np.float64)
    is_on_frame = (points <= 0) | (points >= limit)
    noise = rng.normal(0.0, 1.0, points.shape) * noise_px
    moved = np.clip(points + noise, 0, limit)
    moved_inside = np.where(is_on_frame, points, moved)
    rounded = np.round(moved_inside, 2)  # two decimals, as annotation tools store
    vertices = tuple((row, column) for row, column in rounded.tolist())
    return replace(scene, vertices=vertices)


def _photo(truth: TrueScene, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Render each region in a random colour, with noise."""
    count = len(truth.shapes)
    # The range avoids black and white, so that the noise is seldom clipped.
    colours = rng.integers(40, 216, (count + 1, 3))
    numbers = np.arange(1, count + 1)[:, None, None]
    owner = (truth.visible * numbers).sum(axis=0)
    noise = rng.normal(0, 6, (*truth.scene.shape, 3))
    noisy = colours[owner] + noise
    return np.clip(noisy, 0, 255).astype(np.uint8)
