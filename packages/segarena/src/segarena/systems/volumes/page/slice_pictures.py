"""Dialogues about a volume in slices through the target: axial, coronal, sagittal.

Volumes are (plane to Superior, row to Anterior, column to Right), so both axes of every slice are turned round:
superior or anterior is on top, the patient's right on the left of axial and coronal slices, anterior on the left of
sagittal ones. Pixels are square in mm.
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
from segarena.arrays.levels import contrast
from segarena.prompts import Box, Click, Lasso, Limits, Scribble
from segarena.records.prompts import RecordedPrompt
from segarena.reports.axes import px
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
from segarena.reports.recorded_run import DialogueRecord, Run
from segarena.reports.viewer import Pane, Plate, RoundMarks, Stack
from segarena.reports.wording import metric_name
from segarena.samples import Mask, Target, VolumeSample

AXIS_NAMES = ("axial", "coronal", "sagittal")
HARDEST_TARGETS = 6
MOST_PICTURES = 12
MARGIN_MM = 12.0

MOST_SLICES = 32
"""Slices along each axis that a page holds at most, for each target."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Which slice is shown, which part of it, and how large."""

    axis: int  # the one that the slice is perpendicular to, at `index`
    index: int
    window: Window
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
        return (rows.stop - rows.start) * self.zoom[0], (columns.stop - columns.start) * self.zoom[
            1
        ]

    def cut(self, volume: NDArray[Any]) -> NDArray[Any]:
        """Return what is shown of a volume, turned round, still in voxels."""
        crop: NDArray[Any] = np.take(volume, self.index, axis=self.axis)[
            tuple(self.window[axis] for axis in self.axes)
        ]
        return np.ascontiguousarray(crop[::-1, ::-1])

    def place(self, position: Sequence[float]) -> tuple[float, float]:
        """Return (x, y) in SVG units; whole positions are centres of voxels."""
        (height, width), (row, column) = self.size, self.axes
        y = height - (position[row] - self.window[row].start + 0.5) * self.zoom[0]
        return width - (position[column] - self.window[column].start + 0.5) * self.zoom[1], y


