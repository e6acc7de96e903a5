"""SBD, the Semantic Boundaries Dataset, with one target per annotated instance."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segarena.datasets.listed_dataset import CheckTally, Files, ListedDataset, require_folder
from segarena.datasets.mask_encodings import DecodedMask, to_targets
from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.images import check_same_shape, read_image
from segarena.files.matlab import read_matlab
from segarena.files.safe_paths import safe_join
from segarena.files.text_files import read_text
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
    """Load SBD in the layout of the published archive, which the evaluation code for clicks also uses.

    The folder in the archive is `benchmark_RELEASE/dataset`. Every instance label above 0 is a
    target, with the label as its name and its category as its class; label 255 is ignored. The
    published click evaluation uses the same instances in the same order.

    Args:
        path: the folder with `img`, `inst` and the list files.
        split: name of the list file without suffix: "val" or "train".

    Raises:
        DatasetMissing: a folder or the list does not exist, or the list is empty.

    Source: Hariharan et al., Semantic Contours from Inverse Detectors, ICCV 2011.
    """

    def __init__(self, *, path: str, split: Literal["train", "val"] = "val") -> None:
        self._split = split
        root = Path(path).expanduser()
        images = require_folder(root / "img", "the images of SBD", SBD_LAYOUT)
        instances = require_folder(root / "inst", "the instance files of SBD", SBD_LAYOUT)
        listing = root / f"{split}.txt"
        if not listing.is_file():
            raise DatasetMissing(
                f"{listing}: expected a list with one image name per line, found none; the layout is {SBD_LAYOUT}"
            )
        lines = read_text(listing, "image names").splitlines()
        stripped = [line.strip() for line in lines]
        names = [name for name in stripped if name]
        if not names:
            raise DatasetMissing(
                f"{listing}: expected one image name per line, found an empty file; download it again"
            )
        files: dict[str, Files] = {}
        for name in names:
            # List files are untrusted input: a name like "../x" must not lead out of the folders.
            image = safe_join(images, f"{name}.jpg")
            files[name] = (image, safe_join(instances, f"{name}.mat"))
        super().__init__(f"SBD-{split}", files, {"split": split, "void": SBD_VOID})

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        image_path, instance_path = files
        image = read_image(image_path)
        numbers, categories = read_sbd_instances(instance_path)
        check_same_shape(numbers, instance_path, image, image_path)
        distinct = np.unique(numbers)
        is_instance = (distinct != 0) & (distinct != SBD_VOID)
        instances: list[int] = distinct[is_instance].tolist()
        if not instances:
            raise InvalidMask(
                f"{instance_path}: expected at least one instance, got none; download it again"
            )
        is_border = numbers == SBD_VOID  # between instances, as in PASCAL VOC
        ignore = is_border if is_border.any() else None
        masks = {str(number): numbers == number for number in instances}
        objects = DecodedMask(masks, ignore)
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
                f"{self.name}: expected {expected_images} images and "
                f"{expected_instances} instances as published, found {images} and {tally.targets}"
            )
            yield Finding(is_error=False, message=message)


def read_sbd_instances(path: Path) -> tuple[NDArray[np.int32], list[int]]:
    """Read an SBD file: instance labels, int32 (H, W), and the categories (1 to 20) of labels 1, 2, ...

    Raises:
        InvalidMask: the file is missing or damaged, or lacks `GTinst.Segmentation` (two axes) or
            `GTinst.Categories`.
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
            f"{path}: expected a 2-D GTinst.Segmentation, got shape {numbers.shape}; download it again"
        )
    return numbers, categories
