"""A simulated user in one file: it aims at the centre of the error and misses slightly.

segarena run clicks --segmenter graph --dataset demo --user centre --user "examples/trembling_hand.py:TremblingHand"
"""

import numpy as np

from segarena import Click
from segarena.users.centre import CentreClicker


class TremblingHand:
    """User that clicks like the centre clicker, with a normally distributed error in both directions.

    The click keeps the intended sign, even if it lands on the other side of the object's edge.

    Args:
        sigma_px: standard deviation of the error along each axis.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(self, *, sigma_px: float = 4.0) -> None:
        self.sigma_px = sigma_px
        self._centre = CentreClicker()

    def next(self, turn):
        """Return one click, or None if there is no error left."""
        meant = self._centre.click(turn)
        if meant is None:
            return None
        # Use only turn.rng for randomness, so that runs can be repeated, resumed and split over workers.
        hit = np.rint(meant.position + turn.rng.normal(0, self.sigma_px, 2))
        row, column = np.clip(hit, 0, np.subtract(turn.sample.shape, 1)).astype(int).tolist()
        return [Click((row, column), meant.is_positive)]
