"""What made a run's numbers beyond what was asked for: the content of weights, sources and data, and versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal, TypeAlias

FingerprintBy: TypeAlias = Literal["content", "names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Fingerprints of a run, taken when it began.

    Attributes:
        weights: SHA-256 of each file that an option of a plug-in names.
        sources: the same of plug-ins given by path, and of what they import from beside them.
        packages: version of each other package whose plug-ins took part, or that a plug-in given by path imports.
        data: hash of the content of the samples' files; empty when the dataset does not say which these are.
        data_by: "content", or "names" where names and sizes were thought enough.
        is_from_start: False when the run was begun by a version that took none, and continued since.
    """

    weights: Mapping[str, str] = field(default_factory=dict[str, str])
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    packages: Mapping[str, str] = field(default_factory=dict[str, str])
    data: str = ""
    data_by: FingerprintBy = "content"
    is_from_start: bool = True


def identity_changes(before: Identity, now: Identity) -> list[str]:
    """Return a line for weights and one for sources that would make other numbers: what changed, by name."""
    weights = _changed(before.weights, now.weights)
    sources = _changed(before.sources, now.sources)
    if weights:
        lines = [f"weights or other files of options changed since this run: {', '.join(weights)}"]
    else:
        lines = []
    word = "file" if len(sources) == 1 else "files"
    return lines + ([f"your {word} {', '.join(sources)} changed since this run"] if sources else [])


def has_data_changed(before: Identity | None, now: Identity | None) -> bool:
    """Tell whether the content of the data is known of both, and is not the same."""
    return bool(before and now and before.data and now.data and before.data != now.data)


def version_changes(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return a line about packages of another version than before, else nothing."""
    other = [
        f"{name} {before[name]}, now {now[name]}"
        for name in before
        if now.get(name, before[name]) != before[name]
    ]
    return f"versions changed since the run began: {'; '.join(other)}" if other else ""


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return list(dict.fromkeys(PurePath(name).name for name in names))
