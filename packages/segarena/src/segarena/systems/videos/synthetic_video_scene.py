"""Building blocks of generated videos: textures, moving and deforming shapes, a drifting camera.

Lengths are in frame heights, positions are (row, column) in the scene in front of the camera, and
time runs from 0 to 1. A scene is therefore the same at any size and with any number of frames.
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
"""Function from time to a position."""

NOISE = 4.0
FLICKER = 0.02
"""Standard deviations of the camera's noise, in grey levels, and of its brightness, as a share."""


class Rendering(NamedTuple):
    """A rendered shape: colours float32 (H, W, 3), and the coverage of each pixel, 0 to 1."""

    colours: Field
    cover: Field


class Appearance(Protocol):
    """Appearance of a shape at given positions in its own coordinates and at a given time.

    `pixel` is the size of a pixel in those coordinates.
    """

    def __call__(
        self,
        down: Field,
        right: Field,
        time: float,
        pixel: float,
    ) -> Rendering:
        """Return the shape rendered at these positions."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """One moving shape in a scene.

    Attributes:
        label: the object id; 0 for scenery, which is not an object.
        look: appearance of the shape, whose own coordinates range from about -1 to 1.
        path: position of the centre over time.
        size: half the height over time.
        turn: rotation in radians over time.
        depth: distance from the camera over time; nearer shapes cover farther ones.
    """

    label: int
    look: Appearance
    path: Path
    size: Callable[[float], float]
    turn: Callable[[float], float] = lambda time: 0.0
    depth: Callable[[float], float] = lambda time: 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingScene:
    """Scene of a generated video: a background, moving shapes and a moving camera.

    Attributes:
        ground: background texture, float32 (H, W, 3), mirrored beyond its edges.
        ground_px: number of pixels of `ground` per frame height.
        camera: position of the upper left corner of the frame over time.
        actors: the moving shapes.
    """

    ground: Field
    ground_px: float
    camera: Path
    actors: tuple[Actor, ...]

    def shoot(
        self,
        frames: int,
        shape: tuple[int, int],
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.uint8], Labels]:
        """Render the frames, uint8 (T, H, W, 3), and the labels of the visible objects, uint8 (T, H, W)."""
        # Allocated once, because a list of frames would need twice the memory.
        images = np.empty((frames, *shape, 3), dtype=np.uint8)
        labels = np.zeros((frames, *shape), dtype=np.uint8)
        for frame in range(frames):
            time = frame / max(frames - 1, 1)
            picture = self._render(time, labels[frame])
            # The order of the random draws affects the videos: flicker first, then noise.
            flicker = np.float32(rng.normal(1.0, FLICKER))
            picture = cv2.GaussianBlur(picture, (0, 0), _BLUR_PX) * flicker
            picture += rng.normal(0.0, NOISE, picture.shape).astype(np.float32)
            images[frame] = np.rint(picture).clip(0, 255)
        return images, labels

    def _render(self, time: float, labels: Labels) -> Field:
        """Render one frame without camera noise, and write the visible objects into `labels`."""
        height = labels.shape[0]
        rows, columns = np.indices(labels.shape, dtype=np.float32) / np.float32(height)
        top, left = self.camera(time)
        down = rows + np.float32(top)
        right = columns + np.float32(left)
        ground_px = np.float32(self.ground_px)
        picture = sample_field(self.ground, down * ground_px, right * ground_px)
        # The farthest shape is drawn first, so that nearer ones cover it.
        for actor in sorted(self.actors, key=lambda actor: -actor.depth(time)):
            row, column = actor.path(time)
            size = actor.size(time)
            turn = actor.turn(time)
            cosine = np.float32(np.cos(turn) / size)
            sine = np.float32(np.sin(turn) / size)
            row_offset = down - np.float32(row)
            column_offset = right - np.float32(column)
            own_down = cosine * row_offset - sine * column_offset
            own_right = sine * row_offset + cosine * column_offset
            pixel = 1.0 / (size * height)
            rendering = actor.look(own_down, own_right, time, pixel)
            picture += rendering.cover[..., None] * (rendering.colours - picture)
            # A pixel belongs to the nearest shape that covers more than half of it.
            labels[rendering.cover > 0.5] = actor.label
        return picture


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class Blob:
    """A round shape with a wavy outline, whose waves run through `pace` periods from time 0 to 1.

    Harmonic k of the outline has amplitude `waves[k - 2]`, as a share of the radius.
    """

    texture: Field
    waves: Sequence[float]
    pace: float
    phase: float

    def __call__(
        self,
        down: Field,
        right: Field,
        time: float,
        pixel: float,
    ) -> Rendering:
        """Render the blob, lit from above."""
        angle = np.arctan2(down, right)
        outline = np.ones_like(angle)
        for number, wave in enumerate(self.waves, start=2):
            # The harmonics rotate in opposite directions, so that the outline deforms instead of
            # just rotating.
            direction = (-1) ** number
            turn = 2 * np.pi * self.pace * time * direction
            swing = np.float32(self.phase * number + turn)
            ripple = np.cos(number * angle + swing)
            outline += wave * ripple
        inside = outline - np.hypot(down, right)
        # The texture covers coordinates from -2 to 2.
        scale = self.texture.shape[0] / 4
        texture_rows = (down + 2) * scale
        texture_columns = (right + 2) * scale
        colours = sample_field(self.texture, texture_rows, texture_columns)
        light = 1 - 0.22 * down.clip(-1, 1)
        # First-order approximation of the share of a pixel that the outline covers.
        cover = inside / pixel + 0.5
        return _rendering(colours * light[..., None], cover)


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class Bar:
    """An upright bar; `width` is its width divided by its height."""

    texture: Field
    width: float

    def __call__(
        self,
        down: Field,
        right: Field,
        time: float,
        pixel: float,
    ) -> Rendering:
        """Return the bar rendered at these positions."""
        # A bar rotates and moves, but does not deform.
        del time
        inside = np.minimum(self.width - np.abs(right), 1 - np.abs(down))
        side = self.texture.shape[0]
        # Finer across than along, so that the texture is visible on a narrow bar.
        texture_rows = (down + 2) * (side / 4)
        texture_columns = (right + 2) * side
        colours = sample_field(self.texture, texture_rows, texture_columns)
        return _rendering(colours, inside / pixel + 0.5)


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class Cutout:
    """An object cut out of a photograph: colours float32 (h, w, 3), and coverage of each pixel."""

    colours: Field
    cover: Field
    lean: float = 0.0

    @classmethod
    def of(
        cls,
        image: NDArray[np.uint8],
        mask: Mask,
        *,
        side_px: int = 160,
        lean: float = 0.0,
    ) -> Cutout:
        """Cut out and scale down an object, which then sways left and right by `lean`."""
        rows = np.flatnonzero(mask.any(axis=1))
        columns = np.flatnonzero(mask.any(axis=0))
        window = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
        # The scale counts rows and columns that contain pixels, which are fewer than those of the
        # window for objects in several parts.
        share = min(1.0, side_px / max(len(rows), len(columns)))
        window_width = columns[-1] + 1 - columns[0]
        width = max(1, round(share * window_width))
        height = max(1, round(share * len(rows)))
        return cls(
            colours=_shrink(image[window], (width, height)),
            cover=_shrink(mask[window], (width, height)),
            lean=lean,
        )

    def __call__(
        self,
        down: Field,
        right: Field,
        time: float,
        pixel: float,
    ) -> Rendering:
        """Return the object rendered at these positions."""
        del pixel
        height, width = self.cover.shape
        sway = self.lean * float(np.sin(4 * np.pi * time))
        swayed = right + sway * (1 - down)
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
        return _rendering(colours, cover)


def make_texture(
    rng: np.random.Generator,
    shape: tuple[int, int],
    colours: Sequence[Colour],
    *,
    cells: int,
    grain: float = 0.6,
) -> Field:
    """Return cloud noise in these colours, float32 (H, W, 3): `cells` clouds across, octaves weighted by `grain`."""
    height, width = shape
    # The first channel determines the colour, the second the brightness.
    clouds = np.zeros((height, width, 2), dtype=np.float32)
    weight = np.float32(1.0)
    across = cells
    while across < height and weight > 0.05:
        grid_shape = (across, max(2, across * width // height), 2)
        grid = rng.standard_normal(grid_shape).astype(np.float32)
        octave = cv2.resize(grid, (width, height), interpolation=cv2.INTER_CUBIC)
        clouds += weight * np.asarray(octave)
        weight = weight * np.float32(grain)
        across = across * 2
    clouds /= clouds.std()
    last = len(colours) - 1
    position = (clouds[..., 0] * 0.8 + len(colours) / 2 - 0.5).clip(0, last)
    stops = np.asarray(colours, dtype=np.float64)
    numbers = np.arange(len(colours))
    channels = [np.interp(position, numbers, stops[:, channel]) for channel in range(3)]
    mixed = np.stack(channels, axis=-1)
    brightness = 1 + 0.10 * clouds[..., 1:]
    return (mixed * brightness).astype(np.float32)


def sample_field(
    field: Field,
    rows: Field,
    columns: Field,
) -> Field:
    """Interpolate a texture between its pixels; the texture is mirrored beyond its edges."""
    # Mirrored, because a repeated last row would be visible as streaks.
    sampled = cv2.remap(field, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(sampled, dtype=np.float32)


def _rendering(colours: Any, cover: Any) -> Rendering:
    coverage = np.asarray(cover, dtype=np.float32).clip(0, 1)
    return Rendering(np.asarray(colours, dtype=np.float32), coverage)


def _shrink(pixels: NDArray[Any], size: tuple[int, int]) -> Field:
    small = cv2.resize(pixels.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    return np.asarray(small, dtype=np.float32)


# Standard deviation of the Gaussian blur of the lens, in pixels.
_BLUR_PX = 0.6
