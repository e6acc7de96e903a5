"""All that is told of one place, a dialogue or a sample, before pictures of it come: a few kilobytes, no pixels."""

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
    """A direction; see `segarena_studio.viewer.planes.Plane`. `first` is the plane to begin with."""

    name: str
    axis: int | None
    count: int
    size: tuple[int, int]
    edges: tuple[float, float]
    letters: str
    is_turned: bool
    first: int


class LevelsDescription(msgspec.Struct, frozen=True, kw_only=True):
    """What greys stand for; see `segarena.arrays.quantization.Quantization`."""

    offset: float
    step: float
    low: float
    high: float
    modality: str


class ObjectDescription(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be segmented, as layers number it."""

    number: int
    id: str
    label: str


class DialogueDescription(msgspec.Struct, frozen=True, kw_only=True):
    """What one run has about the place.

    Attributes:
        label: of the run.
        number: of the run in its collection, from 0.
        values: for each round, each metric by its name in print; what has no value is left out.
        prompts: for each round, as records have them.
        seconds: of each round's answer; 0 where no time was taken.
        kept, held_again: the rounds whose masks are there, because the run kept them or because it was asked again.
        failure: why it ended before its time.
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
    """A place.

    Attributes:
        key: sample, target, user, repeat.
        kind: "image", "volume" or "video".
        has_ignored: whether some pixels are not scored.
        notes: what must be known of what is shown.
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
    looked: LoadedSample,
    key: DialogueKey,
    runs: Sequence[tuple[str, RunFolder]],
    answers: RunAnswers,
    notes: Sequence[str] = (),
) -> ViewDescription:
    """Return what is told of a place.

    Raises:
        SegarenaError: the sample has no such target, or the files of a run are damaged.
    """
    targets = looked.targets(key[1])
    every = [
        describe_dialogue(number, label, folder, key, answers)
        for number, (label, folder) in enumerate(runs)
    ]
    levels = looked.levels
    kind = type(looked.sample).__name__.removesuffix("Sample").lower()
    return ViewDescription(
        key=key,
        kind=kind,
        planes=[_told_plane(plane, targets) for plane in looked.planes],
        levels=None
        if levels is None
        else LevelsDescription(
            offset=levels.offset,
            step=levels.step,
            low=levels.low,
            high=levels.high,
            modality=getattr(looked.sample, "modality", ""),
        ),
        objects=_objects(targets),
        has_ignored=any(target.ignore is not None for target in targets),
        dialogues=[one for one in every if one is not None],
        notes=list(notes),
    )


def describe_dialogue(
    number: int, label: str, folder: RunFolder, key: DialogueKey, answers: RunAnswers
) -> DialogueDescription | None:
    """Return what a run has about a place, or why its sample came to nothing; None where it has nothing."""
    sample, target, user, repeat = key
    if sample not in folder.samples:
        return None
    rows = folder.read("records", only=[folder.samples.index(sample)])
    own = rows.filter(target=target, user=user, repeat=repeat).sort("round")
    own = own if own.height else rows.filter(target="", user="")
    if not own.height:
        return None
    metrics = metric_columns(folder, own.columns)
    rounds = [row for row in own.iter_rows(named=True) if row["round"]]
    seconds = _seconds(folder, key)
    return DialogueDescription(
        label=label,
        number=number,
        values=[
            {
                metric_name(name): row[name]
                for name in metrics
                if row[name] is not None and math.isfinite(row[name])
            }
            for row in rounds
        ],
        prompts=[[_plain(prompt) for prompt in read_prompts(row["prompts"])] for row in rounds],
        seconds=[seconds.get(row["round"], 0.0) for row in rounds],
        kept=answers.kept(number, key),
        held_again=answers.held_again(number, key),
        failure=next((text for text in own["failure"].to_list() if text), ""),
    )


def _seconds(folder: RunFolder, key: DialogueKey) -> dict[int, float]:
    sample, target, user, repeat = key
    rows = folder.read("timings", only=[folder.samples.index(sample)])
    own = rows.filter(target=target, user=user, repeat=repeat)
    return dict(own.select("round", "predict_s").iter_rows())


def _plain(prompt: Any) -> dict[str, Any]:
    return {"kind": prompt.kind, **msgspec.to_builtins(prompt)}


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


def _told_plane(plane: Plane, targets: Sequence[Target]) -> PlaneDescription:
    first = plane.count // 2 if plane.is_turned else 0
    masks = [target.mask for target in targets if target.mask.any()]
    if plane.is_turned and plane.axis is not None and masks:
        first = find_middle_slice(masks[0] > 0, plane.axis)
    told = {
        name: getattr(plane, name) for name in PlaneDescription.__struct_fields__ if name != "first"
    }
    return PlaneDescription(**told, first=first)
