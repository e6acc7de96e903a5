"""Pictures of dialogues on volumes: axial, coronal and sagittal slices through the target.

Volume axes are (plane to Superior, row to Anterior, column to Right), so both axes of every slice
are reversed for display: superior or anterior is at the top, the patient's right is on the left of
axial and coronal slices, and anterior is on the left of sagittal slices. Pixels are square in mm.
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

from segarena.arrays.boxes import (
    Window,
    bounding_window,
    grow_window,
    is_empty,
    join_windows,
    window_shape,
)
from segarena.arrays.quantization import contrast_limits
from segarena.records.prompts import RecordedPrompt
from segarena.reports.display_names import metric_name
from segarena.reports.html_document import macros
from segarena.reports.overlays import (
    VIEW_PX,
    View,
    jpeg_uri,
    outline,
    prompt_points,
)
from segarena.reports.pictures import (
    RunDialogue,
    metric_value_text,
    pictures,
    prompts_by_round,
)
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.viewer_content import (
    DialogueContent,
    LevelsContent,
    ObjectContent,
    Outlines,
    PlaneContent,
    ViewerContent,
    finite_values,
)
from segarena.samples import Mask, Target, VolumeSample

AXIS_NAMES = ("axial", "coronal", "sagittal")
HARDEST_TARGETS = 6
MOST_PICTURES = 12
MARGIN_MM = 12.0
CAPTION_METRICS = ("dice", "nsd")

MOST_SLICES = 32
"""Maximum number of slices along each axis that a page contains for each target."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A displayed slice: its index, its visible part, and its scale."""

    axis: int  # the axis perpendicular to the slice
    index: int  # position along that axis
    window: Window  # the visible part of the volume
    zoom: tuple[float, float]  # SVG units per voxel along the slice's rows and columns

    @property
    def axes(self) -> tuple[int, int]:
        """The volume axes that form the rows and columns of the slice."""
        first, second = (axis for axis in range(3) if axis != self.axis)
        return first, second

    @property
    def size(self) -> tuple[float, float]:
        """Height and width in SVG units."""
        row_axis, column_axis = self.axes
        rows = self.window[row_axis]
        columns = self.window[column_axis]
        height = (rows.stop - rows.start) * self.zoom[0]
        width = (columns.stop - columns.start) * self.zoom[1]
        return height, width

    def crop(self, volume: NDArray[Any]) -> NDArray[Any]:
        """Return the visible part of a volume in voxels, with both axes reversed."""
        plane = np.take(volume, self.index, axis=self.axis)
        row_axis, column_axis = self.axes
        visible: NDArray[Any] = plane[self.window[row_axis], self.window[column_axis]]
        # Canonical axes point to Superior, Anterior and Right. Picture rows run downwards, and
        # radiologists expect the patient's right side on the left.
        return np.ascontiguousarray(visible[::-1, ::-1])


