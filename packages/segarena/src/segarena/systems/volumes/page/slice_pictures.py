"""Pictures of dialogues about a volume: axial, coronal and sagittal slices through the target.

Volumes are (plane to Superior, row to Anterior, column to Right), so both axes of every slice are reversed: superior or
anterior is on top, the patient's right on the left of axial and coronal slices, anterior on the left of sagittal ones.
Pixels are square in mm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, grow_window, is_empty, join_windows
from segarena.arrays.quantization import contrast_limits
from segarena.prompts import Box, Click, Lasso, Limits, Scribble
from segarena.records.prompts import RecordedPrompt
from segarena.reports.axes import px
from segarena.reports.display_names import metric_name
from segarena.reports.html_document import macros
from segarena.reports.overlays import (
    VIEW_PX,
    View,
    jpeg_uri,
    outline,
    prompt_css_class,
    prompt_points,
)
from segarena.reports.pictures import RunDialogue, metric_value_text, pictures
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.viewer import Pane, Plate, RoundMarks, Stack
from segarena.samples import Mask, Target, VolumeSample

AXIS_NAMES = ("axial", "coronal", "sagittal")
HARDEST_TARGETS = 6
MOST_PICTURES = 12
MARGIN_MM = 12.0

MOST_SLICES = 32
"""Most slices along each axis that a page holds for each target."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A displayed slice: its position, its visible part, and its scale."""

    axis: int  # the axis perpendicular to the slice
    index: int  # position along that axis
    window: Window  # the visible part of the volume
    zoom: tuple[float, float]  # SVG units per voxel along the slice's rows and columns

    @property
    def axes(self) -> tuple[int, int]:
        """The axes of the volume that are the rows and columns of the slice."""
        first, second = (axis for axis in range(3) if axis != self.axis)
        return first, second

    @property
    def size(self) -> tuple[float, float]:
        """Height and width in SVG units."""
        rows, columns = (self.window[axis] for axis in self.axes)
        height = (rows.stop - rows.start) * self.zoom[0]
        width = (columns.stop - columns.start) * self.zoom[1]
        return height, width

    def crop(self, volume: NDArray[Any]) -> NDArray[Any]:
        """Return the visible part of a volume, both axes reversed, in voxels."""
        plane = np.take(volume, self.index, axis=self.axis)
        visible: NDArray[Any] = plane[tuple(self.window[axis] for axis in self.axes)]
        return np.ascontiguousarray(visible[::-1, ::-1])

    def project(self, position: Sequence[float]) -> tuple[float, float]:
        """Return (x, y) in SVG units; whole positions are centres of voxels."""
        height, width = self.size
        row, column = self.axes
        from_bottom = (position[row] - self.window[row].start + 0.5) * self.zoom[0]
        from_right = (position[column] - self.window[column].start + 0.5) * self.zoom[1]
        return width - from_right, height - from_bottom


