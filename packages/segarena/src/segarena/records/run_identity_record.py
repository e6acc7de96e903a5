"""The identity of a run: fingerprints of its weights, sources and data, and package versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal, TypeAlias

FingerprintBy: TypeAlias = Literal["content", "names"]

Fingerprints: TypeAlias = Sequence[tuple[str, str]]
"""(folder/file, SHA-256) of each data file, in the order of the samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Fingerprints of a run, taken at its start.

    Attributes:
        weights: SHA-256 of each file that an option of a plug-in names.
        sources: SHA-256 of plug-ins given by path, and of the modules that they import from the same folder.
        packages: version of each other package that provides plug-ins of the run or that a plug-in given by
            path imports.
        data: hash of the content of the samples' files; empty if the dataset does not list its files, or if `data_by`
            is "names".
        data_by: "content", or "names" if names and sizes were compared instead.
        is_from_start: False if an earlier version began the run without fingerprints.
        segmenter_object: fingerprint of a segmenter that a script passed as an object; empty for others.
        earlier_sources: `sources` before each fix of a plug-in after failures; samples that had already finished
            without failures used them.
    """

    weights: Mapping[str, str] = field(default_factory=dict[str, str])
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    packages: Mapping[str, str] = field(default_factory=dict[str, str])
    data: str = ""
    data_by: FingerprintBy = "content"
    is_from_start: bool = True
    segmenter_object: str = ""
    earlier_sources: tuple[Mapping[str, str], ...] = ()


def identity_changes(before: Identity, now: Identity) -> list[str]:
    """Return messages about changed weights, changed sources and a changed object."""
    weights = changed_weights(before, now)
    sources = changed_sources(before, now)
    messages: list[str] = []
    if weights:
        names = ", ".join(weights)
        messages.append(f"weights or other files named in options changed since this run: {names}")
    if sources:
        word = "file" if len(sources) == 1 else "files"
        messages.append(f"your {word} {', '.join(sources)} changed since this run")
    if has_object_changed(before, now):
        messages.append(
            "the object given as segmenter changed since this run (weights, settings or code)"
        )
    return messages


def changed_weights(before: Identity, now: Identity) -> list[str]:
    """Return the names of changed, added and removed weights and other files named in options."""
    return _changed_names(before.weights, now.weights)


def changed_sources(before: Identity, now: Identity) -> list[str]:
    """Return the names of changed, added and removed source files of plug-ins."""
    return _changed_names(before.sources, now.sources)


def has_object_changed(before: Identity, now: Identity) -> bool:
    """Return whether both segmenters are objects whose fingerprints are known and differ."""
    if not before.segmenter_object or not now.segmenter_object:
        return False
    return before.segmenter_object != now.segmenter_object


def has_data_changed(before: Identity | None, now: Identity | None) -> bool:
    """Return whether the data hashes of both are known and differ."""
    if before is None or now is None:
        return False
    return bool(before.data and now.data and before.data != now.data)


def version_changes(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return a message about packages with a changed version; "" if no version changed."""
    changed: list[str] = []
    for name, old in before.items():
        new = now.get(name, old)
        if new != old:
            changed.append(f"{name} {old}, now {new}")
    if not changed:
        return ""
    return f"versions changed since the run began: {'; '.join(changed)}"


def _changed_names(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the names of changed, added and removed files without duplicates."""
    names: list[str] = []
    for path in {**before, **now}:
        name = PurePath(path).name
        if before.get(path) != now.get(path) and name not in names:
            names.append(name)
    return names
