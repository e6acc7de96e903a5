"""Several one-shot predictions of one query made into one mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from segarena.errors import InvalidInput
from segarena.samples import Mask, as_mask


def vote(masks: Sequence[Mask], *, rule: Literal["vote", "majority"] = "vote") -> Mask:
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
        raise InvalidInput(f"expected at least one mask and rule vote or majority, got {len(masks)} and {rule!r}")
    votes = np.sum([as_mask(mask, np.shape(masks[0])) for mask in masks], axis=0, dtype=np.int64)
    most = max(1, int(votes.max(initial=0))) if rule == "vote" else len(masks)
    return np.asarray(2 * votes >= most, dtype=np.bool_)
