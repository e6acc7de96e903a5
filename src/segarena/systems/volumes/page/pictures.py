"""One dialogue about a volume in three slices through the target: axial, coronal, sagittal.

Volumes are (plane to Superior, row to Anterior, column to Right), so both axes of every slice are turned round:
superior or anterior is on top, the patient's right on the left of axial and coronal slices, anterior on the left of
sagittal ones. Pixels are square in mm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, grow_window, is_empty, join_windows
from segarena.prompts import Box, Click, Lasso, Limits, Scribble
from segarena.records.prompts import RecordedPrompt
from segarena.reports.axes import px
from segarena.reports.overlays import VIEW_PX, View, jpeg_uri, outline, points_of, sign_of
from segarena.reports.pictures import pictures
from segarena.reports.reading import DialogueRecord, Run
from segarena.reports.rendering import macros
from segarena.reports.wording import count_text, metric_name
from segarena.samples import Mask, Target, VolumeSample

NAMES = ("axial", "coronal", "sagittal")
HARDEST = 6
STRIPS = 12
MARGIN_MM = 12.0
MOST_FAINT = 30
"""With more prompts than this, only those on the slice shown are drawn."""


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
        return (rows.stop - rows.start) * self.zoom[0], (columns.stop - columns.start) * self.zoom[1]

    def cut(self, volume: NDArray[Any]) -> NDArray[Any]:
        """Return what is shown of a volume, turned round, still in voxels."""
        crop: NDArray[Any] = np.take(volume, self.index, axis=self.axis)[tuple(self.window[axis] for axis in self.axes)]
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
        return HARDEST, max(3, STRIPS // runs - HARDEST)

    def lead(self) -> str:
        """Explain slices, outlines and marks."""
        return str(_html().lead())

    def strip(
        self, run: Run, dialogue: DialogueRecord, sample: VolumeSample, target: Target, anchor: str, *, is_named: bool
    ) -> str:
        """Return the three slices with target, last prediction and all prompts."""
        masks = {number: mask for number, mask in run.masks(dialogue.key).items() if mask.shape == sample.shape}
        last = max(masks, default=0)
        truth = target.mask > 0
        guess: Mask = masks[last] > 0 if last else np.zeros(sample.shape, dtype=np.bool_)
        prompts = list(chain(*dialogue.prompts))
        levels = contrast(sample.voxels)
        shown = [
            _shown(cut, sample.voxels, levels, truth, guess, prompts)
            for cut in slices_of(truth, guess, prompts, sample.spacing_mm)
        ]
        title = f"{run.label}: " if is_named else ""
        shown_values = {m: v for m, v in dialogue.values.items() if m in ("dice", "nsd") and v}
        told = ", ".join(f"{metric_name(m)} {v[-1]:.3f}" for m, v in shown_values.items())
        effort = f"{dialogue.efforts[-1]:g} interactions" if dialogue.efforts else ""
        words = f"{title}{told} after {count_text(dialogue.rounds, 'round')}, {effort}"
        return str(_html().strip(words, shown, is_kept=bool(last)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSlice:
    """A slice as the page has it: pictures and outlines as SVG, the slice's number counted from 1."""

    name: str
    number: int
    count: int
    view: View
    picture: str
    guess: str
    truth: str
    marks: str


def slices_of(
    truth: Mask, guess: Mask, prompts: Sequence[RecordedPrompt], spacing_mm: tuple[float, float, float]
) -> list[Slice]:
    """Return the slice along each axis through the middle of the target's voxels; of an empty one the volume's."""
    seen = join_windows(bounding_window(truth), bounding_window(guess))
    for prompt in prompts:
        for point in points_of(prompt):
            seen = join_windows(seen, tuple(slice(int(c), int(c) + 1) for c in point))
    if is_empty(seen):
        seen = tuple(slice(0, n) for n in truth.shape)
    window = tuple(
        grow_window((side,), round(MARGIN_MM / edge), (n,))[0]
        for side, edge, n in zip(seen, spacing_mm, truth.shape, strict=True)
    )
    return [_slice(axis, middle_of(truth, axis), window, spacing_mm) for axis in range(3)]


