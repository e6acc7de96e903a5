"""What a dialogue says, in the words of a network of the SAM family."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue
from segarena.errors import SegmenterError
from segarena.prompts import Box, MaskPrompt, check_prompt
from segarena.segmenters.drawing.marks import check_prompt_kinds
from segarena.segmenters.learned.promptable.image_space import ImageSpace
from segarena.segmenters.learned.promptable.inference_options import ImageOptions

IMAGE_PROMPT_KINDS = frozenset({"click", "box", "mask"})


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


def build_network_prompt(
    dialogue: Dialogue, space: ImageSpace, low_side: int, options: ImageOptions
) -> NetworkPrompt:
    """Return what the dialogue says.

    All clicks count, the newest box, and of masks the newest: one drawn in this round, else the previous logits,
    else the last one drawn.

    Raises:
        SegmenterError: no prompt in this round, one of another kind, or about another object than the first.
        InvalidPrompt: a prompt outside of the image.
    """
    if not dialogue.rounds or not dialogue.rounds[-1]:
        raise SegmenterError(
            f"round {len(dialogue.rounds)} has no prompts; expected a click, a box or a mask"
        )
    check_prompt_kinds(dialogue.prompts, IMAGE_PROMPT_KINDS)
    for prompt in dialogue.prompts:
        check_prompt(prompt, space.shape)
    boxes = [prompt for prompt in dialogue.prompts if isinstance(prompt, Box)]
    return NetworkPrompt(
        points=space.to_network([click.position for click in dialogue.clicks]),
        labels=np.array([click.is_positive for click in dialogue.clicks], dtype=np.int32),
        box=_corners(boxes[-1], space) if boxes else None,
        logits=_dense(dialogue, space, low_side, options),
        is_several=options.wants_several(dialogue),
    )


def _corners(box: Box, space: ImageSpace) -> NDArray[np.floating]:
    last = tuple(stop - 1 for stop in box.stop)
    return space.to_network([box.start, last]).reshape(4)


def _dense(
    dialogue: Dialogue, space: ImageSpace, low_side: int, options: ImageOptions
) -> NDArray[np.float32] | None:
    drawn = [prompt for prompt in dialogue.prompts if isinstance(prompt, MaskPrompt)]
    is_new = any(isinstance(prompt, MaskPrompt) for prompt in dialogue.rounds[-1])
    previous = None if dialogue.previous is None else dialogue.previous.logits
    if previous is not None and not is_new and not options.forgets_logits(dialogue):
        if previous.shape != (low_side, low_side):
            raise SegmenterError(
                f"previous logits: expected shape {(low_side, low_side)}, got {previous.shape}; "
                "they come from another segmenter"
            )
        return np.asarray(previous, dtype=np.float32)
    return space.mask_logits(drawn[-1].mask, low_side) if drawn else None
