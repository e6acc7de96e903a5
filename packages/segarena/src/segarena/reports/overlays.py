"""Masks and prompts over a photograph as SVG, so that outlines stay sharp at any zoom."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
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
"""Longest side of a picture in SVG units, and its maximum in JPEG pixels."""

JPEG_QUALITY = 80
MIN_CROP_PX = 96
NUMBER_PX = 24.0
"""Diameter of the disc with a click's number, in SVG units."""

CONTEXT_MARGIN = 0.12
"""Context around the visible content, as a share of its longest side."""


@dataclass(frozen=True, slots=True)
class View:
    """A crop of a sample and its size on the page.

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
        """Return (x, y) in SVG units of the centre of a pixel."""
        rows, columns = self.window
        return (column - columns.start + 0.5) * self.scale, (row - rows.start + 0.5) * self.scale

    @property
    def box(self) -> str:
        """The `viewBox` attribute."""
        return f"0 0 {px(self.width)} {px(self.height)}"


def view_of(
    shape: tuple[int, int], windows: Sequence[Window], positions: Sequence[tuple[float, float]]
) -> View:
    """Return the smallest view of all windows and positions with a margin, inside the sample.

    Without content, it is the whole sample. A minimum size prevents narrow views.
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
    """Return the crop as a JPEG data URI, scaled down to its display size but never up."""
    crop = Image.fromarray(np.ascontiguousarray(image[view.window]))
    if view.scale < 1:
        crop = crop.resize(
            (max(1, round(view.width)), max(1, round(view.height))), Image.Resampling.BOX
        )
    buffer = io.BytesIO()
    crop.save(buffer, format="JPEG", quality=JPEG_QUALITY, optimize=True)
    return data_uri(buffer.getvalue(), "jpeg")


