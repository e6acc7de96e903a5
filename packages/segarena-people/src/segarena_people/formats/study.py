"""Export of a study: the archive from `segarena people study export`, or the unpacked folder.

Only prompts that count are imported: those of the main part that were not excluded. The export
contains no masks of whole objects; use `--dataset` to name the dataset that people saw.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from segarena.errors import InvalidInput
from segarena.files.zip_archives import extract_zip
from segarena_people.collection import TABLE_FILE, CollectedPrompt, Collection
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    UnitReader,
    Units,
    prompt_format,
)

_MOST_BYTES = 20 * 10**9


@prompt_format(
    "study",
    source="the archive of a study (.zip), or the unpacked folder",
    beside="--dataset: the dataset shown to people, for the masks of whole objects",
    holds="prompts from a user study in the studio",
    terms="the terms of the study",
    origin="segarena people study export",
)
def open_study(source: Path, beside: ImportInputs) -> Units:
    """Return the prompts that count."""
    folder = source if source.is_dir() else beside.scratch / "study"
    if not source.is_dir():
        extract_zip(source, folder, most_bytes=_MOST_BYTES)
    if not (folder / TABLE_FILE).is_file():
        raise InvalidInput(
            f"{source}: expected the export of a study that contains {TABLE_FILE}, found none"
        )
    given = Collection.open(folder, None if beside.targets is None else beside.targets.dataset)
    units: dict[str, UnitReader] = {}
    for one in given.only(counts=True):
        units[one.row.id] = partial(_prompt, one)
    return units


def _prompt(one: CollectedPrompt) -> Iterable[ImportedPrompt]:
    row = one.row
    name = row.goal_mask or f"{row.sample}-{row.plane}-{row.target}-{row.object_id}"
    masks = {"goal": one.goal, "previous": one.previous, "drawn": one.drawn}
    return [
        ImportedPrompt(
            row=row,
            goal_name=name,
            previous_name=row.previous_mask,
            **masks,
        )
    ]
