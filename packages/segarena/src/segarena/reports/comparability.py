"""Warnings about differences between compared runs in data, versions, weights or source files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from segarena.records.configuration import DatasetRecord
from segarena.records.fingerprints import describe_changes, read_fingerprints
from segarena.records.run_identity_record import has_data_changed
from segarena.reports.display_names import short_name
from segarena.reports.recorded_run import Run


def comparability_warnings(runs: Sequence[Run]) -> list[str]:
    """Return one line for each difference that makes a comparison unfair.

    Each run is compared with two others: with the first run of the same dataset plug-in, whose
    versions should be equal, and whose data should be equal if options or fingerprints are; and
    with the first run of the same segmenter and options, whose weights and sources should be equal.
    If one of two runs has no recorded fingerprints, only their versions of segarena are compared.
    """
    warnings: list[str] = []
    first_by_dataset: dict[str, Run] = {}
    firsts_by_segmenter: list[Run] = []
    for run in runs:
        on_same_dataset = first_by_dataset.setdefault(run.dataset, run)
        if on_same_dataset is not run:
            warnings += _dataset_warnings(on_same_dataset, run)
        # Options may contain lists, which are not hashable, so compare them pairwise.
        for first in firsts_by_segmenter:
            if _segmenter(first) == _segmenter(run):
                warnings += _segmenter_warnings(first, run)
                break
        else:
            firsts_by_segmenter.append(run)
    return list(dict.fromkeys(warnings))


def _dataset_warnings(first: Run, second: Run) -> Iterator[str]:
    one = first.config.identity
    two = second.config.identity
    pair = f"{first.label} and {second.label}"
    if first.config.version != second.config.version:
        yield (
            f"{first.label} was made by segarena {first.config.version}, {second.label} by {second.config.version}; "
            "rules may have changed in between."
        )
    if one is None or two is None:
        return
    should_be_equal = _is_meant_to_be_one(first.config.dataset, second.config.dataset)
    if should_be_equal and has_data_changed(one, two):
        first_prints = read_fingerprints(first.folder.path)
        second_prints = read_fingerprints(second.folder.path)
        changes = describe_changes(first_prints, second_prints)
        which = f" ({changes})" if changes else ""
        yield f"The data of {pair} differ{which}; targets are matched by name."
    for name, version in one.packages.items():
        other_version = two.packages.get(name, version)
        if other_version != version:
            yield f"{name} was {version} in {first.label} and {other_version} in {second.label}."
    for file in _changed(one.sources, two.sources):
        yield f"{PurePath(file).name} changed between {pair}."


def _segmenter_warnings(first: Run, second: Run) -> Iterator[str]:
    one = first.config.identity
    two = second.config.identity
    if one is None or two is None:
        return
    name = short_name(first.config.segmenter.name)
    pair = f"{first.label} and {second.label}"
    weights = _changed(_by_file_name(one.weights), _by_file_name(two.weights))
    if weights:
        yield f"Weights of {name} changed between {pair}: {', '.join(weights)}."
    for file in _changed(_by_file_name(one.sources), _by_file_name(two.sources)):
        yield f"{file} changed between {pair}."


def _is_meant_to_be_one(first: DatasetRecord, second: DatasetRecord) -> bool:
    """Return whether two datasets are supposed to be equal, judging by their options or fingerprints."""
    return first.options == second.options or first.fingerprint == second.fingerprint


def _segmenter(run: Run) -> tuple[str, Mapping[str, object]]:
    """Return name and options of a segmenter, ignoring the folder of its file."""
    used = run.config.segmenter
    return short_name(used.name), used.options


def _by_file_name(hashes: Mapping[str, str]) -> dict[str, str]:
    return {PurePath(name).name: digest for name, digest in hashes.items()}


def _changed(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return the names that occur in both mappings with different digests."""
    return [name for name in first if name in second and first[name] != second[name]]
