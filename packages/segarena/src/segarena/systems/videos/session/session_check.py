"""Integrity check of the files that a session keeps next to its run tables; `segarena check` runs it."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Iterator
from pathlib import Path

from segarena.engine.run_folder import RunFolder
from segarena.engine.run_integrity import register_run_check
from segarena.errors import StoreError
from segarena.roles import Finding
from segarena.systems.videos.measures.challenge_report import report_table
from segarena.systems.videos.session.journal import read_entries
from segarena.systems.videos.session.report_file import report_paths
from segarena.systems.videos.session.session_serialization import Submission, read_session_file

SESSION = "session.json"
JOURNAL = "submissions.jsonl"


@register_run_check
def check_session(folder: RunFolder) -> Iterator[Finding]:
    """Compare journal and report with the tables of the finished sequences."""
    session = folder.path / SESSION
    journal = folder.path / JOURNAL
    if not session.is_file() and not journal.is_file():
        return
    try:
        identity = read_session_file(session)
        entries, _ = read_entries(journal)
    except StoreError as error:
        yield _error(str(error))
        return
    yield from _check_answers(folder, journal, entries)
    _, complete = report_paths(folder.path, identity["started"])
    if complete.is_file() and _report_rows(complete) != _table_rows(folder, identity["session_id"]):
        yield _error(f"{complete} differs from the records; entering the session again rewrites it")


def _check_answers(
    folder: RunFolder,
    journal: Path,
    entries: list[Submission],
) -> Iterator[Finding]:
    pending = {folder.samples[index] for index in folder.pending()}
    recorded: set[tuple[str, int, int, int, str]] = set()
    masks = folder.masks().select("sample", "repeat", "round", "object", "rle")
    for sample, repeat, number, object_id, rle in masks.iter_rows():
        text = base64.b64encode(rle).decode("ascii")
        recorded.add((sample, repeat, number, object_id, text))
    # Compared as sets, because the order of samples differs between journal and records.
    journalled: set[tuple[str, int, int, int, str]] = set()
    for entry in entries:
        sample = entry["sequence"]
        if not entry["is_taken"] or sample in pending:
            continue
        repeat = entry["scribble_idx"] - 1
        for object_id, text in enumerate(entry["masks"], 1):
            journalled.add((sample, repeat, entry["interaction"], object_id, text))
    differing = {sample for sample, *_ in recorded ^ journalled}
    for sample in sorted(differing):
        yield _error(f"{journal} and the records have different predictions for {sample}")


def _report_rows(report: Path) -> set[str]:
    """Return the rows of a report, without row numbers and heading."""
    text = report.read_text(encoding="utf-8", errors="replace")
    rows: set[str] = set()
    for line in text.splitlines()[1:]:
        _, _, values = line.partition(",")
        rows.add(values)
    return rows


def _table_rows(folder: RunFolder, session_id: str) -> set[str]:
    """Return the rows that the report should contain, computed from the run's tables."""
    table = report_table(folder.parts(), folder.timings(), session_id)
    text = io.StringIO()
    # Formatted as text, because the report is text: equal numbers may be written differently, which
    # counts as a difference.
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(table.rows())
    return set(text.getvalue().splitlines())


def _error(message: str) -> Finding:
    return Finding(is_error=True, message=message)