def data_uri(data: bytes, kind: str) -> str:
    """Return the bytes of an image file of a kind ("jpeg", "png") as a data URI."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def outline(mask: Mask | Labels, view: View) -> str:
    """Return the SVG path data of the outline of a mask inside the view; empty for an empty mask.

    Holes are separate subpaths, so fill with the even-odd rule.
    """
    crop = np.ascontiguousarray(mask[view.window] > 0).astype(np.uint8)
    size = (max(1, round(view.width)), max(1, round(view.height)))
    if view.scale < 1:
        shares = cv2.resize(crop * 255, size, interpolation=cv2.INTER_AREA)
        shown = (shares >= 128).astype(np.uint8)
        if not shown.any():
            # Averaging removes objects of less than half a pixel; restore what remains of them.
            shown = cv2.resize(crop, size, interpolation=cv2.INTER_NEAREST)
    else:
        shown = cv2.resize(crop, size, interpolation=cv2.INTER_NEAREST)
    # The frame of zeros closes outlines at the edge of the view; it shifts them by one pixel.
    contours, _ = cv2.findContours(np.pad(shown, 1), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    path = ""
    for contour in contours:
        corners = cv2.approxPolyDP(contour, 0.8, True).reshape(-1, 2)
        path += _closed(corners - 1)
    return path


def prompt_marks(rounds: Sequence[Sequence[RecordedPrompt]], view: View) -> list[str]:
    """Return the prompts of each round as SVG; clicks have the round number, without overlaps."""
    taken: list[tuple[float, float]] = []
    marks: list[str] = []
    for number, prompts in enumerate(rounds, 1):
        marks.append("".join(_mark(prompt, view, number, taken) for prompt in prompts))
    return marks


def prompt_positions(prompt: RecordedPrompt) -> list[tuple[float, float]]:
    """Return the (row, column) positions of a recorded prompt; empty for masks and examples."""
    return [(float(point[-2]), float(point[-1])) for point in prompt_points(prompt)]


def prompt_points(prompt: RecordedPrompt) -> list[Sequence[float]]:
    """Return the positions of a recorded prompt in all dimensions.

    Empty for limits, masks and examples.
    """
    match prompt:
        case Click(position=position):
            return [position]
        case Box(start=start, stop=stop):
            return [start, [i - 1 for i in stop]]
        case Scribble(points=points) | Lasso(points=points):
            return list(points)
        case _:
            return []


def prompt_css_class(prompt: RecordedPrompt) -> str:
    """Return the CSS class of a prompt: "pos" on the object, "neg" off it."""
    if isinstance(prompt, (Click, Scribble, Lasso)) and not prompt.is_positive:
        return "neg"
    return "pos"


def _mark(prompt: RecordedPrompt, view: View, number: int, taken: list[tuple[float, float]]) -> str:
    places = [view.place(row, column) for row, column in prompt_positions(prompt)]
    sign = prompt_css_class(prompt)
    if not places:
        return ""
    if isinstance(prompt, Click):
        return _click(places[0], sign, number, _free_place(places[0], view, taken))
    if isinstance(prompt, Box):
        (left, top), (right, bottom) = places
        return _lined("rect", sign, x=left, y=top, width=right - left, height=bottom - top)
    corners = [f"{px(x)},{px(y)}" for x, y in places]
    return _lined("polyline", sign, points=" ".join(corners))


def _lined(name: str, sign: str, **attributes: Any) -> str:
    """Return a thin line over a lighter one, which makes it visible on any background."""
    halo = element(name, css="drawn halo", **attributes)
    line = element(name, css=f"drawn {sign}", **attributes)
    return halo + line


def _free_place(
    place: tuple[float, float], view: View, taken: list[tuple[float, float]]
) -> tuple[float, float]:
    """Return the position of a click's number and add it to `taken`.

    It is that of the click, or a nearby one if the number would cover another.
    """
    edge = NUMBER_PX / 2
    candidates = [place]
    for ring, step in product(range(1, 6), range(8)):
        # Every other ring is turned by half a step.
        angle = (step + ring / 2) * math.tau / 8
        radius = NUMBER_PX * 1.05 * ring
        x = place[0] + radius * math.cos(angle)
        y = place[1] + radius * math.sin(angle)
        if edge <= x <= view.width - edge and edge <= y <= view.height - edge:
            candidates.append((x, y))

    def clearance(candidate: tuple[float, float]) -> float:
        # Beyond the size of a number, distance does not matter: the first candidate wins.
        return min([NUMBER_PX, *(math.dist(candidate, other) for other in taken)])

    free = max(candidates, key=clearance)
    taken.append(free)
    return free


def _click(
    place: tuple[float, float], sign: str, number: int, numbered: tuple[float, float]
) -> str:
    """Return a dot at the click and its number, with a line between them if they are apart."""
    x, y = place
    number_x, number_y = numbered
    line = ""
    if place != numbered:
        line = _lined("line", sign, x1=x, y1=y, x2=number_x, y2=number_y)
    dot = _dot(x, y, 4.5, sign)
    disc = _dot(number_x, number_y, NUMBER_PX / 2 - 1, sign)
    text = element("text", str(number), x=number_x, y=number_y + 5, css="number")
    return f'{dot}<g class="numbered">{line}{disc}{text}</g>'


def _dot(x: float, y: float, radius: float, sign: str) -> str:
    """Return a disc on the object or a square off it, distinguishable without colour."""
    if sign == "pos":
        return element("circle", cx=x, cy=y, r=radius, css="click pos")
    side = 2 * radius
    return element(
        "rect", x=x - radius, y=y - radius, width=side, height=side, rx=2, css="click neg"
    )


def _closed(points: NDArray[Any]) -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in points.tolist()) + "Z"


def _widen(side: slice, least: int, size: int) -> slice:
    """Return `side` grown evenly to at least `least` pixels and shifted into the frame."""
    own_length = side.stop - side.start
    length = min(size, max(least, own_length))
    centred = side.start - (length - own_length) // 2
    start = min(max(0, centred), size - length)
    return slice(start, start + length)
