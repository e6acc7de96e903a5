"""Recall and decay: the values of one object over the frames of a video as two numbers.

Source: Perazzi et al., DAVIS, CVPR 2016, section 4; as the toolkit for semi-supervised methods
computes them. That toolkit leaves out the first and the last frame of each sequence; callers do so
with `values[1:-1]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from segarena.errors import InvalidInput
from segarena.options import Protocol

SUCCESS = 0.5
"""A frame counts for recall when its value is above this."""


def recall(values: Any) -> float:
    """Return the share of frames whose value is above 0.5 (exactly 0.5 is not).

    Args:
        values: one per frame; NaN counts as a failed frame.

    Raises:
        InvalidInput: no frames.
    """
    return float(np.mean(_check_values(values) > SUCCESS))


def _mean_of_known(values: Any) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _check_values(values: Any) -> Any:
    checked = np.asarray(values, dtype=np.float64)
    if checked.ndim != 1 or not len(checked):
        raise InvalidInput(f"expected one value per frame, at least one; got shape {checked.shape}")
    return checked


def decay(values: Any, *, protocol: Protocol = "careful") -> float:
    """Return the mean of the first quarter of the frames minus the mean of the last: the loss over time.

    Quarters share their border frames: they run between five rounded points from the first to the
    last frame.

    Args:
        values: one per frame; NaN is left out of the means.
        protocol: "published" keeps the points in 8 bits, as the published toolkit does; that is
            wrong from frame 256 on.

    Raises:
        InvalidInput: no frames.
    """
    checked = _check_values(values)
    spaced = np.linspace(1, len(checked), 5)
    # The toolkit adds 1e-10 so that halves are rounded up, and counts frames from 1.
    points = (np.round(spaced + 1e-10) - 1).astype(np.int64)
    if protocol == "published":
        points = points % 256
    first = checked[points[0] : points[1] + 1]
    last = checked[points[3] : points[4] + 1]
    return _mean_of_known(first) - _mean_of_known(last)
