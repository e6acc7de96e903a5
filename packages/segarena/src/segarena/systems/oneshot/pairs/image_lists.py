"""Lists of images without pairs, as HSNet and PFENet ship them: which classes are in which images.

- HSNet, PASCAL-5i: rows such as `2007_000033__01`, image and class from 1.
- HSNet, COCO-20i: a pickled dict of classes from 0 with lists of `val2014/COCO_val2014_000000391895.jpg`.
- PFENet: rows such as `JPEGImages/2007_000033.jpg SegmentationClassAug/2007_000033.png`; the mask says which classes.
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

_OF_CLASS = re.compile(r"(?P<image>\S+?)__(?P<class>\d+)")
_WITH_MASK = re.compile(r"(?P<image>\S+\.jpe?g)\s+\S+\.png", re.IGNORECASE)
_COCO = re.compile(r"COCO_[a-z]+\d{4}_")
# What makes numbers, texts, lists, tuples and dicts, and nothing else: no class is looked up, no function called.
_PLAIN = {
    *(
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
    ),
    *("NONE", "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE"),
    *(
        "EMPTY_LIST",
        "LIST",
        "APPEND",
        "APPENDS",
        "EMPTY_TUPLE",
        "TUPLE",
        "TUPLE1",
        "TUPLE2",
        "TUPLE3",
    ),
    *("EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
}


def is_image_list(path: Path) -> bool:
    """Tell whether a file lists images and not pairs."""
    if path.suffix in PICKLE_SUFFIXES:
        return path.is_file()
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline().strip()
    except (OSError, UnicodeDecodeError):  # compressed, or no list at all
        return False
    return bool(_OF_CLASS.fullmatch(first) or _WITH_MASK.fullmatch(first))


def read_image_list(path: Path, known: Callable[[], Sequence[ClassImage]]) -> list[ClassImage]:
    """Return class and image of all that a list names, in its order.

    Args:
        path: the list.
        known: returns what the dataset has; asked only where a list does not name classes.

    Raises:
        DatasetMissing: there is no such file.
        DatasetError: it cannot be read as one of the three.
    """
    if not path.is_file():
        raise DatasetMissing(f"{path}: expected a list of images, found none")
    check_pixels(path.stat().st_size, path, error=DatasetError)
    if path.suffix in PICKLE_SUFFIXES:
        listed = _plain(path)
        return [
            (str(label + 1), normalize_image_name(name))
            for label, names in listed.items()
            for name in names
        ]
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: expected a list of images, got: {error}") from error
    of_classes = [found for line in lines if (found := _OF_CLASS.fullmatch(line.strip()))]
    if len(of_classes) == len(lines):
        return [
            (str(int(found["class"])), normalize_image_name(found["image"])) for found in of_classes
        ]
    named = [_WITH_MASK.fullmatch(line.strip()) for line in lines]
    if not all(named):
        raise DatasetError(
            f"{path}: expected rows IMAGE__CLASS, or rows IMAGE.jpg MASK.png, got others too"
        )
    images = dict.fromkeys(normalize_image_name(one["image"]) for one in named if one)
    return [item for item in known() if item[1] in images]


def normalize_image_name(written: str) -> str:
    """Return an image's name without folder and ending, of COCO 2014 its number: `000000391895`."""
    path = PurePosixPath(written)
    return _COCO.sub("", path.stem if path.suffix.lower() in (".jpg", ".jpeg") else path.name)


def _plain(path: Path) -> dict[int, list[str]]:
    """Return a pickled dict of lists of names; nothing in the file is executed."""
    data = path.read_bytes()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            # A number in the memo that no file of this size can need would ask for as much memory.
            is_far = "PUT" in opcode.name and isinstance(argument, int) and argument > len(data)
            if opcode.name not in _PLAIN or is_far:
                raise DatasetError(
                    f"{path}: expected names in a dict of lists, got the pickle operation {opcode.name}"
                )
        listed: Any = pickle.loads(data)  # noqa: S301 - of operations that make plain values only
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
    if not isinstance(listed, dict) or not all(map(_is_row, cast(dict[Any, Any], listed).items())):
        raise DatasetError(
            f"{path}: expected a dict of class numbers and lists of image names, got something else"
        )
    return cast(dict[int, list[str]], listed)


def _is_row(row: tuple[Any, Any]) -> bool:
    label, names = row
    return (
        type(label) is int
        and isinstance(names, list)
        and all(isinstance(one, str) for one in cast(list[Any], names))
    )