@pictures("volume")
class VolumePictures:
    """Three slices through the target."""

    def __init__(self, word: str) -> None:
        self.word = word

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return few, for each volume is loaded whole."""
        return HARDEST_TARGETS, max(3, MOST_PICTURES // runs - HARDEST_TARGETS)

    def lead(self) -> str:
        """Explain slices, outlines and marks."""
        return str(macros("segarena.systems.volumes.page", "slices.html").lead(MOST_SLICES))

    def stacks(
        self, shown: Sequence[RunDialogue], sample: VolumeSample, target: Target
    ) -> Sequence[Stack]:
        """Return the axial, coronal and sagittal slices around target, last predictions and prompts."""
        kept = [
            {
                number: mask > 0
                for number, mask in run.masks(dialogue.key).items()
                if mask.shape == sample.shape
            }
            for run, dialogue in shown
        ]
        truth = target.mask > 0
        lasts = [masks[max(masks)] for masks in kept if masks]
        prompts = list(
            chain.from_iterable(chain.from_iterable(dialogue.prompts) for _, dialogue in shown)
        )
        window = find_view_window(truth, lasts, prompts, sample.spacing_mm)
        levels = contrast(sample.voxels[window])
        return [
            _stack(axis, window, sample, truth, levels, list(zip(shown, kept, strict=True)))
            for axis in range(3)
        ]


def _stack(
    axis: int,
    window: Window,
    sample: VolumeSample,
    truth: Mask,
    levels: tuple[float, float],
    shown: Sequence[tuple[RunDialogue, Mapping[int, Mask]]],
) -> Stack:
    count = sample.shape[axis]
    side = window[axis]
    middle = find_middle_slice(truth, axis) if truth.any() else (side.start + side.stop) // 2
    places = choose_slices(window[axis], middle)
    cuts = [make_slice(axis, index, window, sample.spacing_mm) for index in places]
    every = window[axis].stop - window[axis].start
    return Stack(
        name=AXIS_NAMES[axis],
        view=_view_of(cuts[0]),
        plates=[
            Plate(
                label=f"slice {cut.index + 1} of {count}",
                picture=_picture(cut, sample.voxels, levels),
                targets=[_outline(cut, truth)],
            )
            for cut in cuts
        ],
        panes=[_pane(run, dialogue, masks, cuts) for (run, dialogue), masks in shown],
        first=places.index(middle),
        levels=levels,
        note=f"{len(places)} of {every} {AXIS_NAMES[axis]} slices are shown."
        if len(places) < every
        else "",
    )


def _pane(
    run: Run, dialogue: DialogueRecord, masks: Mapping[int, Mask], cuts: Sequence[Slice]
) -> Pane:
    marks: list[RoundMarks] = []
    for number, prompts in enumerate(dialogue.prompts, 1):
        for prompt in prompts:
            on = [place for place, cut in enumerate(cuts) if _is_on(cut, prompt)]
            if on:
                marks.append(RoundMarks(round=number, svg=_mark(cuts[on[0]], prompt), plates=on))
    values = {
        metric_name(name): found for name in ("dice", "nsd") if (found := dialogue.values_of(name))
    }
    return Pane(
        label=run.label,
        values=[
            ", ".join(metric_value_text(found, number, name) for name, found in values.items())
            for number in range(1, dialogue.rounds + 1)
        ],
        kept={number: [[_outline(cut, mask)] for cut in cuts] for number, mask in masks.items()},
        marks=marks,
    )


def choose_slices(window: slice, middle: int) -> list[int]:
    """Return at most `SLICES` places inside the window, evenly spread, `middle` among them."""
    step = max(1, math.ceil((window.stop - window.start) / MOST_SLICES))
    return [place for place in range(window.start, window.stop) if (place - middle) % step == 0]


def find_view_window(
    truth: Mask,
    guesses: Sequence[Mask],
    prompts: Sequence[RecordedPrompt],
    spacing_mm: tuple[float, float, float],
) -> Window:
    """Return the part of the volume that holds the target, the guesses and all prompts, with a margin."""
    seen = bounding_window(truth)
    for guess in guesses:
        seen = join_windows(seen, bounding_window(guess))
    for prompt in prompts:
        for point in prompt_points(prompt):
            seen = join_windows(seen, tuple(slice(int(c), int(c) + 1) for c in point))
    if is_empty(seen):
        seen = tuple(slice(0, n) for n in truth.shape)
    return tuple(
        grow_window((side,), round(MARGIN_MM / edge), (n,))[0]
        for side, edge, n in zip(seen, spacing_mm, truth.shape, strict=True)
    )


def find_middle_slice(truth: Mask, axis: int) -> int:
    """Return the median position of the target's voxels along an axis, so that the slice holds some of them."""
    counts = np.count_nonzero(truth, axis=tuple(other for other in range(3) if other != axis))
    total = int(counts.sum())
    if total:
        return int(np.searchsorted(np.cumsum(counts), (total + 1) // 2))
    return truth.shape[axis] // 2


def make_slice(
    axis: int, index: int, window: Window, spacing_mm: tuple[float, float, float]
) -> Slice:
    """Return a slice of the window, scaled so that its pixels are square in mm."""
    rows, columns = (other for other in range(3) if other != axis)
    edges = [
        (window[other].stop - window[other].start) * spacing_mm[other] for other in (rows, columns)
    ]
    scale = VIEW_PX / max(edges)
    return Slice(axis, index, window, (scale * spacing_mm[rows], scale * spacing_mm[columns]))


def _view_of(cut: Slice) -> View:
    height, width = (max(1, round(length)) for length in cut.size)
    return View((slice(0, height), slice(0, width)), 1.0)


def _picture(cut: Slice, voxels: NDArray[Any], levels: tuple[float, float]) -> str:
    """Return the slice in grey, one pixel for a voxel; the page stretches it."""
    grey = np.nan_to_num(
        (np.asarray(cut.cut(voxels), dtype=np.float64) - levels[0]) / (levels[1] - levels[0])
    )
    pixels = np.repeat((255 * grey.clip(0, 1)).astype(np.uint8)[:, :, None], 3, axis=2)
    return jpeg_uri(pixels, View((slice(0, pixels.shape[0]), slice(0, pixels.shape[1])), 1.0))


def _outline(cut: Slice, mask: Mask) -> str:
    view = _view_of(cut)
    size = (round(view.width), round(view.height))
    large = cv2.resize(cut.cut(mask).astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
    return outline(np.asarray(large) > 0, view)


def _is_on(shown: Slice, prompt: RecordedPrompt) -> bool:
    """Tell whether a prompt meets the slice; limits do when they can be seen on it."""
    if isinstance(prompt, Limits):
        return prompt.axis != shown.axis
    along = [point[shown.axis] for point in prompt_points(prompt)]
    return bool(along) and min(along) - 0.5 <= shown.index <= max(along) + 0.5


def _mark(shown: Slice, prompt: RecordedPrompt) -> str:
    sign = prompt_css_class(prompt)
    match prompt:
        case Click(position=position):
            return _click(*shown.place(position), sign)
        case Box(start=start, stop=stop):
            right, bottom = shown.place([i - 0.5 for i in start])
            left, top = shown.place([i - 0.5 for i in stop])
            corner = f'x="{px(left)}" y="{px(top)}" width="{px(right - left)}" height="{px(bottom - top)}"'
            return f'<rect {corner} class="drawn {sign}"/>'
        case Scribble(points=drawn) | Lasso(points=drawn):
            points = [*drawn, *(drawn[:1] if isinstance(prompt, Lasso) else ())]
            line = " ".join(f"{px(x)},{px(y)}" for x, y in map(shown.place, points))
            return f'<polyline points="{line}" class="drawn {sign}" stroke-linecap="round"/>'
        case Limits(first=first, last=last, axis=axis) if axis != shown.axis:
            return "".join(_limit(shown, axis, end) for end in (first - 0.5, last + 0.5))
        case _:
            return ""


def _limit(shown: Slice, axis: int, end: float) -> str:
    (height, width), middle = shown.size, [float(side.start) for side in shown.window]
    middle[axis] = end
    x, y = shown.place(middle)
    ends = (0.0, y, width, y) if axis == shown.axes[0] else (x, 0.0, x, height)
    x1, y1, x2, y2 = map(px, ends)
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="drawn pos" stroke-dasharray="10 6"/>'
    )


def _click(x: float, y: float, sign: str) -> str:
    if sign.startswith("pos"):
        return f'<circle cx="{px(x)}" cy="{px(y)}" r="7" class="click {sign}"/>'
    return f'<rect x="{px(x - 6)}" y="{px(y - 6)}" width="12" height="12" rx="2" class="click {sign}"/>'
