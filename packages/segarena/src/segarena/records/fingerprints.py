"""The fingerprint of each file of a run's data, kept beside run.json so that those that change can be named."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import polars as pl

from segarena.files.whole import write_whole
from segarena.records.identity import Identity
from segarena.records.parquet_tables import parquet_bytes, seal_parquet, verify_seal

FINGERPRINTS_FILE = "data.parquet"
_NAMED = 3
"""So many files that changed are named."""

Fingerprints: TypeAlias = Sequence[tuple[str, str]]
"""Name and SHA-256 of each file, in the order of the samples; a name is the file's own and its folder's."""


def write_fingerprints(folder: Path, files: Fingerprints) -> None:
    """Write them into a run folder; nothing when there are none."""
    if files:
        names, hashes = zip(*files, strict=True)
        write_whole(
            folder / FINGERPRINTS_FILE,
            seal_parquet(parquet_bytes(pl.DataFrame({"file": names, "sha256": hashes}))),
        )


def fingerprint_damage(folder: Path, identity: Identity | None) -> str:
    """Return a line when those of a run are damaged, or missing although its data had some."""
    file = folder / FINGERPRINTS_FILE
    try:
        verify_seal(file.read_bytes())
    except FileNotFoundError:
        return f"{file} is missing" if identity is not None and identity.data else ""
    except (OSError, ValueError) as error:
        return f"{file} is damaged: {error}"
    return ""


def read_fingerprints(folder: Path) -> Fingerprints:
    """Return what was written; nothing for a folder of an earlier version, and when the file is damaged."""
    try:
        data = (folder / FINGERPRINTS_FILE).read_bytes()
        verify_seal(data)
        return pl.read_parquet(BytesIO(data)).select("file", "sha256").rows()
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return ()


def describe_changes(before: Fingerprints, now: Fingerprints) -> str:
    """Say which files have other content than before, were added or are gone; empty where that is not known."""
    old = _by_name(before)
    new = _by_name(now)
    changed = [name for name in old if name in new and old[name] != new[name]]
    added = [name for name in new if name not in old]
    gone = [name for name in old if name not in new]
    told = [
        f"{len(names)} {word}: {', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''}"
        for names, word in ((changed, f"of {len(old)}"), (added, "new"), (gone, "gone"))
        if names
    ]
    return "; ".join(told) if before and now else ""


def _by_name(files: Fingerprints) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, digest in files:
        found.setdefault(name, []).append(digest)
    return found
