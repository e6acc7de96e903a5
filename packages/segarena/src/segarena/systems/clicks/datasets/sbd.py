"""SBD, the Semantic Boundaries Dataset, with one target per annotated instance."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segarena.datasets.listed_dataset import CheckTally, Files, ListedDataset, existing_folder
from segarena.datasets.mask_encodings import DecodedMask, to_targets
from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.images import check_same_shape, read_image
from segarena.files.matlab import read_matlab
from segarena.files.safe_paths import within
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import ImageSample

SBD_LAYOUT = "PATH/img/NAME.jpg, PATH/inst/NAME.mat and PATH/val.txt"
PUBLISHED_COUNTS = {"train": (8498, 20172), "val": (2857, 6671)}
SBD_VOID = 255
CATEGORIES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("table", "dog", "horse", "motorbike", "person", "plant", "sheep", "sofa", "train", "tv"),
)


@dataset("sbd")
class Sbd(ListedDataset[ImageSample]):
    """Load SBD in the layout of the published archive, which the click codes use too.

    The archive's folder is `benchmark_RELEASE/dataset`. Every instance number above 0 is a target,
    named by the number and labelled with its category; 255 is ignored. The published click
    evaluation takes the same instances, in the same order.

    Args:
        path: the folder with `img`, `inst` and the list files.
        split: the list file without suffix: "val" or "train".

    Raises:
        DatasetMissing: a folder or the list does not exist, or the list is empty.

    Source: Hariharan et al., Semantic Contours from Inverse Detectors, ICCV 2011.
    """

    def __init__(self, *, path: str, split: Literal["train", "val"] = "val") -> None:
        self._split = split
        root = Path(path).expanduser()
        images = existing_folder(root / "img", "the images of SBD", SBD_LAYOUT)
        instances = existing_folder(root / "inst", "the instance files of SBD", SBD_LAYOUT)
        listing = root / f"{split}.txt"
        if not listing.is_file():
            raise DatasetMissing(
                f"{listing}: expected a list with one image name per line, found none; the layout is {SBD_LAYOUT}"
            )
        lines = map(str.strip, listing.read_text(encoding="utf-8").splitlines())
        names = [line for line in lines if line]
        if not names:
            raise DatasetMissing(
                f"{listing}: expected one image name per line, found an empty file; download it again"
            )
        files = {
            name: (within(images, f"{name}.jpg"), within(instances, f"{name}.mat"))
            for name in names
        }
        super().__init__(f"SBD-{split}", files, {"split": split, "void": SBD_VOID})

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        image_path, instance_path = files
        image = read_image(image_path)
        numbers, categories = read_sbd_instances(instance_path)
        check_same_shape(numbers, instance_path, image, image_path)
        instances = [int(number) for number in np.unique(numbers) if number not in (0, SBD_VOID)]
        if not instances:
            raise InvalidMask(
                f"{instance_path}: expected at least one instance, got none; download it again"
            )
        ignore = numbers == SBD_VOID  # the border between instances, as in PASCAL VOC
        masks = {str(number): numbers == number for number in instances}
        objects = DecodedMask(masks, ignore if ignore.any() else None)
        labels: dict[str, str] = {}
        for number, category in enumerate(categories, start=1):
            if 1 <= category <= len(CATEGORIES):
                labels[str(number)] = CATEGORIES[category - 1]
        return ImageSample(id=sample_id, image=image, targets=to_targets(objects, labels=labels))

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        images = len(self.sample_ids)
        expected_images, expected_instances = PUBLISHED_COUNTS[self._split]
        if (images, tally.targets) != (expected_images, expected_instances):
            message = (
                f"{self.name}: the published split has {expected_images} images and "
                f"{expected_instances} instances, here are {images} and {tally.targets}"
            )
            yield Finding(is_error=False, message=message)


def read_sbd_instances(path: Path) -> tuple[NDArray[np.int32], list[int]]:
    """Read an SBD file: instance numbers, int32 (H, W), and categories (1 to 20) from number 1 on.

    Raises:
        InvalidMask: the file is missing, damaged, or lacks `GTinst.Segmentation`.
    """
    truth = read_matlab(path, "GTinst")
    try:
        entry: Any = truth[0, 0]
        numbers = np.asarray(entry["Segmentation"]).astype(np.int32)
        categories = [int(category) for category in np.asarray(entry["Categories"]).ravel()]
    except (IndexError, KeyError, ValueError, TypeError) as error:
        raise InvalidMask(
            f"{path}: expected GTinst.Segmentation and GTinst.Categories, got other fields; download it again"
        ) from error
    if numbers.ndim != 2:
        raise InvalidMask(
            f"{path}: expected GTinst.Segmentation of rows x columns, got shape {numbers.shape}; download it again"
        )
    return numbers, categories
