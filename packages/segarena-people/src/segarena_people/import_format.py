"""Formats that people's prompts are published in: one module each in `segarena_people.formats`.

A format turns what was published into units, such as files or images. Each is read when it is asked for, so that one
that cannot be used costs only itself.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from segarena.errors import InvalidInput, InvalidMask
from segarena.files.images import read_values
from segarena.files.within import within
from segarena.samples import Mask
from segarena_people.prompts import PersonPrompt, PointerSample
from segarena_people.target_masks import TargetMasks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportedPrompt:
    """A prompt with its masks, bool (H, W); the row does not name their files yet.

    Attributes:
        row: the prompt; how high and wide its picture is, its goal says.
        goal: what was asked for; None leaves that to the dataset.
        goal_name: what the goal is called; prompts with the same goal share the file.
        previous: the mask that was corrected.
        previous_name: what it is called.
        drawn: what was drawn, where there are no points.
    """

    row: PersonPrompt
    goal: Mask | None = None
    goal_name: str = ""
    previous: Mask | None = None
    previous_name: str = ""
    drawn: Mask | None = None


Units: TypeAlias = Mapping[str, Callable[[], Iterable[ImportedPrompt]]]
"""What there is to be read, by the names that messages call it, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportInputs:
    """What lies beside a source; which of these a format needs, it says itself.

    Attributes:
        masks: folder with the masks of the objects.
        previous: folder with the masks that were corrected.
        targets: the dataset that was shown.
        scratch: an empty folder that is there for as long as units are read.
    """

    masks: Path | None = None
    previous: Path | None = None
    targets: TargetMasks | None = None
    scratch: Path = Path()

    def need_masks(self, what: str) -> Path:
        """Return the folder of masks.

        Raises:
            InvalidInput: none was named, or it is not there.
        """
        return self._folder(self.masks, "--masks", what)

    def need_previous(self, what: str) -> Path:
        """Return the folder of masks that were corrected; raises as `need_masks`."""
        return self._folder(self.previous, "--previous-masks", what)

    def need_targets(self, what: str) -> TargetMasks:
        """Return the dataset.

        Raises:
            InvalidInput: none was named.
        """
        if self.targets is None:
            raise InvalidInput(f"expected --dataset with {what}, got none")
        return self.targets

    def _folder(self, given: Path | None, option: str, what: str) -> Path:
        if given is None:
            raise InvalidInput(f"expected {option} with {what}, got none")
        if not given.is_dir():
            raise InvalidInput(f"{option} {given}: expected a folder with {what}; there is none")
        return given


FormatOpener: TypeAlias = Callable[[Path, ImportInputs], Units]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFormat:
    """A format, and what is to be known before it is used.

    Attributes:
        name: on the command line.
        source: what is to be named as the source.
        beside: what else is needed, by options; "" when nothing.
        holds: what the published files hold.
        terms: on which conditions they may be used, as far as their authors say.
        origin: who published them where.
        open: gives the units of a source; raises when the source as a whole cannot be used.
    """

    name: str
    source: str
    beside: str = ""
    holds: str
    terms: str
    origin: str
    open: FormatOpener


_formats: dict[str, ImportFormat] = {}


def prompt_format(name: str, **about: str) -> Callable[[FormatOpener], FormatOpener]:
    """Return a decorator that makes a function the `open` of a format; `about` are the texts of `Format`."""

    def add(opener: FormatOpener) -> FormatOpener:
        _formats[name] = ImportFormat(name=name, open=opener, **about)
        return opener

    return add


@cache
def import_formats() -> Mapping[str, ImportFormat]:
    """Return all formats by name, in alphabetical order."""
    room = import_module("segarena_people.formats")
    for module in pkgutil.iter_modules(room.__path__):
        import_module(f"{room.__name__}.{module.name}")
    return dict(sorted(_formats.items()))


def find_format(name: str) -> ImportFormat:
    """Return a format.

    Raises:
        InvalidInput: there is none of this name; the message says which there are.
    """
    known = import_formats()
    if name not in known:
        raise InvalidInput(f"there is no format {name!r}; there is {', '.join(known)}")
    return known[name]


def with_mask_size(row: PersonPrompt, mask: Mask) -> PersonPrompt:
    """Return a row of a picture as high and wide as a mask of it."""
    return replace(row, height=mask.shape[0], width=mask.shape[1])


def read_goal(masks: Path, image: str) -> Mask:
    """Return the object in a picture, from the mask of its name: IMAGE.png, anything above 0 is the object.

    Raises:
        DatasetError: the name leads out of the folder.
        InvalidMask: it is missing, damaged, or shows nothing.
    """
    path = within(masks, f"{image}.png")
    goal = read_values(path) > 0
    if not goal.any():
        raise InvalidMask(f"{path}: expected an object, found only 0")
    return goal


def build_stroke(
    places: Iterable[tuple[float, float]], stroke: int = 0, **values: Any
) -> tuple[PointerSample, ...]:
    """Return a stroke through places x, y, in px of the picture, of which nothing else is known."""
    return tuple(PointerSample(stroke=stroke, x=float(x), y=float(y), **values) for x, y in places)
