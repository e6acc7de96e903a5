"""The gallery: dialogues with their photograph or slices, prompts and predictions.

Only the samples that are shown are loaded, from the dataset that run.json names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from segarena.arrays.boxes import bounding_window
from segarena.registry import PluginSpec, build
from segarena.reports.charts import sparkline
from segarena.reports.overlays import View, jpeg_uri, outline, positions_of, prompt_marks, view_of
from segarena.reports.reading import DialogueRecord, Key, Run
from segarena.reports.series import area_statistic, round_word
from segarena.reports.tables import thresholds_of
from segarena.reports.wording import metric_name
from segarena.roles import Dataset
from segarena.samples import ImageSample, Mask, Sample, Target, VideoSample, VolumeSample
from segarena.systems.videos.page.pictures import video_strip
from segarena.systems.volumes.page.pictures import volume_strip

MOST_PANELS = 6
"""Predictions of one dialogue that stand side by side."""

BUDGET_BYTES = 12_000_000
"""The gallery takes no further dialogue once it is this large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery:
    """A finished gallery.

    Attributes:
        html: the cards.
        shown: for each dialogue shown, the id of its card.
        notes: what could not be shown, and why; one line each.
    """

    html: str
    shown: Mapping[Key, str]
    notes: Sequence[str]


def gallery(runs: Sequence[Run], keys: Sequence[Key]) -> Gallery:
    """Return cards for `keys`, in this order; each shows that dialogue in every run that has it.

    What cannot be loaded is said in a note and left out: a report never fails for want of its photographs.
    """
    sources = [open_dataset(run) for run in runs]
    notes = list(dict.fromkeys(note for _, note in sources if note))
    cards: list[str] = []
    shown: dict[Key, str] = {}
    size = 0
    for key in keys:
        if size >= BUDGET_BYTES:
            notes.append(f"Only {len(shown)} dialogues are shown, to keep this file small.")
            break
        anchor = f"dialogue-{len(shown) + 1}"
        card, problem = _card(runs, [dataset for dataset, _ in sources], key, anchor)
        if problem:
            notes.append(problem)
        if card:
            shown[key] = anchor
            cards.append(card)
            size += len(card)
    return Gallery(html="".join(cards), shown=shown, notes=notes)


def open_dataset(run: Run) -> tuple[Dataset | None, str]:
    """Return the dataset of a run as run.json names it, and a line about what is wrong with it, if anything."""
    described = run.config["dataset"]
    try:
        dataset: Dataset = build("dataset", PluginSpec(described["name"], dict(described["options"])))
        changed = dataset.fingerprint != described["fingerprint"]
    except Exception as error:  # a dataset is foreign code; without it the report still has its numbers
        return None, f"No photographs: dataset {described['name']} cannot be opened ({_one_line(error)})."
    if changed:
        return dataset, f"Dataset {described['name']} has changed since the run; pictures may not be what was judged."
    return dataset, ""


def _card(runs: Sequence[Run], datasets: Sequence[Dataset | None], key: Key, anchor: str) -> tuple[str, str]:
    """Return one card and a line about what went wrong; either may be empty."""
    strips: list[str] = []
    problem, first = "", None
    for order, (run, dataset) in enumerate(zip(runs, datasets, strict=True)):
        dialogue = next((d for d in run.finished(key[2]) if d.key == key), None)
        if dialogue is None or dataset is None:
            continue
        try:
            sample = dataset.load(key[0])
            target = next(target for target in sample.targets if target.id == key[1])
        except Exception as error:  # as in open_dataset
            problem = f"Sample {key[0]} cannot be shown: {_one_line(error)}."
            continue
        first = first or dialogue
        if isinstance(sample, VolumeSample):
            strips.append(volume_strip(run, dialogue, sample, target, is_named=len(runs) > 1))
            continue
        if isinstance(sample, VideoSample):
            name = f"{anchor}-{order + 1}"
            strips.append(video_strip(run, dialogue, sample, target, name, is_named=len(runs) > 1))
            continue
        strips.append(_strip(run, dialogue, sample, target, f"{anchor}-{order + 1}", is_named=len(runs) > 1))
    if first is None:
        return "", problem
    return _article(first, anchor, "".join(strips)), problem


def _article(dialogue: DialogueRecord, anchor: str, strips: str) -> str:
    sample, target, user, repeat = dialogue.key
    name = dialogue.label or target
    where = f"{sample} / {target}" + (f", repeat {repeat}" if repeat else "")
    words = escape(f"{name} {where}".lower())
    return (
        f'<article class="card" id="{anchor}" data-user="{escape(user)}" data-words="{words}">'
        f'<header><h3>{escape(name)}</h3><p class="where">{escape(where)}</p>'
        f'<p class="who">{escape(user)}</p></header>{strips}</article>'
    )


def _strip(
    run: Run, dialogue: DialogueRecord, sample: ImageSample, target: Target, anchor: str, *, is_named: bool
) -> str:
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
    word = round_word([run])
    panels = "".join(
        _panel(view, anchor, mask, rounds[:round_], _caption(values, round_, metric_name(statistic.metric), word))
        for round_, mask in masks.items()
    )
    marks = thresholds_of(run, statistic.metric)
    chart = sparkline(values, marks, title=f"{metric_name(statistic.metric)} after each round")
    title = f"<h4>{escape(run.label)}</h4>" if is_named else ""
    count = f"{len(rounds)} {word}{'' if len(rounds) == 1 else 's'}"
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


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
