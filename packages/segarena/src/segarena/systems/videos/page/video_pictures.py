"""Pictures of dialogues on a video: its frames after each interaction, with the J&F of every frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.arrays.rle import decode_rle
from segarena.prompts import Lasso, Scribble
from segarena.records.prompts import RecordedPrompt
from segarena.reports.axes import Frame, px
from segarena.reports.html_document import macros
from segarena.reports.overlays import View, jpeg_uri, outline
from segarena.reports.pictures import (
    MAX_GALLERY_DIALOGUES,
    MAX_HARDEST_CARDS,
    RunDialogue,
    pictures,
    prompts_by_round,
    spread_evenly,
)
from segarena.reports.recorded_run import Run, sample_rows
from segarena.reports.round_table import DialogueId, DialogueRecord
from segarena.reports.viewer_content import (
    DialogueContent,
    ObjectContent,
    Outlines,
    PlaneContent,
    ViewerContent,
    finite_values,
)
from segarena.samples import Labels, Mask, Target, VideoSample

FRAMES = 24
"""Maximum number of frames of a video on a page."""

WIDTH_PX = 320
"""Width of a frame in SVG units, and maximum width in JPEG pixels."""


# Size and margin of the chart below a run.
_CHART_WIDTH = 240
_CHART_HEIGHT = 56
_CHART_MARGIN = 4


# Longer lines are thinned to about this many points.
_LINE_POINTS = 40


@pictures("video")
class VideoPictures:
    """Shows a video's frames after each interaction whose prediction is stored."""

    def __init__(self, word: str) -> None:
        self.word = word

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return how many of the hardest (12) and of the other dialogues of a run to show.

        All runs together show up to 36, or 12 each if there are more than three.
        """
        # Half of the usual number of dialogues in the gallery, because each has several frames.
        others = MAX_GALLERY_DIALOGUES // 2 // runs - MAX_HARDEST_CARDS
        return MAX_HARDEST_CARDS, max(0, others)

    def lead(self) -> str:
        """Explain frames, lines and curves."""
        return str(macros("segarena.systems.videos.page", "frames.html").lead(FRAMES))

    def content(
        self,
        shown: Sequence[RunDialogue],
        sample: VideoSample,
        target: Target,
    ) -> ViewerContent:
        """Return the frames with the objects, and for each run its predictions and latest prompts."""
        count = len(sample.frames)
        frames = shown_frames(count, chain.from_iterable(dialogue.prompts for _, dialogue in shown))
        height, width = sample.frame_shape
        view = View((slice(0, height), slice(0, width)), WIDTH_PX / width)
        objects = target.objects
        layers: dict[str, list[Outlines]] = {
            "target": [_outlines(target.mask[frame], objects, view) for frame in frames]
        }
        dialogues: list[DialogueContent] = []
        for number, (run, dialogue) in enumerate(shown):
            stored: list[int] = []
            for round_, labels in sorted(kept_labels(run, dialogue.key).items()):
                if labels.shape == sample.shape:
                    stored.append(round_)
                    answer = [_outlines(labels[frame], objects, view) for frame in frames]
                    layers[f"{number}.{round_}"] = answer
            dialogues.append(_dialogue(number, run, dialogue, frames, stored))
        plane = PlaneContent(
            name="frame",
            axis=0,
            count=count,
            size=(height, width),
            edges=(view.scale, view.scale),
            indices=tuple(frames),
            note=f"{len(frames)} of {count} frames are shown." if len(frames) < count else "",
            pictures=tuple(jpeg_uri(sample.frames[frame], view) for frame in frames),
            layers=layers,
        )
        return ViewerContent(
            key=("", target.id, "", 0),
            kind="video",
            word=self.word,
            planes=[plane],
            objects=[ObjectContent(number=one, id=target.id) for one in range(1, objects + 1)],
            shows_latest=True,
            dialogues=dialogues,
        )


def _dialogue(
    number: int,
    run: Run,
    dialogue: DialogueRecord,
    frames: Sequence[int],
    stored: Sequence[int],
) -> DialogueContent:
    captions: list[str] = []
    values: list[dict[str, float]] = []
    charts: list[str] = []
    for round_, prompts in enumerate(dialogue.prompts, 1):
        quality = frame_values(run, dialogue.key, round_)
        mean = float(quality.mean()) if len(quality) else math.nan
        captions.append(f"J&F {mean:.3f}" if len(quality) else "–")
        values.append(finite_values({"J&F": mean}))
        charts.append(_chart(quality, round_, frames, prompts))
    return DialogueContent(
        label=run.label,
        number=number,
        captions=captions,
        values=values,
        prompts=prompts_by_round(dialogue, max_points=_LINE_POINTS),
        stored=stored,
        charts=charts,
    )


def kept_labels(run: Run, key: DialogueId) -> dict[int, Labels]:
    """Return the stored predictions of a dialogue as labels of all objects, by round."""
    labels_of: dict[int, Labels] = {}
    for row in _rows(run, "masks", key).iter_rows(named=True):
        shape = tuple(row["shape"])
        labels = labels_of.setdefault(row["round"], np.zeros(shape, dtype=np.uint8))
        labels[decode_rle(row["rle"], shape)] = row["object"]
    return labels_of


def frame_values(
    run: Run,
    key: DialogueId,
    round_: int,
) -> NDArray[np.float64]:
    """Return the mean of J&F over objects in each frame after a round; empty if there are no values."""
    rows = _rows(run, "parts", key).filter(round=round_)
    has_both = {"jaccard", "contour"} <= set(rows.columns)
    if not has_both:
        return np.empty(0)
    j_and_f = 0.5 * pl.col("jaccard") + 0.5 * pl.col("contour")
    value = j_and_f.mean().alias("value")
    by_frame = rows.group_by("frame").agg(value).sort("frame")
    return by_frame["value"].to_numpy()


def _rows(
    run: Run,
    table: str,
    key: DialogueId,
) -> pl.DataFrame:
    sample, target, user, repeat = key
    return sample_rows(run, table, sample).filter(target=target, user=user, repeat=repeat)


def shown_frames(count: int, rounds: Iterable[Sequence[RecordedPrompt]]) -> list[int]:
    """Return the frames to show: all if there are at most 24.

    Otherwise these are 24 frames: up to 12 with prompts, and evenly spaced others.
    """
    if count <= FRAMES:
        return list(range(count))
    prompted: set[int] = set()
    for prompts in rounds:
        for prompt in prompts:
            prompted.update(int(point[0]) for point in _points(prompt))
    drawn = spread_evenly(sorted(prompted), FRAMES // 2)
    rest = [frame for frame in range(count) if frame not in drawn]
    return sorted([*drawn, *spread_evenly(rest, FRAMES - len(drawn))])


def _outlines(
    labels: Labels | Mask,
    objects: int,
    view: View,
) -> Outlines:
    return {str(number): outline(labels == number, view) for number in range(1, objects + 1)}


def _points(prompt: RecordedPrompt) -> Sequence[Sequence[float]]:
    return prompt.points if isinstance(prompt, (Scribble, Lasso)) else ()


def _chart(
    values: NDArray[np.float64],
    number: int,
    frames: Sequence[int],
    prompts: Sequence[RecordedPrompt],
) -> str:
    """Return a chart of J&F in each frame after an interaction, with the frames of its prompts marked."""
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
