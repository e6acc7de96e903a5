"""What a dialogue about a video says, in the words of a tracking network: per object, which frame gets which marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue
from segarena.errors import InvalidPrompt, PluginInvalid, SegmenterError
from segarena.prompts import Box, Click, MaskPrompt, Prompt, Scribble, check_prompt
from segarena.samples import Mask, Shape

PROMPT_KINDS = frozenset({"click", "box", "mask", "scribble"})
SCRIBBLES = ("points", "mask")
BACKGROUND = 0
"""The object id under which a user marks what belongs to no object."""

Place = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoHabits:
    """The choices that are open; see docs/segmenters.md.

    Raises:
        PluginInvalid: a choice that does not exist.
    """

    scribbles: str = "points"
    scribble_points: int = 3
    backwards: bool = True
    feed_logits: bool = False
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if self.scribbles not in SCRIBBLES:
            raise PluginInvalid(f"scribbles={self.scribbles!r}: expected one of {', '.join(map(repr, SCRIBBLES))}")
        if (
            isinstance(self.scribble_points, bool)
            or self.scribble_points != int(self.scribble_points)
            or self.scribble_points < 1
        ):
            raise PluginInvalid(f"scribble_points={self.scribble_points!r}: expected a whole number of at least 1")
        if not np.isfinite(self.threshold):
            raise PluginInvalid(f"threshold={self.threshold!r}: expected a finite logit, 0.0 for one half")


@dataclass(slots=True)
class Marks:
    """What is said of one object in one frame.

    Attributes:
        positive: (row, column) of points on the object, and of points that are not; all in the order given.
        is_positive: of each point.
        box: first and last pixel; None without.
        mask: bool (H, W), the object as the user drew it; None without.
        lines: bool (H, W), scribbles drawn one pixel wide that are not made points of; None without.
    """

    points: list[Place] = field(default_factory=list[Place])
    is_positive: list[bool] = field(default_factory=list[bool])
    box: tuple[Place, Place] | None = None
    mask: Mask | None = None
    lines: Mask | None = None

    @property
    def only_says_no(self) -> bool:
        """Whether all that is said is what does not belong to the object."""
        return self.box is None and self.mask is None and self.lines is None and not any(self.is_positive)
