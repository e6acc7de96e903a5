"""Drawing of dialogues for the gallery by kind of sample; packages register theirs with `pictures`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol, TypeAlias, TypeVar

from segarena.arrays.boxes import bounding_window
from segarena.errors import PluginError
from segarena.reports.chart_series import area_statistic
from segarena.reports.charts import sparkline
from segarena.reports.display_names import metric_name
from segarena.reports.html_document import macros
from segarena.reports.overlays import (
    View,
    jpeg_uri,
    outline,
    prompt_marks,
    prompt_positions,
    view_of,
)
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.run_statistics import summary_thresholds
from segarena.reports.viewer import Pane, Plate, RoundMarks, Stack
from segarena.samples import ImageSample, Mask, Target

MAX_HARDEST_CARDS = 12
"""Maximum number of hardest targets in the gallery."""

MAX_GALLERY_DIALOGUES = 72
"""Number of dialogues with pictures, counted over all runs."""

RunDialogue: TypeAlias = tuple[Run, DialogueRecord]
"""A run and its dialogue about the shown target."""


class DialoguePictures(Protocol):
    """Drawing of dialogues about samples of one kind; constructed with the word for a round."""

    word: str

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return the numbers of hardest and of other targets in a gallery of `runs` runs."""
        ...

    def lead(self) -> str:
        """Return an explanation of the pictures as HTML."""
        ...

    def stacks(self, shown: Sequence[RunDialogue], sample: Any, target: Target) -> Sequence[Stack]:
        """Return the predictions of the runs for one target at the same zoom.

        Each stack has one pane per run.
        """
        ...


PicturesClass = TypeVar("PicturesClass", bound=Callable[[str], DialoguePictures])
_by_kind: dict[str, Callable[[str], DialoguePictures]] = {}


def pictures(kind: str) -> Callable[[PicturesClass], PicturesClass]:
    """Return a decorator that registers a class for a kind of sample, such as "image" or "volume".

    Raises:
        PluginError: another class is registered for this kind.
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
    """Return the drawing of a kind of sample with the word for a round; None if there is none."""
    found = _by_kind.get(kind)
    return None if found is None else found(word)


@pictures("image")
class ImagePictures:
    """Photographs with the target, and the stored predictions and prompts of each run."""

    def __init__(self, word: str) -> None:
        self.word = word

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return 12 hardest targets and as many others as make 72 dialogues over all runs."""
        return MAX_HARDEST_CARDS, max(0, MAX_GALLERY_DIALOGUES // runs - MAX_HARDEST_CARDS)

    def lead(self) -> str:
        """Explain the outlines and marks."""
        return str(macros("segarena.reports", "photographs.html").lead(self.word))

    def stacks(
        self, shown: Sequence[RunDialogue], sample: ImageSample, target: Target
    ) -> Sequence[Stack]:
        """Return the photograph, cropped to the target, the last predictions and all prompts."""
        masks_by_run: list[dict[int, Mask]] = []
        visible = [target.mask]
        positions: list[tuple[float, float]] = []
        for run, dialogue in shown:
            # A sample may have changed since the run; masks of another shape do not fit it.
            stored = run.masks(dialogue.key).items()
            masks = {number: mask for number, mask in stored if mask.shape == sample.shape}
            masks_by_run.append(masks)
            if masks:
                visible.append(masks[max(masks)])
            for prompt in chain.from_iterable(dialogue.prompts):
                positions += prompt_positions(prompt)
        windows = [bounding_window(mask > 0) for mask in visible]
        view = view_of(sample.image.shape[:2], windows, positions)
        plate = Plate(
            picture=jpeg_uri(sample.image, view),
            targets=[outline(target.mask, view)],
            ignored="" if target.ignore is None else outline(target.ignore, view),
        )
        panes: list[Pane] = []
        for (run, dialogue), masks in zip(shown, masks_by_run, strict=True):
            panes.append(_pane(run, dialogue, masks, view))
        return [Stack(view=view, plates=[plate], panes=panes)]


def _pane(run: Run, dialogue: DialogueRecord, masks: Mapping[int, Mask], view: View) -> Pane:
    statistic = area_statistic(run)
    metric = metric_name(statistic.metric)
    values = dialogue.values_of(statistic.metric)
    texts: list[str] = []
    for number in range(1, dialogue.rounds + 1):
        texts.append(metric_value_text(values, number, metric))
    marks: list[RoundMarks] = []
    for number, svg in enumerate(prompt_marks(dialogue.prompts, view), 1):
        if svg:
            marks.append(RoundMarks(round=number, svg=svg))
    chart = ""
    if len(values) > 1:
        thresholds = summary_thresholds(run, statistic.metric)
        chart = sparkline(values, thresholds, title=f"{metric} after each round")
    return Pane(
        label=run.label,
        values=texts,
        kept={number: [[outline(mask, view)]] for number, mask in masks.items()},
        marks=marks,
        chart=chart,
    )


def metric_value_text(values: Sequence[float], round_: int, metric: str) -> str:
    """Return name and value of a metric after a round; a dash if it is undefined."""
    value = values[round_ - 1] if round_ <= len(values) else math.nan
    return f"{metric} {value:.3f}" if math.isfinite(value) else "–"


def spread_evenly(values: Sequence[int], most: int) -> list[int]:
    """Return at most `most` of the values, spaced evenly from the first to the last."""
    if len(values) <= most:
        return list(values)
    last = len(values) - 1
    indices = [round(number * last / (most - 1)) for number in range(most)]
    return [values[index] for index in indices]
