"""Looking at a run folder as a whole: is every file as it was written, and do the records agree with themselves?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from segarena.engine.store import RunFolder
from segarena.records.fingerprints import fingerprint_damage
from segarena.records.parquet_scan import RETRY_HINT
from segarena.registry import import_packages
from segarena.roles import Finding

ENTRY_POINTS = "segarena.checks"
"""The group in which a package names the modules that check what it keeps in run folders beside the tables."""

RunCheck: TypeAlias = Callable[[RunFolder], Iterable[Finding]]
_checks: list[RunCheck] = []


def register_run_check(check: RunCheck) -> RunCheck:
    """Have every run folder whose tables are whole looked at by `check`, which says what it finds of files it knows."""
    _checks.append(check)
    return check


def check_run(path: str | Path) -> list[Finding]:
    """Return what is wrong and what is odd about a run folder; nothing is written.

    Raises:
        RunMissing: there is no run.
        StoreError: run.json cannot be read, or the ledger not be relied on.
    """
    folder = RunFolder.open(path)
    damaged, unsealed = folder.damaged()
    found = [
        Finding(is_error=True, message=f"{file} is damaged: {why}; {RETRY_HINT}")
        for file, why in damaged.items()
    ]
    if unsealed:
        found.append(
            _note(
                f"{unsealed} files of an earlier version have no checksum and are taken as they are"
            )
        )
    if folder.damage:
        found.insert(
            0, Finding(is_error=True, message=f"{folder.damage}; --retry-damaged writes it anew")
        )
    if why := fingerprint_damage(folder.path, folder.config.identity):
        found.append(
            Finding(is_error=True, message=f"{why}; the command of the run writes it anew")
        )
    found += [_note(note) for note in folder.notes if note != folder.damage]
    if folder.config.identity is None:
        found.append(
            _note(
                "an earlier version began this run: weights, sources and data have no fingerprints"
            )
        )
    pending = folder.pending()
    if pending:
        unfinished = f"{len(pending)} of {len(folder.samples)} samples are not done, {folder.samples[pending[0]]} first"
        found.append(Finding(is_error=bool(folder.config.finished), message=unfinished))
    if not damaged:
        wrong = folder.contradictions()
        found += [
            Finding(is_error=True, message=f"sample {sample}, {why}; {RETRY_HINT}")
            for sample, why in wrong.items()
        ]
        unknown = set(folder.read("records", ["sample"])["sample"]) - set(folder.samples)
        found += [
            Finding(is_error=True, message=f"sample {name} has records and is not in run.json")
            for name in unknown
        ]
        import_packages(ENTRY_POINTS)
        found += chain.from_iterable(check(folder) for check in _checks)
    if not any(one.is_error for one in found):
        found.append(
            _note(
                f"{folder.path}: {len(folder.samples) - len(pending)} samples, all files and values agree"
            )
        )
    return found


def _note(message: str) -> Finding:
    return Finding(is_error=False, message=message)