@pictures("volume")
class VolumePictures:
    """Pictures of three slices through the target."""

    def __init__(self, word: str) -> None:
        self.word = word

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return how many of the hardest and of other targets to show; few, because each loads a whole volume."""
        return HARDEST_TARGETS, max(3, MOST_PICTURES // runs - HARDEST_TARGETS)

    def lead(self) -> str:
        """Return an HTML explanation of slices, outlines and marks."""
        return str(macros("segarena.systems.volumes.page", "slices.html").lead(MOST_SLICES))

    def content(
        self,
        shown: Sequence[RunDialogue],
        sample: VolumeSample,
        target: Target,
    ) -> ViewerContent:
        """Return axial, coronal and sagittal slices with target, stored predictions and prompts."""
        truth = target.mask > 0
        stored_masks: list[dict[int, Mask]] = []
        last_masks: list[Mask] = []
        prompts: list[RecordedPrompt] = []
        for run, dialogue in shown:
            masks: dict[int, Mask] = {}
            for number, mask in run.masks(dialogue.key).items():
                if mask.shape == sample.shape:
                    masks[number] = mask > 0
            stored_masks.append(masks)
            if masks:
                last_masks.append(masks[max(masks)])
            prompts.extend(chain.from_iterable(dialogue.prompts))
        window = find_view_window(truth, last_masks, prompts, sample.spacing_mm)
        low, high = contrast_limits(sample.voxels[window])
        planes: list[PlaneContent] = []
        for axis in range(3):
            planes.append(_plane(axis, window, sample, truth, (low, high), stored_masks))
        dialogues: list[DialogueContent] = []
        for number, (run, dialogue) in enumerate(shown):
            dialogues.append(_dialogue(number, run, dialogue, sorted(stored_masks[number])))
        return ViewerContent(
            key=("", target.id, "", 0),
            kind="volume",
            word=self.word,
            planes=planes,
            # Pictures have 256 grey levels between the two intensity limits.
            levels=LevelsContent(
                offset=low,
                step=(high - low) / 255,
                low=low,
                high=high,
            ),
            objects=[ObjectContent(number=1, id=target.id, label=target.label)],
            dialogues=dialogues,
        )


def _plane(
    axis: int,
    window: Window,
    sample: VolumeSample,
    truth: Mask,
    levels: tuple[float, float],
    stored_masks: Sequence[Mapping[int, Mask]],
) -> PlaneContent:
    side = window[axis]
    if truth.any():
        middle = find_middle_slice(truth, axis)
    else:
        middle = (side.start + side.stop) // 2
    indices = choose_slices(side, middle)
    slices = [make_slice(axis, index, window, sample.spacing_mm) for index in indices]
    layers: dict[str, list[Outlines]] = {"target": [{"1": _outline(one, truth)} for one in slices]}
    for number, masks in enumerate(stored_masks):
        for round_, mask in masks.items():
            layers[f"{number}.{round_}"] = [{"1": _outline(one, mask)} for one in slices]
    slices_in_window = side.stop - side.start
    note = ""
    if len(indices) < slices_in_window:
        note = f"{len(indices)} of {slices_in_window} {AXIS_NAMES[axis]} slices are shown."
    rows, columns = (window[other] for other in slices[0].axes)
    return PlaneContent(
        name=AXIS_NAMES[axis],
        axis=axis,
        count=sample.shape[axis],
        size=(rows.stop - rows.start, columns.stop - columns.start),
        edges=slices[0].zoom,
        is_turned=True,
        first=indices.index(middle),
        origin=(rows.start, columns.start),
        indices=tuple(indices),
        note=note,
        pictures=tuple(_grey_picture(one, sample.voxels, levels) for one in slices),
        layers=layers,
    )


def _dialogue(
    number: int,
    run: Run,
    dialogue: DialogueRecord,
    stored: Sequence[int],
) -> DialogueContent:
    captions: list[str] = []
    values: list[dict[str, float]] = []
    for round_ in range(1, dialogue.rounds + 1):
        captions.append(_values_text(dialogue, round_))
        values.append(_values_after(dialogue, round_))
    return DialogueContent(
        label=run.label,
        number=number,
        captions=captions,
        values=values,
        prompts=prompts_by_round(dialogue),
        stored=stored,
    )


def _values_after(dialogue: DialogueRecord, round_: int) -> dict[str, float]:
    values: dict[str, float] = {}
    for metric in CAPTION_METRICS:
        column = dialogue.values_of(metric)
        if round_ <= len(column):
            values[metric_name(metric)] = column[round_ - 1]
    return finite_values(values)


def _values_text(dialogue: DialogueRecord, number: int) -> str:
    texts: list[str] = []
    for metric in CAPTION_METRICS:
        values = dialogue.values_of(metric)
        if values:
            texts.append(metric_value_text(values, number, metric_name(metric)))
    return ", ".join(texts)


def choose_slices(window: slice, middle: int) -> list[int]:
    """Return at most `MOST_SLICES` evenly spaced indices inside the window, including `middle`."""
    length = window.stop - window.start
    step = max(1, math.ceil(length / MOST_SLICES))
    first = window.start + (middle - window.start) % step
    return list(range(first, window.stop, step))


def find_view_window(
    truth: Mask,
    predictions: Sequence[Mask],
    prompts: Sequence[RecordedPrompt],
    spacing_mm: tuple[float, float, float],
) -> Window:
    """Return the part of the volume that contains target, predictions and all prompts, with a margin.

    If all of them are empty, this is the whole volume.
    """
    visible = bounding_window(truth)
    for prediction in predictions:
        visible = join_windows(visible, bounding_window(prediction))
    for prompt in prompts:
        for point in prompt_points(prompt):
            voxel = tuple(slice(int(index), int(index) + 1) for index in point)
            visible = join_windows(visible, voxel)
    if is_empty(visible):
        return tuple(slice(0, length) for length in truth.shape)
    # The margin differs by axis, but `grow_window` accepts a single margin for all axes.
    sides: list[slice] = []
    for side, mm, length in zip(visible, spacing_mm, truth.shape, strict=True):
        sides.extend(grow_window((side,), round(MARGIN_MM / mm), (length,)))
    return tuple(sides)


def find_middle_slice(truth: Mask, axis: int) -> int:
    """Return the slice at the median of the target's voxels along an axis, which contains some of them.

    For an empty target it is the middle slice of the volume.
    """
    other_axes = tuple(other for other in range(3) if other != axis)
    counts = np.count_nonzero(truth, axis=other_axes)
    total = int(counts.sum())
    if total:
        return int(np.searchsorted(np.cumsum(counts), (total + 1) // 2))
    return truth.shape[axis] // 2


def make_slice(
    axis: int,
    index: int,
    window: Window,
    spacing_mm: tuple[float, float, float],
) -> Slice:
    """Return a slice of the window, scaled to pixels that are square in mm."""
    row_axis, column_axis = (other for other in range(3) if other != axis)
    lengths = window_shape(window)
    height_mm = lengths[row_axis] * spacing_mm[row_axis]
    width_mm = lengths[column_axis] * spacing_mm[column_axis]
    scale = VIEW_PX / max(height_mm, width_mm)
    zoom = (scale * spacing_mm[row_axis], scale * spacing_mm[column_axis])
    return Slice(axis, index, window, zoom)


def _svg_view(shown: Slice) -> View:
    height, width = shown.size
    rows = slice(0, max(1, round(height)))
    columns = slice(0, max(1, round(width)))
    return View((rows, columns), 1.0)


def _grey_picture(
    shown: Slice,
    voxels: NDArray[Any],
    levels: tuple[float, float],
) -> str:
    """Return the grey-level slice as a data URI, one pixel per voxel; the page stretches it."""
    lowest, highest = levels
    values = np.asarray(shown.crop(voxels), dtype=np.float64)
    # A scan with constant intensity has a range of 0, which gives NaN.
    shares = np.nan_to_num((values - lowest) / (highest - lowest))
    grey = (255 * shares.clip(0, 1)).astype(np.uint8)
    height, width = grey.shape
    pixels = np.repeat(grey[:, :, None], 3, axis=2)
    whole = View((slice(0, height), slice(0, width)), 1.0)
    return jpeg_uri(pixels, whole)


def _outline(shown: Slice, mask: Mask) -> str:
    view = _svg_view(shown)
    size = (round(view.width), round(view.height))
    pixels = shown.crop(mask).astype(np.uint8)
    enlarged = cv2.resize(pixels, size, interpolation=cv2.INTER_NEAREST)
    return outline(np.asarray(enlarged) > 0, view)
