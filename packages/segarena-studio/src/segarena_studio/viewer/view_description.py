"""Description of a view, a dialogue or a sample, which pages load before its pictures: a few kilobytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from segarena.engine.store import RunFolder
from segarena.records.prompts import read_prompts
from segarena.reports.display_names import metric_name
from segarena.samples import Target
from segarena.systems.volumes.page.slice_pictures import find_middle_slice
from segarena_studio.viewer.dialogue_table import DialogueKey, metric_columns
from segarena_studio.viewer.mask_layers import RunAnswers
from segarena_studio.viewer.planes import Plane
from segarena_studio.viewer.sample_cache import LoadedSample


class PlaneDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A direction; see `segarena_studio.viewer.planes.Plane`. `first` is the index of the initial plane."""

    name: str
    axis: int | None
    count: int
    size: tuple[int, int]
    edges: tuple[float, float]
    letters: str
    is_turned: bool
    first: int


class LevelsDescription(msgspec.Struct, frozen=True, kw_only=True):
    """Grey levels; see `segarena.arrays.levels.Levels`."""

    offset: float
    step: float
    low: float
    high: float
    modality: str


class ObjectDescription(msgspec.Struct, frozen=True, kw_only=True):
    """An object to segment, with its number in layers."""

    number: int
    id: str
    label: str


class DialogueDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The dialogue of one run.

    Attributes:
        label: of the run.
        number: of the run in its collection, from 0.
        values: metrics of each round by display name; missing values are left out.
        prompts: of each round, as in records.
        seconds: of each round's answer; 0 where no time was measured.
        kept, held_again: rounds whose masks were stored by the run, or come from a replay.
        failure: why the dialogue ended early.
    """

    label: str
    number: int
    values: list[dict[str, float]]
    prompts: list[list[Any]]
    seconds: list[float]
    kept: list[int]
    held_again: list[int]
    failure: str = ""


class ViewDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A dialogue or a sample.

    Attributes:
        key: sample, target, user, repeat.
        kind: "image", "volume" or "video".
        has_ignored: whether some pixels are ignored.
        notes: warnings about the data.
    """

    key: DialogueKey
    kind: str
    planes: list[PlaneDescription]
    levels: LevelsDescription | None
    objects: list[ObjectDescription]
    has_ignored: bool
    dialogues: list[DialogueDescription]
    notes: list[str]


def describe_view(
    loaded: LoadedSample,
    key: DialogueKey,
    runs: Sequence[tuple[str, RunFolder]],
    answers: RunAnswers,
    notes: Sequence[str] = (),
) -> ViewDescription:
    """Describe a view.

    Raises:
        SegarenaError: the sample has no such target, or the files of a run are damaged.
    """
    targets = loaded.targets(key[1])
    dialogues: list[DialogueDescription] = []
    for number, (label, folder) in enumerate(runs):
        dialogue = describe_dialogue(number, label, folder, key, answers)
        if dialogue is not None:
            dialogues.append(dialogue)
    kind = type(loaded.sample).__name__.removesuffix("Sample").lower()
    return ViewDescription(
        key=key,
        kind=kind,
        planes=[_describe_plane(plane, targets) for plane in loaded.planes],
        levels=_describe_levels(loaded),
        objects=_objects(targets),
        has_ignored=any(target.ignore is not None for target in targets),
        dialogues=dialogues,
        notes=list(notes),
    )


def describe_dialogue(
    number: int, label: str, folder: RunFolder, key: DialogueKey, answers: RunAnswers
) -> DialogueDescription | None:
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
    seconds = _seconds(folder, key)
    return DialogueDescription(
        label=label,
        number=number,
        values=[_finite_values(row, metrics) for row in rounds],
        prompts=[_prompts(row["prompts"]) for row in rounds],
        seconds=[seconds.get(row["round"], 0.0) for row in rounds],
        kept=answers.kept(number, key),
        held_again=answers.replayed(number, key),
        failure=next((text for text in own["failure"].to_list() if text), ""),
    )


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
    return [{"kind": prompt.kind, **msgspec.to_builtins(prompt)} for prompt in read_prompts(text)]


def _describe_levels(loaded: LoadedSample) -> LevelsDescription | None:
    levels = loaded.levels
    if levels is None:
        return None
    return LevelsDescription(
        offset=levels.offset,
        step=levels.step,
        low=levels.low,
        high=levels.high,
        modality=getattr(loaded.sample, "modality", ""),
    )


def _objects(targets: Sequence[Target]) -> list[ObjectDescription]:
    if len(targets) == 1:
        own = targets[0]
        return [
            ObjectDescription(number=number, id=own.id, label=own.label)
            for number in range(1, own.objects + 1)
        ]
    return [
        ObjectDescription(number=number, id=one.id, label=one.label)
        for number, one in enumerate(targets, 1)
    ]


def _describe_plane(plane: Plane, targets: Sequence[Target]) -> PlaneDescription:
    first = plane.count // 2 if plane.is_turned else 0
    masks = [target.mask for target in targets if target.mask.any()]
    if plane.is_turned and plane.axis is not None and masks:
        first = find_middle_slice(masks[0] > 0, plane.axis)
    told = {
        name: getattr(plane, name) for name in PlaneDescription.__struct_fields__ if name != "first"
    }
    return PlaneDescription(**told, first=first)
