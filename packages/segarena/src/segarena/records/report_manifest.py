"""What a report wrote into a run folder: named, so that it can go when the run does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from segarena.errors import DatasetError
from segarena.files.hashes import sha256_of_file
from segarena.files.whole import write_whole
from segarena.files.within import within

REPORT_FOLDER = "report"
"""Where the report of a run lies unless it was written elsewhere."""

MANIFEST_FILE = "made.json"
"""Beside the files of a report: their names and SHA-256."""


def write_manifest(folder: Path, files: Iterable[Path]) -> Path:
    """Write which files of a folder a report made; returns the list's path."""
    made = {file.name: sha256_of_file(file) for file in files}
    return write_whole(folder / MANIFEST_FILE, json.dumps(made, indent=1) + "\n")


def remove_report(run: Path) -> bool:
    """Remove the report in a run folder, as far as it is as it was made; return whether something of it stays.

    Files that somebody changed or added stay, and so does a report that does not say what it made.
    """
    folder = run / REPORT_FOLDER
    for name, digest in _made(folder).items():
        # A name from elsewhere, a file that is gone or may not be deleted: all of them stay as they are.
        with suppress(DatasetError, OSError):
            file = within(folder, name)
            if not file.is_symlink() and sha256_of_file(file) == digest:
                file.unlink()
    with suppress(OSError):
        if all(file.name == MANIFEST_FILE for file in folder.iterdir()):
            (folder / MANIFEST_FILE).unlink(missing_ok=True)
            folder.rmdir()
    return (folder / "report.html").exists()


def _made(folder: Path) -> dict[str, str]:
    try:
        made = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if isinstance(made, dict):
        return {str(name): str(digest) for name, digest in made.items()}
    return {}
