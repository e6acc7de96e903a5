"""Import formats for published prompts, each in its own module in `segarena_people.formats`.

A format divides its source into units, such as files or images. Each unit is read only when it is
needed, so that a broken unit does not affect the others.
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


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class ImportedPrompt:
    """Imported prompt with its masks, bool (H, W); its row does not yet contain mask file names.

    Attributes:
        row: row of the prompt table.
        goal: goal mask; None if the dataset provides it.
        goal_name: name of the goal; prompts with the same goal share one file.
        previous: mask that the person corrected.
        previous_name: name of that mask.
        drawn: rasterized stroke, for prompts without points.
    """

    row: PersonPrompt
    goal: Mask | None = None
    goal_name: str = ""
    previous: Mask | None = None
    previous_name: str = ""
    drawn: Mask | None = None


UnitReader: TypeAlias = Callable[[], Iterable[ImportedPrompt]]
Units: TypeAlias = Mapping[str, UnitReader]
"""Functions that read the units, in order; the keys are the names of the units in messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportInputs:
    """Additional inputs of an import; each format documents which ones it needs.

    Attributes:
        masks: folder with object masks.
        previous: folder with the masks that people corrected.
        targets: dataset that was shown to people.
        scratch: empty temporary folder that exists while units are read.
    """

    masks: Path | None = None
    previous: Path | None = None
    targets: TargetMasks | None = None
    scratch: Path = Path()

    def need_masks(self, what: str) -> Path:
        """Return the folder of masks.

        Raises:
            InvalidInput: no folder was given, or it does not exist.
        """
        return self._folder(self.masks, "--masks", what)

    def need_previous(self, what: str) -> Path:
        """Return the folder with the masks that people corrected; for errors see `need_masks`."""
        return self._folder(self.previous, "--previous-masks", what)

    def need_targets(self, what: str) -> TargetMasks:
        """Return the dataset that was shown to people.

        Raises:
            InvalidInput: no dataset was given.
        """
        if self.targets is None:
            raise InvalidInput(f"expected --dataset with {what}, got none")
        return self.targets

    def _folder(
        self,
        given: Path | None,
        option: str,
        what: str,
    ) -> Path:
        if given is None:
            raise InvalidInput(f"expected {option} with {what}, got none")
        if not given.is_dir():
            raise InvalidInput(f"{option} {given}: expected a folder with {what}, found none")
        return given


FormatOpener: TypeAlias = Callable[[Path, ImportInputs], Units]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFormat:
    """Import format with its documentation.

    Attributes:
        name: name on the command line.
        source: description of the expected source.
        beside: descriptions of the additional inputs, by option; "" for none.
        holds: contents of the published files.
        terms: terms of use, as far as the authors state them.
        origin: authors and place of publication.
        open: returns the units of a source; raises an error if the whole source is unusable.
    """

    name: str
    source: str
    beside: str = ""
    holds: str
    terms: str
    origin: str
    open: FormatOpener


# The decorator fills this when the format modules are imported.
_formats: dict[str, ImportFormat] = {}


def prompt_format(name: str, **about: str) -> Callable[[FormatOpener], FormatOpener]:
    """Return a decorator that registers a function as the `open` of a format; `about` are its other fields."""

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
        InvalidInput: no format has this name; the message lists all formats.
    """
    known = import_formats()
    if name not in known:
        raise InvalidInput(f"unknown format {name!r}; expected one of {', '.join(known)}")
    return known[name]


def with_mask_size(row: PersonPrompt, mask: Mask) -> PersonPrompt:
    """Return a row with its height and width set to those of a mask."""
    return replace(row, height=mask.shape[0], width=mask.shape[1])


def read_goal(masks: Path, image: str) -> Mask:
    """Read the object mask of a picture from IMAGE.png; pixels above 0 are the object.

    Raises:
        DatasetError: the name points outside the folder.
        InvalidMask: the file is missing or damaged, or contains no object pixel.
    """
    path = safe_join(masks, f"{image}.png")
    goal = read_mask_values(path) > 0
    if not goal.any():
        raise InvalidMask(f"{path}: expected an object, found only pixels of value 0")
    return goal


def build_stroke(
    places: Iterable[tuple[float, float]],
    stroke: int = 0,
    **values: Any,
) -> tuple[PointerSample, ...]:
    """Build the points of a stroke from positions (x, y) in px; all points share the other `values`."""
    points: list[PointerSample] = []
    for x, y in places:
        points.append(
            PointerSample(
                stroke=stroke,
                x=float(x),
                y=float(y),
                **values,
            )
        )
    return tuple(points)
