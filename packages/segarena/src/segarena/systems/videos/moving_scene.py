"""What invented videos are made of: textures, things that move and bend over a background, and a camera that drifts.

Lengths are in frame heights, positions (row, column) of the world that the camera looks at; time runs from 0 to 1. So a
scene is the same in any size and with any number of frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Labels, Mask

Field: TypeAlias = NDArray[np.float32]
Colour: TypeAlias = tuple[int, int, int]
Path: TypeAlias = Callable[[float], tuple[float, float]]
"""Time to a position."""

NOISE = 4.0
FLICKER = 0.02
"""Standard deviations of the camera's noise, in levels, and of its brightness, as a share."""


class Rendering(NamedTuple):
    """How a thing looks from its own middle: colours float32 (H, W, 3), and how much of each pixel it covers."""

    colours: Field
    cover: Field


class Appearance(Protocol):
    """What a thing looks like at a place in its own coordinates, at a time; `pixel` is the size of a pixel in them."""

    def __call__(self, down: Field, right: Field, time: float, pixel: float) -> Rendering:
        """Return its look."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """One thing in a scene.

    Attributes:
        label: the object's number; 0 for what belongs to the scenery.
        look: its appearance; its own coordinates reach from about -1 to 1.
        path: where its middle is.
        size: half its height, by time.
        turn: by how many radians it is turned, by time.
        depth: how far away it is, by time; what is nearer covers what is farther.
    """

    label: int
    look: Appearance
    path: Path
    size: Callable[[float], float]
    turn: Callable[[float], float] = lambda time: 0.0
    depth: Callable[[float], float] = lambda time: 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingScene:
    """Background, things, and where the camera's upper left corner is; `ground` is float32 (H, W, 3), seamless.

    Attributes:
        ground_px: pixels of `ground` per frame height.
    """

    ground: Field
    ground_px: float
    camera: Path
    actors: tuple[Actor, ...]

    def shoot(
        self, frames: int, shape: tuple[int, int], rng: np.random.Generator
    ) -> tuple[NDArray[np.uint8], Labels]:
        """Return the frames, uint8 (T, H, W, 3), and the labels of what is seen in them, uint8 (T, H, W)."""
        images = np.empty((frames, *shape, 3), dtype=np.uint8)
        labels = np.zeros((frames, *shape), dtype=np.uint8)
        for frame in range(frames):
            picture = self._draw(frame / max(frames - 1, 1), labels[frame])
            picture = cv2.GaussianBlur(picture, (0, 0), 0.6) * np.float32(rng.normal(1.0, FLICKER))
            picture += rng.normal(0.0, NOISE, picture.shape).astype(np.float32)
            images[frame] = np.rint(picture).clip(0, 255)
        return images, labels

    def _draw(self, time: float, labels: Labels) -> Field:
        """Return one frame without the camera's faults, and enter into `labels` what is seen in it."""
        rows, columns = np.indices(labels.shape, dtype=np.float32) / np.float32(labels.shape[0])
        top, left = self.camera(time)
        down = rows + np.float32(top)
        right = columns + np.float32(left)
        picture = sample_field(
            self.ground, down * np.float32(self.ground_px), right * np.float32(self.ground_px)
        )
        for actor in sorted(self.actors, key=lambda actor: -actor.depth(time)):
            row, column = actor.path(time)
            size = actor.size(time)
            turn = actor.turn(time)
            cosine = np.float32(np.cos(turn) / size)
            sine = np.float32(np.sin(turn) / size)
            away = down - np.float32(row)
            aside = right - np.float32(column)
            own_down = cosine * away - sine * aside
            own_right = sine * away + cosine * aside
            look = actor.look(own_down, own_right, time, 1.0 / (size * labels.shape[0]))
            picture += look.cover[..., None] * (look.colours - picture)
            labels[look.cover > 0.5] = actor.label
        return picture


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blob:
    """A round thing whose outline waves: harmonic k swings by `waves[k - 2]` at a pace of `pace` turns."""

    texture: Field
    waves: Sequence[float]
    pace: float
    phase: float

    def __call__(self, down: Field, right: Field, time: float, pixel: float) -> Rendering:
        """Return its look; light falls from above."""
        angle = np.arctan2(down, right)
        outline = np.ones_like(angle)
        for number, wave in enumerate(self.waves, start=2):
            swing = self.phase * number + 2 * np.pi * self.pace * time * (-1) ** number
            outline += wave * np.cos(number * angle + np.float32(swing))
        inside = outline - np.hypot(down, right)
        side = self.texture.shape[0]
        colours = sample_field(self.texture, (down + 2) * (side / 4), (right + 2) * (side / 4))
        light = 1 - 0.22 * down.clip(-1, 1)
        return _look(colours * light[..., None], inside / pixel + 0.5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bar:
    """An upright bar: `width` is half its width, in its own height's half."""

    texture: Field
    width: float

    def __call__(self, down: Field, right: Field, time: float, pixel: float) -> Rendering:
        """Return its look."""
        del time
        inside = np.minimum(self.width - np.abs(right), 1 - np.abs(down))
        side = self.texture.shape[0]
        colours = sample_field(self.texture, (down + 2) * (side / 4), (right + 2) * side)
        return _look(colours, inside / pixel + 0.5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cutout:
    """A piece of a photograph: colours float32 (h, w, 3) and how much of each pixel belongs to it."""

    colours: Field
    cover: Field
    lean: float = 0.0

    @classmethod
    def of(
        cls, image: NDArray[np.uint8], mask: Mask, *, side_px: int = 160, lean: float = 0.0
    ) -> Cutout:
        """Cut the object out and shrink it; it leans left and right by `lean`, as one that sways."""
        rows = np.flatnonzero(mask.any(axis=1))
        columns = np.flatnonzero(mask.any(axis=0))
        window = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
        share = min(1.0, side_px / max(len(rows), len(columns)))
        size = (
            max(1, round(share * (window[1].stop - window[1].start))),
            max(1, round(share * len(rows))),
        )
        return cls(
            colours=_shrink(image[window], size),
            cover=_shrink(mask[window], size),
            lean=lean,
        )

    def __call__(self, down: Field, right: Field, time: float, pixel: float) -> Rendering:
        """Return its look."""
        del pixel
        height, width = self.cover.shape
        swayed = right + self.lean * float(np.sin(4 * np.pi * time)) * (1 - down)
        rows = (down + 1) * (height / 2)
        columns = swayed * (height / 2) + width / 2
        cover = cv2.remap(
            self.cover,
            columns,
            rows,
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_CONSTANT,
            borderValue=0,
        )
        colours = cv2.remap(
            self.colours, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        return _look(colours, cover)


def make_texture(
    rng: np.random.Generator,
    shape: tuple[int, int],
    colours: Sequence[Colour],
    *,
    cells: int,
    grain: float = 0.6,
) -> Field:
    """Return clouds of these colours, float32 (H, W, 3): `cells` of them across, each octave finer by `grain`."""
    clouds = np.zeros((*shape, 2), dtype=np.float32)
    strength = np.float32(1.0)
    across = cells
    while across < shape[0] and strength > 0.05:
        grid = rng.standard_normal((across, max(2, across * shape[1] // shape[0]), 2)).astype(
            np.float32
        )
        clouds += strength * np.asarray(
            cv2.resize(grid, shape[::-1], interpolation=cv2.INTER_CUBIC)
        )
        strength = strength * np.float32(grain)
        across = across * 2
    clouds /= clouds.std()
    place = (clouds[..., 0] * 0.8 + len(colours) / 2 - 0.5).clip(0, len(colours) - 1)
    stops = np.asarray(colours, dtype=np.float64)
    mixed = np.stack(
        [np.interp(place, np.arange(len(colours)), stops[:, channel]) for channel in range(3)],
        axis=-1,
    )
    return (mixed * (1 + 0.10 * clouds[..., 1:])).astype(np.float32)


def sample_field(field: Field, rows: Field, columns: Field) -> Field:
    """Return a texture between its pixels; beyond its edges it is mirrored."""
    sampled = cv2.remap(field, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(sampled, dtype=np.float32)


def _look(colours: Any, cover: Any) -> Rendering:
    return Rendering(
        np.asarray(colours, dtype=np.float32), np.asarray(cover, dtype=np.float32).clip(0, 1)
    )


def _shrink(pixels: NDArray[Any], size: tuple[int, int]) -> Field:
    small = cv2.resize(pixels.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.float32)
