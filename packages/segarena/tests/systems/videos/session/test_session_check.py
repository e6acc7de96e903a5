"""`segarena check` of a session: journal, key and report are compared with the records."""

import json

import pytest

from segarena.engine.run_integrity import check_run

from .test_davis import answer_all


@pytest.fixture
def session(open_session, masks_of, clock):
    """Return the folder of a finished session."""
    with open_session() as opened:
        answer_all(opened, masks_of, clock)
        assert not opened.next()
    return opened.folder


def errors(folder):
    return [finding.message for finding in check_run(folder) if finding.is_error]


def test_a_session_that_is_over_agrees_with_itself(session):
    assert errors(session) == []


def test_one_that_was_left_does_so_too(open_session, masks_of):
    with open_session() as opened:
        for _ in range(4):  # beyond the first sample of the first sequence
            assert opened.next()
            sequence, _, _ = opened.get_scribbles()
            opened.submit_masks(masks_of(sequence))
    assert errors(opened.folder) == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["session.json", "submissions.jsonl"])
def test_a_damaged_file_is_named(session, name):
    file = session / name
    whole = file.read_bytes()
    for place in (5, len(whole) // 2):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        (told,) = errors(session)
        assert str(file) in told
    file.unlink()
    assert all(str(file) in told for told in errors(session))
    assert errors(session)


def test_answers_that_the_records_do_not_judge_are_named(session):
    file = session / "submissions.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if json.loads(line)["sequence"] == "one"))
    assert errors(session) == [f"{file} and the records have different predictions for two"]


@pytest.mark.long
def test_a_report_with_other_values_is_named(session):
    (file,) = session.glob("result_*.csv")
    text = file.read_text()
    file.write_text(text.replace(",one,", ",two,", 1))
    (told,) = errors(session)
    assert told.startswith(f"{file} differs from the records")