def middle_of(truth: Mask, axis: int) -> int:
    """Return the median position of the target's voxels along an axis, so that the slice holds some of them."""
    counts = np.count_nonzero(truth, axis=tuple(other for other in range(3) if other != axis))
    total = int(counts.sum())
    return int(np.searchsorted(np.cumsum(counts), (total + 1) // 2)) if total else truth.shape[axis] // 2


def contrast(voxels: NDArray[Any]) -> tuple[float, float]:
    """Return the 0.5 and 99.5 percentiles of the finite voxels, of every few of a large volume."""
    step = max(1, round((voxels.size / 2_000_000) ** (1 / 3)))  # percentiles of two million voxels say enough
    some = np.asarray(voxels[::step, ::step, ::step], dtype=np.float64)
    some = some[np.isfinite(some)]
    low, high = np.percentile(some, [0.5, 99.5]) if some.size else (0.0, 1.0)
    return float(low), float(max(high, low + 1e-6))


def _slice(axis: int, index: int, window: Window, spacing_mm: tuple[float, float, float]) -> Slice:
    rows, columns = (other for other in range(3) if other != axis)
    edges = [(window[other].stop - window[other].start) * spacing_mm[other] for other in (rows, columns)]
    scale = VIEW_PX / max(edges)
    return Slice(axis, index, window, (scale * spacing_mm[rows], scale * spacing_mm[columns]))


def _shown(
    cut: Slice,
    voxels: NDArray[Any],
    levels: tuple[float, float],
    truth: Mask,
    guess: Mask,
    prompts: Sequence[RecordedPrompt],
) -> ShownSlice:
    height, width = (max(1, round(length)) for length in cut.size)
    view = View((slice(0, height), slice(0, width)), 1.0)
    grey = np.nan_to_num((np.asarray(cut.cut(voxels), dtype=np.float64) - levels[0]) / (levels[1] - levels[0]))
    picture = cv2.resize((255 * grey.clip(0, 1)).astype(np.uint8), (width, height), interpolation=cv2.INTER_LINEAR)
    here = [prompt for prompt in prompts if _is_on(cut, prompt)]
    # Too many faint marks would hide the picture.
    elsewhere = [prompt for prompt in prompts if not _is_on(cut, prompt)] if len(prompts) <= MOST_FAINT else []
    faint = [_mark(cut, prompt, is_faint=True) for prompt in elsewhere]
    return ShownSlice(
        name=NAMES[cut.axis],
        number=cut.index + 1,
        count=voxels.shape[cut.axis],
        view=view,
        picture=jpeg_uri(np.repeat(np.asarray(picture, dtype=np.uint8)[:, :, None], 3, axis=2), view),
        guess=outline(_large(cut.cut(guess), (width, height)), view),
        truth=outline(_large(cut.cut(truth), (width, height)), view),
        marks="".join([*faint, *(_mark(cut, prompt, is_faint=False) for prompt in here)]),
    )


def _html() -> Any:
    return macros("segarena.systems.volumes.page", "slices.html")


def _large(mask: Mask, size: tuple[int, int]) -> Mask:
    return np.asarray(cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)) > 0


def _is_on(shown: Slice, prompt: RecordedPrompt) -> bool:
    """Tell whether a prompt meets the slice; limits do when they can be seen on it."""
    if isinstance(prompt, Limits):
        return prompt.axis != shown.axis
    along = [point[shown.axis] for point in points_of(prompt)]
    return bool(along) and min(along) - 0.5 <= shown.index <= max(along) + 0.5


def _mark(shown: Slice, prompt: RecordedPrompt, *, is_faint: bool) -> str:
    sign = sign_of(prompt) + (" faint" if is_faint else "")
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
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="drawn pos" stroke-dasharray="10 6"/>'


def _click(x: float, y: float, sign: str) -> str:
    if sign.startswith("pos"):
        return f'<circle cx="{px(x)}" cy="{px(y)}" r="7" class="click {sign}"/>'
    return f'<rect x="{px(x - 6)}" y="{px(y - 6)}" width="12" height="12" rx="2" class="click {sign}"/>'
