"""Drawing of dialogues for the gallery, by kind of sample; packages register their own with `pictures`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window
from segarena.errors import PluginError
from segarena.reports.chart_series import area_statistic
from segarena.reports.display_names import metric_name
from segarena.reports.html_document import macros
from segarena.reports.overlays import (
    View,
    jpeg_uri,
    outline,
    prompt_positions,
    view_of,
)
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.run_statistics import summary_thresholds
from segarena.reports.viewer_content import (
    DialogueContent,
    ObjectContent,
    Outlines,
    PlaneContent,
    ViewerContent,
    finite_values,
    prompt_content,
)
from segarena.samples import ImageSample, Mask, Target

MAX_HARDEST_CARDS = 12
"""Maximum number of hardest targets in the gallery."""

MAX_GALLERY_DIALOGUES = 72
"""Number of dialogues, counted over all runs, up to which the gallery adds further targets."""

RunDialogue: TypeAlias = tuple[Run, DialogueRecord]
"""A run, and its dialogue about the shown target."""


class DialoguePictures(Protocol):
    """Draws dialogues about samples of one kind; constructed with the word for a round."""

    word: str

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return the numbers of hardest and of other targets in a gallery of `runs` runs."""
        ...

    def lead(self) -> str:
        """Return an explanation of the pictures as HTML."""
        ...

    def content(
        self,
        shown: Sequence[RunDialogue],
        sample: Any,
        target: Target,
    ) -> ViewerContent:
        """Build the viewer content with the runs' predictions for one target, one dialogue per run."""
        ...


PicturesClass = TypeVar("PicturesClass", bound=Callable[[str], DialoguePictures])
_by_kind: dict[str, Callable[[str], DialoguePictures]] = {}


def pictures(kind: str) -> Callable[[PicturesClass], PicturesClass]:
    """Return a decorator that registers a class for a kind of sample, such as "image" or "volume".

    Raises:
        PluginError: another class is already registered for this kind.
    """

    def add(found: PicturesClass) -> PicturesClass:
        known = _by_kind.setdefault(kind, found)
        if known.__module__ != found.__module__:
            raise PluginError(
                f"samples of kind {kind!r} are drawn twice: by {known.__module__} and {found.__module__}"
            )
        return found

    return add


def find_pictures(kind: str, word: str) -> DialoguePictures | None:
    """Return an object that draws samples of `kind` and calls a round `word`; None if no class is registered."""
    found = _by_kind.get(kind)
    return None if found is None else found(word)


