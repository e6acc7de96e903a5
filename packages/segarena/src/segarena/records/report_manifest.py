"""Manifest of a report in a run folder: lists its files, so that they can be removed with the run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from segarena.errors import DatasetError
from segarena.files.atomic_write import write_atomic
from segarena.files.hashes import sha256_of_file
from segarena.files.safe_paths import safe_join

REPORT_FOLDER = "report"
"""Default folder of a report inside the run folder."""

MANIFEST_FILE = "made.json"
"""Name of the manifest: a JSON object that maps file names to SHA-256."""


def write_manifest(folder: Path, files: Iterable[Path]) -> Path:
    """Write the manifest of a report's files; return its path."""
    manifest = {file.name: sha256_of_file(file) for file in files}
    return write_atomic(folder / MANIFEST_FILE, json.dumps(manifest, indent=1) + "\n")


def remove_report(run: Path) -> bool:
    """Remove the unchanged files of the report in a run folder; return whether its page is still there.

    Files that somebody changed or added are not removed, nor is a report without a manifest.
    """
    folder = run / REPORT_FOLDER
    for name, digest in _read_manifest(folder).items():
        # Skip paths outside the folder, missing files and files that cannot be deleted.
        with suppress(DatasetError, OSError):
            file = safe_join(folder, name)
            if not file.is_symlink() and sha256_of_file(file) == digest:
                file.unlink()
    with suppress(OSError):
        if all(file.name == MANIFEST_FILE for file in folder.iterdir()):
            (folder / MANIFEST_FILE).unlink(missing_ok=True)
            folder.rmdir()
    return (folder / "report.html").exists()


def _read_manifest(folder: Path) -> dict[str, str]:
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if isinstance(manifest, dict):
        return {str(name): str(digest) for name, digest in manifest.items()}
    return {}
