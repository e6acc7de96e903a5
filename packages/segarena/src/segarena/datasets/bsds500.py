"""BSDS500: regions of human segmentations of 500 photographs as targets."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segarena.datasets.listed_dataset import Files, ListedDataset, require_folder
from segarena.datasets.mask_encodings import DecodedMask, to_targets
from segarena.errors import DatasetMissing, InvalidMask, PluginInvalid
from segarena.files.images import check_same_shape, read_image
from segarena.files.matlab import read_matlab
from segarena.files.npy import read_arrays
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import ImageSample, Mask

# Number of images in each published split.
SPLITS = {"train": 200, "val": 100, "test": 200}
MOST_LABELS = 65535
LAYOUT = "PATH/images/SPLIT/ID.jpg with PATH/human/SPLIT/ID.npz (compact) or PATH/groundTruth/SPLIT/ID.mat (original)"


@dataset("bsds500")
class Bsds500(ListedDataset[ImageSample]):
    """Regions that a typical annotator drew.

    BSDS500 has several complete segmentations of each photograph but no objects. These rules select
    targets:

    1. Annotator: the one with the median number of regions (the lower of two medians; ties: the first),
       neither the coarsest nor the finest.
    2. Size: 1 % to 40 % of the image. A click hits smaller regions by luck; larger ones are background.
    3. Border: the region touches at most one side of the image. Sky, ground and walls touch two or three.
    4. Number: the three largest of those (ties: the lower region number), so that busy images do not
       dominate.

    On the published data this gives 529 targets in all 200 test images, 261 targets in 99 of the
    100 val images and 502 targets in 195 of the 200 train images; the other six images have none.

    Args:
        path: the folder with the images and the segmentations; `BSR` and `BSR/BSDS500/data` work too.
        split: "test", "val" or "train".
        min_share: smallest area of a target, as a share of the image.
        max_share: largest area of a target, as a share of the image.
        max_borders: maximum number of image sides that a target may touch.
        max_targets: maximum number of targets per image.

    Raises:
        DatasetMissing: the folders are missing or empty.
        PluginInvalid: an unknown split, or inconsistent shares.

    Source: Arbelaez et al., Contour Detection and Hierarchical Image Segmentation, TPAMI 2011.
    """

    def __init__(
        self,
        *,
        path: str,
        split: Literal["train", "val", "test"] = "test",
        min_share: float = 0.01,
        max_share: float = 0.4,
        max_borders: int = 1,
        max_targets: int = 3,
    ) -> None:
        if not 0 <= min_share < max_share <= 1:
            raise PluginInvalid(
                f"min_share={min_share}, max_share={max_share}: expected 0 <= min_share < max_share <= 1"
            )
        self._split = split
        self._max_targets = max_targets
        self._max_borders = max_borders
        self._shares = (min_share, max_share)
        root = _data_folder(Path(path).expanduser())
        images = require_folder(root / "images" / split, f"the {split} images of BSDS500", LAYOUT)
        is_compact = (root / "human").is_dir()
        humans = root / ("human" if is_compact else "groundTruth") / split
        require_folder(humans, f"the {split} segmentations of BSDS500", LAYOUT)
        suffix = ".npz" if is_compact else ".mat"
        files: dict[str, Files] = {}
        for image in sorted(images.glob("*.jpg")):
            files[image.stem] = (image, humans / f"{image.stem}{suffix}")
        if not files:
            raise DatasetMissing(
                f"{images}: expected the {split} images of BSDS500 (*.jpg), found none; the layout is {LAYOUT}"
            )
        rules = {
            "shares": self._shares,
            "max_borders": max_borders,
            "max_targets": max_targets,
            "annotator": "median",
        }
        super().__init__(f"BSDS500-{split}", files, rules)

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        image_path, human_path = files
        image = read_image(image_path)
        if human_path.suffix == ".npz":
            segmentations = read_compact(human_path)
        else:
            segmentations = read_original(human_path)
        for labels in segmentations:
            check_same_shape(labels, human_path, image, image_path)
        annotator = median_annotator(segmentations)
        regions = self._choose(segmentations[annotator])
        targets = to_targets(DecodedMask(regions, None))
        return ImageSample(id=sample_id, image=image, targets=targets)

    def _choose(self, labels: NDArray[np.int32]) -> dict[str, Mask]:
        areas = np.bincount(labels.ravel())
        min_share, max_share = self._shares
        min_area = min_share * labels.size
        max_area = max_share * labels.size
        regions: list[int] = []
        for label in np.flatnonzero(areas).tolist():
            # 0 is not a region, because BSDS500 numbers regions from 1.
            if label == 0 or not min_area <= areas[label] <= max_area:
                continue
            # Regions that touch several borders are mostly background.
            if borders_touched(labels == label) <= self._max_borders:
                regions.append(label)
        regions.sort(key=lambda label: (-int(areas[label]), label))
        largest = regions[: self._max_targets]
        return {f"region-{label}": labels == label for label in sorted(largest)}

    def _oddities(self) -> Iterable[Finding]:
        count = len(self.sample_ids)
        expected = SPLITS[self._split]
        if count != expected:
            yield Finding(
                is_error=False,
                message=f"{self.name}: the published split has {expected} images, found {count}",
            )


def read_compact(path: Path) -> list[NDArray[np.int32]]:
    """Return all segmentations of a compact file, one int32 (H, W) per annotator; regions count from 1.

    Raises:
        InvalidMask: the file is missing, damaged, or lacks `labels` (annotators, H, W).
    """
    labels = read_arrays(path, ["labels"]).get("labels")
    if labels is None or labels.ndim != 3 or not labels.size:
        problem = "no 'labels'" if labels is None else f"shape {labels.shape}"
        raise InvalidMask(
            f"{path}: expected 'labels' of annotators x rows x columns, got {problem}; copy it again"
        )
    return [region_labels(one, path) for one in labels]


def read_original(path: Path) -> list[NDArray[np.int32]]:
    """Return all segmentations of an original file; see `read_compact`.

    Raises:
        InvalidMask: the file is missing, damaged, or lacks `groundTruth{k}.Segmentation`.
    """
    truth = read_matlab(path, "groundTruth").ravel()
    try:
        annotators: list[Any] = [cell[0, 0] for cell in truth]
        segmentations = [
            region_labels(np.asarray(annotator["Segmentation"]), path) for annotator in annotators
        ]
    except (IndexError, KeyError, ValueError, TypeError) as error:
        raise InvalidMask(
            f"{path}: expected groundTruth{{k}}.Segmentation, got other fields; download it again"
        ) from error
    if not segmentations or any(labels.ndim != 2 for labels in segmentations):
        raise InvalidMask(
            f"{path}: expected one segmentation of rows x columns per annotator, got none; download it again"
        )
    return segmentations


def region_labels(labels: NDArray[Any], path: Path) -> NDArray[np.int32]:
    """Return region labels as int32.

    Raises:
        InvalidMask: the values are negative, are not numbers, or exceed both 65535 and the pixel count.
    """
    is_valid = labels.dtype.kind in "biuf"
    if is_valid and labels.size:
        # A label far above the pixel count would make the table of areas fill the memory.
        highest = max(labels.size, MOST_LABELS)
        is_valid = labels.min() >= 0 and labels.max() <= highest
    if not is_valid:
        raise InvalidMask(
            f"{path}: expected region labels from 0 on, got other values; copy it again"
        )
    return labels.astype(np.int32)


def median_annotator(segmentations: list[NDArray[np.int32]]) -> int:
    """Return the index of the first segmentation whose number of regions is the median (the lower of two)."""
    region_counts: list[int] = []
    for labels in segmentations:
        areas = np.bincount(labels.ravel())
        region_counts.append(int(np.count_nonzero(areas)))
    lower_middle = (len(region_counts) - 1) // 2
    median = sorted(region_counts)[lower_middle]
    return region_counts.index(median)


def borders_touched(mask: Mask) -> int:
    """Return the number of image sides that `mask` touches, 0 to 4."""
    sides = (mask[0], mask[-1], mask[:, 0], mask[:, -1])
    return sum(bool(side.any()) for side in sides)


def _data_folder(path: Path) -> Path:
    """Return the data folder inside the original archive, or `path` itself."""
    candidates = (".", "data", "BSDS500/data", "BSR/BSDS500/data")
    for candidate in candidates:
        folder = path / candidate
        if (folder / "images").is_dir():
            return folder
    return path