@pictures("image")
class ImagePictures:
    """Draws photographs with the target, and the stored predictions and prompts of each run."""

    def __init__(self, word: str) -> None:
        self.word = word

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return the numbers of targets to show: the 12 hardest, and others up to 72 dialogues in total."""
        return MAX_HARDEST_CARDS, max(0, MAX_GALLERY_DIALOGUES // runs - MAX_HARDEST_CARDS)

    def lead(self) -> str:
        """Explain the outlines and marks."""
        return str(macros("segarena.reports", "photographs.html").lead(self.word))

    def content(
        self,
        shown: Sequence[RunDialogue],
        sample: ImageSample,
        target: Target,
    ) -> ViewerContent:
        """Build the content: the photograph cropped to the target, the last predictions, and all prompts."""
        visible = [target.mask]
        positions: list[tuple[float, float]] = []
        masks_by_run: list[Mapping[int, Mask]] = []
        for run, dialogue in shown:
            # A sample may have changed since the run, so skip masks of another shape.
            stored = run.masks(dialogue.key).items()
            masks = {number: mask for number, mask in stored if mask.shape == sample.shape}
            masks_by_run.append(masks)
            if masks:
                visible.append(masks[max(masks)])
            for prompt in chain.from_iterable(dialogue.prompts):
                positions += prompt_positions(prompt)
        windows = [bounding_window(mask > 0) for mask in visible]
        view = view_of(sample.image.shape[:2], windows, positions)
        layers = image_layers(view, target)
        dialogues: list[DialogueContent] = []
        for number, (run, dialogue) in enumerate(shown):
            for round_, mask in masks_by_run[number].items():
                layers[f"{number}.{round_}"] = [{"1": outline(mask, view)}]
            dialogues.append(_dialogue(number, run, dialogue, sorted(masks_by_run[number])))
        thresholds: Sequence[float] = ()
        if shown:
            run, _ = shown[0]
            thresholds = summary_thresholds(run, area_statistic(run).metric)
        return image_content(
            sample.image,
            target,
            view,
            layers,
            dialogues,
            word=self.word,
            thresholds=tuple(thresholds),
        )


def image_layers(view: View, target: Target) -> dict[str, list[Outlines]]:
    """Return the outlines of a target and of its ignored pixels as layers over a photograph."""
    layers: dict[str, list[Outlines]] = {"target": [{"1": outline(target.mask, view)}]}
    if target.ignore is not None:
        layers["ignored"] = [{"1": outline(target.ignore, view)}]
    return layers


def image_content(
    image: NDArray[np.uint8],
    target: Target,
    view: View,
    layers: Mapping[str, Sequence[Outlines]],
    dialogues: Sequence[DialogueContent],
    *,
    word: str,
    thresholds: Sequence[float] = (),
) -> ViewerContent:
    """Build the content of a viewer for a cropped photograph.

    Args:
        image: uint8 (H, W, 3).
        target: the target.
        view: the crop.
        layers: outlines in the view.
        dialogues: the dialogues.
        word: name of a round.
        thresholds: horizontal lines to mark in the curve.
    """
    rows, columns = view.window
    plane = PlaneContent(
        size=(rows.stop - rows.start, columns.stop - columns.start),
        origin=(rows.start, columns.start),
        edges=(view.scale, view.scale),
        pictures=(jpeg_uri(image, view),),
        layers=layers,
    )
    return ViewerContent(
        key=("", target.id, "", 0),
        kind="image",
        word=word,
        planes=[plane],
        objects=[ObjectContent(number=1, id=target.id, label=target.label)],
        has_ignored="ignored" in layers,
        thresholds=thresholds,
        dialogues=dialogues,
    )


def _dialogue(
    number: int,
    run: Run,
    dialogue: DialogueRecord,
    stored: Sequence[int],
) -> DialogueContent:
    statistic = area_statistic(run)
    metric = metric_name(statistic.metric)
    values = dialogue.values_of(statistic.metric)
    captions: list[str] = []
    for round_ in range(1, dialogue.rounds + 1):
        captions.append(metric_value_text(values, round_, metric))
    return DialogueContent(
        label=run.label,
        number=number,
        captions=captions,
        values=[finite_values({metric: value}) for value in values],
        prompts=prompts_by_round(dialogue),
        stored=stored,
    )


def prompts_by_round(
    dialogue: DialogueRecord, *, max_points: int = 0
) -> list[list[dict[str, Any]]]:
    """Return the prompts of each round of a dialogue; see `prompt_content`."""
    rounds: list[list[dict[str, Any]]] = []
    for prompts in dialogue.prompts:
        rounds.append([prompt_content(prompt, max_points=max_points) for prompt in prompts])
    return rounds


def metric_value_text(
    values: Sequence[float],
    round_: int,
    metric: str,
) -> str:
    """Format name and value of a metric after a round; a dash if it is undefined."""
    value = values[round_ - 1] if round_ <= len(values) else math.nan
    return f"{metric} {value:.3f}" if math.isfinite(value) else "–"


def spread_evenly(values: Sequence[int], most: int) -> list[int]:
    """Return at most `most` of the values, evenly spaced, including the first and the last."""
    if len(values) <= most:
        return list(values)
    last = len(values) - 1
    indices = [round(number * last / (most - 1)) for number in range(most)]
    return [values[index] for index in indices]
