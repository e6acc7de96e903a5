"""Collections of people's prompts: folders with a prompt table and the mask files that it refers to.

- prompts.parquet: the prompt table, see `segarena_people.prompts`
- goals/*.png: goal masks, named in the column `goal_mask`
- previous/*.png: masks that people corrected, named in the column `previous_mask`
- rasters/*.png: rasterized strokes whose points are unknown, named in the column `raster`
- source.toml: name, origin, terms of use and dataset; optional
- study.json: the description of the study, if the folder is its unpacked export
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

from segarena.datasets.dataset_spec import is_folder_of_data
from segarena.errors import DatasetError, InvalidInput
from segarena.files.limits import check_pixels
from segarena.plugin_spec import PluginSpec
from segarena.prompts import Box, Click, Lasso, Scribble
from segarena.registry import find, only_built_in
from segarena.roles import Dataset
from segarena.samples import Mask
from segarena_people.mask_files import GOALS, PREVIOUS, RASTERS, MaskFiles
from segarena_people.prompt_table import read_prompt_table
from segarena_people.prompts import PersonPrompt, PromptKind, convert_prompt, convert_prompts
from segarena_people.rasterization import rasterize_prompts
from segarena_people.target_masks import TargetMasks

TABLE_FILE = "prompts.parquet"
SOURCE_FILE = "source.toml"
STUDY_FILE = "study.json"


class CollectionSource(msgspec.Struct, frozen=True, kw_only=True):
    """Origin of a collection.

    Attributes:
        name: name of the collection.
        origin: publication, or a description of the people who collected the prompts.
        terms: terms of use.
        dataset: the dataset shown to people, as for `segarena run -d`; "" if unknown.
    """

    name: str = ""
    origin: str = ""
    terms: str = ""
    dataset: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CollectedPrompt:
    """One prompt by a person. Its masks, bool (H, W), are read from disk on first use.

    Attributes:
        row: row of the prompt table.
    """

    row: PersonPrompt
    _files: MaskFiles = field(repr=False)
    _targets: TargetMasks | None = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(H, W) of the picture.

        Raises:
            InvalidInput: a side is shorter than 1 px, or the picture has more pixels than
                `files.limits` allows.
        """
        height = self.row.height
        width = self.row.width
        if min(height, width) < 1:
            raise InvalidInput(
                f"prompt {self.row.id}: expected a picture of at least 1 x 1 px, got {width} x {height}"
            )
        check_pixels(height * width, f"prompt {self.row.id}")
        return height, width

    @property
    def group(self) -> str:
        """Group, such as a patient, whose prompts must all be on the same side of a train-test split."""
        return self.row.group or f"{self.row.dataset}/{self.row.sample}"

    @property
    def goal(self) -> Mask:
        """Mask of the goal: the region that the person was asked to mark.

        Raises:
            InvalidInput: the prompt names no goal file, and its goal is not a whole object or the
                collection was opened without a dataset.
            InvalidMask: the mask file cannot be used.
        """
        if self.row.goal_mask:
            return self._files.read(GOALS, self.row.goal_mask, self.shape)
        if self.row.goal == "object" and self._targets is not None:
            return self._targets.read(self.row)
        if self.row.goal != "object":
            raise InvalidInput(
                f"prompt {self.row.id}: the goal {self.row.goal!r} needs a goal_mask, got none; add the mask to "
                f"{GOALS}/ and its name to the table"
            )
        raise InvalidInput(
            f"prompt {self.row.id}: expected a goal_mask or the dataset {self.row.dataset!r}, got neither; "
            "name the dataset with --dataset"
        )

    @property
    def previous(self) -> Mask | None:
        """Mask that the person was asked to correct; None if the row names none, as in the first round."""
        name = self.row.previous_mask
        return self._files.read(PREVIOUS, name, self.shape) if name else None

    @property
    def target(self) -> Mask | None:
        """Mask of the whole object; None if the goal was only a part of it and no dataset was given."""
        if self._targets is not None:
            return self._targets.read(self.row)
        return self.goal if self.row.goal == "object" else None

    @property
    def drawn(self) -> Mask | None:
        """Rasterized stroke if its points are unknown, else None."""
        if self.row.raster:
            return self._files.read(RASTERS, self.row.raster, self.shape)
        return None

    @property
    def prompt(self) -> Click | Box | Scribble | Lasso:
        """The prompt in the format of simulated users; if it has several lines, the last one.

        Raises:
            InvalidPrompt: the prompt has no points, for example because only a raster was recorded,
                or a point is not finite.
        """
        return convert_prompt(self.row)

    @property
    def prompts(self) -> tuple[Click | Box | Scribble | Lasso, ...]:
        """All lines of the prompt in the format of simulated users; see `segarena_people.prompts.convert_prompts`.

        Raises:
            InvalidPrompt: as for `prompt`.
        """
        return convert_prompts(self.row)

    def ink(self, stroke_px: float | None = None) -> Mask:
        """Return the ink as a mask: the raster if there is one, else the lines.

        Lines have the given width, or the width in the table. Without either they are one pixel wide.

        Raises:
            InvalidPrompt: the prompt has neither a raster nor points.
        """
        drawn = self.drawn
        if drawn is not None:
            return drawn
        return rasterize_prompts(self.prompts, self.shape, stroke_px or self.row.stroke_px or 1.0)


