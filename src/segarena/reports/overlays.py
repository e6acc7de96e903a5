"""Masks and prompts drawn over a photograph, as SVG: outlines stay sharp however large they are shown."""

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

from segarena.arrays.boxes import Window, grow_window, is_empty, join_windows, window_shape
from segarena.prompts import Box, Click, Lasso, Scribble
from segarena.records.prompts import RecordedPrompt
from segarena.reports.axes import element, px
from segarena.samples import Labels, Mask

VIEW_PX = 480
"""Longest side of a picture, in SVG units and at most in JPEG pixels."""

JPEG_QUALITY = 80
LEAST_CROP_PX = 96
MARGIN = 0.12
"""Context around what must be seen, as a share of its longest side."""


@dataclass(frozen=True, slots=True)
class View:
    """A crop of a sample and its size on the page.

    Attributes:
        window: which part of the sample.
        scale: SVG units per pixel.
    """

    window: Window
    scale: float

    @property
    def height(self) -> float:
        """In SVG units."""
        return (self.window[0].stop - self.window[0].start) * self.scale

    @property
    def width(self) -> float:
        """In SVG units."""
        return (self.window[1].stop - self.window[1].start) * self.scale

    def place(self, row: float, column: float) -> tuple[float, float]:
        """Return (x, y) in SVG units of the centre of a pixel."""
        rows, columns = self.window
        return (column - columns.start + 0.5) * self.scale, (row - rows.start + 0.5) * self.scale

    @property
    def box(self) -> str:
        """The viewBox."""
        return f"0 0 {px(self.width)} {px(self.height)}"


def view_of(shape: tuple[int, int], windows: Sequence[Window], positions: Sequence[tuple[float, float]]) -> View:
    """Return the view that holds all windows and positions, with a margin, not too narrow, inside the sample."""
    seen: Window = (slice(0, 0), slice(0, 0))
    points = [(slice(int(r), int(r) + 1), slice(int(c), int(c) + 1)) for r, c in positions]
    for window in [*windows, *points]:
        seen = join_windows(seen, window)
    if is_empty(seen):
        seen = (slice(0, shape[0]), slice(0, shape[1]))
    longest = max(window_shape(seen))
    grown = grow_window(seen, max(4, round(longest * MARGIN)), shape)
    height, width = window_shape(grown)
    window = (
        _widen(grown[0], max(LEAST_CROP_PX, round(width * 0.66)), shape[0]),
        _widen(grown[1], max(LEAST_CROP_PX, round(height * 0.75)), shape[1]),
    )
    return View(window, VIEW_PX / max(window_shape(window)))


def jpeg_uri(image: NDArray[np.uint8], view: View) -> str:
    """Return the crop as a data URI, scaled down to the size it is shown at, never up."""
    crop = Image.fromarray(np.ascontiguousarray(image[view.window]))
    if view.scale < 1:
        crop = crop.resize((max(1, round(view.width)), max(1, round(view.height))), Image.Resampling.BOX)
    buffer = io.BytesIO()
    crop.save(buffer, format="JPEG", quality=JPEG_QUALITY, optimize=True)
    return data_uri(buffer.getvalue(), "jpeg")


def data_uri(data: bytes, kind: str) -> str:
    """Return the bytes of a picture file ("jpeg", "png") as a URI that holds them."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def outline(mask: Mask | Labels, view: View) -> str:
    """Return the SVG path data around the True pixels inside the view; empty when there are none.

    Holes are paths of their own: fill with the even-odd rule.
    """
    crop = np.ascontiguousarray(mask[view.window] > 0).astype(np.uint8)
    size = (max(1, round(view.width)), max(1, round(view.height)))
    if view.scale < 1:
        shown = (cv2.resize(crop * 255, size, interpolation=cv2.INTER_AREA) >= 128).astype(np.uint8)
        shown = shown if shown.any() else cv2.resize(crop, size, interpolation=cv2.INTER_NEAREST)
    else:
        shown = cv2.resize(crop, size, interpolation=cv2.INTER_NEAREST)
    contours, _ = cv2.findContours(np.pad(shown, 1), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    return "".join(_closed(cv2.approxPolyDP(contour, 0.8, True).reshape(-1, 2) - 1) for contour in contours)


def prompt_marks(rounds: Sequence[Sequence[RecordedPrompt]], view: View, *, is_large: bool) -> str:
    """Return the prompts of all `rounds`; numbered in large pictures, the last round's stressed in small ones."""
    marks: list[str] = []
    for number, prompts in enumerate(rounds, 1):
        is_last = number == len(rounds)
        marks += [_mark(prompt, view, number, is_large=is_large, is_last=is_last) for prompt in prompts]
    return "".join(marks)


def positions_of(prompt: RecordedPrompt) -> list[tuple[float, float]]:
    """Return the (row, column) positions that a recorded prompt names; none for masks and examples."""
    return [(float(point[-2]), float(point[-1])) for point in points_of(prompt)]


def points_of(prompt: RecordedPrompt) -> list[Sequence[float]]:
    """Return the positions that a recorded prompt names, in all dimensions; none for limits, masks and examples."""
    match prompt:
        case Click(position=position):
            return [position]
        case Box(start=start, stop=stop):
            return [start, [i - 1 for i in stop]]
        case Scribble(points=points) | Lasso(points=points):
            return list(points)
        case _:
            return []


def sign_of(prompt: RecordedPrompt) -> str:
    """Return the CSS class of a prompt on the object, "pos", or off it, "neg"."""
    return "neg" if isinstance(prompt, (Click, Scribble, Lasso)) and not prompt.is_positive else "pos"


def _mark(prompt: RecordedPrompt, view: View, number: int, *, is_large: bool, is_last: bool) -> str:
    places = [view.place(*position) for position in positions_of(prompt)]
    sign = sign_of(prompt)
    if not places:
        return ""
    if isinstance(prompt, Click):
        return _click(*places[0], sign, number, is_large=is_large, is_last=is_last)
    if isinstance(prompt, Box):
        (left, top), (right, bottom) = places
        return element("rect", x=left, y=top, width=right - left, height=bottom - top, css=f"drawn {sign}")
    line = " ".join(f"{px(x)},{px(y)}" for x, y in places)
    return element("polyline", points=line, css=f"drawn {sign}")


def _click(x: float, y: float, sign: str, number: int, *, is_large: bool, is_last: bool) -> str:
    """Return a disc for a positive and a square for a negative click, so that colour is not needed."""
    radius = 12.0 if is_large else (14.0 if is_last else 8.0)
    if sign == "pos":
        shape = element("circle", cx=x, cy=y, r=radius, css="click pos")
    else:
        side = radius * 1.8
        shape = element("rect", x=x - side / 2, y=y - side / 2, width=side, height=side, rx=2, css="click neg")
    return shape + (element("text", str(number), x=x, y=y + 5, css="number") if is_large else "")


def _closed(points: NDArray[Any]) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in points.tolist()) + "Z"


def _widen(side: slice, least: int, size: int) -> slice:
    """Return `side` grown evenly to `least` pixels, moved so that it stays in the frame."""
    length = min(size, max(least, side.stop - side.start))
    start = min(max(0, side.start - (length - (side.stop - side.start)) // 2), size - length)
    return slice(start, start + length)
