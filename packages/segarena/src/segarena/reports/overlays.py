"""Masks and prompts drawn over a photograph as SVG, so that outlines stay sharp at any zoom."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.arrays.boxes import (
    Window,
    bounding_window,
    grow_window,
    is_empty,
    join_windows,
    window_shape,
)
from segarena.prompts import Box, Click, Lasso, Scribble
from segarena.records.prompts import RecordedPrompt
from segarena.reports.axes import px
from segarena.samples import Labels, Mask

VIEW_PX = 480
"""Longest side of a picture in SVG units, and maximum length of that side in JPEG pixels."""

JPEG_QUALITY = 80
MIN_CROP_PX = 96
CONTEXT_MARGIN = 0.12
"""Margin around the visible content, as a share of its longest side."""


@dataclass(frozen=True, slots=True)
class View:
    """A crop of a sample, and its size on the page.

    Attributes:
        window: crop of the sample.
        scale: SVG units per pixel.
    """

    window: Window
    scale: float

    @property
    def height(self) -> float:
        """Height in SVG units."""
        return (self.window[0].stop - self.window[0].start) * self.scale

    @property
    def width(self) -> float:
        """Width in SVG units."""
        return (self.window[1].stop - self.window[1].start) * self.scale

    def place(self, row: float, column: float) -> tuple[float, float]:
        """Return (x, y) of a pixel's centre in SVG units."""
        rows, columns = self.window
        return (column - columns.start + 0.5) * self.scale, (row - rows.start + 0.5) * self.scale

    @property
    def box(self) -> str:
        """The `viewBox` attribute."""
        return f"0 0 {px(self.width)} {px(self.height)}"


def view_of(
    shape: tuple[int, int],
    windows: Sequence[Window],
    positions: Sequence[tuple[float, float]],
) -> View:
    """Return the smallest view, inside the sample, that contains all windows and positions with a margin.

    Without content, the view is the whole sample. A minimum size prevents narrow views.
    """
    visible: Window = (slice(0, 0), slice(0, 0))
    for window in windows:
        visible = join_windows(visible, window)
    for row, column in positions:
        pixel = (slice(int(row), int(row) + 1), slice(int(column), int(column) + 1))
        visible = join_windows(visible, pixel)
    if is_empty(visible):
        visible = (slice(0, shape[0]), slice(0, shape[1]))
    margin = max(4, round(max(window_shape(visible)) * CONTEXT_MARGIN))
    rows, columns = grow_window(visible, margin, shape)
    height, width = window_shape((rows, columns))
    window = (
        _widen(rows, max(MIN_CROP_PX, round(width * 0.66)), shape[0]),
        _widen(columns, max(MIN_CROP_PX, round(height * 0.75)), shape[1]),
    )
    return View(window, VIEW_PX / max(window_shape(window)))


def jpeg_uri(image: NDArray[np.uint8], view: View) -> str:
    """Encode the crop as a JPEG data URI, reduced to its display size but never enlarged."""
    crop = Image.fromarray(np.ascontiguousarray(image[view.window]))
    if view.scale < 1:
        crop = crop.resize(
            (max(1, round(view.width)), max(1, round(view.height))), Image.Resampling.BOX
        )
    buffer = io.BytesIO()
    crop.save(buffer, format="JPEG", quality=JPEG_QUALITY, optimize=True)
    return data_uri(buffer.getvalue(), "jpeg")


