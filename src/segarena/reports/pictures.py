"""How the gallery draws one dialogue, for each kind of samples; a package registers its own with `pictures`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Protocol, TypeVar

from segarena.arrays.boxes import bounding_window
from segarena.errors import PluginError
from segarena.reports.charts import sparkline
from segarena.reports.overlays import View, jpeg_uri, outline, positions_of, prompt_marks, view_of
from segarena.reports.reading import DialogueRecord, Run
from segarena.reports.series import area_statistic
from segarena.reports.tables import thresholds_of
from segarena.reports.wording import metric_name
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
        return (
            '<p class="lead">The hardest targets first, then others from hard to easy. Left: the target (<i class="key '
            f'truth"></i>) and all {self.word}s in order, on the object (<i class="key pos"></i>) or off it '
            '(<i class="key neg"></i>); grey (<i class="key ignored"></i>) is not judged. Right: the prediction '
            f'(<i class="key guess"></i>) after some of the {self.word}s, the newest one large.</p>'
        )

    def strip(
        self, run: Run, dialogue: DialogueRecord, sample: ImageSample, target: Target, anchor: str, *, is_named: bool
    ) -> str:
        """Return the photograph with target and prompts, then the predictions."""
        masks = _chosen(run.masks(dialogue.key))
        masks = {round_: mask for round_, mask in masks.items() if mask.shape == sample.shape}
        rounds = [json.loads(text) for text in dialogue.prompts]
        view = _view(sample, target, masks, rounds)
        statistic = area_statistic(run)
        values = dialogue.values[statistic.metric]
        shared = (
            f'<svg class="shared" width="0" height="0" aria-hidden="true"><defs>'
            f'<image id="{anchor}-i" width="{view.width:.1f}" height="{view.height:.1f}" preserveAspectRatio="none" '
            f'href="{jpeg_uri(sample.image, view)}"/>'
            f'<path id="{anchor}-t" d="{outline(target.mask, view)}"/>'
            f'<path id="{anchor}-x" d="{"" if target.ignore is None else outline(target.ignore, view)}"/></defs></svg>'
        )
        metric, panels = metric_name(statistic.metric), ""
        for round_, mask in masks.items():
            panels += _panel(view, anchor, mask, rounds[:round_], _caption(values, round_, metric, self.word))
        marks = thresholds_of(run, statistic.metric)
        chart = sparkline(values, marks, title=f"{metric} after each round")
        title = f"<h4>{escape(run.label)}</h4>" if is_named else ""
        count = f"{len(rounds)} {self.word}{'' if len(rounds) == 1 else 's'}"
        return (
            f'<section class="strip">{title}{shared}<figure class="photo">{_photo(view, anchor, rounds)}'
            f"<figcaption><span>target and {count}</span>{chart}</figcaption></figure>"
            f'<div class="rounds">{panels}</div></section>'
        )


def _photo(view: View, anchor: str, rounds: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    return (
        f'<svg class="picture" viewBox="{view.box}" role="img" aria-label="photograph, target and prompts">'
        f'<use href="#{anchor}-i"/><use href="#{anchor}-x" class="ignored"/>'
        f'<use href="#{anchor}-t" class="truth halo"/><use href="#{anchor}-t" class="truth"/>'
        f"{prompt_marks(rounds, view, is_large=True)}</svg>"
    )


def _panel(
    view: View, anchor: str, mask: Mask, rounds: Sequence[Sequence[Mapping[str, Any]]], caption: tuple[str, str]
) -> str:
    return (
        f'<figure><svg class="picture" viewBox="{view.box}" role="img" aria-label="prediction after {caption[0]}">'
        f'<use href="#{anchor}-i"/><use href="#{anchor}-x" class="ignored"/>'
        f'<path d="{outline(mask, view)}" class="guess" fill-rule="evenodd"/>'
        f'<use href="#{anchor}-t" class="truth thin"/>{prompt_marks(rounds, view, is_large=False)}</svg>'
        f"<figcaption><span>{escape(caption[0])}</span><b>{escape(caption[1])}</b></figcaption></figure>"
    )


def _caption(values: Sequence[float], round_: int, metric: str, word: str) -> tuple[str, str]:
    value = values[round_ - 1] if round_ <= len(values) else math.nan
    return f"{word} {round_}", f"{metric} {value:.3f}" if math.isfinite(value) else "–"


def _chosen(masks: Mapping[int, Mask]) -> dict[int, Mask]:
    """Return at most `MOST_PANELS` of the kept rounds: the first, the last, and others evenly between."""
    rounds = sorted(masks)
    if len(rounds) > MOST_PANELS:
        rounds = [rounds[round(i * (len(rounds) - 1) / (MOST_PANELS - 1))] for i in range(MOST_PANELS)]
    return {round_: masks[round_] for round_ in rounds}


def _view(
    sample: Sample, target: Target, masks: Mapping[int, Mask], rounds: Sequence[Sequence[Mapping[str, Any]]]
) -> View:
    height, width = sample.shape
    windows = [bounding_window(mask > 0) for mask in (target.mask, *masks.values())]
    positions = [position for prompts in rounds for prompt in prompts for position in positions_of(prompt)]
    return view_of((height, width), windows, positions)
