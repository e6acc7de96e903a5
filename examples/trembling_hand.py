"""A simulated user in one file: means the centre of the error, and hits a place nearby.

segarena run clicks --segmenter graph --dataset demo --user centre --user "examples/trembling_hand.py:TremblingHand"
"""

import numpy as np

from segarena import Click
from segarena.users.centre import CentreClicker


class TremblingHand:
    """Clicks where the centre clicker would, moved by a normal error in both directions.

    The click keeps the sign that was meant, even when the hand slips over the edge of the object.

    Args:
        sigma_px: standard deviation of the error along each axis.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(self, *, sigma_px: float = 4.0) -> None:
        self.sigma_px = sigma_px
        self._centre = CentreClicker()

    def next(self, turn):
        """Return one click, or None when nothing is wrong any more."""
        meant = self._centre.click(turn)
        if meant is None:
            return None
        # The only source of chance is turn.rng: so the run can be repeated, resumed and split over workers.
        hit = np.rint(meant.position + turn.rng.normal(0, self.sigma_px, 2))
        row, column = np.clip(hit, 0, np.subtract(turn.sample.shape, 1)).astype(int).tolist()
        return [Click((row, column), meant.is_positive)]
