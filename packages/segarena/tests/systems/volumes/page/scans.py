"""A dataset of generated volumes: two lesions and an organ, all boxes, in voxels of 4 x 1 x 2 mm."""

import numpy as np

from segarena.samples import Target, VolumeSample

SHAPE = (8, 24, 20)
PARTS = {
    "lesion-1": (slice(1, 3), slice(2, 6), slice(2, 6)),
    "lesion-2": (slice(5, 7), slice(14, 20), slice(10, 14)),
    "organ": (slice(0, 8), slice(1, 22), slice(1, 18)),
}


class Scans:
    def __init__(self, *, count=2):
        self.name = "scans"
        self.sample_ids = [f"scan-{index}" for index in range(count)]
        self.fingerprint = f"scans-{count}"

    def load(self, sample_id):
        voxels = np.zeros(SHAPE, dtype=np.int16)
        targets = []
        for name, window in reversed(PARTS.items()):
            voxels[window] += 100
            targets.append(Target(id=name, mask=mask_of(name), label=name.split("-")[0]))
        return VolumeSample(
            id=sample_id, voxels=voxels, spacing_mm=(4.0, 1.0, 2.0), targets=tuple(targets)
        )

    def check(self):
        return []


def mask_of(*names):
    mask = np.zeros(SHAPE, dtype=bool)
    for name in names:
        mask[PARTS[name]] = True
    return mask
