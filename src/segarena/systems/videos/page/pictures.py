"""One dialogue about a video as strips: some frames across, an interaction in each row, and each frame's J&F beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.arrays.rle import decode_rle
from segarena.prompts import Lasso, Scribble
from segarena.records.prompts import GivenSupport, RecordedPrompt
from segarena.reports.axes import Frame, px
from segarena.reports.charts import colour_class
from segarena.reports.overlays import View, jpeg_uri, outline
from segarena.reports.pictures import HARDEST, STRIPS, evenly, pictures
from segarena.reports.reading import DialogueRecord, Key, Run
from segarena.reports.rendering import macros
from segarena.samples import Labels, Mask, Target, VideoSample

COLUMNS = 6
"""Frames shown."""

ROWS = 4
"""Interactions shown."""

WIDTH_PX = 320
"""Width of a frame, in SVG units and at most in JPEG pixels."""


@pictures("video")
class VideoPictures:
    """Strips of frames, a row for each interaction that is shown."""

    def __init__(self, word: str) -> None:
        self.word = word

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return 12 and as many others as make 36 strips over all runs."""
        return HARDEST, max(0, STRIPS // runs - HARDEST)

    def lead(self) -> str:
        """Explain rows, lines and curves."""
        return str(_html().lead())

    def strip(
        self, run: Run, dialogue: DialogueRecord, sample: VideoSample, target: Target, anchor: str, *, is_named: bool
    ) -> str:
        """Return the target's frames, and below them some predictions with what was drawn just before."""
        kept = {number: mask for number, mask in kept_labels(run, dialogue.key).items() if mask.shape == sample.shape}
        rounds = evenly(sorted(kept), ROWS)
        prompts = dialogue.prompts
        frames = shown_frames(len(sample.frames), [prompts[number - 1] for number in rounds])
        height, width = sample.frame_shape
        view = View((slice(0, height), slice(0, width)), WIDTH_PX / width)
        title = f"{run.label}, " if is_named else ""
        rows: list[ShownRow] = []
        for number in rounds:
            values, drawn = frame_values(run, dialogue.key, number), prompts[number - 1]
            row = ShownRow(
                number=number,
                frames=[_frame(view, frame, kept[number], drawn) for frame in frames],
                chart=_chart(values, number, frames, drawn),
                value=f"{values.mean():.3f}" if len(values) else "–",
            )
            rows.append(row)
        return str(
            _html().strip(
                anchor,
                f"{title}{dialogue.rounds} interactions",
                view,
                [(frame, jpeg_uri(sample.frames[frame], view)) for frame in frames],
                [colour_class(number) for number in range(target.objects)],
                [_frame(view, frame, target.mask, ()) for frame in frames],
                rows,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFrame:
    """A frame as the page has it: outlines of objects and lines drawn in it, each with the CSS class of its colour."""

    number: int
    objects: Sequence[tuple[str, str]]
    lines: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """The frames after an interaction, with the chart of J&F and its mean."""

    number: int
    frames: Sequence[ShownFrame]
    chart: str
    value: str


def kept_labels(run: Run, key: Key) -> dict[int, Labels]:
    """Return the kept predictions of a dialogue as labels of all objects, by round."""
    found: dict[int, Labels] = {}
    for row in _of(_masks(run), key).iter_rows(named=True):
        shape = tuple(row["shape"])
        labels = found.setdefault(row["round"], np.zeros(shape, dtype=np.uint8))
        labels[decode_rle(row["rle"], shape)] = row["object"]
    return found


def frame_values(run: Run, key: Key, round_: int) -> NDArray[np.float64]:
    """Return the mean of J&F over objects in each frame after a round; empty where there is none."""
    rows = _of(_parts(run), key).filter(round=round_)
    if not {"jaccard", "contour"} <= set(rows.columns):
        return np.empty(0)
    value = (0.5 * pl.col("jaccard") + 0.5 * pl.col("contour")).mean().alias("value")
    return rows.group_by("frame").agg(value).sort("frame")["value"].to_numpy()


def _of(table: pl.DataFrame, key: Key) -> pl.DataFrame:
    return table.filter(**dict(zip(("sample", "target", "user", "repeat"), key, strict=True)))


def shown_frames(count: int, prompts: Sequence[Sequence[RecordedPrompt]]) -> list[int]:
    """Return which frames are shown: those that were drawn in, and of the others some, evenly spread."""
    points = chain.from_iterable(map(_points, chain(*prompts)))
    drawn = sorted({int(point[0]) for point in points})
    chosen = evenly(drawn, COLUMNS - 1)
    while len(chosen) < min(COLUMNS, count):
        chosen.append(
            max(range(count), key=lambda frame: (min([abs(frame - other) for other in chosen] or [0]), -frame))
        )
    return sorted(chosen)


def _frame(view: View, frame: int, labels: Labels | Mask, prompts: Sequence[RecordedPrompt]) -> ShownFrame:
    numbers = [int(number) for number in np.unique(labels[frame]).tolist() if number]
    lines = [(_colour(prompt), _line(prompt, frame, view)) for prompt in prompts]
    return ShownFrame(
        number=frame,
        objects=[(colour_class(number - 1), outline(labels[frame] == number, view)) for number in numbers],
        lines=[(css, points) for css, points in lines if points],
    )


def _colour(prompt: RecordedPrompt) -> str:
    number = 0 if isinstance(prompt, GivenSupport) else prompt.object_id
    return colour_class(number - 1) if number else "ground"


def _line(prompt: RecordedPrompt, frame: int, view: View) -> str:
    """Return the points of what was drawn in a frame; a single one twice, so that it shows."""
    points = [point for point in _points(prompt) if int(point[0]) == frame]
    places = [view.place(point[1], point[2]) for point in points[:: max(1, len(points) // 40)]]
    return " ".join(f"{px(x)},{px(y)}" for x, y in [*places, *places[-1:]])


def _points(prompt: RecordedPrompt) -> Sequence[Sequence[float]]:
    return prompt.points if isinstance(prompt, (Scribble, Lasso)) else ()


def _chart(values: NDArray[np.float64], number: int, frames: Sequence[int], prompts: Sequence[RecordedPrompt]) -> str:
    """Return J&F of each frame after an interaction, with the frames that were drawn in."""
    frame = Frame(160, 88, f"J&F of each frame after interaction {number}", left=4, right=4, top=4, bottom=4)
    x_scale, y_scale = frame.x_scale(0, max(1, len(values) - 1)), frame.y_scale(0, 1)
    for level in (0.0, 0.5, 1.0):
        frame.line(4, y_scale(level), 156, y_scale(level), "axis" if level == 0 else "grid")
    for drawn in sorted({int(points[0][0]) for points in map(_points, prompts) if points}):
        frame.line(x_scale(drawn), 4, x_scale(drawn), 84, "mark")
    path = "L".join(f"{px(x_scale(place))} {px(y_scale(value))}" for place, value in enumerate(values))
    frame.draw(f'<path d="M{path}" class="curve c0"/>' if path else "")
    for shown in frames:
        if shown < len(values):
            frame.draw(f'<circle cx="{px(x_scale(shown))}" cy="{px(y_scale(values[shown]))}" r="2" class="dot c0"/>')
    return frame.svg()


def _html() -> Any:
    return macros("segarena.systems.videos.page", "frames.html")


@lru_cache(maxsize=4)
def _masks(run: Run) -> pl.DataFrame:
    return run.folder.masks()


@lru_cache(maxsize=4)
def _parts(run: Run) -> pl.DataFrame:
    return run.folder.parts()
