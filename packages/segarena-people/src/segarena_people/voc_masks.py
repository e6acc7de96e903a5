"""Class masks of PASCAL VOC, in the file formats of VOC and of SBD."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.images import read_mask_values
from segarena.files.matlab import read_matlab
from segarena.files.safe_paths import safe_join

VOC_CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *(
        "diningtable",
        "dog",
        "horse",
        "motorbike",
        "person",
        "pottedplant",
        "sheep",
        "sofa",
        "train",
        "tvmonitor",
    ),
)
"""Names of classes 1 to 20; 0 is the background, and 255 is ignored."""
VOC_VOID = 255
VOC_MASKS = "class masks of VOC (SegmentationClass/NAME.png) or SBD (cls/NAME.mat)"


def read_classes(folder: Path, image: str) -> NDArray[np.int32]:
    """Read the class of each pixel of an image, int32 (H, W), from NAME.png (VOC) or NAME.mat (SBD).

    Raises:
        DatasetMissing: neither file exists.
        InvalidMask: the file cannot be read.
    """
    picture = safe_join(folder, f"{image}.png")
    matrix = safe_join(folder, f"{image}.mat")
    if picture.is_file():
        return read_mask_values(picture)
    if not matrix.is_file():
        raise DatasetMissing(
            f"{image}: expected {image}.png or {image}.mat in {folder}, found neither"
        )
    truth: Any = read_matlab(matrix, "GTcls")
    try:
        classes = np.asarray(truth[0, 0]["Segmentation"]).astype(np.int32)
    except (IndexError, KeyError, ValueError, TypeError) as error:
        raise InvalidMask(
            f"{matrix}: expected GTcls.Segmentation, got other fields; download it again"
        ) from error
    if classes.ndim != 2:
        raise InvalidMask(f"{matrix}: expected a 2-D GTcls.Segmentation, got shape {classes.shape}")
    return classes
