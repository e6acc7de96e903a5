"""Export of predicted volume masks as NIfTI files in the coordinates of the scan."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path

import numpy as np

from segarena.arrays.orientation import Grid
from segarena.files.atomic_write import atomic_path
from segarena.reports.mask_export import MaskPrediction, mask_format
from segarena.systems.volumes.files.nifti import write_nifti


@mask_format("nifti", "volume")
def write_masks(root: Path, predictions: Iterable[MaskPrediction]) -> Generator[str]:
    """Write one NIfTI file per prediction, with the sample's affine or, if it has none, its spacing.

    The axes of the array are those of the sample in reverse (column, row, plane), as scanners store them.
    """
    for prediction in predictions:
        sample = prediction.sample_of(prediction.sample)
        if sample.affine is None:
            affine = np.diag([*sample.spacing_mm, 1.0])
        else:
            affine = sample.affine
        voxels = prediction.mask.astype(np.uint8).T
        depth, height, width = prediction.mask.shape
        grid = Grid((width, height, depth), affine[:, [2, 1, 0, 3]])
        name = f"{prediction.stem}.nii.gz"
        with atomic_path(root / name, ending=".nii.gz") as part:
            write_nifti(part, voxels, grid)
        yield name
