"""Content of the viewer for a dialogue or a sample, without pictures and masks: a few kilobytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from segarena.engine.run_folder import RunFolder
from segarena.records.prompts import read_prompts
from segarena.reports.display_names import metric_name
from segarena.reports.viewer_content import (
    DialogueContent,
    LevelsContent,
    ObjectContent,
    PlaneContent,
    ViewerContent,
    prompt_content,
)
from segarena.samples import Target
from segarena.systems.volumes.page.slice_pictures import find_middle_slice
from segarena_studio.viewer.dialogue_table import DialogueKey, metric_columns
from segarena_studio.viewer.mask_layers import RunAnswers
from segarena_studio.viewer.planes import Plane
from segarena_studio.viewer.sample_cache import LoadedSample

_COLOURS = 7


def describe_view(
    loaded: LoadedSample,
    key: DialogueKey,
    runs: Sequence[tuple[str, RunFolder]],
    answers: RunAnswers,
    notes: Sequence[str] = (),
) -> ViewerContent:
    """Describe a view.

    Raises:
        SegarenaError: the sample has no such target, or the files of a run are damaged.
    """
    targets = loaded.targets(key[1])
    dialogues: list[DialogueContent] = []
    for number, (label, folder) in enumerate(runs):
        dialogue = describe_dialogue(number, label, folder, key, answers)
        if dialogue is not None:
            dialogues.append(dialogue)
    kind = type(loaded.sample).__name__.removesuffix("Sample").lower()
    objects = _objects(targets)
    return ViewerContent(
        key=key,
        kind=kind,
        planes=[_describe_plane(plane, targets) for plane in loaded.planes],
        levels=_describe_levels(loaded),
        objects=objects,
        has_ignored=any(target.ignore is not None for target in targets),
        has_truth=bool(objects),
        dialogues=dialogues,
        notes=notes,
    )


def describe_dialogue(
    number: int,
    label: str,
    folder: RunFolder,
    key: DialogueKey,
    answers: RunAnswers,
) -> DialogueContent | None:
    """Describe the dialogue of a run, or the failure of its sample; None without records."""
    sample, target, user, repeat = key
    if sample not in folder.samples:
        return None
    rows = folder.read("records", only=[folder.samples.index(sample)])
    own = rows.filter(target=target, user=user, repeat=repeat).sort("round")
    if not own.height:
        # A sample that failed as a whole has a single row.
        own = rows.filter(target="", user="")
    if not own.height:
        return None
    metrics = metric_columns(folder, own.columns)
    rounds = [row for row in own.iter_rows(named=True) if row["round"]]
    values = [_finite_values(row, metrics) for row in rounds]
    seconds = _seconds(folder, key)
    return DialogueContent(
        label=label,
        number=number,
        css=f"c{number % _COLOURS}",
        captions=[_caption(one) for one in values],
        values=values,
        prompts=[_prompts(row["prompts"]) for row in rounds],
        seconds=[seconds.get(row["round"], 0.0) for row in rounds],
        stored=answers.kept(number, key),
        replayed=answers.replayed(number, key),
        failure=next((text for text in own["failure"].to_list() if text), ""),
    )


def _caption(values: dict[str, float]) -> str:
    """Format the name and value of the first metric; a dash if there is none."""
    for name, value in values.items():
        return f"{name} {value:.3f}"
    return "–"


def _seconds(folder: RunFolder, key: DialogueKey) -> dict[int, float]:
    """Return the seconds of each round's answer, by round."""
    sample, target, user, repeat = key
    index = folder.samples.index(sample)
    timings = folder.read("timings", only=[index])
    own = timings.filter(target=target, user=user, repeat=repeat)
    rows = own.select("round", "predict_s").iter_rows()
    return dict(rows)


def _finite_values(row: dict[str, Any], metrics: Sequence[str]) -> dict[str, float]:
    values: dict[str, float] = {}
    for name in metrics:
        value = row[name]
        if value is not None and math.isfinite(value):
            values[metric_name(name)] = value
    return values


def _prompts(text: str) -> list[dict[str, Any]]:
    return [prompt_content(prompt) for prompt in read_prompts(text)]


def _describe_levels(loaded: LoadedSample) -> LevelsContent | None:
    levels = loaded.levels
    if levels is None:
        return None
    return LevelsContent(
        offset=levels.offset,
        step=levels.step,
        low=levels.low,
        high=levels.high,
        modality=getattr(loaded.sample, "modality", ""),
    )


def _objects(targets: Sequence[Target]) -> list[ObjectContent]:
    if len(targets) == 1:
        own = targets[0]
        return [
            ObjectContent(number=number, id=own.id, label=own.label)
            for number in range(1, own.objects + 1)
        ]
    return [
        ObjectContent(number=number, id=one.id, label=one.label)
        for number, one in enumerate(targets, 1)
    ]


def _describe_plane(plane: Plane, targets: Sequence[Target]) -> PlaneContent:
    first = plane.count // 2 if plane.is_turned else 0
    masks = [target.mask for target in targets if target.mask.any()]
    if plane.is_turned and plane.axis is not None and masks:
        first = find_middle_slice(masks[0] > 0, plane.axis)
    return PlaneContent(
        name=plane.name,
        axis=plane.axis,
        count=plane.count,
        size=plane.size,
        edges=plane.edges,
        letters=plane.letters,
        is_turned=plane.is_turned,
        first=first,
        # Outlines are in pixels.
        outline_scale=plane.edges,
    )
