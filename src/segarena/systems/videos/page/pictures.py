"""One dialogue about a video as strips: some frames across, an interaction in each row, and each frame's J&F beside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.arrays.rle import decode_rle
from segarena.reports.axes import Frame, px
from segarena.reports.charts import colour_class
from segarena.reports.overlays import View, jpeg_uri, outline
from segarena.reports.pictures import HARDEST, STRIPS, pictures
from segarena.reports.reading import DialogueRecord, Key, Run
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
        return (
            '<p class="lead">The hardest videos first. The upper row has the objects of some frames, each in its '
            "colour. The rows below have the predictions after some interactions, with the lines that were drawn just "
            "before; black ones are on the background. Beside them J&amp;F of every frame, from 0 to 1: a dashed line "
            "is a frame that was drawn in, a dot one that is shown.</p>"
        )

    def strip(
        self, run: Run, dialogue: DialogueRecord, sample: VideoSample, target: Target, anchor: str, *, is_named: bool
    ) -> str:
        """Return the target's frames, and below them some predictions with what was drawn just before."""
        kept = {number: mask for number, mask in kept_labels(run, dialogue.key).items() if mask.shape == sample.shape}
        rounds = spread(sorted(kept), ROWS)
        prompts = [json.loads(text) for text in dialogue.prompts]
        frames = shown_frames(len(sample.frames), [prompts[number - 1] for number in rounds])
        view = View(
            (slice(0, sample.frame_shape[0]), slice(0, sample.frame_shape[1])), WIDTH_PX / sample.frame_shape[1]
        )
        shared = "".join(
            f'<image id="{anchor}-{frame}" width="{px(view.width)}" height="{px(view.height)}" '
            f'preserveAspectRatio="none" href="{jpeg_uri(sample.frames[frame], view)}"/>'
            for frame in frames
        )
        named = [(frame, f"<figcaption><span>frame {frame}</span></figcaption>") for frame in frames]
        truth = "".join(_cell(anchor, view, frame, target.mask, (), name) for frame, name in named) + _legend(target)
        rows = "".join(
            "".join(_cell(anchor, view, frame, kept[number], prompts[number - 1]) for frame in frames)
            + _plot(run, dialogue, number, frames, prompts[number - 1])
            for number in rounds
        )
        missing = "" if kept else ' <b class="alarm">no prediction was kept</b>'
        title = f"{run.label}, " if is_named else ""
        head = f"<h4>{escape(title)}{len(dialogue.prompts)} interactions{missing}</h4>"
        defs = f'<svg class="shared" width="0" height="0" aria-hidden="true"><defs>{shared}</defs></svg>'
        style = f"--columns:{COLUMNS + 1}"
        return f'<section class="strip even" style="{style}">{head}{defs}{truth}{rows}</section>'


def kept_labels(run: Run, key: Key) -> dict[int, Labels]:
    """Return the kept predictions of a dialogue as labels of all objects, by round."""
    sample, target, user, repeat = key
    rows = _masks(run).filter(sample=sample, target=target, user=user, repeat=repeat)
    found: dict[int, Labels] = {}
    for row in rows.iter_rows(named=True):
        shape = tuple(row["shape"])
        labels = found.setdefault(row["round"], np.zeros(shape, dtype=np.uint8))
        labels[decode_rle(row["rle"], shape)] = row["object"]
    return found


def frame_values(run: Run, key: Key, round_: int) -> NDArray[np.float64]:
    """Return the mean of J&F over objects in each frame after a round; empty where there is none."""
    sample, target, user, repeat = key
    rows = _parts(run).filter(sample=sample, target=target, user=user, repeat=repeat, round=round_)
    if not {"jaccard", "contour"} <= set(rows.columns):
        return np.empty(0)
    value = (0.5 * pl.col("jaccard") + 0.5 * pl.col("contour")).mean().alias("value")
    return rows.group_by("frame").agg(value).sort("frame")["value"].to_numpy()


def spread(values: Sequence[int], most: int) -> list[int]:
    """Return at most `most` of the values: the first, the last, and others evenly between."""
    if len(values) <= most:
        return list(values)
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]


