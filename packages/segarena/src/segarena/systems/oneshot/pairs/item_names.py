"""How the published lists write an item: class and image in one word, and what was done to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from segarena.errors import DatasetError

NameConvention: TypeAlias = Literal["pascal5i", "coco20i", "fss1000"]

_DONE = r"(?:aug/(?:(?P<transform>xf\w+?)|(?P<null>null))_)?"
_PATTERNS: dict[NameConvention, re.Pattern[str]] = {
    "pascal5i": re.compile(_DONE + r"(?P<class>\d+)_(?P<image>\d{4}_\d{6})(?P<jpg>\.jpg)?"),
    "coco20i": re.compile(_DONE + r"(?P<class>\d+)_(?P<image>\d+)(?P<jpg>\.jpg)?"),
    "fss1000": re.compile(r"(?P<number>\d+)_(?P<class>\S+)_(?P<image>\d+)"),
}


@dataclass(frozen=True, slots=True)
class ListItem:
    """One image of a pair."""

    label: str  # the class: "11", or its name in FSS-1000
    image: str  # name without ending, that no other image has: "2009_001426"; in FSS-1000 with its class, "sundial/9"
    transform: str = ""  # "xf33271" where the item stands for a transformed image; "" otherwise
    is_null: bool = False  # its mask is taken away
    has_jpg: bool = False  # the name ends in .jpg, as one half of the published null rows does
    number: int = -1  # of the class in FSS-1000, -1 elsewhere; means nothing beyond the file


def parse_item_name(name: str, convention: NameConvention) -> ListItem:
    """Return what an item's name says. In FSS-1000 the first and the last field are split off, so classes may hold `_`.

    Raises:
        DatasetError: the name is not of this convention.
    """
    found = _PATTERNS[convention].fullmatch(name)
    if found is None:
        form = {"pascal5i": "11_2009_001426", "coco20i": "1_129492", "fss1000": "642_sundial_9"}[
            convention
        ]
        raise DatasetError(f"item {name!r}: expected a name like {form} ({convention})")
    part = found.groupdict()
    is_fss = convention == "fss1000"
    return ListItem(
        label=part["class"],
        image=f"{part['class']}/{part['image']}" if is_fss else part["image"],
        transform=part.get("transform") or "",
        is_null=bool(part.get("null")),
        has_jpg=bool(part.get("jpg")),
        number=int(part.get("number") or -1),
    )


def format_item_name(item: ListItem, convention: NameConvention) -> str:
    """Return the name that `split_item` reads."""
    if convention == "fss1000":
        return f"{item.number}_{item.label}_{item.image.rpartition('/')[2]}"
    if item.transform:
        done = f"aug/{item.transform}_"
    else:
        done = "aug/null_" if item.is_null else ""
    return f"{done}{item.label}_{item.image}{'.jpg' if item.has_jpg else ''}"


def detect_convention(name: str) -> NameConvention:
    """Return how an item is written; `DatasetError` where it is in no known way."""
    for convention, pattern in _PATTERNS.items():
        if pattern.fullmatch(name):
            return convention
    raise DatasetError(
        f"item {name!r}: expected CLASS_YYYY_NNNNNN (PASCAL-5i), CLASS_NUMBER (COCO-20i) "
        "or NUMBER_CLASS_INDEX (FSS-1000)"
    )
