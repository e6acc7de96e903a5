"""The identity of a run: fingerprints of its weights, sources and data, and package versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal, TypeAlias

FingerprintBy: TypeAlias = Literal["content", "names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Fingerprints of a run, taken at its start.

    Attributes:
        weights: SHA-256 of each file that an option of a plug-in names.
        sources: SHA-256 of plug-ins given by path, and of the modules that they import from the same folder.
        packages: version of each other package that has plug-ins of the run, or that a plug-in given by path imports.
        data: hash of the content of the samples' files; empty if the dataset does not know its files.
        data_by: "content", or "names" if names and sizes were compared instead.
        is_from_start: False if an earlier version began the run without fingerprints.
    """

    weights: Mapping[str, str] = field(default_factory=dict[str, str])
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    packages: Mapping[str, str] = field(default_factory=dict[str, str])
    data: str = ""
    data_by: FingerprintBy = "content"
    is_from_start: bool = True


def identity_changes(before: Identity, now: Identity) -> list[str]:
    """Return a message about changed weights and one about changed sources, if there are any."""
    weights = _changed_names(before.weights, now.weights)
    sources = _changed_names(before.sources, now.sources)
    messages: list[str] = []
    if weights:
        names = ", ".join(weights)
        messages.append(f"weights or other files of options changed since this run: {names}")
    if sources:
        word = "file" if len(sources) == 1 else "files"
        messages.append(f"your {word} {', '.join(sources)} changed since this run")
    return messages


def has_data_changed(before: Identity | None, now: Identity | None) -> bool:
    """Return whether the data hashes of both are known and differ."""
    if before is None or now is None:
        return False
    return bool(before.data and now.data and before.data != now.data)


def version_changes(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return a message about packages whose version changed; "" if none did."""
    changed: list[str] = []
    for name, old in before.items():
        new = now.get(name, old)
        if new != old:
            changed.append(f"{name} {old}, now {new}")
    if not changed:
        return ""
    return f"versions changed since the run began: {'; '.join(changed)}"


def _changed_names(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the file names of changed, added and removed paths, each once."""
    paths = [path for path in {**before, **now} if before.get(path) != now.get(path)]
    return list(dict.fromkeys(PurePath(path).name for path in paths))
