"""Rendering of dialogues about a sample, as in reports: prompts, answers and, where allowed, metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.records.configuration import RunConfiguration
from segarena.records.prompts import RecordedPrompt
from segarena.reports.overlays import prompt_css_class, prompt_points
from segarena.reports.pages import Page, page_of
from segarena.reports.pictures import DialoguePictures
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.round_table import DialogueId, DialogueRecord
from segarena.reports.viewer_content import (
    DialogueContent,
    PlaneContent,
    ViewerContent,
    viewer_html,
)
from segarena.samples import Sample
from segarena_server.challenges.evaluator import ReplayedSample


class RenderedRound(msgspec.Struct, frozen=True, kw_only=True):
    """A round: its prompts in words, and those metrics of its answer that may be shown."""

    prompts: list[str]
    values: dict[str, float | None]


class RenderedDialogue(msgspec.Struct, frozen=True, kw_only=True):
    """A dialogue, rendered for a page.

    Attributes:
        number: index of the dialogue, from 0.
        name: name of the target; "" if the ground truth is hidden.
        rounds: the answered rounds.
        viewer: HTML of the sample with prompts and answers; "" if no package renders samples of this kind.
    """

    number: int
    name: str
    rounds: list[RenderedRound]
    viewer: str


class RenderedSample(msgspec.Struct, frozen=True, kw_only=True):
    """Some dialogues about a sample, and whether their images show the ground truth."""

    dialogues: list[RenderedDialogue]
    has_truth: bool


def render_dialogues(replayed: ReplayedSample, *, has_truth: bool) -> list[RenderedDialogue]:
    """Render the dialogues about a sample; a temporary run folder holds their rows."""
    if not replayed.rows.records:
        return [_unrendered(number) for number in replayed.dialogues]
    with TemporaryDirectory(prefix="segarena-") as temporary:
        run = _write_run(replayed.config, replayed.rows, Path(temporary) / "run")
        page = page_of([run])
        return [
            _rendered(page, replayed.sample, number, key, has_truth=has_truth)
            for number, key in replayed.dialogues.items()
        ]


def prompt_label(prompt: RecordedPrompt) -> str:
    """Describe a prompt in a few words: its kind, "off" for background, any object but the first, and its position."""
    points = prompt_points(prompt)
    sign = " off" if prompt_css_class(prompt) == "neg" else ""
    object_id = getattr(prompt, "object_id", 1)
    of_object = f" of object {object_id}" if object_id != 1 else ""
    name = f"{prompt.kind}{sign}{of_object}"
    if not points:
        return name
    if len(points) <= 2:
        return f"{name} {' to '.join(map(_coordinates, points))}"
    first = _coordinates(points[0])
    last = _coordinates(points[-1])
    return f"{name}, {len(points)} points from {first} to {last}"


def _write_run(
    config: RunConfiguration,
    rows: Rows,
    path: Path,
) -> Run:
    folder = RunFolder.create(path, config)
    with folder.lock():
        folder.write(0, rows)
    (run,) = read_runs([path])
    return run


def _unrendered(number: int) -> RenderedDialogue:
    return RenderedDialogue(
        number=number,
        name="",
        rounds=[],
        viewer="",
    )


def _rendered(
    page: Page,
    sample: Sample,
    number: int,
    key: DialogueId,
    *,
    has_truth: bool,
) -> RenderedDialogue:
    (run,) = page.runs
    dialogue = next((one for one in run.about(*key[:3]) if one.key == key), None)
    if dialogue is None:
        return _unrendered(number)
    # Records also contain pixel counts for computing metrics, which the summary does not list.
    metrics = {statistic.metric for statistic in run.summary}
    columns = {name: column for name, column in dialogue.values.items() if name in metrics}
    rounds: list[RenderedRound] = []
    for place, prompts in enumerate(dialogue.prompts):
        values = {name: _finite(column[place]) for name, column in columns.items()}
        labels = [prompt_label(prompt) for prompt in prompts]
        rounds.append(RenderedRound(prompts=labels, values=values))
    return RenderedDialogue(
        number=number,
        name=page.name_of(dialogue) if has_truth else "",
        rounds=rounds,
        viewer=_viewer(page.pictures, (run, dialogue), sample, has_truth=has_truth),
    )


def _viewer(
    pictures: DialoguePictures | None,
    shown: tuple[Run, DialogueRecord],
    sample: Sample,
    *,
    has_truth: bool,
) -> str:
    """Render a viewer with this dialogue alone; omit metrics, times and the failure if the ground truth is hidden."""
    if pictures is None:
        return ""
    _, dialogue = shown
    target = next(target for target in sample.targets if target.id == dialogue.target)
    content = pictures.content([shown], sample, target)
    (answer,) = content.dialogues
    answer = msgspec.structs.replace(answer, label="answer", failure=dialogue.failure or "")
    if not has_truth:
        answer = _without_values(answer)
    content = msgspec.structs.replace(content, dialogues=[answer], has_truth=has_truth)
    return viewer_html(content if has_truth else _without_truth(content))


def _without_values(answer: DialogueContent) -> DialogueContent:
    no_captions = [""] * len(answer.captions)
    return msgspec.structs.replace(
        answer,
        captions=no_captions,
        values=(),
        charts=(),
        seconds=(),
        failure="",
    )


def _without_truth(content: ViewerContent) -> ViewerContent:
    """Remove the outlines of the target and of ignored pixels, and the thresholds, from a viewer's content."""
    planes: list[PlaneContent] = []
    for plane in content.planes:
        layers = {
            name: outlines
            for name, outlines in plane.layers.items()
            if name not in ("target", "ignored")
        }
        planes.append(msgspec.structs.replace(plane, layers=layers))
    return msgspec.structs.replace(content, planes=planes, has_ignored=False, thresholds=())


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _coordinates(point: Sequence[float]) -> str:
    return f"({', '.join(f'{coordinate:g}' for coordinate in point)})"
