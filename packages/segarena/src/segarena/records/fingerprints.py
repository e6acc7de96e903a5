"""Fingerprints of the data files of a run, stored next to run.json so that changed files can be named."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import polars as pl

from segarena.files.atomic_write import write_atomic
from segarena.records.parquet_tables import parquet_bytes, seal_parquet, verify_seal
from segarena.records.run_identity_record import Fingerprints, Identity

FINGERPRINTS_FILE = "data.parquet"
_MAX_NAMED = 3
"""Maximum number of changed files that a message names; the same limit applies to new and to missing files."""


def write_fingerprints(folder: Path, files: Fingerprints) -> None:
    """Write fingerprints into a run folder; if there are none, write no file."""
    if not files:
        return
    names = [name for name, _ in files]
    hashes = [digest for _, digest in files]
    frame = pl.DataFrame({"file": names, "sha256": hashes})
    write_atomic(folder / FINGERPRINTS_FILE, seal_parquet(parquet_bytes(frame)))


def fingerprint_damage(folder: Path, identity: Identity | None) -> str:
    """Return a message if the fingerprints are damaged, or missing although the data had some; "" otherwise."""
    file = folder / FINGERPRINTS_FILE
    try:
        verify_seal(file.read_bytes())
    except FileNotFoundError:
        has_data = identity is not None and bool(identity.data)
        return f"{file} is missing" if has_data else ""
    except (OSError, ValueError) as error:
        return f"{file} is damaged: {error}"
    return ""


def read_fingerprints(folder: Path) -> Fingerprints:
    """Read the fingerprints of a run; return none for a folder of an earlier version or a damaged file."""
    try:
        data = (folder / FINGERPRINTS_FILE).read_bytes()
        verify_seal(data)
        return pl.read_parquet(BytesIO(data)).select("file", "sha256").rows()
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return ()


def describe_changes(before: Fingerprints, now: Fingerprints) -> str:
    """Describe changed, new and missing files; "" if either list of fingerprints is unknown."""
    if not before or not now:
        return ""
    old = _by_name(before)
    new = _by_name(now)
    changed = [name for name in old if name in new and old[name] != new[name]]
    added = [name for name in new if name not in old]
    gone = [name for name in old if name not in new]
    lists = [
        _list_names(changed, f"of {len(old)}"),
        _list_names(added, "new"),
        _list_names(gone, "gone"),
    ]
    return "; ".join(text for text in lists if text)


def _list_names(names: list[str], word: str) -> str:
    if not names:
        return ""
    more = ", ..." if len(names) > _MAX_NAMED else ""
    return f"{len(names)} {word}: {', '.join(names[:_MAX_NAMED])}{more}"


def _by_name(files: Fingerprints) -> dict[str, list[str]]:
    # Files in different locations may share both their name and the name of their folder.
    found: dict[str, list[str]] = {}
    for name, digest in files:
        found.setdefault(name, []).append(digest)
    return found