def shown_frames(count: int, prompts: Sequence[Sequence[Mapping[str, Any]]]) -> list[int]:
    """Return which frames are shown: those that were drawn in, and of the others some, evenly spread."""
    drawn = sorted({int(point[0]) for given in prompts for prompt in given for point in prompt.get("points", ())})
    chosen = spread(drawn, COLUMNS - 1)
    while len(chosen) < min(COLUMNS, count):
        chosen.append(
            max(range(count), key=lambda frame: (min([abs(frame - other) for other in chosen] or [0]), -frame))
        )
    return sorted(chosen)


def _cell(
    anchor: str, view: View, frame: int, labels: Labels | Mask, prompts: Sequence[Mapping[str, Any]], name: str = ""
) -> str:
    paths = "".join(
        f'<path d="{outline(labels[frame] == number, view)}" class="object {colour_class(int(number) - 1)}"/>'
        for number in np.unique(labels[frame]).tolist()
        if number
    )
    lines = "".join(_line(prompt, frame, view) for prompt in prompts)
    return (
        f'<figure><svg class="picture" viewBox="{view.box}" role="img" aria-label="frame {frame}">'
        f'<use href="#{anchor}-{frame}"/>{paths}{lines}</svg>{name}</figure>'
    )


def _line(prompt: Mapping[str, Any], frame: int, view: View) -> str:
    points = [point for point in prompt.get("points", ()) if int(point[0]) == frame]
    if not points:
        return ""
    path = " ".join(
        f"{px(x)},{px(y)}" for x, y in (view.place(point[1], point[2]) for point in points[:: _step(points)])
    )
    colour = colour_class(int(prompt["object_id"]) - 1) if prompt["object_id"] else "ground"
    ends = f'points="{path} {path.rpartition(" ")[2]}"'
    return f'<polyline {ends} class="scribbled halo"/><polyline {ends} class="scribbled {colour}"/>'


def _step(points: Sequence[Any]) -> int:
    return max(1, len(points) // 40)


def _plot(
    run: Run, dialogue: DialogueRecord, number: int, frames: Sequence[int], prompts: Sequence[Mapping[str, Any]]
) -> str:
    """Return J&F of each frame after an interaction, with the frames that were drawn in."""
    values = frame_values(run, dialogue.key, number)
    frame = Frame(160, 88, f"J&F of each frame after interaction {number}", left=4, right=4, top=4, bottom=4)
    x_scale, y_scale = frame.x_scale(0, max(1, len(values) - 1)), frame.y_scale(0, 1)
    for level in (0.0, 0.5, 1.0):
        frame.line(4, y_scale(level), 156, y_scale(level), "axis" if level == 0 else "grid")
    for drawn in sorted({int(prompt["points"][0][0]) for prompt in prompts if prompt.get("points")}):
        frame.line(x_scale(drawn), 4, x_scale(drawn), 84, "mark")
    path = "L".join(f"{px(x_scale(place))} {px(y_scale(value))}" for place, value in enumerate(values))
    frame.draw(f'<path d="M{path}" class="curve c0"/>' if path else "")
    for shown in frames:
        if shown < len(values):
            frame.draw(f'<circle cx="{px(x_scale(shown))}" cy="{px(y_scale(values[shown]))}" r="2" class="dot c0"/>')
    told = f"{values.mean():.3f}" if len(values) else "–"
    return f"<figure>{frame.svg()}<figcaption><span>after {number}</span><b>J&amp;F {told}</b></figcaption></figure>"


def _legend(target: Target) -> str:
    entries = "".join(
        f'<li class="{colour_class(number)}"><i></i>{number + 1}</li>' for number in range(target.objects)
    )
    return f'<figure><ul class="legend">{entries}</ul><figcaption><span>objects</span></figcaption></figure>'


@lru_cache(maxsize=4)
def _masks(run: Run) -> pl.DataFrame:
    return run.folder.masks()


@lru_cache(maxsize=4)
def _parts(run: Run) -> pl.DataFrame:
    return run.folder.parts()
