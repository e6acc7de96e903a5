"""How the gallery draws one dialogue, for each kind of samples; a package registers its own with `pictures`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol, TypeVar

from segarena.arrays.boxes import bounding_window
from segarena.errors import PluginError
from segarena.records.prompts import RecordedPrompt
from segarena.reports.charts import sparkline
from segarena.reports.overlays import View, jpeg_uri, outline, positions_of, prompt_marks, view_of
from segarena.reports.reading import DialogueRecord, Run
from segarena.reports.rendering import macros
from segarena.reports.series import area_statistic
from segarena.reports.tables import thresholds_of
from segarena.reports.wording import count_text, metric_name
from segarena.samples import ImageSample, Mask, Sample, Target

HARDEST = 12
"""Hardest targets that the gallery shows at most."""

STRIPS = 36
"""Dialogues with pictures, counted over all runs."""

MOST_PANELS = 6
"""Predictions of one dialogue that stand side by side."""


class Pictures(Protocol):
    """Draws dialogues about samples of one kind; made with the word for a round."""

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return how many of the hardest targets and how many others the gallery shows of so many runs."""
        ...

    def lead(self) -> str:
        """Return what must be known to read the pictures."""
        ...

    def strip(
        self, run: Run, dialogue: DialogueRecord, sample: Any, target: Target, anchor: str, *, is_named: bool
    ) -> str:
        """Return one dialogue as HTML; ids in it begin with `anchor`, and it tells the run when `is_named`."""
        ...


PicturesClass = TypeVar("PicturesClass", bound=Callable[[str], Pictures])
_by_kind: dict[str, Callable[[str], Pictures]] = {}


def pictures(kind: str) -> Callable[[PicturesClass], PicturesClass]:
    """Return a decorator that makes a class draw the samples of a kind: "image", "volume", "video" or one of its own.

    Raises:
        PluginError: another class does so already.
    """

    def add(found: PicturesClass) -> PicturesClass:
        known = _by_kind.setdefault(kind, found)
        if known.__module__ != found.__module__:
            raise PluginError(f"samples of kind {kind!r} are drawn twice: by {known.__module__} and {found.__module__}")
        return found

    return add


def pictures_of(kind: str, word: str) -> Pictures | None:
    """Return what draws samples of a kind, with the word for a round; None where nothing does."""
    found = _by_kind.get(kind)
    return None if found is None else found(word)


@pictures("image")
class ImagePictures:
    """Photographs: the target with all prompts, and the prediction after some of the rounds."""

    def __init__(self, word: str) -> None:
        self.word = word

    def how_many(self, runs: int) -> tuple[int, int]:
        """Return 12 and as many others as make 36 strips over all runs."""
        return HARDEST, max(0, STRIPS // runs - HARDEST)

    def lead(self) -> str:
        """Explain the outlines and marks."""
        return str(_html().lead(self.word))

    def strip(
        self, run: Run, dialogue: DialogueRecord, sample: ImageSample, target: Target, anchor: str, *, is_named: bool
    ) -> str:
        """Return the photograph with target and prompts, then the predictions."""
        kept = {number: mask for number, mask in run.masks(dialogue.key).items() if mask.shape == sample.shape}
        masks = {number: kept[number] for number in evenly(sorted(kept), MOST_PANELS)}
        rounds = dialogue.prompts
        view = _view(sample, target, masks, rounds)
        statistic = area_statistic(run)
        metric, values = metric_name(statistic.metric), dialogue.values[statistic.metric]
        return str(
            _html().strip(
                anchor,
                view,
                run.label if is_named else "",
                jpeg_uri(sample.image, view),
                outline(target.mask, view),
                "" if target.ignore is None else outline(target.ignore, view),
                f"target and {count_text(len(rounds), self.word)}",
                prompt_marks(rounds, view, is_large=True),
                sparkline(values, thresholds_of(run, statistic.metric), title=f"{metric} after each round"),
                [
                    (
                        *_caption(values, number, metric, self.word),
                        outline(mask, view),
                        prompt_marks(rounds[:number], view, is_large=False),
                    )
                    for number, mask in masks.items()
                ],
            )
        )


def _caption(values: Sequence[float], round_: int, metric: str, word: str) -> tuple[str, str]:
    value = values[round_ - 1] if round_ <= len(values) else math.nan
    return f"{word} {round_}", f"{metric} {value:.3f}" if math.isfinite(value) else "–"


def evenly(values: Sequence[int], most: int) -> list[int]:
    """Return at most `most` of the values: the first, the last, and others evenly between."""
    if len(values) <= most:
        return list(values)
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]


def _html() -> Any:
    return macros("segarena.reports", "photographs.html")


def _view(
    sample: Sample, target: Target, masks: Mapping[int, Mask], rounds: Sequence[Sequence[RecordedPrompt]]
) -> View:
    height, width = sample.shape
    windows = [bounding_window(mask > 0) for mask in (target.mask, *masks.values())]
    positions = chain.from_iterable(map(positions_of, chain(*rounds)))
    return view_of((height, width), windows, list(positions))
