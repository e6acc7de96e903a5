"""Dialogues about a video: its frames to scrub through, after each interaction, with the J&F of every frame."""

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
from segarena.reports.recorded_run import DialogueId, DialogueRecord, Run, sample_rows
from segarena.reports.viewer import Pane, Plate, RoundMarks, Stack
from segarena.samples import Labels, Mask, Target, VideoSample

FRAMES = 24
"""Frames of a video that a page holds at most."""

WIDTH_PX = 320
"""Width of a frame, in SVG units and at most in JPEG pixels."""


@pictures("video")
class VideoPictures:
    """Frames of the video, for each interaction whose prediction was kept."""

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
        """Return the frames with the objects, and for each run its predictions and what was drawn just before."""
        frames = shown_frames(
            len(sample.frames), chain.from_iterable(dialogue.prompts for _, dialogue in shown)
        )
        height, width = sample.frame_shape
        view = View((slice(0, height), slice(0, width)), WIDTH_PX / width)
        count = len(sample.frames)
        plates = [
            Plate(
                label=f"frame {frame} of {count}",
                picture=jpeg_uri(sample.frames[frame], view),
                targets=_outlines(target.mask[frame], target.objects, view),
            )
            for frame in frames
        ]
        return [
            Stack(
                view=view,
                plates=plates,
                panes=[
                    _pane(run, dialogue, sample.shape, target.objects, frames, view)
                    for run, dialogue in shown
                ],
                colours=[colour_class(number) for number in range(target.objects)]
                if target.objects > 1
                else [""],
                note=f"{len(frames)} of {count} frames are shown." if len(frames) < count else "",
                is_moving=True,
            )
        ]


def _pane(
    run: Run,
    dialogue: DialogueRecord,
    shape: tuple[int, ...],
    objects: int,
    frames: Sequence[int],
    view: View,
) -> Pane:
    kept = {
        number: labels
        for number, labels in kept_labels(run, dialogue.key).items()
        if labels.shape == shape
    }
    marks: list[RoundMarks] = []
    for number, prompts in enumerate(dialogue.prompts, 1):
        for place, frame in enumerate(frames):
            svg = "".join(_line(prompt, frame, view) for prompt in prompts)
            if svg:
                marks.append(RoundMarks(round=number, svg=svg, plates=[place], is_brief=True))
    values = [frame_values(run, dialogue.key, number) for number in range(1, dialogue.rounds + 1)]
    told = zip(values, dialogue.prompts, strict=True)
    return Pane(
        label=run.label,
        values=[f"J&F {each.mean():.3f}" if len(each) else "–" for each in values],
        kept={
            number: [_outlines(kept[number][frame], objects, view) for frame in frames]
            for number in sorted(kept)
        },
        marks=marks,
        charts=[
            _chart(each, number, frames, prompts) for number, (each, prompts) in enumerate(told, 1)
        ],
    )


def kept_labels(run: Run, key: DialogueId) -> dict[int, Labels]:
    """Return the kept predictions of a dialogue as labels of all objects, by round."""
    found: dict[int, Labels] = {}
    for row in _rows(run, "masks", key).iter_rows(named=True):
        shape = tuple(row["shape"])
        labels = found.setdefault(row["round"], np.zeros(shape, dtype=np.uint8))
        labels[decode_rle(row["rle"], shape)] = row["object"]
    return found


def frame_values(run: Run, key: DialogueId, round_: int) -> NDArray[np.float64]:
    """Return the mean of J&F over objects in each frame after a round; empty where there is none."""
    rows = _rows(run, "parts", key).filter(round=round_)
    if not {"jaccard", "contour"} <= set(rows.columns):
        return np.empty(0)
    value = (0.5 * pl.col("jaccard") + 0.5 * pl.col("contour")).mean().alias("value")
    return rows.group_by("frame").agg(value).sort("frame")["value"].to_numpy()


def _rows(run: Run, table: str, key: DialogueId) -> pl.DataFrame:
    sample, target, user, repeat = key
    return sample_rows(run, table, sample).filter(target=target, user=user, repeat=repeat)


def shown_frames(count: int, rounds: Iterable[Sequence[RecordedPrompt]]) -> list[int]:
    """Return which frames are shown: all, else those that were drawn in and others evenly between."""
    if count <= FRAMES:
        return list(range(count))
    points = chain.from_iterable(map(_points, chain.from_iterable(rounds)))
    drawn = spread_evenly(sorted({int(point[0]) for point in points}), FRAMES // 2)
    rest = [frame for frame in range(count) if frame not in drawn]
    return sorted([*drawn, *spread_evenly(rest, FRAMES - len(drawn))])


def _outlines(labels: Labels | Mask, objects: int, view: View) -> list[str]:
    return [outline(labels == number, view) for number in range(1, objects + 1)]


def _colour(prompt: RecordedPrompt) -> str:
    number = 0 if isinstance(prompt, RecordedSupport) else prompt.object_id
    return colour_class(number - 1) if number else "ground"


def _line(prompt: RecordedPrompt, frame: int, view: View) -> str:
    """Return what was drawn in a frame as SVG; a single point twice, so that it shows."""
    points = [point for point in _points(prompt) if int(point[0]) == frame]
    places = [view.place(point[1], point[2]) for point in points[:: max(1, len(points) // 40)]]
    line = " ".join(f"{px(x)},{px(y)}" for x, y in [*places, *places[-1:]])
    classes = ("scribbled halo", f"scribbled {_colour(prompt)}") if line else ()
    return "".join(element("polyline", points=line, css=css) for css in classes)


def _points(prompt: RecordedPrompt) -> Sequence[Sequence[float]]:
    return prompt.points if isinstance(prompt, (Scribble, Lasso)) else ()


def _chart(
    values: NDArray[np.float64],
    number: int,
    frames: Sequence[int],
    prompts: Sequence[RecordedPrompt],
) -> str:
    """Return J&F of each frame after an interaction, with the frames that were drawn in."""
    frame = Frame(
        240, 56, f"J&F of each frame after interaction {number}", left=4, right=4, top=4, bottom=4
    )
    x_scale = frame.x_scale(0, max(1, len(values) - 1))
    y_scale = frame.y_scale(0, 1)
    for level in (0.0, 0.5, 1.0):
        frame.line(4, y_scale(level), 236, y_scale(level), "axis" if level == 0 else "grid")
    for drawn in sorted({int(points[0][0]) for points in map(_points, prompts) if points}):
        frame.line(x_scale(drawn), 4, x_scale(drawn), 52, "mark")
    path = "L".join(
        f"{px(x_scale(place))} {px(y_scale(value))}" for place, value in enumerate(values)
    )
    frame.draw(f'<path d="M{path}" class="curve"/>' if path else "")
    for shown in frames:
        if shown < len(values):
            frame.draw(
                f'<circle cx="{px(x_scale(shown))}" cy="{px(y_scale(values[shown]))}" r="2" class="dot"/>'
            )
    return frame.svg()
