"""Pictures of one-shot pairs: the query with its target, the supports that were shown, and the predictions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from segarena.reports.html_document import macros
from segarena.reports.overlays import View, jpeg_uri, outline
from segarena.reports.pictures import ImagePictures, RunDialogue
from segarena.reports.recorded_run import DialogueKey, DialogueRecord, Run
from segarena.reports.viewer import Example, Stack
from segarena.samples import ImageSample, Support, Target
from segarena.systems.oneshot.bias.spurious_supports import SUPPORT_KINDS
from segarena.systems.oneshot.page.run_counts import NEGATIVE_LEVELS, TIER_ORDER, support_kind
from segarena.systems.oneshot.page.tier_part_tables import LEVEL_NAMES, PART_ORDER

SUPPORT_PICTURE_PX = 320
"""Longest side of a support, in SVG units and at most in JPEG pixels."""
MAX_SHOWN_SUPPORTS = 3
"""So many supports of a pair are shown."""
RANK_SHARES = (0.25, 0.75)
"""Which pairs of a part are shown: at these shares of the way from the lowest to the highest IoU."""


class PairPictures(ImagePictures):
    """Query images as photographs are drawn, and the supports beside the target."""

    def lead(self) -> str:
        """Say which pairs are shown, and explain outlines."""
        return str(macros("segarena.systems.oneshot.page", "pairs.html").lead())

    def stacks(
        self, shown: Sequence[RunDialogue], sample: ImageSample, target: Target
    ) -> Sequence[Stack]:
        """Return the query image with its supports."""
        beside = _examples(sample.supports.get(target.id, ()))
        return [replace(stack, beside=beside) for stack in super().stacks(shown, sample, target)]


def choose_pairs(runs: Sequence[Run]) -> list[DialogueKey]:
    """Return some pairs that all runs answered, tier by tier and part by part, low IoU first."""
    values: dict[DialogueKey, list[float]] = {}
    about: dict[DialogueKey, DialogueRecord] = {}
    for run in runs:
        for dialogue in run.finished(run.users[0]):
            if not dialogue.repeat:
                key = (*dialogue.key[:2], runs[0].users[0], 0)
                values.setdefault(key, []).append(dialogue.values["iou"][-1])
                about[key] = dialogue
    parts: dict[tuple[Any, ...], list[tuple[float, DialogueKey]]] = {}
    for key, found in values.items():
        if len(found) == len(runs):
            parts.setdefault(_part(about[key]), []).append((statistics.fmean(found), key))
    chosen: list[DialogueKey] = []
    for part in sorted(parts):
        ranked = [key for _, key in sorted(parts[part])]
        chosen += dict.fromkeys(ranked[round(share * (len(ranked) - 1))] for share in RANK_SHARES)
    return chosen


def pair_title(dialogue: DialogueRecord) -> str:
    """Return what a pair is called: its class, tier and part, and whether the right answer is nothing."""
    *_, tier, part = _part(dialogue)
    right = "right: nothing" if dialogue.attributes.get("level") in NEGATIVE_LEVELS else ""
    return " · ".join(filter(None, (dialogue.label, tier, part, right)))


def _part(dialogue: DialogueRecord) -> tuple[int, int, str, str]:
    """Return the places of tier and part in their orders, and what they are called; changed supports are parts too."""
    told = dialogue.attributes
    tier = str(told.get("tier", ""))
    part = support_kind(str(told.get("list", ""))) or str(
        told.get("level") or told.get("partition") or ""
    )
    order = (*PART_ORDER, *SUPPORT_KINDS)
    place = order.index(part) if part in order else len(order)
    return (
        TIER_ORDER.index(tier) if tier in TIER_ORDER else len(TIER_ORDER),
        place,
        tier,
        LEVEL_NAMES.get(part, part),
    )


def _examples(supports: Sequence[Support]) -> list[Example]:
    """Return the supports that are shown."""
    shown: list[Example] = []
    for support in supports[:MAX_SHOWN_SUPPORTS]:
        height, width = support.sample.image.shape[:2]
        view = View((slice(0, height), slice(0, width)), SUPPORT_PICTURE_PX / max(height, width))
        drawn = outline(np.asarray(support.mask, dtype=np.bool_), view)
        more = len(supports) - MAX_SHOWN_SUPPORTS if len(shown) + 1 == MAX_SHOWN_SUPPORTS else 0
        caption = f"support, {more} more" if more > 0 else "support"
        shown.append(
            Example(
                label=caption,
                view=view,
                picture=jpeg_uri(support.sample.image, view),
                outline=drawn,
            )
        )
    return shown
