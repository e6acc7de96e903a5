"""Several supports for a segmenter that takes one: a prediction from each, and a vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Literal

import numpy as np

from segarena.capabilities import segmenter_capabilities
from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.errors import InvalidInput, PluginInvalid, PredictionInvalid
from segarena.registry import build, segmenter
from segarena.roles import Segmenter
from segarena.samples import Mask, Sample, Support, as_mask
from segarena.segmenters.oneshot.support_segmenter import SUPPORT_PROMPT_KINDS, supports_of

Rule = Literal["vote", "majority"]


@segmenter("votes")
class Votes:
    """A one-shot segmenter asked about each support by itself; the masks are combined by a vote.

    For comparison with segmenters that take several supports at once, and for those that take one.

    Args:
        segmenter: who answers supports: a plug-in as written, or an object.
        rule: "vote", as HSNet: a pixel's votes, divided by the most that any pixel has, are at least one half;
            "majority": at least half of the supports.

    Raises:
        PluginInvalid: another rule, or a segmenter that answers no supports.
    """

    prompt_kinds = SUPPORT_PROMPT_KINDS

    def __init__(self, *, segmenter: str | Segmenter, rule: Rule = "vote") -> None:
        self.segmenter: Any = (
            build("segmenter", segmenter) if isinstance(segmenter, str) else segmenter
        )
        abilities = segmenter_capabilities(self.segmenter)
        if not any(map(abilities.understands, SUPPORT_PROMPT_KINDS)):
            raise PluginInvalid(
                f"votes needs a segmenter that answers supports; got {type(self.segmenter).__name__}"
            )
        self.device = segmenter_capabilities(self.segmenter).device
        self._rule: Rule = rule

    def encode(self, sample: Sample) -> tuple[tuple[int, ...], Any]:
        """Return the shape of the image, and what the segmenter makes of it."""
        return sample.shape, self.segmenter.encode(sample)

    def predict(
        self, encoded: tuple[tuple[int, ...], Any], dialogues: Sequence[Dialogue]
    ) -> list[Prediction]:
        """Answer each dialogue; all supports of all dialogues are asked about in one call.

        Raises:
            PredictionInvalid: the segmenter gives another number of answers, or masks that do not fit.
        """
        shape, inner = encoded
        supports = [supports_of(dialogue) for dialogue in dialogues]
        single = [Dialogue(rounds=((_inner(support),),)) for support in chain(*supports)]
        answers = list(self.segmenter.predict(inner, single))
        if len(answers) != len(single):
            raise PredictionInvalid(f"expected {len(single)} predictions, got {len(answers)}")
        masks = iter(
            [np.asarray(as_prediction(answer, shape).mask, dtype=np.bool_) for answer in answers]
        )
        # The answers are in the order of the dialogues, and of the supports of each.
        return [
            Prediction(mask=combine_votes(list(islice(masks, len(own))), rule=self._rule))
            for own in supports
        ]


def _inner(support: Support) -> Support:
    """Return a support with the encoding that the segmenter itself made."""
    if support.encoded is None:
        return support
    return replace(support, encoded=support.encoded[1])


def combine_votes(masks: Sequence[Mask], *, rule: Rule = "vote") -> Mask:
    """Return the mask that K predictions make, one from each support.

    "vote": a pixel's votes, divided by the most votes that any pixel has, are at least one half; where all agree on
    little, little is enough. "majority": at least half of the predictions have the pixel. No votes at all give
    an empty mask; an exact half counts as object in both.

    Args:
        masks: K bool masks of one shape.
        rule: see above.

    Raises:
        InvalidInput: no masks, or another rule.
        InvalidMask: shapes or values that do not fit.

    Source: "vote" is HSNet's K-shot rule.
    """
    if not masks or rule not in ("vote", "majority"):
        raise InvalidInput(
            f"expected at least one mask and rule vote or majority, got {len(masks)} and {rule!r}"
        )
    votes = np.sum([as_mask(mask, np.shape(masks[0])) for mask in masks], axis=0, dtype=np.int64)
    most = max(1, int(votes.max(initial=0))) if rule == "vote" else len(masks)
    return np.asarray(2 * votes >= most, dtype=np.bool_)
