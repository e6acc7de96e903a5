"""A pool of small photographs with one object each, and a challenge about them."""

import cv2
import numpy as np
import pytest

from segarena.challenges.description import Challenge, Phase

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


@pytest.fixture(scope="session")
def pool(tmp_path_factory):
    """A dataset as written, of eight photographs."""
    folder = tmp_path_factory.mktemp("pool")
    for kind in ("images", "masks"):
        (folder / kind).mkdir()
    for number in range(8):
        mask = blob(number)
        image = np.random.default_rng(number).integers(0, 80, (*SIDES, 3), dtype=np.uint8)
        image[mask] += 120
        cv2.imwrite(str(folder / "images" / f"p{number}.png"), image)
        cv2.imwrite(str(folder / "masks" / f"p{number}.png"), 255 * mask.astype(np.uint8))
    return f"folder(path={str(folder)!r})"


@pytest.fixture
def challenge(pool):
    """Make a challenge of one phase about the pool."""

    def make(benchmark="clicks(rounds=4)", **phase):
        return Challenge(
            slug="c", title="C", benchmark=benchmark, dataset=pool, phases=(Phase(**{"name": "final", **phase}),)
        )

    return make
