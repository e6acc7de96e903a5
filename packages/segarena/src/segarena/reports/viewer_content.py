"""Content of a round viewer in the format that its JavaScript reads; see `viewer/content.js`.

Reports, boards and challenge pages embed pictures and outlines in the content. `segarena look`
sends the same content without them, and its page requests each picture when it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import msgspec

from segarena.records.prompts import RecordedPrompt
from segarena.reports.round_table import DialogueId

Outlines = dict[str, str]
"""SVG path data of each object, keyed by object number from 1; coordinates are absolute."""


class PlaneContent(msgspec.Struct, frozen=True, kw_only=True):
    """One axis along which a sample can be browsed; a photograph has a single axis with one plane.

    Attributes:
        name: "axial", ..., "frame"; "" for a single picture.
        axis: axis of the sample's array that is perpendicular to the planes; None for a photograph.
        count: number of planes of the sample.
        size: (rows, columns) of each plane, in pixels or voxels.
        edges: displayed height and width of a pixel.
        letters: anatomical direction at the top, right, bottom and left; "" if unknown.
        is_turned: whether rows and columns are reversed.
        first: index of the initial plane among the available planes.
        origin: first row and column of the sample that the plane shows.
        indices: positions of the available planes along the axis; empty if all are available.
        outline_scale: displayed height and width of one unit of the outlines.
        note: remark about missing planes.
        pictures: data URI of each available plane, if embedded.
        layers: outlines of each available plane, if embedded, by layer: "target", "ignored", or
            NUMBER.ROUND for the prediction of a dialogue after a round.
    """

    size: tuple[int, int]
    name: str = ""
    axis: int | None = None
    count: int = 1
    edges: tuple[float, float] = (1.0, 1.0)
    letters: str = ""
    is_turned: bool = False
    first: int = 0
    origin: tuple[int, int] = (0, 0)
    indices: tuple[int, ...] = ()
    outline_scale: tuple[float, float] = (1.0, 1.0)
    note: str = ""
    pictures: tuple[str, ...] = ()
    layers: Mapping[str, Sequence[Outlines]] = {}


class LevelsContent(msgspec.Struct, frozen=True, kw_only=True):
    """Grey levels: code c stands for the voxel value offset + step * c.

    Initially, the value `low` is black and the value `high` is white.
    """

    offset: float
    step: float
    low: float
    high: float
    modality: str = ""


class ObjectContent(msgspec.Struct, frozen=True, kw_only=True):
    """An object to segment, with its number in the outlines."""

    number: int
    id: str
    label: str = ""


class ExampleContent(msgspec.Struct, frozen=True, kw_only=True):
    """A separate photograph with an outline, such as a support example; `size` is (width, height)."""

    label: str
    picture: str
    size: tuple[float, float]
    outline: str


class DialogueContent(msgspec.Struct, frozen=True, kw_only=True):
    """One dialogue of a run, or another view of the sample.

    Attributes:
        label: name of the run.
        number: index of the run, from 0.
        css: classes of its colour in every figure.
        captions: text next to the name after each round, starting with the first.
        values: metrics after each round by display name, for the curve; missing values are omitted.
        prompts: prompts of each round, as in the records; see `prompt_content`.
        seconds: seconds of each round's prediction; 0 if no time was measured.
        stored, replayed: rounds whose predictions were stored by the run, or come from a replay.
        failure: reason why the dialogue ended early.
        state: "solved", "unsolved" or "failed"; "" without a threshold.
        is_run: whether the gallery can hide the dialogue by its label.
        is_grey: whether the picture is shown in grey, so that the heat map is readable.
        heat: data URI of a heat map that replaces the area of the prediction.
        charts: SVG of a chart for each round.
    """

    label: str
    number: int = 0
    css: str = "c0"
    captions: Sequence[str] = ()
    values: Sequence[Mapping[str, float]] = ()
    prompts: Sequence[Sequence[Mapping[str, Any]]] = ()
    seconds: Sequence[float] = ()
    stored: Sequence[int] = ()
    replayed: Sequence[int] = ()
    failure: str = ""
    state: str = ""
    is_run: bool = True
    is_grey: bool = False
    heat: str = ""
    charts: Sequence[str] = ()


class ViewerContent(msgspec.Struct, frozen=True, kw_only=True):
    """A sample, or the dialogues of several runs about one of its targets.

    Attributes:
        key: sample, target, user, repeat.
        kind: "image", "volume" or "video".
        word: name of a round.
        planes: the axes along which the sample can be browsed.
        levels: grey levels of a volume.
        objects: the objects to segment.
        has_ignored: whether some pixels are ignored.
        has_truth: whether the target is known.
        shows_latest: whether only the prompts of the current round are drawn.
        thresholds: horizontal lines to mark in the curve.
        dialogues: one per run.
        examples: pictures between the target and the runs.
        notes: warnings about the data.
    """

    key: DialogueId
    kind: str
    planes: Sequence[PlaneContent]
    objects: Sequence[ObjectContent]
    word: str = "round"
    levels: LevelsContent | None = None
    has_ignored: bool = False
    has_truth: bool = True
    shows_latest: bool = False
    thresholds: Sequence[float] = ()
    dialogues: Sequence[DialogueContent] = ()
    examples: Sequence[ExampleContent] = ()
    notes: Sequence[str] = ()


def prompt_content(prompt: RecordedPrompt, *, max_points: int = 0) -> dict[str, Any]:
    """Encode a recorded prompt with its kind; coordinates of lines are rounded to one decimal.

    Args:
        prompt: the prompt.
        max_points: lines are reduced to fewer than twice this many points; 0 keeps all.
    """
    content: dict[str, Any] = {"kind": prompt.kind}
    for field in fields(prompt):
        content[field.name] = getattr(prompt, field.name)
    points = content.get("points")
    if points is not None:
        step = max(1, len(points) // max_points) if max_points else 1
        content["points"] = [[round(i, 1) for i in point] for point in points[::step]]
    return content


def finite_values(values: Mapping[str, float]) -> dict[str, float]:
    """Return the finite values by metric name."""
    return {name: value for name, value in values.items() if math.isfinite(value)}


def viewer_html(content: ViewerContent) -> str:
    """Return the HTML element of a viewer with its content; the page's script draws it."""
    # In HTML, "<" could end the element; in JSON it occurs only inside strings, so escape it there.
    text = msgspec.json.encode(content).decode().replace("<", "\\u003c")
    return (
        '<div class="viewer"><script type="application/json">'
        f"{text}</script><noscript>The pictures need JavaScript.</noscript></div>"
    )
