"""Options of the SAM family that papers do not specify, or on which they differ; see docs/segmenters.md."""

# Annotations are not postponed here: options of subclasses in other modules are validated against
# these annotations, which must therefore be types at run time.
import math
from dataclasses import dataclass
from typing import Literal

from segarena.dialogue import Dialogue
from segarena.errors import PluginInvalid

_MASK_CHOICES = {"best-iou": None, "first": 0, "second": 1, "third": 2}


@dataclass(kw_only=True, eq=False)
class ImageOptions:
    """Options of a network for images: which masks it predicts, and which of them it returns.

    Args:
        mask_choice: which of several masks is the answer: the "best-iou" by the network's own estimate
            (the first one on ties), or the "first", "second" or "third".
        multimask: when the network predicts several masks to choose from: after a "first-click" that
            is the only prompt, "always" or "never".
        after_negative: "keep" always feeds back the previous logits; "published-reset" drops them while
            there are clicks, but at most one positive and one negative, as in the code of RClicks.
        threshold: threshold of the upsampled logits; pixels above it belong to the object. 0 is a probability
            of one half.

    Raises:
        PluginInvalid: the threshold is not finite.
    """

    mask_choice: Literal["best-iou", "first", "second", "third"] = "best-iou"
    multimask: Literal["first-click", "always", "never"] = "first-click"
    after_negative: Literal["keep", "published-reset"] = "keep"
    threshold: float = 0.0

    def __post_init__(self) -> None:
        check_logit(self.threshold)

    def wants_several(self, dialogue: Dialogue) -> bool:
        """Return whether the network should predict several masks, because the prompts are ambiguous."""
        if self.multimask == "first-click":
            return len(dialogue.prompts) == 1 and len(dialogue.clicks) == 1
        return self.multimask == "always"

    def forgets_logits(self, dialogue: Dialogue) -> bool:
        """Return whether "published-reset" applies: there are clicks, at most one positive and one negative."""
        if self.after_negative != "published-reset":
            return False
        positive = sum(click.is_positive for click in dialogue.clicks)
        negative = len(dialogue.clicks) - positive
        return max(positive, negative) == 1

    @property
    def mask_index(self) -> int | None:
        """Index of the mask to return; None for the one with the best estimated IoU."""
        return _MASK_CHOICES[self.mask_choice]


@dataclass(kw_only=True, eq=False)
class VideoOptions:
    """Options of a network for videos: how it receives prompts and how it tracks.

    Args:
        scribbles: "points" turns points along a scribble into clicks; with "mask", positive scribbles
            reach the prompt encoder as a mask of logits of ±10, drawn one pixel wide, and negative
            ones become points.
        scribble_points: points per scribble, in the middles of pieces of equal length; short lines
            give fewer.
        corrections: frames prompted in later rounds are decoded with the "memory" of tracked frames,
            or "alone".
        feed_logits: whether prompted frames also get the logits of the previous prediction.
        backwards: whether frames before the first prompted one are tracked too.
        threshold: threshold of the upsampled logits; pixels above it belong to the object.

    Raises:
        PluginInvalid: a number is out of range.
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
    """Raise `PluginInvalid` unless a logit threshold is finite."""
    if not math.isfinite(threshold):
        raise PluginInvalid(
            f"threshold={threshold!r}: expected a finite logit, 0.0 for a probability of one half"
        )
