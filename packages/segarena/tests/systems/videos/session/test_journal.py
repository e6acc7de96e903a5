"""The journal of a session is read again, or rejected with one line if it is damaged."""

import json

import pytest

from segarena.errors import InvalidMask, StoreError
from segarena.systems.videos.session.journal import SessionJournal
from segarena.systems.videos.session.session_serialization import decode_answer, open_session_file

ENTRY = {
    "sequence": "two", "scribble_idx": 1, "objects": 2, "interaction": 1, "seconds": 0.5, "spent_s": 1.0,
    "is_taken": True, "is_over": False, "candidates": [0, 1], "masks": [],
}  # fmt: skip


def test_entries_come_back_and_a_torn_line_is_cut_off(tmp_path):
    file = tmp_path / "submissions.jsonl"
    journal = SessionJournal(file)
    journal.add(ENTRY)
    journal.add({**ENTRY, "candidates": None, "spent_s": float("inf")})
    journal.close()
    with file.open("ab") as torn:
        torn.write(b'{"sequence": "tw')
    again = SessionJournal(file)
    again.close()
    assert again.take_entries() == [ENTRY, {**ENTRY, "candidates": None, "spent_s": float("inf")}]
    assert again.take_entries() == []
    assert file.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize(
    "line",
    [
        b"\0" * 64,
        json.dumps(ENTRY).encode().replace(b"two", b"t\0\xff"),
        b"[]",
        b"{}",
        b"[" * 100_000,
        json.dumps({**ENTRY, "masks": [1]}).encode(),
        json.dumps({**ENTRY, "scribble_idx": "first"}).encode(),
        json.dumps({**ENTRY, "seconds": None}).encode(),
    ],
)
def test_a_damaged_journal_is_refused_and_left_as_it_is(tmp_path, line):
    file = tmp_path / "submissions.jsonl"
    content = json.dumps(ENTRY).encode() + b"\n" + line + b"\n"
    file.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"):
        SessionJournal(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "text", ["{}", "[]", "\0\0", '{"session_id": 1, "started": "x"}', '{"session_id": "a"}']
)
def test_a_damaged_session_file_is_refused(tmp_path, text):
    (tmp_path / "session.json").write_text(text)
    with pytest.raises(StoreError, match="is damaged"):
        open_session_file(tmp_path / "session.json", tmp_path)


@pytest.mark.parametrize("mask", ["not base64", "AAAA", "gA=="])
def test_a_damaged_mask_in_an_entry_is_refused(mask):
    with pytest.raises(InvalidMask):
        decode_answer({**ENTRY, "masks": [mask]}, (2, 4, 5))
