"""Datasets that open challenges keep hidden, and that studies must not reveal to strangers.

A hidden dataset is recognized by its specification, which is fast, and by its data, which requires
opening both datasets: the same files may have other names, be in other folders, or be only a
subset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput, SegarenaError
from segarena.files.hash_cache import files_below, hash_files
from segarena.plugin_capabilities import FileListing
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.roles import Dataset
from segarena_server.challenges.challenge_repository import cached_description
from segarena_server.db.orm_models import Challenge

_Sizes: TypeAlias = tuple[int, ...]
_FilesBySizes: TypeAlias = dict[_Sizes, list[Sequence[Path]]]


class HiddenDataset(NamedTuple):
    """A dataset that an open challenge keeps hidden."""

    challenge: str
    dataset: str


def list_hidden_datasets(session: Session) -> list[HiddenDataset]:
    """Return the datasets that open challenges hide; datasets that participants receive are not hidden."""
    query = select(Challenge).where(Challenge.state == "open").order_by(Challenge.id)
    hidden: list[HiddenDataset] = []
    for challenge in session.scalars(query):
        description = cached_description(challenge.description)
        for phase in description.phases:
            if "run" not in phase.takes:
                hidden.append(HiddenDataset(challenge.slug, description.pool(phase)))
    return hidden


def check_specification(dataset: str, hidden: Sequence[HiddenDataset]) -> None:
    """Raise `InvalidInput` for a specification equal to that of a hidden dataset.

    Specifications without options are built in and public.
    """
    asked = PluginSpec.parse(dataset)
    for one in hidden:
        if asked.options and asked == PluginSpec.parse(one.dataset):
            raise _refusal(one)


def check_samples(
    written: str,
    dataset: Dataset,
    hidden: Sequence[HiddenDataset],
) -> None:
    """Raise `InvalidInput` if a dataset has a sample of a hidden dataset.

    Hidden datasets that cannot be opened are skipped.

    Args:
        written: the specification.
        dataset: the dataset built from it.
        hidden: datasets that may not be shown.
    """
    if not PluginSpec.parse(written).options:
        return
    sizes = _by_sizes(dataset)
    # Several phases may hide the same dataset.
    for one in dict.fromkeys(hidden):
        try:
            other: Dataset = build("dataset", one.dataset)
            is_same = dataset.fingerprint == other.fingerprint
        except SegarenaError:
            continue
        if is_same or _shares_samples(sizes, _by_sizes(other)):
            raise _refusal(one)


def _shares_samples(
    first: _FilesBySizes,
    second: _FilesBySizes,
) -> bool:
    """Return whether two datasets share a sample with equal file contents; read only files of equal sizes."""
    # Hashing all files of two datasets would take hours, so hash only files of equal size.
    for size in first.keys() & second.keys():
        first_contents = {tuple(hash_files(files)) for files in first[size]}
        second_contents = {tuple(hash_files(files)) for files in second[size]}
        if first_contents & second_contents:
            return True
    return False


def _by_sizes(dataset: Dataset) -> _FilesBySizes:
    """Group the files of each sample by their sizes; empty when the dataset does not list its files."""
    groups: _FilesBySizes = {}
    for files in _files_of(dataset):
        sizes = tuple(file.stat().st_size for file in files)
        groups.setdefault(sizes, []).append(files)
    return groups


def _files_of(dataset: Dataset) -> Iterator[list[Path]]:
    if not isinstance(dataset, FileListing):
        return
    for sample in dataset.sample_ids:
        files: list[Path] = []
        for path in dataset.files_of(sample):
            files += files_below(path)
        # A sample without files would equal every other sample without files.
        if files and all(file.is_file() for file in files):
            yield files


def _refusal(one: HiddenDataset) -> InvalidInput:
    return InvalidInput(
        f"dataset: a study shows its targets to everybody with a link, but challenge {one.challenge} hides them; "
        "choose other data, or close the challenge first"
    )
