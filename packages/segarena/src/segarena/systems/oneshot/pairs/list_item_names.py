"""Item names in the published lists, which combine class, image and transform."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from segarena.errors import DatasetError

NameConvention: TypeAlias = Literal["pascal5i", "coco20i", "fss1000"]

_CHANGE = r"(?:aug/(?:(?P<transform>xf\w+?)|(?P<null>null))_)?"
_PATTERNS: dict[NameConvention, re.Pattern[str]] = {
    "pascal5i": re.compile(_CHANGE + r"(?P<class>\d+)_(?P<image>\d{4}_\d{6})(?P<jpg>\.jpg)?"),
    "coco20i": re.compile(_CHANGE + r"(?P<class>\d+)_(?P<image>\d+)(?P<jpg>\.jpg)?"),
    "fss1000": re.compile(r"(?P<number>\d+)_(?P<class>\S+)_(?P<image>\d+)"),
}


@dataclass(frozen=True, slots=True)
class ListItem:
    """Image of a pair, parsed from its name in a published list."""

    label: str  # the class: "11", or its name in FSS-1000
    # Unique image name without ending, such as "2009_001426"; in FSS-1000 it includes the class:
    # "sundial/9".
    image: str
    transform: str = ""  # "xf33271" for a transformed image; "" otherwise
    is_null: bool = False  # the mask is removed
    has_jpg: bool = False  # the name ends in .jpg, like half of the published null rows
    number: int = -1  # of the class in FSS-1000, -1 elsewhere; has no meaning beyond the file


_EXAMPLE_NAMES: dict[NameConvention, str] = {
    "pascal5i": "11_2009_001426",
    "coco20i": "1_129492",
    "fss1000": "642_sundial_9",
}


def parse_item_name(name: str, convention: NameConvention) -> ListItem:
    """Parse the name of an item.

    In FSS-1000 the first and last field are split off, because class names may contain `_`.

    Raises:
        DatasetError: the name does not follow the convention.
    """
    match = _PATTERNS[convention].fullmatch(name)
    if match is None:
        example = _EXAMPLE_NAMES[convention]
        raise DatasetError(f"item {name!r}: expected a name like {example} ({convention})")
    part = match.groupdict()
    image = part["image"]
    if convention == "fss1000":
        # Images of FSS-1000 are numbered within their class.
        image = f"{part['class']}/{image}"
    return ListItem(
        label=part["class"],
        image=image,
        transform=part.get("transform") or "",
        is_null=bool(part.get("null")),
        has_jpg=bool(part.get("jpg")),
        number=int(part.get("number") or -1),
    )


def format_item_name(item: ListItem, convention: NameConvention) -> str:
    """Format the name of an item; the inverse of `parse_item_name`."""
    if convention == "fss1000":
        return f"{item.number}_{item.label}_{item.image.rpartition('/')[2]}"
    prefix = ""
    if item.transform:
        prefix = f"aug/{item.transform}_"
    elif item.is_null:
        prefix = "aug/null_"
    suffix = ".jpg" if item.has_jpg else ""
    return f"{prefix}{item.label}_{item.image}{suffix}"


def detect_convention(name: str) -> NameConvention:
    """Return the naming convention of an item's name; raise `DatasetError` if none matches."""
    for convention, pattern in _PATTERNS.items():
        if pattern.fullmatch(name):
            return convention
    raise DatasetError(
        f"item {name!r}: expected CLASS_YYYY_NNNNNN (PASCAL-5i), CLASS_NUMBER (COCO-20i) "
        "or NUMBER_CLASS_INDEX (FSS-1000)"
    )
