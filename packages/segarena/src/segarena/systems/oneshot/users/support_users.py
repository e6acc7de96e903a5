"""Users of one-shot segmentation, which show supports instead of pointing at the object."""

from __future__ import annotations

from collections.abc import Sequence

from segarena.errors import InvalidInput, PluginInvalid
from segarena.registry import user
from segarena.roles import Turn
from segarena.samples import ImageSample, Sample, Support, Target


@user("support")
class SupportUser:
    """Shows all supports of the dataset's pair at once, in a single round.

    Needs a one-shot dataset, whose samples provide the supports of each target
    (`ImageSample.supports`).
    """

    prompt_kinds = frozenset({"support"})

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return 1, because a repeat with the same supports adds no information."""
        return 1

    def next(self, turn: Turn) -> Sequence[Support] | None:
        """Return the supports of this pair in the first round, and None afterwards.

        Raises:
            InvalidInput: the sample has no support for this target.
            InvalidImage, InvalidMask: a support cannot be read.
        """
        if turn.round > 1:
            return None
        supports = turn.sample.supports if isinstance(turn.sample, ImageSample) else {}
        if turn.target.id not in supports:
            raise InvalidInput(
                f"sample {turn.sample.id} has no supports for target {turn.target.id}; "
                "expected a one-shot dataset, such as oneshot-demo or oneshot-folder"
            )
        return supports[turn.target.id]


@user("support-again")
class SupportAgainUser(SupportUser):
    """Shows the supports of the dataset's pair, and shows them again if the prediction misses the target.

    The second time means "not this object", which a segmenter may take as feedback (`sssi` in mode
    "feedback" does). Needs two rounds and a one-shot dataset.

    Args:
        iou_below: IoU, 0 to 1, below which a prediction misses the target.

    Raises:
        PluginInvalid: `iou_below` is outside 0 to 1.
    """

    def __init__(self, *, iou_below: float = 0.5) -> None:
        if not 0 <= iou_below <= 1:
            raise PluginInvalid(f"iou_below={iou_below!r}: expected 0 to 1")
        self.iou_below = iou_below

    def next(self, turn: Turn) -> Sequence[Support] | None:
        """Return the supports in the first round, again in the second round after a miss, then None.

        Raises:
            InvalidInput, InvalidImage, InvalidMask: see the user `support`.
        """
        if turn.round == 1:
            return super().next(turn)
        pixels = turn.of_one
        is_hit = pixels.intersection >= self.iou_below * max(pixels.union, 1)
        if turn.round > 2 or is_hit:
            return None
        return tuple(prompt for prompt in turn.dialogue.prompts if isinstance(prompt, Support))
