"""What open challenges keep to themselves: studies show their targets to strangers, and must not show these.

A dataset is known by how it is written, which is quick, and by its data, which takes opening both: the same files
under other names, in other folders, or only some of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.abilities import KnowsFiles
from segarena.errors import InvalidInput, SegarenaError
from segarena.files.hash_cache import files_below, hashes_of_files
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.roles import Dataset
from segarena_server.challenges.challenge_repository import cached_description
from segarena_server.db.orm_models import Challenge

_Sizes: TypeAlias = tuple[int, ...]


class HiddenDataset(NamedTuple):
    """A dataset that an open challenge keeps to itself."""

    challenge: str
    dataset: str


def list_hidden_datasets(session: Session) -> list[HiddenDataset]:
    """Return what the open challenges keep to themselves; data that participants have are nobody's secret."""
    found = session.scalars(
        select(Challenge).where(Challenge.state == "open").order_by(Challenge.id)
    )
    return [
        HiddenDataset(challenge.slug, told.pool(phase))
        for challenge in found
        for told in [cached_description(challenge.description)]
        for phase in told.phases
        if "run" not in phase.takes
    ]


def check_specification(dataset: str, hidden: Sequence[HiddenDataset]) -> None:
    """Raise `InvalidInput` where a dataset is written as one that is hidden; what names nothing is nobody's secret."""
    asked = PluginSpec.parse(dataset)
    for one in hidden:
        if asked.options and asked == PluginSpec.parse(one.dataset):
            raise _refusal(one)


def check_samples(written: str, dataset: Dataset, hidden: Sequence[HiddenDataset]) -> None:
    """Raise `InvalidInput` where a dataset holds a sample of one that is hidden; what cannot be opened hides nothing.

    Args:
        written: as for `segarena run`.
        dataset: as built.
        hidden: what may not be shown.
    """
    if not PluginSpec.parse(written).options:
        return
    sizes = _by_sizes(dataset)
    for one in dict.fromkeys(hidden):
        try:
            other: Dataset = build("dataset", one.dataset)
            is_same = dataset.fingerprint == other.fingerprint
        except SegarenaError:
            continue
        if is_same or _shares_samples(sizes, _by_sizes(other)):
            raise _refusal(one)


def _shares_samples(
    first: dict[_Sizes, list[Sequence[Path]]], second: dict[_Sizes, list[Sequence[Path]]]
) -> bool:
    """Tell whether some sample of one has, file by file, the content of one of the other; only same sizes are read."""
    for size in first.keys() & second.keys():
        contents = [
            {tuple(hashes_of_files(files)) for files in there[size]} for there in (first, second)
        ]
        if contents[0] & contents[1]:
            return True
    return False


def _by_sizes(dataset: Dataset) -> dict[_Sizes, list[Sequence[Path]]]:
    """Return the files of each sample by how large they are; nothing where they are not known."""
    found: dict[_Sizes, list[Sequence[Path]]] = {}
    for files in _files_of(dataset):
        found.setdefault(tuple(file.stat().st_size for file in files), []).append(files)
    return found


def _files_of(dataset: Dataset) -> Iterator[list[Path]]:
    if isinstance(dataset, KnowsFiles):
        for sample in dataset.sample_ids:
            files = [file for path in dataset.files_of(sample) for file in files_below(path)]
            if files and all(file.is_file() for file in files):  # no files are nobody's secret
                yield files


def _refusal(one: HiddenDataset) -> InvalidInput:
    return InvalidInput(
        f"dataset: a study shows its targets to whoever has a link, and challenge {one.challenge} hides them; "
        "take other data, or close the challenge first"
    )
