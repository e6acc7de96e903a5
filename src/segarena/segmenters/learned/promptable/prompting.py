"""What a dialogue says, in the words of a network of the SAM family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue
from segarena.errors import PluginInvalid, SegmenterError
from segarena.prompts import Box, MaskPrompt, check_prompt
from segarena.segmenters.drawing.marks import check_kinds
from segarena.segmenters.learned.promptable.image_space import ImageSpace

PROMPT_KINDS = frozenset({"click", "box", "mask"})
MASK_CHOICES = {"best-iou": None, "first": 0, "second": 1, "third": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """The choices that papers leave open or make differently; see docs/segmenters.md.

    Raises:
        PluginInvalid: a threshold that is not finite.
    """

    mask_choice: Literal["best-iou", "first", "second", "third"] = "best-iou"
    after_negative: Literal["keep", "published-reset"] = "keep"
    multimask: Literal["first-click", "always", "never"] = "first-click"
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.threshold):
            raise PluginInvalid(f"threshold={self.threshold!r}: expected a finite logit, 0.0 for one half")

    def wants_several(self, dialogue: Dialogue) -> bool:
        """Return whether the network shall give several masks: the prompts are ambiguous."""
        if self.multimask == "first-click":
            return len(dialogue.prompts) == 1 and len(dialogue.clicks) == 1
        return self.multimask == "always"

    def forgets_logits(self, dialogue: Dialogue) -> bool:
        """Return whether the previous logits are dropped: as published, while there is at most one click of a kind."""
        positive = sum(click.is_positive for click in dialogue.clicks)
        return self.after_negative == "published-reset" and max(positive, len(dialogue.clicks) - positive) == 1

    def choose(self, scores: NDArray[np.float32]) -> int:
        """Return which of the masks is taken; of equally good ones the first."""
        index = MASK_CHOICES[self.mask_choice]
        return int(scores.argmax()) if index is None else min(index, len(scores) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class NetworkPrompt:
    """One dialogue in the space of a network.

    Attributes:
        points: float (n, 2), (x, y) of all clicks, in the order given.
        labels: int32 (n,), 1 positive, 0 negative.
        box: float (4,), x and y of the first and of the last pixel in it; None without.
        logits: float32 (low, low), the previous logits or a drawn mask; None without.
        is_several: whether the network shall give several masks.
    """

    points: NDArray[np.floating]
    labels: NDArray[np.int32]
    box: NDArray[np.floating] | None
    logits: NDArray[np.float32] | None
    is_several: bool

    @property
    def form(self) -> tuple[int, bool, bool, bool]:
        """What must be equal for two prompts to go through the network together without padding."""
        return len(self.points), self.box is not None, self.logits is not None, self.is_several


def translate(dialogue: Dialogue, space: ImageSpace, low_side: int, habits: Habits) -> NetworkPrompt:
    """Return what the dialogue says.

    All clicks count, the newest box, and of masks the newest: one drawn in this round, else the previous logits,
    else the last one drawn.

    Raises:
        SegmenterError: no prompt in this round, one of another kind, or about another object than the first.
        InvalidPrompt: a prompt outside of the image.
    """
    if not dialogue.rounds or not dialogue.rounds[-1]:
        raise SegmenterError(f"round {len(dialogue.rounds)} has no prompts; expected a click, a box or a mask")
    check_kinds(dialogue.prompts, PROMPT_KINDS)
    for prompt in dialogue.prompts:
        check_prompt(prompt, space.shape)
    boxes = [prompt for prompt in dialogue.prompts if isinstance(prompt, Box)]
    return NetworkPrompt(
        points=space.to_network([click.position for click in dialogue.clicks]),
        labels=np.array([click.is_positive for click in dialogue.clicks], dtype=np.int32),
        box=_corners(boxes[-1], space) if boxes else None,
        logits=_dense(dialogue, space, low_side, habits),
        is_several=habits.wants_several(dialogue),
    )


def _corners(box: Box, space: ImageSpace) -> NDArray[np.floating]:
    last = tuple(stop - 1 for stop in box.stop)
    return space.to_network([box.start, last]).reshape(4)


def _dense(dialogue: Dialogue, space: ImageSpace, low_side: int, habits: Habits) -> NDArray[np.float32] | None:
    drawn = [prompt for prompt in dialogue.prompts if isinstance(prompt, MaskPrompt)]
    is_new = any(isinstance(prompt, MaskPrompt) for prompt in dialogue.rounds[-1])
    previous = None if dialogue.previous is None else dialogue.previous.logits
    if previous is not None and not is_new and not habits.forgets_logits(dialogue):
        if previous.shape != (low_side, low_side):
            raise SegmenterError(
                f"previous logits: expected shape {(low_side, low_side)}, got {previous.shape}; "
                "they come from another segmenter"
            )
        return np.asarray(previous, dtype=np.float32)
    return space.mask_logits(drawn[-1].mask, low_side) if drawn else None
