"""A user who shows an example instead of pointing: the user of one-shot segmentation."""

from __future__ import annotations

from collections.abc import Sequence

from segarena.errors import InvalidInput
from segarena.registry import user
from segarena.roles import Turn
from segarena.samples import ImageSample, Sample, Support, Target


@user("support")
class SupportUser:
    """Shows the examples that the dataset pairs with the target, all at once, and says no more.

    Needs a one-shot dataset, whose samples say which examples belong to which target (`ImageSample.supports`).
    """

    prompt_kinds = frozenset({"support"})

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return 1: the same examples again would say nothing new."""
        return 1

    def next(self, turn: Turn) -> Sequence[Support] | None:
        """Return the examples of this pair in the first round, None after it.

        Raises:
            InvalidInput: the sample has no example for this target.
            InvalidImage, InvalidMask: the example cannot be used.
        """
        if turn.round > 1:
            return None
        supports = turn.sample.supports if isinstance(turn.sample, ImageSample) else {}
        if turn.target.id not in supports:
            raise InvalidInput(
                f"sample {turn.sample.id} has no example for target {turn.target.id}; expected a one-shot dataset, "
                "such as oneshot-demo or oneshot-folder"
            )
        return supports[turn.target.id]
