"""Adapter that passes several supports, one at a time, to a segmenter that takes one; the predictions vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Literal

import numpy as np

from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.errors import InvalidInput, PluginInvalid, PredictionInvalid
from segarena.plugin_capabilities import segmenter_capabilities
from segarena.registry import build, segmenter
from segarena.roles import Segmenter
from segarena.samples import Mask, Sample, Support, as_mask
from segarena.segmenters.oneshot.support_segmenter import SUPPORT_PROMPT_KINDS, supports_of

Rule = Literal["vote", "majority"]


@segmenter("votes")
class Votes:
    """One prediction per support from a one-shot segmenter, combined by a vote.

    Use it for segmenters that accept only one support, and to compare voting with segmenters that
    accept several.

    Args:
        segmenter: the one-shot segmenter, as a plug-in specification or an object.
        rule: "vote", as in HSNet: a pixel needs half of the maximum number of votes of any pixel;
            "majority": it needs half of the supports.

    Raises:
        PluginInvalid: the rule is unknown, or the segmenter does not accept supports.
    """

    prompt_kinds = SUPPORT_PROMPT_KINDS

    def __init__(self, *, segmenter: str | Segmenter, rule: Rule = "vote") -> None:
        self.segmenter: Any = segmenter
        if isinstance(segmenter, str):
            self.segmenter = build("segmenter", segmenter)
        abilities = segmenter_capabilities(self.segmenter)
        if not any(map(abilities.understands, SUPPORT_PROMPT_KINDS)):
            raise PluginInvalid(
                f"votes needs a segmenter that accepts supports; got {type(self.segmenter).__name__}"
            )
        self.device = segmenter_capabilities(self.segmenter).device
        self._rule: Rule = rule

    def encode(self, sample: Sample) -> tuple[tuple[int, ...], Any]:
        """Return the shape of the image and the inner segmenter's encoding."""
        return sample.shape, self.segmenter.encode(sample)

    def predict(
        self, encoded: tuple[tuple[int, ...], Any], dialogues: Sequence[Dialogue]
    ) -> list[Prediction]:
        """Predict each dialogue; one call predicts all supports of all dialogues.

        Raises:
            PredictionInvalid: the inner segmenter returned the wrong number of predictions, or masks
                with a wrong shape.
        """
        shape, inner = encoded
        supports = [supports_of(dialogue) for dialogue in dialogues]
        single: list[Dialogue] = []
        for support in chain(*supports):
            single.append(Dialogue(rounds=((_unwrap_encoding(support),),)))
        answers = list(self.segmenter.predict(inner, single))
        if len(answers) != len(single):
            raise PredictionInvalid(f"expected {len(single)} predictions, got {len(answers)}")
        masks: list[Mask] = []
        for answer in answers:
            masks.append(np.asarray(as_prediction(answer, shape).mask, dtype=np.bool_))
        # The masks are ordered by dialogue, then by support.
        remaining = iter(masks)
        predictions: list[Prediction] = []
        for own in supports:
            own_masks = list(islice(remaining, len(own)))
            predictions.append(Prediction(mask=combine_votes(own_masks, rule=self._rule)))
        return predictions


def _unwrap_encoding(support: Support) -> Support:
    """Return a support with the inner segmenter's own encoding."""
    if support.encoded is None:
        return support
    return replace(support, encoded=support.encoded[1])


def combine_votes(masks: Sequence[Mask], *, rule: Rule = "vote") -> Mask:
    """Combine the masks of K supports into one.

    In both rules, exactly half of the votes is enough. Without any votes the mask is empty.

    Args:
        masks: K bool masks of one shape.
        rule: "vote": a pixel needs half of the maximum number of votes of any pixel, so few votes
            suffice where the supports rarely agree. "majority": it needs half of the K masks.

    Raises:
        InvalidInput: there are no masks, or the rule is unknown.
        InvalidMask: masks differ in shape or have values other than 0 and 1.

    Source: "vote" is HSNet's K-shot rule.
    """
    if not masks or rule not in ("vote", "majority"):
        raise InvalidInput(
            f"expected at least one mask, and the rule vote or majority; got {len(masks)} masks and {rule!r}"
        )
    shape = np.shape(masks[0])
    votes = np.sum([as_mask(mask, shape) for mask in masks], axis=0, dtype=np.int64)
    if rule == "vote":
        reference = max(1, int(votes.max(initial=0)))
    else:
        reference = len(masks)
    return np.asarray(2 * votes >= reference, dtype=np.bool_)
