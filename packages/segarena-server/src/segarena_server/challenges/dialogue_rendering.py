"""Dialogues about a sample, rendered as reports render runs: prompts, answers and, where shown, values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from segarena.engine.rows import Rows
from segarena.engine.store import RunFolder
from segarena.records.configuration import RunConfiguration
from segarena.records.prompts import RecordedPrompt
from segarena.reports.overlays import prompt_css_class, prompt_points
from segarena.reports.pages import Page, page_of
from segarena.reports.pictures import DialoguePictures
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.round_table import DialogueId, DialogueRecord
from segarena.reports.viewer import Stack, viewer_html
from segarena.samples import Sample
from segarena_server.challenges.evaluator import ReplayedSample


class RenderedRound(msgspec.Struct, frozen=True, kw_only=True):
    """A round: its prompts in words, and the metrics of its answer as far as they are shown."""

    prompts: list[str]
    values: dict[str, float | None]


class RenderedDialogue(msgspec.Struct, frozen=True, kw_only=True):
    """A dialogue.

    Attributes:
        number: from 0.
        name: of its target.
        rounds: those that were answered.
        viewer: HTML of the sample with prompts and answers; "" where no package renders samples of this kind.
    """

    number: int
    name: str
    rounds: list[RenderedRound]
    viewer: str


class RenderedSample(msgspec.Struct, frozen=True, kw_only=True):
    """Some dialogues about a sample, and whether their images show the truth."""

    dialogues: list[RenderedDialogue]
    has_truth: bool


def render_dialogues(replayed: ReplayedSample, *, has_truth: bool) -> list[RenderedDialogue]:
    """Render dialogues from a temporary run folder of this one sample."""
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
    """Return a prompt in a few words: its kind, whether it is on the object, and its position."""
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


def _write_run(config: RunConfiguration, rows: Rows, path: Path) -> Run:
    folder = RunFolder.create(path, config)
    with folder.lock():
        folder.write(0, rows)
    (run,) = read_runs([path])
    return run


def _unrendered(number: int) -> RenderedDialogue:
    return RenderedDialogue(number=number, name="", rounds=[], viewer="")


def _rendered(
    page: Page, sample: Sample, number: int, key: DialogueId, *, has_truth: bool
) -> RenderedDialogue:
    (run,) = page.runs
    dialogue = next((one for one in run.about(*key[:3]) if one.key == key), None)
    if dialogue is None:
        return _unrendered(number)
    # Records also have the pixel counts from which metrics are computed, which the summary does not list.
    metrics = {statistic.metric for statistic in run.summary}
    columns = {name: column for name, column in dialogue.values.items() if name in metrics}
    rounds: list[RenderedRound] = []
    for place, prompts in enumerate(dialogue.prompts):
        values = {name: _finite(column[place]) for name, column in columns.items()}
        labels = [prompt_label(prompt) for prompt in prompts]
        rounds.append(RenderedRound(prompts=labels, values=values))
    anchor = f"dialogue-{number}"
    return RenderedDialogue(
        number=number,
        name=page.name_of(dialogue) if has_truth else "",
        rounds=rounds,
        viewer=_viewer(
            page.pictures, page.word, (run, dialogue), sample, anchor, has_truth=has_truth
        ),
    )


def _viewer(
    pictures: DialoguePictures | None,
    word: str,
    shown: tuple[Run, DialogueRecord],
    sample: Sample,
    anchor: str,
    *,
    has_truth: bool,
) -> str:
    if pictures is None:
        return ""
    _, dialogue = shown
    target = next(target for target in sample.targets if target.id == dialogue.target)
    stacks = [
        _single_pane(stack, dialogue, has_truth=has_truth)
        for stack in pictures.stacks([shown], sample, target)
    ]
    return viewer_html(anchor, stacks, word)


def _single_pane(stack: Stack, dialogue: DialogueRecord, *, has_truth: bool) -> Stack:
    """Return a stack with the answer as its only pane; without truth no values are shown."""
    (pane,) = stack.panes
    pane = replace(pane, label="answer", failure=dialogue.failure or "")
    if not has_truth:
        no_values = [""] * len(pane.values)
        pane = replace(pane, values=no_values, chart="", charts=(), failure="")
    return replace(stack, panes=[pane], has_truth=has_truth)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _coordinates(point: Sequence[float]) -> str:
    return f"({', '.join(f'{coordinate:g}' for coordinate in point)})"