@pictures("volume")
class VolumePictures:
    """Pictures of three slices through the target."""

    def __init__(self, word: str) -> None:
        self.word = word

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return small numbers of hardest and other targets, because each volume is loaded whole."""
        return HARDEST_TARGETS, max(3, MOST_PICTURES // runs - HARDEST_TARGETS)

    def lead(self) -> str:
        """Return the explanation of slices, outlines and marks as HTML."""
        return str(macros("segarena.systems.volumes.page", "slices.html").lead(MOST_SLICES))

    def stacks(
        self, shown: Sequence[RunDialogue], sample: VolumeSample, target: Target
    ) -> Sequence[Stack]:
        """Return the axial, coronal and sagittal slices around target, last predictions and prompts."""
        truth = target.mask > 0
        kept_masks: list[dict[int, Mask]] = []
        last_masks: list[Mask] = []
        prompts: list[RecordedPrompt] = []
        for run, dialogue in shown:
            masks: dict[int, Mask] = {}
            for number, mask in run.masks(dialogue.key).items():
                if mask.shape == sample.shape:
                    masks[number] = mask > 0
            kept_masks.append(masks)
            if masks:
                last_masks.append(masks[max(masks)])
            prompts.extend(chain.from_iterable(dialogue.prompts))
        window = find_view_window(truth, last_masks, prompts, sample.spacing_mm)
        levels = contrast_limits(sample.voxels[window])
        dialogues = list(zip(shown, kept_masks, strict=True))
        return [_stack(axis, window, sample, truth, levels, dialogues) for axis in range(3)]


def _stack(
    axis: int,
    window: Window,
    sample: VolumeSample,
    truth: Mask,
    levels: tuple[float, float],
    dialogues: Sequence[tuple[RunDialogue, Mapping[int, Mask]]],
) -> Stack:
    side = window[axis]
    if truth.any():
        middle = find_middle_slice(truth, axis)
    else:
        middle = (side.start + side.stop) // 2
    indices = choose_slices(side, middle)
    slices = [make_slice(axis, index, window, sample.spacing_mm) for index in indices]
    plates: list[Plate] = []
    for one in slices:
        plate = Plate(
            label=f"slice {one.index + 1} of {sample.shape[axis]}",
            picture=_grey_picture(one, sample.voxels, levels),
            targets=[_outline(one, truth)],
        )
        plates.append(plate)
    slices_in_window = side.stop - side.start
    note = ""
    if len(indices) < slices_in_window:
        note = f"{len(indices)} of {slices_in_window} {AXIS_NAMES[axis]} slices are shown."
    return Stack(
        name=AXIS_NAMES[axis],
        view=_svg_view(slices[0]),
        plates=plates,
        panes=[_pane(run, dialogue, masks, slices) for (run, dialogue), masks in dialogues],
        first=indices.index(middle),
        levels=levels,
        note=note,
    )


def _pane(
    run: Run, dialogue: DialogueRecord, masks: Mapping[int, Mask], slices: Sequence[Slice]
) -> Pane:
    marks: list[RoundMarks] = []
    for number, prompts in enumerate(dialogue.prompts, 1):
        for prompt in prompts:
            plates = [place for place, one in enumerate(slices) if _is_visible(one, prompt)]
            if plates:
                # All slices of a stack have the same window, so the mark is the same on each.
                svg = _mark(slices[plates[0]], prompt)
                marks.append(RoundMarks(round=number, svg=svg, plates=plates))
    outlines: dict[int, list[list[str]]] = {}
    for number, mask in masks.items():
        outlines[number] = [[_outline(one, mask)] for one in slices]
    captions = [_values_text(dialogue, number) for number in range(1, dialogue.rounds + 1)]
    return Pane(label=run.label, values=captions, kept=outlines, marks=marks)


def _values_text(dialogue: DialogueRecord, number: int) -> str:
    texts: list[str] = []
    for metric in ("dice", "nsd"):
        values = dialogue.values_of(metric)
        if values:
            texts.append(metric_value_text(values, number, metric_name(metric)))
    return ", ".join(texts)


def choose_slices(window: slice, middle: int) -> list[int]:
    """Return at most `MOST_SLICES` indices inside the window, evenly spaced, `middle` among them."""
    step = max(1, math.ceil((window.stop - window.start) / MOST_SLICES))
    return [index for index in range(window.start, window.stop) if (index - middle) % step == 0]


def find_view_window(
    truth: Mask,
    predictions: Sequence[Mask],
    prompts: Sequence[RecordedPrompt],
    spacing_mm: tuple[float, float, float],
) -> Window:
    """Return the part of the volume that holds the target, the predictions and all prompts, with a margin."""
    visible = bounding_window(truth)
    for prediction in predictions:
        visible = join_windows(visible, bounding_window(prediction))
    for prompt in prompts:
        for point in prompt_points(prompt):
            voxel = tuple(slice(int(index), int(index) + 1) for index in point)
            visible = join_windows(visible, voxel)
    if is_empty(visible):
        return tuple(slice(0, length) for length in truth.shape)
    # The margin differs by axis, and `grow_window` takes one for all.
    sides: list[slice] = []
    for side, mm, length in zip(visible, spacing_mm, truth.shape, strict=True):
        sides.extend(grow_window((side,), round(MARGIN_MM / mm), (length,)))
    return tuple(sides)


def find_middle_slice(truth: Mask, axis: int) -> int:
    """Return the median position of the target's voxels along an axis, so that the slice holds some of them."""
    other_axes = tuple(other for other in range(3) if other != axis)
    counts = np.count_nonzero(truth, axis=other_axes)
    total = int(counts.sum())
    if total:
        return int(np.searchsorted(np.cumsum(counts), (total + 1) // 2))
    return truth.shape[axis] // 2


def make_slice(
    axis: int, index: int, window: Window, spacing_mm: tuple[float, float, float]
) -> Slice:
    """Return a slice of the window, scaled so that its pixels are square in mm."""
    rows, columns = (other for other in range(3) if other != axis)
    height_mm = (window[rows].stop - window[rows].start) * spacing_mm[rows]
    width_mm = (window[columns].stop - window[columns].start) * spacing_mm[columns]
    scale = VIEW_PX / max(height_mm, width_mm)
    return Slice(axis, index, window, (scale * spacing_mm[rows], scale * spacing_mm[columns]))


def _svg_view(shown: Slice) -> View:
    height, width = (max(1, round(length)) for length in shown.size)
    return View((slice(0, height), slice(0, width)), 1.0)


def _grey_picture(shown: Slice, voxels: NDArray[Any], levels: tuple[float, float]) -> str:
    """Return the slice in grey as a data URI, one pixel per voxel; the page stretches it."""
    lowest, highest = levels
    values = np.asarray(shown.crop(voxels), dtype=np.float64)
    grey = np.nan_to_num((values - lowest) / (highest - lowest))
    grey_bytes = (255 * grey.clip(0, 1)).astype(np.uint8)
    pixels = np.repeat(grey_bytes[:, :, None], 3, axis=2)
    height, width = grey_bytes.shape
    return jpeg_uri(pixels, View((slice(0, height), slice(0, width)), 1.0))


def _outline(shown: Slice, mask: Mask) -> str:
    view = _svg_view(shown)
    size = (round(view.width), round(view.height))
    pixels = shown.crop(mask).astype(np.uint8)
    enlarged = cv2.resize(pixels, size, interpolation=cv2.INTER_NEAREST)
    return outline(np.asarray(enlarged) > 0, view)


def _is_visible(shown: Slice, prompt: RecordedPrompt) -> bool:
    """Return whether a prompt meets the slice; limits are visible in slices that they cross."""
    if isinstance(prompt, Limits):
        return prompt.axis != shown.axis
    positions = [point[shown.axis] for point in prompt_points(prompt)]
    return bool(positions) and min(positions) - 0.5 <= shown.index <= max(positions) + 0.5


def _mark(shown: Slice, prompt: RecordedPrompt) -> str:
    css = prompt_css_class(prompt)
    match prompt:
        case Click(position=position):
            return _click_mark(*shown.project(position), css)
        case Box(start=start, stop=stop):
            # Both axes are reversed, so the start is the right and bottom edge.
            right, bottom = shown.project([index - 0.5 for index in start])
            left, top = shown.project([index - 0.5 for index in stop])
            corner = f'x="{px(left)}" y="{px(top)}"'
            size = f'width="{px(right - left)}" height="{px(bottom - top)}"'
            return f'<rect {corner} {size} class="drawn {css}"/>'
        case Scribble(points=points):
            return _line_mark(shown, points, css)
        case Lasso(points=points):
            return _line_mark(shown, [*points, *points[:1]], css)
        case Limits(first=first, last=last, axis=axis) if axis != shown.axis:
            return _limit_mark(shown, axis, first - 0.5) + _limit_mark(shown, axis, last + 0.5)
        case _:
            return ""


def _line_mark(shown: Slice, points: Sequence[Sequence[float]], css: str) -> str:
    places = [shown.project(point) for point in points]
    line = " ".join(f"{px(x)},{px(y)}" for x, y in places)
    return f'<polyline points="{line}" class="drawn {css}" stroke-linecap="round"/>'


def _limit_mark(shown: Slice, axis: int, end: float) -> str:
    """Return a dashed line across the slice at position `end` of `axis`."""
    height, width = shown.size
    position = [float(side.start) for side in shown.window]
    position[axis] = end
    x, y = shown.project(position)
    if axis == shown.axes[0]:
        corners = (0.0, y, width, y)
    else:
        corners = (x, 0.0, x, height)
    x1, y1, x2, y2 = (px(coordinate) for coordinate in corners)
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="drawn pos" stroke-dasharray="10 6"/>'
    )


def _click_mark(x: float, y: float, css: str) -> str:
    if css.startswith("pos"):
        return f'<circle cx="{px(x)}" cy="{px(y)}" r="7" class="click {css}"/>'
    corner = f'x="{px(x - 6)}" y="{px(y - 6)}"'
    return f'<rect {corner} width="12" height="12" rx="2" class="click {css}"/>'
