"""Several processes have the same result as one, in one ledger at the end."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from segarena.errors import InvalidInput, InvalidMask, RunConflict, StoreError
from segarena.work.executors import InlineExecutor
from segarena.work.jobs import FunctionJob
from segarena.work.ledger import Ledger, read_ledger
from segarena.work.resumable_work import do_pending
from segarena.work.sharing.shared_ledger import SharedLedger, open_ledger

WORK = {"seed": 0}
UNITS = {f"unit {number}": number for number in range(40)}
SQUARES = {name: number**2 for name, number in UNITS.items()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out" / "done.jsonl"


def square(number):
    time.sleep(0.002)
    if number < 0:
        raise InvalidMask(f"no root of {number}")
    return number**2


def work(path, *, units=UNITS, share=True, identity=WORK, **options):
    with open_ledger(path, identity, share=share) as ledger:
        failures = do_pending(FunctionJob(square), units, ledger, InlineExecutor(), **options)
        return failures, dict(ledger.done)


def together(count, *arguments, **options):
    with ThreadPoolExecutor(count) as threads:
        return [
            each.result()
            for each in [threads.submit(work, *arguments, **options) for _ in range(count)]
        ]


def test_all_return_with_everything_and_one_ledger_is_left(path):
    assert together(3, path) == [({}, SQUARES)] * 3
    assert [file.name for file in path.parent.iterdir()] == ["done.jsonl"]
    assert read_ledger(path)[:2] == (WORK, SQUARES)
    assert len(path.read_bytes().splitlines()) == 1 + len(UNITS)


def test_it_needs_no_locks_of_the_file_system(path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with open_ledger(path, WORK, share=True) as other:
        other.join(UNITS, 1)
        assert work(path) == ({}, SQUARES)
        assert path.with_suffix(".claims").is_dir()
    assert read_ledger(path).done == SQUARES
    assert [file.name for file in path.parent.iterdir()] == ["done.jsonl"]


def test_what_failed_is_known_to_all_and_tried_again(path):
    units = {**UNITS, "bad": -1}
    for failures, done in together(2, path, units=units):
        assert done == SQUARES
        assert {name: (type(error), str(error)) for name, error in failures.items()} == {
            "bad": (InvalidMask, "no root of -1")
        }
    assert work(path, units={**UNITS, "bad": 2}) == ({}, {**SQUARES, "bad": 4})


def test_work_begun_together_goes_on_alone_and_the_reverse(path):
    first = dict(list(UNITS.items())[:10])
    assert work(path, units=first, share=False)[1] == {name: SQUARES[name] for name in first}
    seen = []
    assert (
        work(path, on_progress=lambda state: seen.append((state.done, state.resumed)))[1] == SQUARES
    )
    assert seen[0] == (10, 10)
    assert seen[-1] == (40, 10)
    assert work(path, share=False)[1] == SQUARES


SCRIPT = """
import sys, time
from pathlib import Path
from segarena.work.executors import InlineExecutor
from segarena.work.jobs import FunctionJob
from segarena.work.resumable_work import do_pending
from segarena.work.sharing.shared_ledger import open_ledger

def square(number):
    print(number, flush=True)
    time.sleep(0.002 if number < 5 else 1000)
    return number ** 2

units = {f"unit {number}": number for number in range(40)}
with open_ledger(Path(sys.argv[1]), {"seed": 0}, share=True) as ledger:
    do_pending(FunctionJob(square), units, ledger, InlineExecutor())
"""


@pytest.fixture
def killed(path):
    """A process that finished five units and was killed during the sixth."""
    command = [sys.executable, "-c", SCRIPT, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() != "5\n":
            pass
        os.kill(process.pid, signal.SIGKILL)
    assert read_ledger(path).done == {}


@pytest.mark.usefixtures("killed")
@pytest.mark.parametrize("share", [True, False])
def test_what_a_killed_process_did_is_not_done_again(path, share):
    seen = []
    failures, done = work(path, share=share, on_progress=lambda state: seen.append(state.resumed))
    assert (failures, done, seen[0]) == ({}, SQUARES, 5)
    assert [file.name for file in path.parent.iterdir()] == ["done.jsonl"]
    assert read_ledger(path).done == SQUARES


def test_while_others_share_it_nobody_has_it_alone(path):
    with SharedLedger(path.with_suffix(".claims"), path, WORK) as ledger:
        with pytest.raises(RunConflict, match=r"out is shared by .* \(process \d+\); add --share"):
            open_ledger(path, WORK)
        with pytest.raises(RunConflict, match="in use by another process"):
            Ledger(path, WORK)
        ledger.join(UNITS, 1)
        with pytest.raises(
            RunConflict, match="contains work with seed = 0, but the requested work has 1"
        ):
            work(path, identity={"seed": 1})
        with pytest.raises(
            RunConflict, match=r"for 40 units \(\w+\), but this command works on 1 units"
        ):
            work(path, units={"another": 1})
        assert not ledger.done


def test_other_work_is_refused_and_leaves_no_claims(path):
    work(path)
    with pytest.raises(
        RunConflict, match="contains work with seed = 0, but the requested work has 1"
    ):
        work(path, identity={"seed": 1})
    assert [file.name for file in path.parent.iterdir()] == ["done.jsonl"]


def test_what_others_say_is_done_and_cannot_be_read_is_done_again(path):
    with ThreadPoolExecutor(1) as threads:
        with SharedLedger(path.with_suffix(".claims"), path, WORK) as other:
            other.join(UNITS, 1)
            turn = other.turn(lambda _: None)
            assert next(turn) == "unit 0"
            other._claims.done(0, 1.0)
            next(turn)  # says that it did the first, of which nothing was noted
            working = threads.submit(work, path)
            while not other._claims.others:
                time.sleep(0.01)
        assert working.result() == ({}, SQUARES)


def test_without_a_folder_nothing_can_be_shared():
    with pytest.raises(InvalidInput, match="expected --out"):
        open_ledger(None, WORK, share=True)


def test_one_that_cannot_note_what_it_did_ends_and_others_go_on(path, monkeypatch):
    with open_ledger(path, WORK, share=True) as ledger:
        monkeypatch.setattr(
            type(ledger._part),
            "add",
            lambda *_: (_ for _ in ()).throw(StoreError("the disk is full")),
        )
        with pytest.raises(StoreError, match="the disk is full"):
            do_pending(FunctionJob(square), UNITS, ledger, InlineExecutor())
    monkeypatch.undo()
    assert work(path)[1] == SQUARES
