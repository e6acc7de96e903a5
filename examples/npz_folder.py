"""A dataset in one file: a folder of .npz files, each with `image` and one or more arrays `mask_NAME`.

segarena data check-dataset examples/npz_folder.py:NpzFolder my_arrays
segarena run clicks --segmenter graph --dataset "examples/npz_folder.py:NpzFolder(path='my_arrays')"
"""

import hashlib
from pathlib import Path

import numpy as np

from segarena import ImageSample, Target
from segarena.roles import Finding
from segarena.samples import as_image, as_mask


class NpzFolder:
    """Photographs and masks in NumPy archives; each sample is named after its file."""

    name = "npz"

    def __init__(self, *, path: str) -> None:
        self._files = {file.stem: file for file in sorted(Path(path).glob("*.npz"))}
        self.sample_ids = tuple(self._files)
        listing = [(name, file.stat().st_size) for name, file in self._files.items()]
        self.fingerprint = hashlib.sha256(repr(listing).encode()).hexdigest()[:16]

    def load(self, sample_id):
        """Read one file and return its image with a target for each mask."""
        with np.load(self._files[sample_id]) as arrays:
            image = as_image(arrays["image"], name=sample_id)
            masks = {name: arrays[name] for name in arrays.files if name.startswith("mask_")}
        targets = (
            Target(id=name[5:], mask=as_mask(mask, image.shape[:2])) for name, mask in masks.items()
        )
        return ImageSample(id=sample_id, image=image, targets=tuple(targets))

    def check(self):
        """Report the number of files, as an error if there are none."""
        return [Finding(is_error=not self._files, message=f"{len(self._files)} .npz files")]
