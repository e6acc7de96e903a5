"""A one-shot dataset of one photograph, with four supports for each of its pairs."""

import numpy as np

from segarena.samples import ImageSample, Support, Target

SHAPE = (40, 60)
MASK = np.zeros(SHAPE, dtype=bool)
MASK[10:30, 10:30] = True


class Examples:
    def __init__(self):
        self.name = "examples"
        self.sample_ids = ["photo"]
        self.fingerprint = "examples"

    def load(self, sample_id):
        image = np.full((*SHAPE, 3), 90, dtype=np.uint8)
        shown = Support(sample=ImageSample(id="s", image=image), mask=MASK)
        targets = tuple(
            Target(id=name, mask=MASK, label="square", attributes={"tier": "generalization"})
            for name in ("generalization/0", "pairs/1")
        )
        return ImageSample(
            id=sample_id,
            image=image,
            targets=targets,
            supports={target.id: (shown,) * 4 for target in targets},
        )

    def check(self):
        return []
