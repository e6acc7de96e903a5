"""Import formats of published prompts: one module each in `segarena_people.formats`.

A format divides its source into units, such as files or images. Each is read on demand, so that a
broken unit affects only itself.
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
from segarena.files.images import read_mask_values
from segarena.files.safe_paths import safe_join
from segarena.samples import Mask
from segarena_people.prompts import PersonPrompt, PointerSample
from segarena_people.target_masks import TargetMasks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportedPrompt:
    """Imported prompt with its masks, bool (H, W); the row does not name their files yet.

    Attributes:
        row: the prompt.
        goal: goal mask; None leaves it to the dataset.
        goal_name: name of the goal; prompts with the same goal share its file.
        previous: mask that was corrected.
        previous_name: name of that mask.
        drawn: rasterized stroke, where there are no points.
    """

    row: PersonPrompt
    goal: Mask | None = None
    goal_name: str = ""
    previous: Mask | None = None
    previous_name: str = ""
    drawn: Mask | None = None


Units: TypeAlias = Mapping[str, Callable[[], Iterable[ImportedPrompt]]]
"""Readers of the units, by their names in messages, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportInputs:
    """Further inputs of an import; each format documents which it needs.

    Attributes:
        masks: folder with object masks.
        previous: folder with corrected masks.
        targets: dataset that people saw.
        scratch: empty temporary folder that exists while units are read.
    """

    masks: Path | None = None
    previous: Path | None = None
    targets: TargetMasks | None = None
    scratch: Path = Path()

    def need_masks(self, what: str) -> Path:
        """Return the folder of masks.

        Raises:
            InvalidInput: no folder was named, or it does not exist.
        """
        return self._folder(self.masks, "--masks", what)

    def need_previous(self, what: str) -> Path:
        """Return the folder of corrected masks; raises like `need_masks`."""
        return self._folder(self.previous, "--previous-masks", what)

    def need_targets(self, what: str) -> TargetMasks:
        """Return the dataset.

        Raises:
            InvalidInput: no dataset was named.
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
    """Import format with its documentation.

    Attributes:
        name: name on the command line.
        source: expected source.
        beside: further inputs by option; "" without any.
        holds: contents of the published files.
        terms: terms of use, as far as the authors state them.
        origin: authors and place of publication.
        open: returns the units of a source; raises an error where the whole source cannot be used.
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
    package = import_module("segarena_people.formats")
    # Importing a module registers its formats.
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_formats.items()))


def find_format(name: str) -> ImportFormat:
    """Return a format.

    Raises:
        InvalidInput: there is no format of this name; the message lists all.
    """
    known = import_formats()
    if name not in known:
        raise InvalidInput(f"there is no format {name!r}; there is {', '.join(known)}")
    return known[name]


def with_mask_size(row: PersonPrompt, mask: Mask) -> PersonPrompt:
    """Return a row with the height and width of a mask."""
    return replace(row, height=mask.shape[0], width=mask.shape[1])


def read_goal(masks: Path, image: str) -> Mask:
    """Return the object mask of a picture from IMAGE.png; pixels above 0 are the object.

    Raises:
        DatasetError: the name leads out of the folder.
        InvalidMask: the file is missing or damaged, or has no object pixel.
    """
    path = safe_join(masks, f"{image}.png")
    goal = read_mask_values(path) > 0
    if not goal.any():
        raise InvalidMask(f"{path}: expected an object, found only 0")
    return goal


def build_stroke(
    places: Iterable[tuple[float, float]], stroke: int = 0, **values: Any
) -> tuple[PointerSample, ...]:
    """Build the points of a stroke through positions (x, y) in px of the picture; `values` are the same for all."""
    return tuple(PointerSample(stroke=stroke, x=float(x), y=float(y), **values) for x, y in places)
