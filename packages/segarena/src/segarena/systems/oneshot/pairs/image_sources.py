"""Sources of images and of their masks, one class per mask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.images import read_image, read_mask_values
from segarena.files.safe_paths import safe_join
from segarena.samples import Mask

ClassImage: TypeAlias = tuple[str, str]
"""Class name and image name of an item."""
# VOC marks the border between objects with 255, which counts neither as object nor as background.
VOID_LABEL = 255
_HALF = 128  # as in HSNet's loader of FSS-1000, for masks with grey edges


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class ClassMask:
    """Mask of one class in an image, bool (H, W), and mask of its void pixels."""

    mask: Mask
    ignore: Mask | None = None


class ImageSource(Protocol):
    """Interface of a collection of images with one mask per class and image."""

    def items(self) -> Sequence[ClassImage]:
        """Return the class and the image of every mask, in a fixed order; this may read all masks."""
        ...

    def files(self, label: str, image: str) -> tuple[Path, ...]:
        """Return the paths of an image and its mask, whether or not they exist; empty for generated images."""
        ...

    def image(self, image: str) -> NDArray[np.uint8]:
        """Return an image, RGB uint8 (H, W, 3)."""
        ...

    def mask(self, label: str, image: str) -> ClassMask:
        """Return the mask of a class in an image."""
        ...

    def title(self, label: str) -> str:
        """Return the display name of a class."""
        ...

    def missing(self, label: str, image: str) -> Sequence[Path]:
        """Return the paths of an image and its mask at which no file exists."""
        ...


@dataclass(kw_only=True, eq=False)
class FileSource:
    """Images and masks in files.

    All functions must be picklable, because they are sent to worker processes.

    Args:
        image_file: function that returns the path of an image.
        mask_file: function that returns the path of a class's mask in an image, or of the image's
            label map.
        list_items: function that returns class and image of every mask.
        titles: display names of classes.
        read_mask: function that reads a mask file as int32 (H, W).
        has_labels: True if masks are label maps of class ids and `VOID_LABEL`; otherwise a mask
            holds one class, stored as 0 and 1 or as 0 and 255 (object from 128 on).
    """

    image_file: Callable[[str], Path]
    mask_file: Callable[[str, str], Path]
    list_items: Callable[[], Iterable[ClassImage]]
    titles: Mapping[str, str] = field(default_factory=dict[str, str])
    read_mask: Callable[[Path], NDArray[np.int32]] = read_mask_values
    has_labels: bool = False

    @cached_property
    def _items(self) -> tuple[ClassImage, ...]:
        return tuple(sorted(self.list_items()))

    def items(self) -> Sequence[ClassImage]:
        """Return the class and the image of every mask, sorted."""
        return self._items

    def files(self, label: str, image: str) -> tuple[Path, ...]:
        """Return the paths of an image and of its mask."""
        return (self.image_file(image), self.mask_file(label, image))

    def missing(self, label: str, image: str) -> Sequence[Path]:
        """Return the paths of an image and its mask at which no file exists."""
        return [file for file in self.files(label, image) if not file.is_file()]

    def image(self, image: str) -> NDArray[np.uint8]:
        """Return an image; raise `InvalidImage` if it is missing or unreadable."""
        return read_image(self.image_file(image))

    def mask(self, label: str, image: str) -> ClassMask:
        """Return the mask of a class in an image.

        Raises:
            InvalidMask: the file is missing or unreadable, or has invalid values.
        """
        file = self.mask_file(label, image)
        values = self.read_mask(file)
        if self.has_labels:
            void = values == VOID_LABEL
            return ClassMask(mask=values == int(label), ignore=void if void.any() else None)
        return ClassMask(mask=binarize_mask(values, file))

    def title(self, label: str) -> str:
        """Return the display name of a class."""
        return self.titles.get(label, label)


def binarize_mask(values: NDArray[np.int32], file: Path) -> Mask:
    """Binarize a mask stored as 0 and 1, or as 0 to 255 with the object from 128 on.

    Raises:
        InvalidMask: a value exceeds 255, or the mask has neither form.
    """
    highest = int(values.max(initial=0))
    if highest <= 1:
        return values == 1
    if highest > VOID_LABEL or highest < _HALF:
        raise InvalidMask(
            f"{file}: expected a mask of 0 and 1, or of 0 and 255, got values up to {highest}"
        )
    return values >= _HALF


def jpeg_path(folder: Path, image: str) -> Path:
    """Return the path of an image's JPEG file in a folder."""
    return safe_join(folder, f"{image}.jpg")


def label_map_path(
    folder: Path,
    label: str,
    image: str,
) -> Path:
    """Return the path of an image's label map, which all classes share."""
    del label
    return safe_join(folder, f"{image}.png")


def class_mask_path(
    folder: Path,
    label: str,
    image: str,
) -> Path:
    """Return the path of the mask file CLASS_IMAGE.png."""
    return safe_join(folder, f"{label}_{image}.png")


def list_label_maps(folder: Path, classes: Iterable[int]) -> Iterable[ClassImage]:
    """Yield (class, image) for each of `classes` in each label map of a folder; reads all maps.

    Raises:
        InvalidMask: a map cannot be read.
    """
    known = set(classes)
    for image, file in files_by_stem(folder, (".png",)).items():
        for value in np.unique(read_mask_values(file)).tolist():
            if value in known:
                yield str(value), image


def list_class_masks(folder: Path, classes: Iterable[int]) -> list[ClassImage]:
    """Return the class and the image of each mask file CLASS_IMAGE.png; `classes` is ignored."""
    del classes
    items: list[ClassImage] = []
    for stem in files_by_stem(folder, (".png",)):
        label, _, image = stem.partition("_")
        items.append((label, image))
    return items


def find_subfolder(
    root: Path,
    names: Sequence[str],
    what: str,
) -> Path:
    """Return the first existing folder of `names` in `root`; raise `DatasetMissing` if none exists."""
    for name in names:
        if (root / name).is_dir():
            return root / name
    raise DatasetMissing(f"{root}: expected {what} in a folder {' or '.join(names)}, found none")


def files_by_stem(folder: Path, suffixes: Sequence[str]) -> dict[str, Path]:
    """Return the files of a folder that have one of the endings, sorted and keyed by name without ending."""
    files = sorted(folder.iterdir())
    return {file.stem: file for file in files if file.suffix.lower() in suffixes}
