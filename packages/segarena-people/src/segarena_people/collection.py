"""Collections of people's prompts: a folder with a table of prompts and the masks that they refer to.

- prompts.parquet: table of prompts, see `segarena_people.prompts`
- goals/*.png: goal masks, named by `goal_mask`
- previous/*.png: corrected masks, named by `previous_mask`
- rasters/*.png: rasterized strokes whose points are unknown, named by `raster`
- source.toml: name, origin, terms; may be missing
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
    """Origin of a collection.

    Attributes:
        name: name of the collection.
        origin: publication, or the people who collected it, in words.
        terms: terms of use.
    """

    name: str = ""
    origin: str = ""
    terms: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CollectedPrompt:
    """Prompt of a person with its masks, bool (H, W), which are read on demand.

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
            InvalidInput: a side is below 1 px, or there are more pixels than `files.limits` allows.
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
        """Group that must not lie on both sides of a split."""
        return self.row.group or f"{self.row.dataset}/{self.row.sample}"

    @property
    def goal(self) -> Mask:
        """Mask of the goal.

        Raises:
            InvalidInput: the prompt names no goal file, and no dataset was named.
            InvalidMask: the file cannot be used.
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
        """Mask that was corrected; None in the first round."""
        name = self.row.previous_mask
        return self._files.read(PREVIOUS, name, self.shape) if name else None

    @property
    def target(self) -> Mask | None:
        """Mask of the whole object; None if the goal was only a part and no dataset was named."""
        if self._targets is not None:
            return self._targets.read(self.row)
        return self.goal if self.row.goal == "object" else None

    @property
    def drawn(self) -> Mask | None:
        """Raster of the stroke, where its points are unknown; else None."""
        if self.row.raster:
            return self._files.read(RASTERS, self.row.raster, self.shape)
        return None

    @property
    def prompt(self) -> Click | Box | Scribble | Lasso:
        """Prompt in the form of simulated users; of several lines the last one.

        Raises:
            InvalidPrompt: only a raster of it is known.
        """
        return convert_prompt(self.row)

    @property
    def prompts(self) -> tuple[Click | Box | Scribble | Lasso, ...]:
        """All lines of the prompt; see `segarena_people.prompts.convert_prompts`.

        Raises:
            InvalidPrompt: only a raster of it is known.
        """
        return convert_prompts(self.row)

    def ink(self, stroke_px: float | None = None) -> Mask:
        """Return the ink as pixels: the raster, or the lines in the given width, their own width, or one pixel.

        Raises:
            InvalidPrompt: there is neither a raster nor a point.
        """
        drawn = self.drawn
        if drawn is not None:
            return drawn
        return rasterize_prompts(self.prompts, self.shape, stroke_px or self.row.stroke_px or 1.0)


class Collection(Sequence[CollectedPrompt]):
    """Collection of prompts, in the order of the table; `Collection.open` reads one.

    Attributes:
        source: origin of the collection.
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
        """Open a collection folder, or a Parquet table of prompts alone.

        Args:
            path: the folder, or a table inside of one or elsewhere.
            dataset: dataset that people saw, as for `segarena run -d`; needed where a prompt names
                no goal file.

        Raises:
            InvalidInput: the table is missing or cannot be read; see
                `segarena_people.prompt_table`.
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
        """Rows of the table."""
        return self._rows

    @property
    def name(self) -> str:
        """Name of the collection; the names of its datasets where it has none."""
        return self.source.name or ", ".join(dict.fromkeys(row.dataset for row in self._rows))

    @property
    def terms(self) -> str:
        """Terms of use; "" where unknown."""
        return self.source.terms

    @property
    def kinds(self) -> tuple[PromptKind, ...]:
        """Prompt kinds in order of appearance."""
        return tuple(dict.fromkeys(row.kind for row in self._rows))

    @property
    def people(self) -> tuple[str, ...]:
        """Known people in order of appearance."""
        return tuple(dict.fromkeys(row.person for row in self._rows if row.person))

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups that must not lie on both sides of a split, in order of appearance."""
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
        """Return the prompts that match all filters; None matches any.

        Args:
            kind: click, box, scribble, lasso.
            person: name of the person.
            groups: see `groups`.
            label: label of the object.
            round: from 1.
            is_positive: whether the prompt marks the object.
            counts: whether the prompt is of the main part and not excluded.
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
    """Return the origin of a folder; empty fields where the folder does not state it.

    Raises:
        DatasetError: the file is no TOML, or has fields of other types.
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
    """Format the origin of a folder as TOML."""
    # JSON strings are valid TOML strings, except for one control character.
    fields = msgspec.structs.asdict(source)
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())
