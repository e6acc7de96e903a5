"""Propagation of outlines from key frames of a video to the frames between and after them.

A key frame of a track is a frame in which a person drew or confirmed its region. The frames are
propagated in windows of a few frames, each from the last mask of the window before it, so that
neither the memory nor the time of a step depends on the length of the video.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.polygon_fill import Patch, fill_polygons
from segarena.arrays.polygon_points import Points
from segarena.dialogue import Dialogue, as_prediction
from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena.prompts import Scribble
from segarena.registry import build
from segarena.roles import Segmenter
from segarena.samples import Mask, VideoSample
from segarena.segmenters.drawing.image_size import shrunk_size
from segarena.systems.scenes.model.polygons import crossings, first_meeting
from segarena_server.storage.content_store import ContentStore
from segarena_server.workers.worker import WorkerContext
from segarena_studio.annotation.high_bit_depth_pictures import read_display_pixels
from segarena_studio.annotation.prior_annotations import trace_mask
from segarena_studio.annotation.scene_document import DECIMALS

VIDEO_SEGMENTERS = ("colour-flow", "video-walk")
"""Segmenters that propagate; both accept scribbles and need no weights."""
WINDOW = 8
"""Maximum number of frames that are propagated together, besides the frame from which they start."""
WORK_PX = 250_000
"""Largest number of pixels of a frame here; the segmenters shrink frames further, to 100 000 pixels."""

RegionPolygons: TypeAlias = tuple[tuple[tuple[float, float], ...], ...]
"""Outlines of a region as (x, y) in pixels of the picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackToPropagate:
    """A track, and the frames that its outlines are propagated to.

    Attributes:
        region: id of the region.
        keys: outlines in the key frames, by index of the frame.
        windows: frames that are propagated together; see `plan_windows`.
    """

    region: str
    keys: Mapping[int, RegionPolygons]
    windows: tuple[tuple[int, ...], ...]

    @property
    def targets(self) -> set[int]:
        """The frames to propagate to."""
        frames: set[int] = set()
        for window in self.windows:
            frames.update(window)
        return frames - set(self.keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Propagation:
    """Result of a propagation.

    Attributes:
        frames: outlines by name of the picture and region id; none where the object was not found.
    """

    frames: Mapping[str, Mapping[str, RegionPolygons]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackPropagator:
    """Work unit that propagates tracks.

    Attributes:
        segmenter: one of `VIDEO_SEGMENTERS`.
        frames: hash and name of the picture of each frame, in order.
        shape: (H, W) of all frames.
        tracks: what to propagate.
        storage: storage of the pictures.
    """

    segmenter: str
    frames: Sequence[tuple[str, str]]
    shape: tuple[int, int]
    tracks: Sequence[TrackToPropagate]
    storage: ContentStore

    def __call__(self, context: WorkerContext, /) -> Propagation:
        """Propagate all tracks, window by window.

        Raises:
            InvalidInput: a picture has another size than the database says.
        """
        # Wider strokes would move the border of the object.
        spec = PluginSpec(self.segmenter, {"stroke_px": 1})
        segmenter: Segmenter = build("segmenter", spec)
        masks = {track.region: self._key_masks(track) for track in self.tracks}
        total = sum(len(track.targets) for track in self.tracks)
        done = 0
        frames: tuple[int, ...] = ()
        encoded: Any = None
        sample: VideoSample | None = None
        for track, window in _in_rounds(self.tracks):
            known = masks[track.region]
            with context.time_limit(f"frame {done + 1} of {total}"):
                # Tracks that start in the same frame share the windows, and so the encoding.
                if window != frames or sample is None:
                    sample = self._sample(window)
                    encoded = segmenter.encode(sample)
                    frames = window
                found = _propagate_window(segmenter, encoded, sample, window, known)
            known.update(found)
            done += len(found)
        proposals: dict[str, dict[str, RegionPolygons]] = {}
        for track in self.tracks:
            for frame in sorted(track.targets):
                outlines = trace_outlines(masks[track.region][frame], self.shape)
                _, name = self.frames[frame]
                proposals.setdefault(name, {})[track.region] = outlines
        return Propagation(frames=proposals)

    @property
    def _work_shape(self) -> tuple[int, int]:
        width, height = shrunk_size(self.shape, WORK_PX)
        return height, width

    def _key_masks(self, track: TrackToPropagate) -> dict[int, Mask]:
        masks: dict[int, Mask] = {}
        for frame, outlines in track.keys.items():
            masks[frame] = fill_outlines(outlines, self.shape, self._work_shape)
        return masks

    def _sample(self, window: Sequence[int]) -> VideoSample:
        frames = [self._read(frame) for frame in window]
        return VideoSample(id="frames", frames=frames, frame_shape=self._work_shape)

    def _read(self, frame: int) -> NDArray[np.uint8]:
        sha256, name = self.frames[frame]
        pixels = read_display_pixels(self.storage.fetch(sha256))
        if pixels.shape[:2] != self.shape:
            raise InvalidInput(
                f"{name}: expected {self.shape[1]} x {self.shape[0]} pixels as in the key frame, "
                f"got {pixels.shape[1]} x {pixels.shape[0]}"
            )
        height, width = self._work_shape
        small = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA)
        return np.asarray(small, dtype=np.uint8)


def plan_windows(
    key: int,
    next_key: int | None,
    step: int,
    last: int,
) -> tuple[tuple[int, ...], ...]:
    """Return the windows in one direction from a key frame.

    The first frame of a window is a key frame or the last one of an earlier window. If the next key
    frame is the last frame of a window, the window is propagated from both ends. Between key frames
    that are farther apart, each half is propagated from its own key frame.

    Args:
        key: index of the key frame.
        next_key: index of the next key frame in this direction; None if it is too far away to matter.
        step: 1 forwards, -1 backwards.
        last: index of the last frame to propagate to if there is no next key frame; ignored if
            there is one.
    """
    if next_key is None:
        return _chain(key, last, step)
    gap = abs(next_key - key) - 1
    if gap == 0:
        return ()
    if gap <= WINDOW:
        return (tuple(range(key, next_key + step, step)),)
    middle = key + step * ((gap + 1) // 2)
    return (*_chain(key, middle, step), *_chain(next_key, middle + step, -step))


def _chain(key: int, last: int, step: int) -> tuple[tuple[int, ...], ...]:
    windows: list[tuple[int, ...]] = []
    first = key
    while (last - first) * step > 0:
        reach = first + step * min(WINDOW, abs(last - first))
        windows.append(tuple(range(first, reach + step, step)))
        first = reach
    return tuple(windows)


def _in_rounds(
    tracks: Sequence[TrackToPropagate],
) -> Iterator[tuple[TrackToPropagate, tuple[int, ...]]]:
    """Yield the first windows of all tracks, then the second ones, and so on."""
    for windows in zip_longest(*(track.windows for track in tracks)):
        pairs = zip(tracks, windows, strict=True)
        yield from ((track, window) for track, window in pairs if window)


def _propagate_window(
    segmenter: Segmenter,
    encoded: Any,
    sample: VideoSample,
    window: tuple[int, ...],
    known: Mapping[int, Mask],
) -> dict[int, Mask]:
    """Return the masks of those frames of a window that have none yet."""
    scribbles: list[Scribble] = []
    for index, frame in enumerate(window):
        if frame in known:
            scribbles += cover_with_scribbles(known[frame], index)
    if any(known[frame].any() for frame in window if frame in known):
        dialogue = Dialogue(rounds=(tuple(scribbles),))
        (answer,) = segmenter.predict(encoded, [dialogue])
        predicted = as_prediction(answer, sample.shape).mask
    else:
        # The object has left the picture.
        predicted = np.zeros(sample.shape, dtype=np.bool_)
    masks: dict[int, Mask] = {}
    for index, frame in enumerate(window):
        if frame not in known:
            masks[frame] = np.asarray(predicted[index], dtype=np.bool_)
    return masks


def cover_with_scribbles(mask: Mask, frame: int) -> list[Scribble]:
    """Return scribbles that cover a mask and its background row by row, so that both are known exactly."""
    scribbles: list[Scribble] = []
    # The object comes last: where the ends of scribbles touch, the later one wins.
    for object_id in (0, 1):
        is_covered = mask == bool(object_id)
        edges = np.diff(np.pad(is_covered.astype(np.int8), ((0, 0), (1, 1))), axis=1)
        starts = np.argwhere(edges == 1)
        ends = np.argwhere(edges == -1)
        for (row, first), (_, end) in zip(starts.tolist(), ends.tolist(), strict=True):
            points = ((frame, row, first), (frame, row, end - 1))
            scribbles.append(Scribble(points=points, object_id=object_id))
    return scribbles


def fill_outlines(
    outlines: RegionPolygons,
    shape: tuple[int, int],
    work_shape: tuple[int, int],
) -> Mask:
    """Rasterize outlines, given in pixels of an (H, W) picture, to a bool mask at working size."""
    scale = np.divide(work_shape, shape)
    polygons: list[Points] = []
    for outline in outlines:
        x_y = np.asarray(outline, dtype=np.float64).reshape(-1, 2)
        polygons.append(x_y[:, ::-1] * scale)
    return fill_polygons(polygons, work_shape, is_even_odd=True).full(work_shape)


def trace_outlines(mask: Mask, shape: tuple[int, int]) -> RegionPolygons:
    """Trace a mask at working size; return its outlines in pixels of an (H, W) picture.

    Outlines that meet themselves are left out; if two outlines meet each other, only the largest one
    is returned. Pieces and holes of fewer than 20 pixels of the mask are left out as well.
    """
    height, width = mask.shape
    scale = np.divide(shape, mask.shape)
    traced = trace_mask(Patch((slice(0, height), slice(0, width)), mask))
    simple = [points for points in traced if not crossings(points)]
    if first_meeting(simple, (height, width)) is not None:
        simple = simple[:1]
    outlines: list[tuple[tuple[float, float], ...]] = []
    for points in simple:
        rows_columns = np.round(points * scale, DECIMALS).tolist()
        outlines.append(tuple((column, row) for row, column in rows_columns))
    return tuple(outlines)
