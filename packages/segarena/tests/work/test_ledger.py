"""Finished work stays recorded, whatever happens to the process or the file."""

import json
import subprocess
import sys

import pytest

from segarena.errors import RunConflict, StoreError
from segarena.work.ledger import Ledger, read_ledger

WORK = {"seed": 0, "options": {"sizes": [1, 2]}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "done.jsonl"


def note(path, **units):
    with Ledger(path, WORK) as ledger:
        for unit, value in units.items():
            ledger.add(unit, value)


def done(path, work=WORK):
    with Ledger(path, work) as ledger:
        return ledger.done


def test_what_was_noted_is_there_when_it_is_opened_again(path):
    note(path, a={"iou": 0.5}, b=None, ü=[1])
    note(path, a=None)
    assert done(path) == {"a": None, "b": None, "ü": [1]}
    assert read_ledger(path)[:2] == (WORK, {"a": None, "b": None, "ü": [1]})


def test_every_line_is_json(path):
    note(path, a={"iou": 0.5})
    head, line = map(json.loads, path.read_text().splitlines())
    assert head["identity"] == WORK
    assert (line["unit"], line["value"]) == ("a", {"iou": 0.5})


def test_without_a_file_it_remembers_as_long_as_it_lives():
    ledger = Ledger(None, WORK)
    ledger.add("a", 1)
    ledger.close()
    assert ledger.done == {"a": 1}


def test_a_file_cut_anywhere_loses_only_the_last_line(path):
    note(path, a=1, b=2)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        lines = whole[:length].count(b"\n")
        with Ledger(path, WORK) as ledger:
            assert list(ledger.done) == ["a", "b"][: max(0, lines - 1)]
            ledger.add("c", 3)
        assert read_ledger(path)[1]["c"] == 3


def test_a_damaged_line_is_not_done(path):
    note(path, a=1, b=2)
    path.write_bytes(path.read_bytes().replace(b'"value":1', b'"value":7'))
    assert done(path) == {"b": 2}


def test_other_work_is_refused_and_the_difference_named(path):
    note(path, a=1)
    with pytest.raises(
        RunConflict,
        match=r"contains work with options\.sizes\[1\] = 2, but the requested work has 3",
    ):
        Ledger(path, {"seed": 0, "options": {"sizes": [1, 3]}})
    with pytest.raises(
        RunConflict, match=r"contains work with seed = 0, but the requested work has null"
    ):
        Ledger(path, {"options": {"sizes": [1, 2]}})
    assert done(path, {"seed": 0, "options": {"sizes": (1, 2)}}) == {"a": 1}


def test_other_work_of_which_nothing_is_done_is_forgotten(path):
    note(path)
    with Ledger(path, {"seed": 1}) as ledger:
        ledger.add("a")
    assert read_ledger(path)[:2] == ({"seed": 1}, {"a": None})


def test_a_ledger_in_use_is_refused(path):
    with Ledger(path, WORK), pytest.raises(RunConflict, match="in use by another process"):
        Ledger(path, WORK)
    Ledger(path, WORK).close()


def test_something_else_is_refused(path):
    path.parent.mkdir()
    path.write_text("hello\n")
    with pytest.raises(StoreError, match="expected a ledger of finished work"):
        Ledger(path, WORK)


def test_a_full_disk_keeps_what_was_noted_before(path):
    script = (
        "import resource, sys; from pathlib import Path; from segarena.work.ledger import Ledger\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
        f"ledger = Ledger(Path(sys.argv[1]), {WORK!r})\n"
        "for unit in 'abcdefghijkl': ledger.add(unit)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-B", "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert "StoreUnavailable" in ended.stderr
    assert "cannot be written" in ended.stderr
    assert path.read_bytes().endswith(b"}\n")
    assert list(done(path))[:2] == ["a", "b"]


def test_what_a_damaged_line_may_have_changed_is_doubtful_until_it_is_noted_again(path):
    note(path, a=1, b=1)
    note(path, c=1)
    note(path, a=2)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"1", b"7")
    path.write_bytes(b"".join(lines))
    noted = read_ledger(path)
    assert noted.done == {"a": 2, "b": 1}
    assert noted.doubtful == {"b"}
    note(path, b=3)
    assert read_ledger(path).doubtful == set()
