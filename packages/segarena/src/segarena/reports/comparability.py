"""In what runs differ that are compared, beside what their names say: data, versions, weights and sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from segarena.records.configuration import DatasetRecord
from segarena.records.fingerprints import describe_changes, read_fingerprints
from segarena.records.identity import has_data_changed
from segarena.reports.display_names import short_name
from segarena.reports.recorded_run import Run


def comparability_warnings(runs: Sequence[Run]) -> list[str]:
    """Return a line for each thing that makes a comparison less than fair; each run against the first that it is like.

    Runs on the same dataset are paired, so data and versions count; runs of the same segmenter, on whatever data, had
    better have the same weights and sources. Runs of versions that took no fingerprints say nothing.
    """
    told: list[str] = []
    for place, run in enumerate(runs):
        paired = next((other for other in runs[:place] if other.dataset == run.dataset), None)
        twin = next((other for other in runs[:place] if _segmenter(other) == _segmenter(run)), None)
        told += [] if paired is None else _paired(paired, run)
        told += [] if twin is None else _twins(twin, run)
    return list(dict.fromkeys(told))


def _paired(first: Run, second: Run) -> Iterator[str]:
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
    if _is_meant_to_be_one(first.config.dataset, second.config.dataset) and has_data_changed(
        one, two
    ):
        which = describe_changes(
            read_fingerprints(first.folder.path), read_fingerprints(second.folder.path)
        )
        yield f"The data of {pair} differ{f' ({which})' if which else ''}; targets are matched by name."
    for name in one.packages:
        if two.packages.get(name, one.packages[name]) != one.packages[name]:
            yield f"{name} was {one.packages[name]} in {first.label} and {two.packages[name]} in {second.label}."
    for file in _changed(one.sources, two.sources):
        yield f"{PurePath(file).name} changed between {pair}."


def _twins(first: Run, second: Run) -> Iterator[str]:
    one = first.config.identity
    two = second.config.identity
    if one is None or two is None:
        return
    name = short_name(first.config.segmenter.name)
    pair = f"{first.label} and {second.label}"
    weights = _changed(*map(_by_file, (one.weights, two.weights)))
    if weights:
        yield f"Weights of {name} changed between {pair}: {', '.join(weights)}."
    for file in _changed(*map(_by_file, (one.sources, two.sources))):
        yield f"{file} changed between {pair}."


def _is_meant_to_be_one(first: DatasetRecord, second: DatasetRecord) -> bool:
    """Tell whether two datasets are said to be the same: read from the same place, or of equal names and sizes."""
    return first.options == second.options or first.fingerprint == second.fingerprint


def _segmenter(run: Run) -> tuple[str, Mapping[str, object]]:
    """Return what a report calls the same segmenter, wherever its file lay."""
    used = run.config.segmenter
    return short_name(used.name), used.options


def _by_file(hashes: Mapping[str, str]) -> dict[str, str]:
    return {PurePath(name).name: digest for name, digest in hashes.items()}


def _changed(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return the names that both have, with other content."""
    return [name for name in first if name in second and first[name] != second[name]]
