"""A place of a run drawn as reports draw runs: each dialogue with its prompts, answers and, where shown, values."""

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
    """A round: its prompts in words, and what was measured of the answer, as far as that is shown."""

    prompts: list[str]
    values: dict[str, float | None]


class RenderedDialogue(msgspec.Struct, frozen=True, kw_only=True):
    """A dialogue of a place.

    Attributes:
        number: in the place, from 0.
        name: what its target is.
        rounds: those that were answered.
        viewer: HTML of the sample with prompts and answers; "" where nothing draws samples of this kind.
    """

    number: int
    name: str
    rounds: list[RenderedRound]
    viewer: str


class RenderedSample(msgspec.Struct, frozen=True, kw_only=True):
    """Some dialogues of a place, and how to read their pictures."""

    dialogues: list[RenderedDialogue]
    has_truth: bool


def render_dialogues(held: ReplayedSample, *, has_truth: bool) -> list[RenderedDialogue]:
    """Return dialogues drawn as reports draw them, from a run folder of this one place."""
    if not held.rows.records:
        return [
            RenderedDialogue(number=number, name="", rounds=[], viewer="")
            for number in held.dialogues
        ]
    with TemporaryDirectory(prefix="segarena-") as temporary:
        run = _run_of(held.config, held.rows, Path(temporary) / "run")
        own = page_of([run])
        return [
            _dialogue(own, held.sample, number, key, has_truth=has_truth)
            for number, key in held.dialogues.items()
        ]


def _run_of(config: RunConfiguration, rows: Rows, path: Path) -> Run:
    folder = RunFolder.create(path, config)
    with folder.lock():
        folder.write(0, rows)
    (run,) = read_runs([path])
    return run


def _dialogue(
    own: Page, sample: Sample, number: int, key: DialogueId, *, has_truth: bool
) -> RenderedDialogue:
    (run,) = own.runs
    found = next((one for one in run.about(*key[:3]) if one.key == key), None)
    if found is None:
        return RenderedDialogue(number=number, name="", rounds=[], viewer="")
    # Beside what the summary is about, records have the counts that its metrics are made of.
    measured = {statistic.metric for statistic in run.summary}
    values = {name: column for name, column in found.values.items() if name in measured}
    return RenderedDialogue(
        number=number,
        name=own.name_of(found) if has_truth else "",
        rounds=[
            RenderedRound(
                prompts=[prompt_label(prompt) for prompt in prompts],
                values={name: _number(column[place]) for name, column in values.items()},
            )
            for place, prompts in enumerate(found.prompts)
        ],
        viewer=_viewer(
            own.pictures, own.word, (run, found), sample, f"dialogue-{number}", has_truth=has_truth
        ),
    )


def _viewer(
    drawn: DialoguePictures | None,
    word: str,
    shown: tuple[Run, DialogueRecord],
    sample: Sample,
    anchor: str,
    *,
    has_truth: bool,
) -> str:
    if drawn is None:
        return ""
    target = next(target for target in sample.targets if target.id == shown[1].target)
    stacks = [
        _of_one_run(stack, shown[1], has_truth=has_truth)
        for stack in drawn.stacks([shown], sample, target)
    ]
    return viewer_html(anchor, stacks, word)


def _of_one_run(stack: Stack, dialogue: DialogueRecord, *, has_truth: bool) -> Stack:
    """Return a stack with one pane, the answer; without truth nothing is said of values."""
    (pane,) = stack.panes
    pane = replace(pane, label="answer", failure=dialogue.failure or "")
    if not has_truth:
        pane = replace(pane, values=[""] * len(pane.values), chart="", charts=(), failure="")
    return replace(stack, panes=[pane], has_truth=has_truth)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def prompt_label(prompt: RecordedPrompt) -> str:
    """Return a prompt in a few words: its kind, on the object or off it, and where."""
    points = prompt_points(prompt)
    sign = " off" if prompt_css_class(prompt) == "neg" else ""
    which = f" of object {number}" if (number := getattr(prompt, "object_id", 1)) != 1 else ""
    name = f"{prompt.kind}{sign}{which}"
    if not points:
        return name
    if len(points) <= 2:
        return f"{name} {' to '.join(map(_place, points))}"
    return f"{name}, {len(points)} points from {_place(points[0])} to {_place(points[-1])}"


def _place(point: Sequence[float]) -> str:
    return f"({', '.join(f'{coordinate:g}' for coordinate in point)})"
