"""Integrity check of a run folder: checksums of its files, and consistency of its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from segarena.engine.run_folder import RunFolder
from segarena.records.fingerprints import fingerprint_damage
from segarena.records.sample_file import RETRY_HINT
from segarena.registry import import_entry_points
from segarena.roles import Finding

ENTRY_POINTS = "segarena.checks"
"""Entry-point group of modules that check files that packages add to run folders."""

RunCheck: TypeAlias = Callable[[RunFolder], Iterable[Finding]]
_checks: list[RunCheck] = []


def register_run_check(check: RunCheck) -> RunCheck:
    """Register a check of additional files, called for every run folder whose tables are undamaged."""
    _checks.append(check)
    return check


def check_run(path: str | Path) -> list[Finding]:
    """Return the errors and anomalies of a run folder, without writing to it; if there is no error, a note says so.

    Raises:
        RunMissing: the folder contains no run.
        StoreError: run.json cannot be read, or the ledger is unreliable.
    """
    folder = RunFolder.open(path)
    damaged, unsealed = folder.damaged()
    pending = folder.pending()
    found: list[Finding] = []
    if folder.damage:
        found.append(_error(f"{folder.damage}; --retry-damaged writes it again"))
    for file, why in damaged.items():
        found.append(_error(f"{file} is damaged: {why}; {RETRY_HINT}"))
    if unsealed:
        found.append(
            _note(f"files of an earlier version have no checksum and were not verified: {unsealed}")
        )
    found.extend(_configuration_findings(folder))
    if pending:
        first = folder.samples[pending[0]]
        unfinished = (
            f"samples not done: {len(pending)} of {len(folder.samples)}, the first is {first}"
        )
        found.append(Finding(is_error=bool(folder.config.finished), message=unfinished))
    # Damaged tables cannot be read, so contents are checked only if all tables are undamaged.
    if not damaged:
        found.extend(_record_findings(folder))
        import_entry_points(ENTRY_POINTS)
        for check in _checks:
            found.extend(check(folder))
    if not any(one.is_error for one in found):
        done = len(folder.samples) - len(pending)
        found.append(_note(f"{folder.path}: all files and values agree; samples: {done}"))
    return found


def _configuration_findings(folder: RunFolder) -> Iterator[Finding]:
    fault = fingerprint_damage(folder.path, folder.config.identity)
    if fault:
        yield _error(f"{fault}; repeating the command of the run writes it again")
    for note in folder.notes:
        if note != folder.damage:
            yield _note(note)
    if folder.config.identity is None:
        yield _note(
            "an earlier version began this run: weights, sources and data have no fingerprints"
        )


def _record_findings(folder: RunFolder) -> Iterator[Finding]:
    for sample, why in folder.contradictions().items():
        yield _error(f"sample {sample}, {why}; {RETRY_HINT}")
    recorded = set(folder.read("records", ["sample"])["sample"])
    for name in recorded - set(folder.samples):
        yield _error(f"sample {name} has records but is not in run.json")


def _error(message: str) -> Finding:
    return Finding(is_error=True, message=message)


def _note(message: str) -> Finding:
    return Finding(is_error=False, message=message)
