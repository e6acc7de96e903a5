"""A dataset of generated photographs: discs on noise."""

import numpy as np

from segarena.samples import ImageSample, Target


class Photographs:
    def __init__(self, *, count=4, targets=2, prefix="photo"):
        self.name = "photographs"
        self.sample_ids = [f"{prefix}-{index}" for index in range(count)]
        self.fingerprint = f"{prefix}-{count}-{targets}"
        self.loaded = []
        self._targets = targets

    def load(self, sample_id):
        self.loaded.append(sample_id)
        index = self.sample_ids.index(sample_id)
        rng = np.random.default_rng(index)
        image = rng.integers(60, 200, size=(90, 120, 3), dtype=np.uint8)
        targets = []
        for number in range(self._targets):
            mask = disc((90, 120), (30 + 8 * number, 30 + 45 * number), 12 + 4 * number)
            image[mask] = (200, 40 + 40 * number, 60)
            targets.append(Target(id=f"disc-{number}", mask=mask))
        return ImageSample(id=sample_id, image=image, targets=tuple(targets))

    def check(self):
        return []


class Refusing:
    """A dataset that existed during the run and was removed since."""

    def __init__(self):
        raise FileNotFoundError("/data/gone")


def disc(shape, centre, radius):
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    return (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 <= radius**2
