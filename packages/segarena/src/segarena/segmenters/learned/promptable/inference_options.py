"""The choices that papers leave open or make differently: options of the SAM family; see docs/segmenters.md."""

# Annotations are not postponed here: subclasses in other modules inherit these options, which are checked by them.
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue
from segarena.errors import PluginInvalid

_MASK_CHOICES = {"best-iou": None, "first": 0, "second": 1, "third": 2}


@dataclass(kw_only=True, eq=False)
class ImageOptions:
    """How a network for images is asked, and which of its masks is taken.

    Args:
        mask_choice: which of several masks is taken: the "best-iou" by the network's own estimate (the first of
            equals), or the "first", "second" or "third".
        multimask: when the network gives several masks to choose from: after a "first-click" and nothing else, "always"
            or "never".
        after_negative: "keep" always hands previous logits back; "published-reset" drops them while there is at most
            one click of either kind, as the code of RClicks does.
        threshold: of the upsampled logits; a pixel above it is in. 0 is a probability of one half.

    Raises:
        PluginInvalid: a threshold that is not finite.
    """

    mask_choice: Literal["best-iou", "first", "second", "third"] = "best-iou"
    multimask: Literal["first-click", "always", "never"] = "first-click"
    after_negative: Literal["keep", "published-reset"] = "keep"
    threshold: float = 0.0

    def __post_init__(self) -> None:
        check_logit(self.threshold)

    def wants_several(self, dialogue: Dialogue) -> bool:
        """Tell whether the network shall give several masks: the prompts are ambiguous."""
        if self.multimask == "first-click":
            return len(dialogue.prompts) == 1 and len(dialogue.clicks) == 1
        return self.multimask == "always"

    def forgets_logits(self, dialogue: Dialogue) -> bool:
        """Tell whether the previous logits are dropped: as published, while there is at most one click of a kind."""
        positive = sum(click.is_positive for click in dialogue.clicks)
        return (
            self.after_negative == "published-reset"
            and max(positive, len(dialogue.clicks) - positive) == 1
        )

    def choose(self, scores: NDArray[np.float32]) -> int:
        """Return which of the masks is taken; of equally good ones the first."""
        index = _MASK_CHOICES[self.mask_choice]
        return int(scores.argmax()) if index is None else min(index, len(scores) - 1)


@dataclass(kw_only=True, eq=False)
class VideoOptions:
    """How a network for videos is asked.

    Args:
        scribbles: "points" along a scribble are clicks; with "mask", positive scribbles go to the prompt encoder as a
            mask of logits of ±10, drawn one pixel wide, and negative ones stay points.
        scribble_points: points per scribble: the middles of pieces of equal length; shorter lines give fewer.
        corrections: frames marked in later rounds are decoded with the "memory" of what was tracked, or "alone".
        feed_logits: whether marked frames also get the logits of the previous prediction.
        backwards: whether frames before the first marked one are tracked too.
        threshold: of the upsampled logits; a pixel above it is in.

    Raises:
        PluginInvalid: a number out of range.
    """

    scribbles: Literal["points", "mask"] = "points"
    scribble_points: int = 3
    corrections: Literal["memory", "alone"] = "memory"
    feed_logits: bool = False
    backwards: bool = True
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if self.scribble_points != math.floor(self.scribble_points) or self.scribble_points < 1:
            raise PluginInvalid(
                f"scribble_points={self.scribble_points!r}: expected a whole number of at least 1"
            )
        check_logit(self.threshold)


def check_logit(threshold: float) -> None:
    """Raise `PluginInvalid` unless a threshold of logits is finite."""
    if not math.isfinite(threshold):
        raise PluginInvalid(f"threshold={threshold!r}: expected a finite logit, 0.0 for one half")