def data_uri(data: bytes, kind: str) -> str:
    """Encode the bytes of an image file of some kind ("jpeg", "png") as a data URI."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def outline(mask: Mask | Labels, view: View) -> str:
    """Return the outline of a mask inside the view as SVG path data; empty for an empty mask.

    Holes are separate subpaths, so fill the path with the even-odd rule.
    """
    crop = np.ascontiguousarray(mask[view.window] > 0).astype(np.uint8)
    size = (max(1, round(view.width)), max(1, round(view.height)))
    if view.scale < 1:
        shares = cv2.resize(crop * 255, size, interpolation=cv2.INTER_AREA)
        shown = (shares >= 128).astype(np.uint8)
        if not shown.any():
            # Averaging removes objects smaller than half a pixel; restore them.
            shown = cv2.resize(crop, size, interpolation=cv2.INTER_NEAREST)
    else:
        shown = cv2.resize(crop, size, interpolation=cv2.INTER_NEAREST)
    # A border of zeros closes outlines at the edge of the view; it shifts them by one pixel.
    contours, _ = cv2.findContours(np.pad(shown, 1), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    path = ""
    for contour in contours:
        # A tolerance below one unit removes the staircase of pixels but no visible detail.
        corners = cv2.approxPolyDP(contour, 0.8, True).reshape(-1, 2)
        path += _closed(corners - 1)
    return path


def pixel_outline(mask: Mask) -> str:
    """Return the boundary of a mask along its pixel edges as SVG path data, in pixels; empty for an empty mask.

    Filled with the even-odd rule, the path covers exactly the pixels of the mask.
    """
    window = bounding_window(mask)
    if is_empty(window):
        return ""
    crop = np.ascontiguousarray(mask[window]).astype(np.uint8)
    # At twice the size, contours run through the outermost quarters of pixels: even coordinates lie at
    # the left or top edge of a pixel, odd ones at its right or bottom edge.
    doubled = np.repeat(np.repeat(crop, 2, axis=0), 2, axis=1)
    contours, _ = cv2.findContours(doubled, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    # OpenCV and SVG have x before y, so columns come first.
    offset = np.array([window[1].start, window[0].start])
    path = ""
    for contour in contours:
        corners = (contour.reshape(-1, 2) + 1) // 2
        path += _closed(_without_straight(corners) + offset)
    return path


def _without_straight(ring: NDArray[Any]) -> NDArray[Any]:
    """Return the points of a closed line at which its direction changes."""
    distinct = ring[(ring != np.roll(ring, 1, axis=0)).any(axis=1)]
    before = distinct - np.roll(distinct, 1, axis=0)
    after = np.roll(distinct, -1, axis=0) - distinct
    # Pixel edges are axis-parallel, so equal signs mean that the line goes straight on.
    turns = (np.sign(before) != np.sign(after)).any(axis=1)
    return distinct[turns]


def prompt_positions(prompt: RecordedPrompt) -> list[tuple[float, float]]:
    """Return the (row, column) positions of a recorded prompt; empty for limits, masks and examples."""
    return [(float(point[-2]), float(point[-1])) for point in prompt_points(prompt)]


def prompt_points(prompt: RecordedPrompt) -> list[Sequence[float]]:
    """Return the positions of a recorded prompt in all dimensions.

    Empty for limits, masks and examples.
    """
    match prompt:
        case Click(position=position):
            return [position]
        case Box(start=start, stop=stop):
            # The stop of a box is exclusive, so the last pixel inside is one before it.
            return [start, [i - 1 for i in stop]]
        case Scribble(points=points) | Lasso(points=points):
            return list(points)
        case _:
            return []


def prompt_css_class(prompt: RecordedPrompt) -> str:
    """Return the CSS class of a prompt: "neg" if it marks the background, else "pos"."""
    if isinstance(prompt, (Click, Scribble, Lasso)) and not prompt.is_positive:
        return "neg"
    return "pos"


def _closed(points: NDArray[Any]) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in points.tolist()) + "Z"


def _widen(
    side: slice,
    least: int,
    size: int,
) -> slice:
    """Extend `side` symmetrically to at least `least` pixels, and shift it into the frame."""
    own_length = side.stop - side.start
    length = min(size, max(least, own_length))
    centred = side.start - (length - own_length) // 2
    start = min(max(0, centred), size - length)
    return slice(start, start + length)
