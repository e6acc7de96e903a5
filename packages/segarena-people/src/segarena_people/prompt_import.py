"""Import of published prompts into a collection: a folder with a table and the mask files that it names."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import polars as pl
from msgspec.structs import replace

from segarena.errors import InvalidInput, RunConflict, SegarenaError, StoreError
from segarena.files.atomic_write import atomic_path, write_atomic, write_error
from segarena.files.hashes import fingerprint
from segarena.roles import Finding
from segarena.samples import Mask
from segarena.work.progress import OnProgress, Progress, ignore_progress
from segarena_people.collection import SOURCE_FILE, TABLE_FILE, CollectionSource, format_source
from segarena_people.import_format import ImportedPrompt, ImportFormat, ImportInputs
from segarena_people.mask_files import GOALS, PREVIOUS, RASTERS, encode_mask_png
from segarena_people.prompt_checks import check_prompts
from segarena_people.prompt_table import build_prompt_frame, encode_prompt_frame
from segarena_people.prompts import PersonPrompt

# Number of prompts that are buffered as objects, which take several times the memory of a table.
_ROWS_PER_FRAME = 5000
# File names that every system accepts: at least 8 characters, because the reserved device names of
# Windows (CON, COM1) are shorter, and lower case, because some file systems ignore case.
_PORTABLE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{7,79}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSummary:
    """Summary of an import.

    Attributes:
        prompts: number of prompts.
        people: number of identified people.
        units: number of units that were read or skipped; each format has its own units, such as
            files or images.
        left_out: reason for each skipped unit.
        findings: errors and notes about the table.
    """

    prompts: int
    people: int
    units: int
    left_out: tuple[str, ...]
    findings: tuple[Finding, ...]


def import_prompts(
    form: ImportFormat,
    source: Path,
    out: Path,
    *,
    beside: ImportInputs | None = None,
    most: int | None = None,
    dataset: str = "",
    on_progress: OnProgress = ignore_progress,
) -> ImportSummary:
    """Import a source into a collection; the folder appears only after the import is complete.

    Args:
        form: see `segarena_people.import_format`.
        source: file or folder, as the format requires.
        out: folder to create.
        beside: additional inputs of the format.
        most: maximum number of units to read, from the start; None reads all.
        dataset: the dataset shown to people, which the collection then names; "" for none.
        on_progress: called after each unit.

    Raises:
        InvalidInput: the source does not fit the format, or nothing in it is usable.
        RunConflict: `out` already exists.
        StoreError: a file cannot be written.
    """
    if out.exists():
        raise RunConflict(f"{out} already exists; choose another folder, or remove it")
    if not source.exists():
        raise InvalidInput(f"{source}: expected {form.source}; no such file or folder")
    with (
        tempfile.TemporaryDirectory(prefix="segarena-import-") as scratch,
        atomic_path(out) as part,
    ):
        units = form.open(
            source, dataclasses.replace(beside or ImportInputs(), scratch=Path(scratch))
        )
        chosen = dict(islice(units.items(), most))
        writer = _Writer(part)
        progress = Progress(units=len(chosen))
        left_out = list[str]()
        on_progress(progress)
        for name, read in chosen.items():
            reason = writer.take(name, read)
            if reason:
                left_out.append(reason)
                progress.failures += 1
            progress.done += 1
            on_progress(progress)
        if not writer.prompts:
            why = left_out[0] if left_out else "it is empty"
            raise InvalidInput(f"{source}: expected {form.source}, found no usable prompt: {why}")
        frame = writer.finish(
            CollectionSource(
                name=form.name,
                origin=form.origin,
                terms=form.terms,
                dataset=dataset,
            )
        )
    people = frame.filter(pl.col("person") != "")["person"].n_unique()
    return ImportSummary(
        prompts=frame.height,
        people=people,
        units=len(chosen),
        left_out=tuple(left_out),
        findings=tuple(check_prompts(frame)),
    )


@dataclass(slots=True)
class _Writer:
    """Writes a collection into a folder."""

    folder: Path
    prompts: int = 0
    _rows: list[PersonPrompt] = field(default_factory=list[PersonPrompt])
    _frames: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])

    def take(self, unit: str, read: Callable[[], Iterable[ImportedPrompt]]) -> str:
        """Write a unit; return the reason if it is unusable, else "".

        A unit that fails halfway leaves no rows, but its masks may remain in the folders
        unreferenced.
        """
        try:
            # Add all rows at once, so that a unit that fails halfway leaves none.
            rows = [self._written(one) for one in read()]
        except StoreError:
            raise
        except (SegarenaError, OSError) as error:
            return str(error) if unit in str(error) else f"{unit}: {error}"
        self._rows += rows
        self.prompts += len(rows)
        if len(self._rows) >= _ROWS_PER_FRAME:
            self._pack()
        return ""

    def finish(self, source: CollectionSource) -> pl.DataFrame:
        """Write the table and source.toml; return the table."""
        self._pack()
        frame = pl.concat(self._frames)
        write_atomic(self.folder / TABLE_FILE, encode_prompt_frame(frame))
        write_atomic(self.folder / SOURCE_FILE, format_source(source))
        return frame

    def _pack(self) -> None:
        self._frames.append(build_prompt_frame(self._rows))
        self._rows = []

    def _written(self, one: ImportedPrompt) -> PersonPrompt:
        row = one.row
        if one.goal is not None:
            row = replace(row, goal_mask=self._save(GOALS, one.goal_name or row.id, one.goal))
        if one.previous is not None:
            row = replace(
                row, previous_mask=self._save(PREVIOUS, one.previous_name or row.id, one.previous)
            )
        if one.drawn is not None:
            row = replace(row, raster=self._save(RASTERS, row.id, one.drawn))
        return row

    def _save(
        self,
        folder: str,
        name: str,
        mask: Mask,
    ) -> str:
        file = file_name(name)
        path = self.folder / folder / file
        try:
            if not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                # Do not flush each file: there may be many, and a repeated import would write them
                # again anyway.
                path.write_bytes(encode_mask_png(mask))
        except OSError as error:
            raise write_error(path, error) from error
        return file


def file_name(name: str) -> str:
    """Return a portable file name for a mask; a name that has to be changed also gets a hash.

    >>> file_name("patient001_frame01"), file_name("a/b c")
    ('patient001_frame01.png', 'a-b-c-0af99a60.png')
    """
    if _PORTABLE_NAME.fullmatch(name):
        return f"{name}.png"
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")[-60:]
    return f"{plain}-{fingerprint(name)[:8]}.png"
