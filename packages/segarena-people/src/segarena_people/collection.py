"""What people gave, together with what they were asked for: a folder with a table of prompts and masks beside it.

- prompts.parquet: the table of prompts, see `segarena_people.prompts`
- goals/*.png: what was asked for, named by `goal_mask`
- previous/*.png: the masks that were corrected, by `previous_mask`
- rasters/*.png: what was drawn where points are not known, by `raster`
- source.toml: name, where it is from, terms; may be missing
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection as Several
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

import msgspec

from segarena.errors import DatasetError, InvalidInput
from segarena.files.limits import check_pixels
from segarena.prompts import Box, Click, Lasso, Scribble
from segarena.roles import Dataset
from segarena.samples import Mask
from segarena_people.mask_files import GOALS, PREVIOUS, RASTERS, MaskFiles
from segarena_people.prompt_table import read_prompt_table
from segarena_people.prompts import PersonPrompt, PromptKind, convert_prompt, convert_prompts
from segarena_people.rasterization import rasterize_prompts
from segarena_people.target_masks import TargetMasks

TABLE_FILE = "prompts.parquet"
SOURCE_FILE = "source.toml"


class CollectionSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where a collection is from.

    Attributes:
        name: what to call it.
        origin: where it was published, or who collected it, in words.
        terms: on which conditions it may be used.
    """

    name: str = ""
    origin: str = ""
    terms: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CollectedPrompt:
    """One prompt of a person, with the masks that belong to it; these are read when asked for, bool (H, W).

    Attributes:
        row: the prompt.
    """

    row: PersonPrompt
    _files: MaskFiles = field(repr=False)
    _targets: TargetMasks | None = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(H, W) of the picture.

        Raises:
            InvalidInput: there is no such picture, or it has more pixels than `files.limits` allows.
        """
        height = self.row.height
        width = self.row.width
        if min(height, width) < 1:
            raise InvalidInput(
                f"prompt {self.row.id}: expected a picture, got one of {width} x {height} px"
            )
        check_pixels(height * width, f"prompt {self.row.id}")
        return height, width

    @property
    def group(self) -> str:
        """What must not lie on both sides of a split."""
        return self.row.group or f"{self.row.dataset}/{self.row.sample}"

    @property
    def goal(self) -> Mask:
        """What was asked for.

        Raises:
            InvalidInput: no file has it, and no dataset was named.
            InvalidMask: its file cannot be used.
        """
        if self.row.goal_mask:
            return self._files.read(GOALS, self.row.goal_mask, self.shape)
        if self.row.goal == "object" and self._targets is not None:
            return self._targets.read(self.row)
        raise InvalidInput(
            f"prompt {self.row.id}: expected a goal_mask or the dataset {self.row.dataset!r}, got neither; "
            "name the dataset with --dataset"
        )

    @property
    def previous(self) -> Mask | None:
        """The mask that was corrected; None in the first round."""
        name = self.row.previous_mask
        return self._files.read(PREVIOUS, name, self.shape) if name else None

    @property
    def target(self) -> Mask | None:
        """The whole object; None where only a part of it was asked for and no dataset is at hand."""
        if self._targets is not None:
            return self._targets.read(self.row)
        return self.goal if self.row.goal == "object" else None

    @property
    def drawn(self) -> Mask | None:
        """What was drawn, where there are pixels of it and no points."""
        if self.row.raster:
            return self._files.read(RASTERS, self.row.raster, self.shape)
        return None

    @property
    def prompt(self) -> Click | Box | Scribble | Lasso:
        """What was given, as simulated users give it; of several lines the last one.

        Raises:
            InvalidPrompt: only a raster of it is known.
        """
        return convert_prompt(self.row)

    @property
    def prompts(self) -> tuple[Click | Box | Scribble | Lasso, ...]:
        """All lines that were given together; see `segarena_people.prompts.convert_prompts`.

        Raises:
            InvalidPrompt: only a raster of it is known.
        """
        return convert_prompts(self.row)

    def ink(self, stroke_px: float | None = None) -> Mask:
        """Return what was drawn as pixels: its raster, or else its lines in the width given, their own, or one pixel.

        Raises:
            InvalidPrompt: there is neither a raster nor a point.
        """
        drawn = self.drawn
        if drawn is not None:
            return drawn
        return rasterize_prompts(self.prompts, self.shape, stroke_px or self.row.stroke_px or 1.0)


class Collection(Sequence[CollectedPrompt]):
    """What people gave, in the order of the table; `Collection.open` reads one.

    Attributes:
        source: where it is from.
    """

    def __init__(
        self,
        rows: Sequence[PersonPrompt],
        files: MaskFiles,
        targets: TargetMasks | None,
        source: CollectionSource,
    ) -> None:
        self._rows = tuple(rows)
        self._files = files
        self._targets = targets
        self.source = source

    @classmethod
    def open(cls, path: Path | str, dataset: Dataset | str | None = None) -> Collection:
        """Return a collection in a folder, or a Parquet of prompts alone.

        Args:
            path: the folder, or the table in it or anywhere.
            dataset: what was shown, as `segarena run -d` takes it; needed where a prompt names no file with its goal.

        Raises:
            InvalidInput: there is no table, or one that cannot be read; see `segarena_people.prompt_table`.
        """
        given = Path(path)
        folder = given if given.is_dir() else given.parent
        rows = read_prompt_table(folder / TABLE_FILE if given.is_dir() else given)
        targets = None if dataset is None else TargetMasks(dataset)
        return cls(rows, MaskFiles(folder), targets, read_source(folder))

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> CollectedPrompt: ...
    @overload
    def __getitem__(self, index: slice) -> Collection: ...
    def __getitem__(self, index: int | slice) -> CollectedPrompt | Collection:
        if isinstance(index, slice):
            return self._with(self._rows[index])
        return self._given(self._rows[index])

    def __iter__(self) -> Iterator[CollectedPrompt]:
        return map(self._given, self._rows)

    @property
    def rows(self) -> tuple[PersonPrompt, ...]:
        """The rows of the table."""
        return self._rows

    @property
    def name(self) -> str:
        """What it is called; the names of the datasets where it has no name of its own."""
        return self.source.name or ", ".join(dict.fromkeys(row.dataset for row in self._rows))

    @property
    def terms(self) -> str:
        """On which conditions it may be used; "" where nobody said so."""
        return self.source.terms

    @property
    def kinds(self) -> tuple[PromptKind, ...]:
        """The kinds of prompts in it, in order of appearance."""
        return tuple(dict.fromkeys(row.kind for row in self._rows))

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody who gave something, in order of appearance; prompts of nobody known are left out."""
        return tuple(dict.fromkeys(row.person for row in self._rows if row.person))

    @property
    def groups(self) -> tuple[str, ...]:
        """What must not lie on both sides of a split, in order of appearance."""
        return tuple(dict.fromkeys(given.group for given in self))

    def only(
        self,
        *,
        kind: PromptKind | None = None,
        person: str | None = None,
        groups: Several[str] | None = None,
        label: str | None = None,
        round: int | None = None,  # noqa: A002 - the column is called so
        is_positive: bool | None = None,
        counts: bool | None = None,
    ) -> Collection:
        """Return those that are all of this; None takes any.

        Args:
            kind: click, box, scribble, lasso.
            person: who gave it.
            groups: see `groups`.
            label: what the object is called.
            round: from 1.
            is_positive: whether it says "this belongs to it".
            counts: whether it is of the main part and has no fate.
        """
        wanted = {
            "kind": kind,
            "person": person,
            "label": label,
            "round": round,
            "is_positive": is_positive,
        }
        asked = {name: value for name, value in wanted.items() if value is not None}
        chosen = None if groups is None else set(groups)

        def fits(given: CollectedPrompt) -> bool:
            row = given.row
            in_group = chosen is None or given.group in chosen
            as_counted = counts is None or (row.purpose == "main" and row.fate == "") == counts
            return (
                in_group
                and as_counted
                and all(getattr(row, name) == value for name, value in asked.items())
            )

        return self._with([given.row for given in self if fits(given)])

    def _given(self, row: PersonPrompt) -> CollectedPrompt:
        return CollectedPrompt(row, self._files, self._targets)

    def _with(self, rows: Sequence[PersonPrompt]) -> Collection:
        return Collection(rows, self._files, self._targets, self.source)


def read_source(folder: Path) -> CollectionSource:
    """Return what a folder says about where it is from; nothing where it does not.

    Raises:
        DatasetError: the file is no TOML, or has other types.
    """
    path = folder / SOURCE_FILE
    if not path.is_file():
        return CollectionSource()
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), CollectionSource)
    except (OSError, ValueError, msgspec.ValidationError) as error:
        raise DatasetError(
            f"{path}: expected name, origin and terms as text in TOML, got: {error}"
        ) from error


def format_source(source: CollectionSource) -> str:
    """Return what a folder says about where it is from, as TOML."""
    # JSON's strings are TOML's, but for a character that neither of them prints.
    return "".join(
        f"{name} = {json.dumps(value)}\n" for name, value in msgspec.structs.asdict(source).items()
    )
