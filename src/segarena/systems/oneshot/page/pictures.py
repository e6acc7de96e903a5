"""Pictures of one-shot pairs, part by part: the query with its target, the supports, and the predictions."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from segarena.reports.gallery import open_dataset
from segarena.reports.overlays import View, jpeg_uri, outline
from segarena.reports.reading import DialogueRecord, Run
from segarena.reports.rendering import macros
from segarena.samples import ImageSample, Support
from segarena.systems.oneshot.page.parts import LEVEL_NAMES, PARTS
from segarena.systems.oneshot.page.runs import NEGATIVE, TIERS, kind_of
from segarena.systems.oneshot.scoring.spurious import KINDS

PICTURE_PX = 260
"""Longest side of a picture, in SVG units and at most in JPEG pixels."""
COLUMNS = 6
MOST_SUPPORTS = 3
"""So many supports of a pair are shown."""
MOST_PAIRS = 40
SHARES = (0.25, 0.75)
"""Which pairs of a part are shown: at these shares of the way from the lowest to the highest IoU."""


def toss_pictures(runs: Sequence[Run]) -> tuple[str, list[str]]:
    """Return two pairs of every part with the predictions of all runs, as HTML; and what cannot be shown.

    Parts are partitions and levels. A dataset that cannot be opened any more is said, and the rest of the report stays.
    """
    cards: list[str] = []
    notes: dict[str, None] = {}
    for data in dict.fromkeys(run.data for run in runs):
        own = [run for run in runs if run.data == data]
        dataset, problem = open_dataset(own[0])
        if problem:
            notes[problem] = None
        chosen = chosen_pairs(own) if dataset is not None else []
        if len(chosen) > MOST_PAIRS:
            limit = f"Only the first {MOST_PAIRS} of {len(chosen)} chosen pairs are shown, to keep this file small."
            notes[limit] = None
        for key in chosen[:MOST_PAIRS]:
            try:
                sample = dataset.load(key[0]) if dataset is not None else None
                cards.append(_card(own, key, sample, f"pair-{len(cards) + 1}"))
            except Exception as error:  # a dataset is foreign code; without it the report still has its numbers
                words = " ".join(f"{type(error).__name__}: {error}".split())
                notes[f"Pair {key[1]} cannot be shown: {words}."] = None
    return (f"{_html().lead()}{''.join(cards)}" if cards else ""), list(notes)


def chosen_pairs(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return sample and target of some pairs that all runs answered, tier by tier and part by part, low IoU first."""
    values: dict[tuple[str, str], list[float]] = {}
    about: dict[tuple[str, str], DialogueRecord] = {}
    for run in runs:
        for dialogue in run.finished(run.users[0]):
            key = (dialogue.sample, dialogue.target)
            values.setdefault(key, []).append(dialogue.values["iou"][-1])
            about[key] = dialogue
    parts: dict[tuple[Any, ...], list[tuple[float, tuple[str, str]]]] = {}
    for key, found in values.items():
        if len(found) == len(runs):
            parts.setdefault(_part(about[key]), []).append((statistics.fmean(found), key))
    chosen: list[tuple[str, str]] = []
    for part in sorted(parts):
        ranked = [key for _, key in sorted(parts[part])]
        chosen += dict.fromkeys(ranked[round(share * (len(ranked) - 1))] for share in SHARES)
    return chosen


def _part(dialogue: DialogueRecord) -> tuple[int, int, str, str]:
    """Return the places of tier and part in their orders, and what they are called; changed supports are parts too."""
    told = dialogue.attributes
    tier = str(told.get("tier", ""))
    part = kind_of(str(told.get("list", ""))) or str(told.get("level") or told.get("partition") or "")
    order = (*PARTS, *KINDS)
    place = order.index(part) if part in order else len(order)
    return TIERS.index(tier) if tier in TIERS else len(TIERS), place, tier, LEVEL_NAMES.get(part, part)


def _card(runs: Sequence[Run], key: tuple[str, str], sample: Any, anchor: str) -> str:
    if not isinstance(sample, ImageSample):
        raise TypeError(f"expected an image, got {type(sample).__name__}")
    target = next(target for target in sample.targets if target.id == key[1])
    dialogues = [next(d for d in run.about(*key, run.users[0]) if d.failure is None) for run in runs]
    view = _view(sample.shape)
    told: Mapping[str, Any] = target.attributes
    supports = _supports(sample.supports.get(target.id, ()))
    *_, tier, part = _part(dialogues[0])
    return str(
        _html().card(
            anchor,
            " · ".join(filter(None, (tier, part))),
            target.label + (" · right: nothing" if told.get("level") in NEGATIVE else ""),
            target.id,
            min(COLUMNS, max(4, 1 + len(supports) + len(runs))),
            view,
            jpeg_uri(sample.image, view),
            outline(target.mask, view),
            "" if target.ignore is None else outline(target.ignore, view),
            supports,
            [_prediction(run, dialogue, view) for run, dialogue in zip(runs, dialogues, strict=True)],
        )
    )


def _view(shape: tuple[int, ...]) -> View:
    height, width = shape
    return View((slice(0, height), slice(0, width)), PICTURE_PX / max(height, width))


def _supports(supports: Sequence[Support]) -> list[tuple[View, str, str, str]]:
    """Return view, photograph, outline and caption of the supports that are shown."""
    shown: list[tuple[View, str, str, str]] = []
    for support in supports[:MOST_SUPPORTS]:
        view = _view(support.sample.image.shape[:2])
        drawn = outline(np.asarray(support.mask, dtype=np.bool_), view)
        more = len(supports) - MOST_SUPPORTS if len(shown) + 1 == MOST_SUPPORTS else 0
        caption = f"support, {more} more" if more > 0 else "support"
        shown.append((view, jpeg_uri(support.sample.image, view), drawn, caption))
    return shown


def _prediction(run: Run, dialogue: DialogueRecord, view: View) -> tuple[str, str, str]:
    """Return the run's name, the IoU and the outline."""
    kept = run.masks(dialogue.key)
    mask = kept.get(max(kept, default=0))
    if mask is None:
        return run.label, "not kept", ""
    return run.label, f"IoU {dialogue.values['iou'][-1]:.3f}", outline(mask, view)


def _html() -> Any:
    return macros("segarena.systems.oneshot.page", "pairs.html")
