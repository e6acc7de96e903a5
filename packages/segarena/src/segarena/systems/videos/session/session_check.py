"""Whether what a session keeps beside the tables of its run is as it was written; `segarena check` asks."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Iterator
from pathlib import Path

from segarena.engine.run_integrity import register_run_check
from segarena.engine.store import RunFolder
from segarena.errors import StoreError
from segarena.roles import Finding
from segarena.systems.videos.measures.challenge_report import report_table
from segarena.systems.videos.session.journal import read_entries
from segarena.systems.videos.session.report_file import report_paths
from segarena.systems.videos.session.submissions import Submission, read_session_file

SESSION = "session.json"
JOURNAL = "submissions.jsonl"


@register_run_check
def check_session(folder: RunFolder) -> Iterator[Finding]:
    """Hold journal and report against the tables of the sequences that are over."""
    session = folder.path / SESSION
    journal = folder.path / JOURNAL
    if not session.is_file() and not journal.is_file():
        return
    try:
        about = read_session_file(session)
        entries, _ = read_entries(journal)
    except StoreError as error:
        yield _wrong(str(error))
        return
    yield from _answers(folder, journal, entries)
    _, complete = report_paths(folder.path, about["started"])
    if complete.is_file() and _lines(complete) != _lines_of(folder, about["session_id"]):
        yield _wrong(
            f"{complete} does not have the values of the records; entering the session again writes it anew"
        )


def _answers(folder: RunFolder, journal: Path, entries: list[Submission]) -> Iterator[Finding]:
    pending = {folder.samples[index] for index in folder.pending()}
    kept = {
        (sample, repeat, number, mask, base64.b64encode(rle).decode("ascii"))
        for sample, repeat, number, mask, rle in folder.masks()
        .select("sample", "repeat", "round", "object", "rle")
        .iter_rows()
    }
    noted = {
        (entry["sequence"], entry["scribble_idx"] - 1, entry["interaction"], number, rle)
        for entry in entries
        if entry["is_taken"] and entry["sequence"] not in pending
        for number, rle in enumerate(entry["masks"], 1)
    }
    for sample in sorted({sample for sample, *_ in kept ^ noted}):
        yield _wrong(f"{journal} does not have the answers about {sample} that the records judge")


def _lines(report: Path) -> set[str]:
    """Return the rows of a report, without their numbers and the heading."""
    text = report.read_text(encoding="utf-8", errors="replace")
    return {line.partition(",")[2] for line in text.splitlines()[1:]}


def _lines_of(folder: RunFolder, session_id: str) -> set[str]:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        report_table(folder.parts(), folder.timings(), session_id).rows()
    )
    return set(text.getvalue().splitlines())


def _wrong(message: str) -> Finding:
    return Finding(is_error=True, message=message)
