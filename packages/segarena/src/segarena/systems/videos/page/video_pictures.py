"""Pictures of dialogues about a video: its frames after each interaction, with the J&F of every frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.arrays.rle import decode_rle
from segarena.prompts import Lasso, Scribble
from segarena.records.prompts import RecordedPrompt, RecordedSupport
from segarena.reports.axes import Frame, element, px
from segarena.reports.charts import colour_class
from segarena.reports.html_document import macros
from segarena.reports.overlays import View, jpeg_uri, outline
from segarena.reports.pictures import (
    MAX_GALLERY_DIALOGUES,
    MAX_HARDEST_CARDS,
    RunDialogue,
    pictures,
    spread_evenly,
)
from segarena.reports.recorded_run import Run, sample_rows
from segarena.reports.round_table import DialogueId, DialogueRecord
from segarena.reports.viewer import Pane, Plate, RoundMarks, Stack
from segarena.samples import Labels, Mask, Target, VideoSample

FRAMES = 24
"""Largest number of frames of a video on a page."""

WIDTH_PX = 320
"""Width of a frame, in SVG units and at most in JPEG pixels."""


# Size and margin of the chart below a run.
_CHART_WIDTH = 240


_CHART_HEIGHT = 56


_CHART_MARGIN = 4


# Longer lines are thinned to about this many points.
_LINE_POINTS = 40


@pictures("video")
class VideoPictures:
    """Frames of a video for each interaction with a stored prediction."""

    def __init__(self, word: str) -> None:
        self.word = word

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return 12 and as many others as make 36 dialogues over all runs."""
        return MAX_HARDEST_CARDS, max(0, MAX_GALLERY_DIALOGUES // 2 // runs - MAX_HARDEST_CARDS)

    def lead(self) -> str:
        """Explain frames, lines and curves."""
        return str(macros("segarena.systems.videos.page", "frames.html").lead(FRAMES))

    def stacks(
        self, shown: Sequence[RunDialogue], sample: VideoSample, target: Target
    ) -> Sequence[Stack]:
        """Return the frames with the objects, and for each run its predictions and latest prompts."""
        count = len(sample.frames)
        frames = shown_frames(count, chain.from_iterable(dialogue.prompts for _, dialogue in shown))
        height, width = sample.frame_shape
        view = View((slice(0, height), slice(0, width)), WIDTH_PX / width)
        plates: list[Plate] = []
        for frame in frames:
            plate = Plate(
                label=f"frame {frame} of {count}",
                picture=jpeg_uri(sample.frames[frame], view),
                targets=_outlines(target.mask[frame], target.objects, view),
            )
            plates.append(plate)
        panes: list[Pane] = []
        for run, dialogue in shown:
            pane = _pane(run, dialogue, sample.shape, target.objects, frames, view)
            panes.append(pane)
        colours = [""]
        if target.objects > 1:
            colours = [colour_class(number) for number in range(target.objects)]
        note = f"{len(frames)} of {count} frames are shown." if len(frames) < count else ""
        stack = Stack(
            view=view, plates=plates, panes=panes, colours=colours, note=note, is_moving=True
        )
        return [stack]


def _pane(
    run: Run,
    dialogue: DialogueRecord,
    shape: tuple[int, ...],
    objects: int,
    frames: Sequence[int],
    view: View,
) -> Pane:
    outlines: dict[int, list[list[str]]] = {}
    for number, labels in sorted(kept_labels(run, dialogue.key).items()):
        if labels.shape == shape:
            outlines[number] = [_outlines(labels[frame], objects, view) for frame in frames]
    marks: list[RoundMarks] = []
    values: list[str] = []
    charts: list[str] = []
    for number, prompts in enumerate(dialogue.prompts, 1):
        for index, frame in enumerate(frames):
            svg = "".join(_line(prompt, frame, view) for prompt in prompts)
            if svg:
                marks.append(RoundMarks(round=number, svg=svg, plates=[index], is_brief=True))
        quality = frame_values(run, dialogue.key, number)
        text = f"J&F {quality.mean():.3f}" if len(quality) else "–"
        values.append(text)
        charts.append(_chart(quality, number, frames, prompts))
    return Pane(label=run.label, values=values, kept=outlines, marks=marks, charts=charts)


def kept_labels(run: Run, key: DialogueId) -> dict[int, Labels]:
    """Return the stored predictions of a dialogue as labels of all objects, by round."""
    labels_of: dict[int, Labels] = {}
    for row in _rows(run, "masks", key).iter_rows(named=True):
        shape = tuple(row["shape"])
        labels = labels_of.setdefault(row["round"], np.zeros(shape, dtype=np.uint8))
        labels[decode_rle(row["rle"], shape)] = row["object"]
    return labels_of


def frame_values(run: Run, key: DialogueId, round_: int) -> NDArray[np.float64]:
    """Return the mean of J&F over objects in each frame after a round; empty without values."""
    rows = _rows(run, "parts", key).filter(round=round_)
    if not {"jaccard", "contour"} <= set(rows.columns):
        return np.empty(0)
    j_and_f = 0.5 * pl.col("jaccard") + 0.5 * pl.col("contour")
    by_frame = rows.group_by("frame").agg(j_and_f.mean().alias("value")).sort("frame")
    return by_frame["value"].to_numpy()


def _rows(run: Run, table: str, key: DialogueId) -> pl.DataFrame:
    sample, target, user, repeat = key
    return sample_rows(run, table, sample).filter(target=target, user=user, repeat=repeat)


def shown_frames(count: int, rounds: Iterable[Sequence[RecordedPrompt]]) -> list[int]:
    """Return the frames to show: all, or else those with prompts and others evenly between."""
    if count <= FRAMES:
        return list(range(count))
    prompted: set[int] = set()
    for prompts in rounds:
        for prompt in prompts:
            prompted.update(int(point[0]) for point in _points(prompt))
    drawn = spread_evenly(sorted(prompted), FRAMES // 2)
    rest = [frame for frame in range(count) if frame not in drawn]
    return sorted([*drawn, *spread_evenly(rest, FRAMES - len(drawn))])


def _outlines(labels: Labels | Mask, objects: int, view: View) -> list[str]:
    return [outline(labels == number, view) for number in range(1, objects + 1)]


def _colour(prompt: RecordedPrompt) -> str:
    number = 0 if isinstance(prompt, RecordedSupport) else prompt.object_id
    return colour_class(number - 1) if number else "ground"


def _line(prompt: RecordedPrompt, frame: int, view: View) -> str:
    """Return a prompt in a frame as SVG; "" if it is not in this frame."""
    points = [point for point in _points(prompt) if int(point[0]) == frame]
    if not points:
        return ""
    step = max(1, len(points) // _LINE_POINTS)
    places = [view.place(row, column) for _, row, column in points[::step]]
    places.append(places[-1])  # so that a single point is visible
    line = " ".join(f"{px(x)},{px(y)}" for x, y in places)
    halo = element("polyline", points=line, css="scribbled halo")
    return halo + element("polyline", points=line, css=f"scribbled {_colour(prompt)}")


def _points(prompt: RecordedPrompt) -> Sequence[Sequence[float]]:
    return prompt.points if isinstance(prompt, (Scribble, Lasso)) else ()


def _chart(
    values: NDArray[np.float64],
    number: int,
    frames: Sequence[int],
    prompts: Sequence[RecordedPrompt],
) -> str:
    """Return J&F of each frame after an interaction, with the frames of its prompts."""
    margin = _CHART_MARGIN
    right = _CHART_WIDTH - margin
    bottom = _CHART_HEIGHT - margin
    chart = Frame(
        _CHART_WIDTH,
        _CHART_HEIGHT,
        f"J&F of each frame after interaction {number}",
        left=margin,
        right=margin,
        top=margin,
        bottom=margin,
    )
    x_scale = chart.x_scale(0, max(1, len(values) - 1))
    y_scale = chart.y_scale(0, 1)
    for level in (0.0, 0.5, 1.0):
        css = "axis" if level == 0 else "grid"
        chart.line(margin, y_scale(level), right, y_scale(level), css)
    prompted: set[int] = set()
    for prompt in prompts:
        points = _points(prompt)
        if points:
            prompted.add(int(points[0][0]))
    for frame in sorted(prompted):
        chart.line(x_scale(frame), margin, x_scale(frame), bottom, "mark")
    corners = [f"{px(x_scale(frame))} {px(y_scale(value))}" for frame, value in enumerate(values)]
    if corners:
        chart.draw(f'<path d="M{"L".join(corners)}" class="curve"/>')
    for frame in frames:
        if frame < len(values):
            x = px(x_scale(frame))
            y = px(y_scale(values[frame]))
            chart.draw(f'<circle cx="{x}" cy="{y}" r="2" class="dot"/>')
    return chart.svg()
