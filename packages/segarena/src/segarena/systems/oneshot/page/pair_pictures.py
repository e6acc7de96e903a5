"""Pictures of one-shot pairs: the query with its target, the supports and the predictions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from segarena.reports.html_document import macros
from segarena.reports.overlays import View, jpeg_uri, outline
from segarena.reports.pictures import ImagePictures, RunDialogue
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueId, DialogueRecord
from segarena.reports.viewer_content import ExampleContent, ViewerContent
from segarena.samples import ImageSample, Support, Target
from segarena.systems.oneshot.bias.spurious_supports import SUPPORT_KINDS
from segarena.systems.oneshot.page.run_pixel_counts import NEGATIVE_LEVELS, TIER_ORDER, support_kind
from segarena.systems.oneshot.page.tier_partition_tables import LEVEL_NAMES, PART_ORDER

SUPPORT_PICTURE_PX = 320
"""Longest side of a support image in SVG units; the embedded JPEG has at most this many pixels a side."""
MAX_SHOWN_SUPPORTS = 3
"""Maximum number of supports shown for a pair."""
RANK_SHARES = (0.25, 0.75)
"""Quantiles of IoU at which the pairs of a part are chosen."""


class PairPictures(ImagePictures):
    """Pictures of query images and predictions, with the supports next to the target."""

    def lead(self) -> str:
        """Return the paragraph that explains the choice of pairs and the outlines."""
        return str(macros("segarena.systems.oneshot.page", "pairs.html").lead())

    def content(
        self,
        shown: Sequence[RunDialogue],
        sample: ImageSample,
        target: Target,
    ) -> ViewerContent:
        """Return the content for the viewer: the query image, and the supports of the target."""
        supports = _support_pictures(sample.supports.get(target.id, ()))
        return msgspec.structs.replace(super().content(shown, sample, target), examples=supports)


class _Part(NamedTuple):
    """Partition, level or kind of support of a pair; sorts tier by tier."""

    tier_rank: int
    part_rank: int
    tier: str
    label: str


def choose_pairs(runs: Sequence[Run]) -> list[DialogueId]:
    """Return, for each part, up to two pairs that all runs answered; ordered by part, lower IoU first."""
    user = runs[0].users[0]
    ious: dict[DialogueId, list[float]] = {}
    dialogues: dict[DialogueId, DialogueRecord] = {}
    for run in runs:
        for dialogue in run.finished(run.users[0]):
            if dialogue.repeat:
                continue
            # Runs may have users of different names. The key uses the first run's user, so that
            # pairs match.
            key = (dialogue.sample, dialogue.target, user, 0)
            ious.setdefault(key, []).append(dialogue.values["iou"][-1])
            dialogues[key] = dialogue
    ranked_by_part: dict[_Part, list[tuple[float, DialogueId]]] = {}
    for key, values in ious.items():
        if len(values) == len(runs):
            part = _part_of(dialogues[key])
            ranked_by_part.setdefault(part, []).append((statistics.fmean(values), key))
    chosen: dict[DialogueId, None] = {}
    for part in sorted(ranked_by_part):
        ranked = sorted(ranked_by_part[part])
        for share in RANK_SHARES:
            _, key = ranked[round(share * (len(ranked) - 1))]
            # A dict drops the second pick where both shares fall on the same pair.
            chosen[key] = None
    return list(chosen)


def pair_title(dialogue: DialogueRecord) -> str:
    """Return class, tier and part of a pair, with a remark if the correct mask is empty."""
    part = _part_of(dialogue)
    is_negative = dialogue.attributes.get("level") in NEGATIVE_LEVELS
    remark = "correct mask: empty" if is_negative else ""
    words = (dialogue.label, part.tier, part.label, remark)
    return " · ".join(word for word in words if word)


def _part_of(dialogue: DialogueRecord) -> _Part:
    """Return the part of a pair; kinds of changed supports are parts too."""
    attributes = dialogue.attributes
    tier = str(attributes.get("tier", ""))
    part = support_kind(str(attributes.get("list", "")))
    if not part:
        part = str(attributes.get("level") or attributes.get("partition") or "")
    return _Part(
        tier_rank=(*TIER_ORDER, tier).index(tier),
        part_rank=(*PART_ORDER, *SUPPORT_KINDS, part).index(part),
        tier=tier,
        label=LEVEL_NAMES.get(part, part),
    )


def _support_pictures(supports: Sequence[Support]) -> list[ExampleContent]:
    """Return pictures of the first supports; the last label counts the supports not shown."""
    pictures: list[ExampleContent] = []
    hidden = len(supports) - MAX_SHOWN_SUPPORTS
    for support in supports[:MAX_SHOWN_SUPPORTS]:
        height, width = support.sample.image.shape[:2]
        scale = SUPPORT_PICTURE_PX / max(height, width)
        view = View((slice(0, height), slice(0, width)), scale)
        is_last = len(pictures) + 1 == MAX_SHOWN_SUPPORTS
        label = f"support, {hidden} more" if is_last and hidden > 0 else "support"
        pictures.append(
            ExampleContent(
                label=label,
                size=(view.width, view.height),
                picture=jpeg_uri(support.sample.image, view),
                outline=outline(np.asarray(support.mask, dtype=np.bool_), view),
            )
        )
    return pictures
