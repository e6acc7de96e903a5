"""A pool of small photographs with one object each, and a challenge that uses them."""

import cv2
import numpy as np
import pytest
from blobs import SIDES, blob

from segarena_server.challenges.description import ChallengeDescription, Phase


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
    """Create a challenge of one phase with the pool."""

    def make(benchmark="clicks(rounds=4)", **phase):
        return ChallengeDescription(
            slug="c",
            title="C",
            benchmark=benchmark,
            dataset=pool,
            phases=(Phase(**{"name": "final", **phase}),),
        )

    return make
