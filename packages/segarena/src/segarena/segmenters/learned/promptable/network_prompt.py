"""Conversion of a dialogue to a prompt for a network of the SAM family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue
from segarena.errors import SegmenterError
from segarena.prompts import Box, MaskPrompt, check_prompt
from segarena.segmenters.drawing.prompt_pixel_marks import check_prompt_kinds
from segarena.segmenters.learned.promptable.device_logits import DeviceLogits
from segarena.segmenters.learned.promptable.image_space import ImageSpace
from segarena.segmenters.learned.promptable.inference_options import ImageOptions

IMAGE_PROMPT_KINDS = frozenset({"click", "box", "mask"})


@dataclass(frozen=True, slots=True, eq=False)
class NetworkPrompt:
    """Input of the network for a dialogue: all clicks, the newest box, and one mask or the previous logits.

    Attributes:
        points: float (n, 2), (x, y) of all clicks, in the order given.
        labels: int32 (n,), 1 positive, 0 negative.
        box: float (4,), x and y of its first and last pixel; None without a box.
        logits: float32 (low, low), the previous logits, possibly on the device, or a mask prompt; None
            without either.
        is_several: whether the network should predict several masks.
    """

    points: NDArray[np.floating]
    labels: NDArray[np.int32]
    box: NDArray[np.floating] | None
    logits: NDArray[np.float32] | DeviceLogits | None
    is_several: bool

    @property
    def form(self) -> tuple[int, bool, bool, bool]:
        """Batch key: prompts with equal keys can be stacked without padding."""
        return len(self.points), self.box is not None, self.logits is not None, self.is_several


def build_network_prompt(
    dialogue: Dialogue,
    space: ImageSpace,
    low_side: int,
    options: ImageOptions,
) -> NetworkPrompt:
    """Return the network's prompt for a dialogue.

    The prompt contains all clicks, the newest box, and one mask: the mask drawn in this round, or
    else the previous logits, or else the last mask drawn.

    Raises:
        SegmenterError: no prompt in this round, one of another kind, or about an object other than
            the first.
        InvalidPrompt: a prompt is outside the image.
    """
    if not dialogue.rounds or not dialogue.rounds[-1]:
        raise SegmenterError(
            f"round {len(dialogue.rounds)} has no prompts; expected a click, a box or a mask"
        )
    check_prompt_kinds(dialogue.prompts, IMAGE_PROMPT_KINDS)
    for prompt in dialogue.prompts:
        check_prompt(prompt, space.shape)
    clicks = dialogue.clicks
    boxes = [prompt for prompt in dialogue.prompts if isinstance(prompt, Box)]
    return NetworkPrompt(
        points=space.to_network([click.position for click in clicks]),
        labels=np.array([click.is_positive for click in clicks], dtype=np.int32),
        box=_box_corners(boxes, space),
        logits=_mask_logits(dialogue, space, low_side, options),
        is_several=options.wants_several(dialogue),
    )


def _box_corners(boxes: Sequence[Box], space: ImageSpace) -> NDArray[np.floating] | None:
    """Return the first and last pixel of the newest box in the network's square, float (4,)."""
    if not boxes:
        return None
    newest = boxes[-1]
    last_pixel = tuple(stop - 1 for stop in newest.stop)
    return space.to_network([newest.start, last_pixel]).reshape(4)


def _mask_logits(
    dialogue: Dialogue,
    space: ImageSpace,
    low_side: int,
    options: ImageOptions,
) -> NDArray[np.float32] | DeviceLogits | None:
    drawn = [prompt for prompt in dialogue.prompts if isinstance(prompt, MaskPrompt)]
    is_new = any(isinstance(prompt, MaskPrompt) for prompt in dialogue.rounds[-1])
    previous = None
    if dialogue.previous is not None:
        previous = dialogue.previous.logits
    if previous is not None and not is_new and not options.forgets_logits(dialogue):
        if previous.shape != (low_side, low_side):
            raise SegmenterError(
                f"previous logits: expected shape {(low_side, low_side)}, got {previous.shape}; "
                "they come from another segmenter"
            )
        if isinstance(previous, DeviceLogits):
            return previous
        return np.asarray(previous, dtype=np.float32)
    if not drawn:
        return None
    return space.mask_logits(drawn[-1].mask, low_side)
