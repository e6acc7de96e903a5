"""Someone who shows an example, and shows it once more when the answer is something else."""

from __future__ import annotations

from collections.abc import Sequence

from segarena.errors import PluginInvalid
from segarena.registry import user
from segarena.roles import Turn
from segarena.samples import Support
from segarena.systems.oneshot.users.support_users import SupportUser


@user("support-again")
class SupportAgainUser(SupportUser):
    """Shows the examples of the dataset's pair, and the same once more when the answer misses the target.

    The second time says "not what you found": a segmenter may take it as feedback (`sssi` in mode "feedback" does).
    Needs two rounds and a one-shot dataset.

    Args:
        iou_below: an answer whose IoU with the target is lower misses it, 0 to 1.

    Raises:
        PluginInvalid: it is not in that range.
    """

    def __init__(self, *, iou_below: float = 0.5) -> None:
        if not 0 <= iou_below <= 1:
            raise PluginInvalid(f"iou_below={iou_below!r}: expected 0 to 1")
        self.iou_below = iou_below

    def next(self, turn: Turn) -> Sequence[Support] | None:
        """Return the examples in the first round; in the second again after a miss; then None.

        Raises:
            InvalidInput, InvalidImage, InvalidMask: see the user `support`.
        """
        if turn.round == 1:
            return super().next(turn)
        both = turn.of_one
        if turn.round > 2 or both.intersection >= self.iou_below * max(both.union, 1):
            return None
        return tuple(prompt for prompt in turn.dialogue.prompts if isinstance(prompt, Support))
