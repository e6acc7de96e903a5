"""Small objects for test photographs."""

import numpy as np

SIDES = (48, 64)


def blob(seed):
    """Return an object of two overlapping ellipses."""
    rng = np.random.default_rng(seed)
    rows, columns = np.indices(SIDES)
    found = np.zeros(SIDES, bool)
    centre = rng.uniform(0.35, 0.65, 2) * SIDES
    for _ in range(2):
        at, radii = centre + rng.uniform(-6, 6, 2), rng.uniform(6, 14, 2)
        found |= ((rows - at[0]) / radii[0]) ** 2 + ((columns - at[1]) / radii[1]) ** 2 <= 1
    return found
