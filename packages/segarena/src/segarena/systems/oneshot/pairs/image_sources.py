"""Where the pixels of one-shot sets are: images, and masks of one class each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.images import read_image, read_values
from segarena.files.within import within
from segarena.samples import Mask

ClassImage: TypeAlias = tuple[str, str]
"""Class and image."""
VOID_LABEL = 255
_HALF = 128


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassMask:
    """Where a class is in an image, bool (H, W), and where the annotation leaves it open."""

    mask: Mask
    ignore: Mask | None = None


class ImageSource(Protocol):
    """Images, and for each class the mask of all of it in an image."""

    def items(self) -> Sequence[ClassImage]:
        """Return every class and image of which there is a mask, sorted; may have to read all masks."""
        ...

    def files(self, label: str, image: str) -> tuple[Path, ...]:
        """Return the files of an image and of its mask, whether they exist or not; none when it is made in memory."""
        ...

    def image(self, image: str) -> NDArray[np.uint8]:
        """Return an image, RGB uint8 (H, W, 3)."""
        ...

    def mask(self, label: str, image: str) -> ClassMask:
        """Return where a class is in an image."""
        ...

    def title(self, label: str) -> str:
        """Return a class in human words."""
        ...

    def missing(self, label: str, image: str) -> Sequence[Path]:
        """Return which files of an image and its mask are not there."""
        ...


@dataclass(kw_only=True, eq=False)
class FileSource:
    """Images and masks that are files.

    To travel to other processes, the functions must be ones that can be pickled.

    Args:
        image_file: where an image is.
        mask_file: where the mask of a class in an image is, or the label map that holds it.
        list_items: lists what there is.
        titles: classes in human words.
        read_mask: reads a mask file, int32 (H, W).
        has_labels: masks are label maps whose values are classes and `VOID`; otherwise they hold one class, as 0 and 1
            or as 0 and 255 (from 128 on).
    """

    image_file: Callable[[str], Path]
    mask_file: Callable[[str, str], Path]
    list_items: Callable[[], Iterable[ClassImage]]
    titles: Mapping[str, str] = field(default_factory=dict[str, str])
    read_mask: Callable[[Path], NDArray[np.int32]] = read_values
    has_labels: bool = False

    @cached_property
    def _items(self) -> tuple[ClassImage, ...]:
        return tuple(sorted(self.list_items()))

    def items(self) -> Sequence[ClassImage]:
        """Return every class and image of which there is a mask, sorted."""
        return self._items

    def files(self, label: str, image: str) -> tuple[Path, ...]:
        """Return the files of an image and of its mask."""
        return (self.image_file(image), self.mask_file(label, image))

    def missing(self, label: str, image: str) -> Sequence[Path]:
        """Return which of the two are not there."""
        return [file for file in self.files(label, image) if not file.is_file()]

    def image(self, image: str) -> NDArray[np.uint8]:
        """Return an image; `InvalidImage` where it is missing or unreadable."""
        return read_image(self.image_file(image))

    def mask(self, label: str, image: str) -> ClassMask:
        """Return where a class is in an image; `InvalidMask` where that is missing, unreadable, or has other values."""
        file = self.mask_file(label, image)
        values = self.read_mask(file)
        if self.has_labels:
            void = values == VOID_LABEL
            return ClassMask(mask=values == int(label), ignore=void if void.any() else None)
        return ClassMask(mask=binarize_mask(values, file))

    def title(self, label: str) -> str:
        """Return a class in human words."""
        return self.titles.get(label, label)


def binarize_mask(values: NDArray[np.int32], file: Path) -> Mask:
    """Return a mask stored as 0 and 1, or as 0 and 255 with grey between.

    Raises:
        InvalidMask: values beyond 255, or small ones that are neither.
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
    """Return the JPEG of an image in a folder."""
    return within(folder, f"{image}.jpg")


def label_map_path(folder: Path, label: str, image: str) -> Path:
    """Return the label map of an image, the same for all classes."""
    del label
    return within(folder, f"{image}.png")


def class_mask_path(folder: Path, label: str, image: str) -> Path:
    """Return the mask called CLASS_IMAGE.png."""
    return within(folder, f"{label}_{image}.png")


def list_label_maps(folder: Path, classes: Iterable[int]) -> Iterable[ClassImage]:
    """Yield class and image of all label maps in a folder; reads every one, `InvalidMask` where that fails."""
    known = set(classes)
    for image, file in files_by_stem(folder, (".png",)).items():
        for value in np.unique(read_values(file)).tolist():
            if value in known:
                yield str(value), image


def list_class_masks(folder: Path, classes: Iterable[int]) -> list[ClassImage]:
    """Return class and image of masks called CLASS_IMAGE.png, of whatever classes."""
    del classes
    names = (stem.partition("_") for stem in files_by_stem(folder, (".png",)))
    return [(label, image) for label, _, image in names]


def find_subfolder(root: Path, names: Sequence[str], what: str) -> Path:
    """Return the first of some folders in `root` that is there; `DatasetMissing` where none is."""
    for name in names:
        if (root / name).is_dir():
            return root / name
    raise DatasetMissing(f"{root}: expected {what} in a folder {' or '.join(names)}, found none")


def files_by_stem(folder: Path, suffixes: Sequence[str]) -> dict[str, Path]:
    """Return the files of a folder by name without ending, sorted."""
    return {file.stem: file for file in sorted(folder.iterdir()) if file.suffix.lower() in suffixes}
