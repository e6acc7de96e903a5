"""Click maps of any sample: how likely each pixel of an error is to be clicked.

Maps that look at photographs, the clickability network among them, are `segarena.systems.clicks.models.by_name`.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.distance import squared_distance
from segarena.samples import Mask, Sample

Border = Literal["background", "object"]


class ClickMap(Protocol):
    """Says how likely each pixel of an error is to be clicked."""

    def __call__(self, sample: Sample, target: Mask, error: Mask) -> NDArray[Any]:
        """Return weights of 0 or more, shape of the sample; only those of error pixels are read.

        Args:
            sample: the sample.
            target: the target, full frame, ignored pixels False.
            error: the missing or the surplus part, full frame, clicked pixels included.
        """
        ...


def uniform_map(sample: Sample, target: Mask, error: Mask) -> NDArray[Any]:
    """Return the error itself: each of its pixels is as likely as the others."""
    return error


class DepthMap:
    """Likelihood in proportion to the Euclidean distance to the nearest pixel that is no error of that kind.

    Args:
        border: what lies beyond the frame: "background" as for `CentreClicker`, or "object" as in the published
            map, where pixels on the frame's border are not near an edge. An error that fills the whole frame is then
            far from any edge everywhere, and uniform.
    """

    def __init__(self, *, border: Border = "background") -> None:
        self._border = border

    def __call__(self, sample: Sample, target: Mask, error: Mask) -> NDArray[Any]:
        """Return distances in pixels, 0 outside the error."""
        return np.sqrt(squared_distance(error, frame_is_edge=self._border == "background"))
