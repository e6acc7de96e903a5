"""Predicted masks of volumes as NIfTI, where the scan lies."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path

import numpy as np

from segarena.arrays.orientation import Grid
from segarena.files.whole import whole_path
from segarena.reports.mask_export import MaskPrediction, mask_format
from segarena.systems.volumes.files.nifti import write_nifti


@mask_format("nifti", "volume")
def write_masks(root: Path, predictions: Iterable[MaskPrediction]) -> Generator[str]:
    """Write one NIfTI file per prediction with the affine of its sample, or its spacing where that has none.

    The axes of the array are those of the sample in reverse (column, row, plane), as scanners store them.
    """
    for one in predictions:
        sample = one.sample_of(one.sample)
        affine = np.diag([*sample.spacing_mm, 1.0]) if sample.affine is None else sample.affine
        voxels = one.mask.astype(np.uint8).T
        depth, height, width = one.mask.shape
        name = f"{one.stem}.nii.gz"
        with whole_path(root / name, ending=".nii.gz") as part:
            write_nifti(part, voxels, Grid((width, height, depth), affine[:, [2, 1, 0, 3]]))
        yield name
