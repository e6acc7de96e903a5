"""Recall and decay: two summary values of one object's metric over the frames of a video.

Source: Perazzi et al., DAVIS, CVPR 2016, section 4, computed as in the toolkit for semi-supervised
methods. That toolkit excludes the first and the last frame of each sequence; callers do so with
`values[1:-1]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from segarena.errors import InvalidInput
from segarena.options import Protocol

SUCCESS = 0.5
"""Minimum value, exclusive, for a frame to count as recalled."""


def recall(values: Any) -> float:
    """Return the share of frames whose value is above 0.5 (exactly 0.5 does not count).

    Args:
        values: the metric in each frame; NaN counts as a failed frame.

    Raises:
        InvalidInput: there are no frames.
    """
    return float(np.mean(_check_values(values) > SUCCESS))


def _mean_of_known(values: Any) -> float:
    known = values[~np.isnan(values)]
    if not len(known):
        return float("nan")
    return float(known.mean())


def _check_values(values: Any) -> Any:
    checked = np.asarray(values, dtype=np.float64)
    if checked.ndim != 1 or not len(checked):
        raise InvalidInput(f"expected one value per frame, at least one; got shape {checked.shape}")
    return checked


def decay(values: Any, *, protocol: Protocol = "careful") -> float:
    """Return the mean of the first quarter of the frames minus the mean of the last: the loss of quality over time.

    Adjacent quarters share a frame: their borders are five rounded positions from the first to the
    last frame.

    Args:
        values: the metric in each frame; NaN is excluded from the means. If a quarter has no other
            values, the result is NaN.
        protocol: "published" stores the positions in 8 bits, as the published toolkit does, which
            is wrong from frame 256 on.

    Raises:
        InvalidInput: there are no frames.
    """
    checked = _check_values(values)
    spaced = np.linspace(1, len(checked), 5)
    # The toolkit counts frames from 1, and adds 1e-10 so that halves are rounded up.
    points = (np.round(spaced + 1e-10) - 1).astype(np.int64)
    if protocol == "published":
        # The toolkit casts frame indices to 8 bits.
        points = points % 256
    first = checked[points[0] : points[1] + 1]
    last = checked[points[3] : points[4] + 1]
    return _mean_of_known(first) - _mean_of_known(last)
