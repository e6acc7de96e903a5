"""Lists of images without pairs, as distributed with HSNet and PFENet: the classes in each image.

- HSNet, PASCAL-5i: rows such as `2007_000033__01`, the image and its class (from 1).
- HSNet, COCO-20i: a pickled dict from classes (from 0) to lists of names such as
  `val2014/COCO_val2014_000000391895.jpg`.
- PFENet: rows such as `JPEGImages/2007_000033.jpg SegmentationClassAug/2007_000033.png`; the classes
  are read from the mask.
"""

from __future__ import annotations

import pickle
import pickletools
import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, cast

from segarena.errors import DatasetError, DatasetMissing
from segarena.files.limits import check_pixels
from segarena.systems.oneshot.pairs.image_sources import ClassImage

PICKLE_SUFFIXES = (".pkl", ".pickle")

# HSNet separates image and class by two underscores, because image names contain single ones.
_IMAGE_AND_CLASS = re.compile(r"(?P<image>\S+?)__(?P<class>\d+)")
_IMAGE_AND_MASK = re.compile(r"(?P<image>\S+\.jpe?g)\s+\S+\.png", re.IGNORECASE)
# COCO 2014 puts the split before the id: COCO_val2014_000000391895. COCO 2017 does not.
_COCO_PREFIX = re.compile(r"COCO_[a-z]+\d{4}_")
# These pickle operations build numbers, strings, lists, tuples and dicts. None of them imports a
# class or calls a function, so loading a file limited to them cannot execute code.
_PLAIN_OPERATIONS = {
    "PROTO",
    "FRAME",
    "MARK",
    "STOP",
    "PUT",
    "BINPUT",
    "LONG_BINPUT",
    "MEMOIZE",
    "GET",
    "BINGET",
    "LONG_BINGET",
    "NONE",
    "INT",
    "BININT",
    "BININT1",
    "BININT2",
    "LONG",
    "LONG1",
    "LONG4",
    "STRING",
    "BINSTRING",
    "SHORT_BINSTRING",
    "UNICODE",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "EMPTY_LIST",
    "LIST",
    "APPEND",
    "APPENDS",
    "EMPTY_TUPLE",
    "TUPLE",
    "TUPLE1",
    "TUPLE2",
    "TUPLE3",
    "EMPTY_DICT",
    "DICT",
    "SETITEM",
    "SETITEMS",
}


def is_image_list(path: Path) -> bool:
    """Return whether a file lists images rather than pairs."""
    if path.suffix in PICKLE_SUFFIXES:
        return path.is_file()
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline().strip()
    except (OSError, UnicodeDecodeError):  # compressed, or not a list
        return False
    return bool(_IMAGE_AND_CLASS.fullmatch(first) or _IMAGE_AND_MASK.fullmatch(first))


def read_image_list(path: Path, known: Callable[[], Sequence[ClassImage]]) -> list[ClassImage]:
    """Return the class and image of each entry of a list, in file order.

    For a list without classes, return the items of the dataset that belong to its images, in the
    order of the dataset.

    Args:
        path: the list.
        known: function that returns the items of the dataset; called only if the list names no
            classes.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: the file has none of the three formats.
    """
    if not path.is_file():
        raise DatasetMissing(f"{path}: expected a list of images, found none")
    check_pixels(path.stat().st_size, path, error=DatasetError)
    items: list[ClassImage] = []
    if path.suffix in PICKLE_SUFFIXES:
        for label, names in _load_plain_pickle(path).items():
            # HSNet counts the classes of COCO-20i from 0, this project from 1.
            items += [(str(label + 1), normalize_image_name(name)) for name in names]
        return items
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: expected a list of images, got: {error}") from error
    rows = [line.strip() for line in lines if line.strip()]
    # HSNet writes `IMAGE__CLASS`; PFENet writes the names of image and mask.
    with_class = [_IMAGE_AND_CLASS.fullmatch(row) for row in rows]
    if all(with_class):
        for row in with_class:
            if row:
                label = str(int(row["class"]))
                items.append((label, normalize_image_name(row["image"])))
        return items
    with_mask = [_IMAGE_AND_MASK.fullmatch(row) for row in rows]
    if not all(with_mask):
        raise DatasetError(
            f"{path}: expected rows IMAGE__CLASS, or rows IMAGE.jpg MASK.png, got other rows too"
        )
    images = {normalize_image_name(row["image"]) for row in with_mask if row}
    return [item for item in known() if item[1] in images]


def normalize_image_name(written: str) -> str:
    """Return an image's name without folder and ending; for COCO 2014, its zero-padded id: `000000391895`."""
    path = PurePosixPath(written)
    name = path.name
    if path.suffix.lower() in (".jpg", ".jpeg"):
        name = path.stem
    return _COCO_PREFIX.sub("", name)


def _load_plain_pickle(path: Path) -> dict[int, list[str]]:
    """Load a pickled dict of lists of names without executing anything in the file."""
    data = path.read_bytes()
    try:
        for operation, argument, _ in pickletools.genops(data):
            # The unpickler allocates memory up to the largest memo index, so an index beyond the
            # file's size is an attack or damage.
            is_far_memo = (
                "PUT" in operation.name and isinstance(argument, int) and argument > len(data)
            )
            if operation.name not in _PLAIN_OPERATIONS or is_far_memo:
                raise DatasetError(
                    f"{path}: expected names in a dict of lists, got the pickle operation "
                    f"{operation.name}"
                )
        listed: Any = pickle.loads(data)  # noqa: S301 - only operations that make plain values
    except (
        ValueError,
        EOFError,
        IndexError,
        KeyError,
        TypeError,
        AttributeError,
        pickle.UnpicklingError,
    ) as error:
        raise DatasetError(
            f"{path}: expected a pickled dict of lists of names, got: {error}"
        ) from error
    if not _is_class_dict(listed):
        raise DatasetError(f"{path}: expected a dict of class numbers and lists of image names")
    return cast(dict[int, list[str]], listed)


def _is_class_dict(listed: Any) -> bool:
    if not isinstance(listed, dict):
        return False
    for label, names in cast(dict[Any, Any], listed).items():
        if type(label) is not int or not isinstance(names, list):  # bool is a subclass of int
            return False
        if not all(isinstance(name, str) for name in cast(list[Any], names)):
            return False
    return True