class Collection(Sequence[CollectedPrompt]):
    """Prompts of a collection in the order of the table; `Collection.open` reads them.

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
        """Open a collection from its folder, or from a Parquet table of prompts.

        Args:
            path: the folder, or the path of a prompt table inside or outside a collection.
            dataset: dataset that was shown to people, as for `segarena run -d`; required if a prompt
                has no goal file.

        Raises:
            InvalidInput: the table is missing or unreadable; see
                `segarena_people.prompt_table`.
        """
        table = Path(path)
        if table.is_dir():
            table = table / TABLE_FILE
        folder = table.parent
        rows = read_prompt_table(table)
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
        return self._collected(self._rows[index])

    def __iter__(self) -> Iterator[CollectedPrompt]:
        return map(self._collected, self._rows)

    @property
    def rows(self) -> tuple[PersonPrompt, ...]:
        """Rows of the prompt table."""
        return self._rows

    @property
    def name(self) -> str:
        """Name of the collection, or the names of its datasets if it has no name."""
        if self.source.name:
            return self.source.name
        datasets = dict.fromkeys(row.dataset for row in self._rows)
        return ", ".join(datasets)

    @property
    def terms(self) -> str:
        """Terms of use; "" if unknown."""
        return self.source.terms

    @property
    def kinds(self) -> tuple[PromptKind, ...]:
        """Prompt kinds in order of first appearance."""
        return tuple(dict.fromkeys(row.kind for row in self._rows))

    @property
    def people(self) -> tuple[str, ...]:
        """Identified people in order of first appearance."""
        return tuple(dict.fromkeys(row.person for row in self._rows if row.person))

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups, such as patients, in order of first appearance; a group stays on one side of a train-test split."""
        return tuple(dict.fromkeys(prompt.group for prompt in self))

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
        """Return the prompts that match all filters; a filter of None matches every prompt.

        Args:
            kind: "click", "box", "scribble" or "lasso".
            person: name of the person.
            groups: groups as in the property `groups`.
            label: label of the object.
            round: round, counted from 1.
            is_positive: whether the prompt marks the object.
            counts: whether the prompt belongs to the main part of its study and is not excluded.
        """
        wanted = {
            "kind": kind,
            "person": person,
            "label": label,
            "round": round,
            "is_positive": is_positive,
        }
        chosen = None if groups is None else set(groups)
        matching: list[PersonPrompt] = []
        for prompt in self:
            row = prompt.row
            in_group = chosen is None or prompt.group in chosen
            is_counted = row.purpose == "main" and row.fate == ""
            fits = all(value in (None, getattr(row, name)) for name, value in wanted.items())
            if fits and in_group and counts in (None, is_counted):
                matching.append(row)
        return self._with(matching)

    def _collected(self, row: PersonPrompt) -> CollectedPrompt:
        return CollectedPrompt(row, self._files, self._targets)

    def _with(self, rows: Sequence[PersonPrompt]) -> Collection:
        return Collection(rows, self._files, self._targets, self.source)


def read_source(folder: Path) -> CollectionSource:
    """Read the origin of a collection from its folder; missing fields are empty.

    Raises:
        DatasetError: the file is not valid TOML, or a field is not text.
    """
    path = folder / SOURCE_FILE
    if not path.is_file():
        return CollectionSource()
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), CollectionSource)
    except (OSError, ValueError, RecursionError, msgspec.ValidationError) as error:
        raise DatasetError(
            f"{path}: expected name, origin and terms as text in TOML, got: {error}"
        ) from error


def find_dataset(path: Path) -> str | None:
    """Return the dataset shown to people, as named in the folder of a collection or study export; None without one.

    Args:
        path: the folder, or the prompt table in it.

    Raises:
        DatasetError: the file that names it is unreadable.
        UntrustedPlugin: it is not a dataset of segarena, and files of data must not choose code to execute.
    """
    folder = path if path.is_dir() else path.parent
    named = read_source(folder).dataset or _read_study(folder / STUDY_FILE).dataset
    if not named:
        return None
    if not is_folder_of_data(named):
        with only_built_in():
            find("dataset", PluginSpec.parse(named).reference)
    return named


class _StudyDescription(msgspec.Struct, frozen=True, kw_only=True):
    dataset: str = ""


def _read_study(path: Path) -> _StudyDescription:
    if not path.is_file():
        return _StudyDescription()
    try:
        return msgspec.json.decode(path.read_bytes(), type=_StudyDescription)
    except (OSError, RecursionError, msgspec.MsgspecError) as error:
        raise DatasetError(
            f"{path}: expected the description of a study in JSON, got: {error}"
        ) from error


def format_source(source: CollectionSource) -> str:
    """Format the origin of a collection as TOML."""
    # JSON strings are valid TOML strings, with the exception of one control character (DEL).
    fields = msgspec.structs.asdict(source)
    lines: list[str] = []
    for name, value in fields.items():
        # Most published prompts belong to no dataset of segarena.
        if name == "dataset" and not value:
            continue
        lines.append(f"{name} = {json.dumps(value)}\n")
    return "".join(lines)
