"""Worker processes that die, hang or send unreadable results, and parents that end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from segarena.errors import StoreError, UnitDied, UnitFailed, UnitHung, WorkersInvalid
from segarena.work.executors import ProcessExecutor
from segarena.work.jobs import UnitResult

HERE = Path(__file__).parent


def do(job, units, workers=2, **options):
    outcomes = ProcessExecutor(workers).map(job, units, **options)
    return {one.unit: one.result if isinstance(one, UnitResult) else one.error for one in outcomes}


@pytest.mark.long
def test_processes_that_die_hang_or_answer_badly_cost_their_units(act, tmp_path):
    units = [
        "killed once",
        "exits",
        "killed",
        "hangs",
        "lambda",
        "read once",
        "terminates itself",
        *range(20),
    ]
    found = do(act(flag=str(tmp_path / "flag")), units, limit_s=2.0)
    assert {unit: found[unit] for unit in range(20)} == {unit: unit for unit in range(20)}
    assert found["killed once"] is None
    assert found["terminates itself"] is None
    assert (
        str(found["exits"])
        == "the worker process died (exit code 7); out of memory, or a crash in compiled code"
    )
    assert "killed by SIGKILL" in str(found["killed"])
    assert {type(found[unit]) for unit in ("exits", "killed")} == {UnitDied}
    assert isinstance(found["hangs"], UnitHung)
    assert str(found["lambda"]).startswith("the result, function, cannot be sent to the parent")
    assert str(found["read once"]).startswith("the result cannot be read")
    assert {type(found[unit]) for unit in ("lambda", "read once")} == {UnitFailed}


def test_a_job_says_itself_until_when_it_may_be_silent(act):
    found = do(act(), ["sets a deadline and hangs", 1], 1)
    assert isinstance(found["sets a deadline and hangs"], UnitHung)
    assert found[1] == 1


def test_when_every_unit_kills_its_process_each_is_tried_twice(act, tmp_path):
    found = do(act(flag=str(tmp_path / "flag")), ["exits"] * 2, 1)
    assert isinstance(found["exits"], UnitDied)
    opened = len(list(tmp_path.glob("opened-*")))
    assert 4 <= opened <= 5  # one more has been started by then, if it was quick


def test_a_huge_result_comes_through_and_there_are_no_more_processes_than_units(act, tmp_path):
    found = do(act(flag=str(tmp_path / "flag")), ["huge", "pid"], 9)
    assert found["huge"] == bytes(50_000_000)
    assert found["pid"] != os.getpid()
    assert len(list(tmp_path.glob("opened-*"))) <= 2


def test_each_process_has_one_thread(act):
    before = dict(os.environ)
    assert do(act(), ["threads"], 1) == {"threads": (1, "1")}
    assert dict(os.environ) == before


def test_processes_that_cannot_start_end_the_work(act):
    with pytest.raises(WorkersInvalid, match=r"could not start \(exit code 7\)"):
        do(act(how_opened="exits"), [1])
    with pytest.raises(WorkersInvalid, match=r"could not start \(killed by SIGKILL\)"):
        do(act(how_opened="killed"), [1], 1)
    with pytest.raises(WorkersInvalid, match="cannot be sent to worker processes"):
        do(lambda: None, [1])


def test_a_process_that_hangs_before_its_first_unit_ends_the_work(act):
    job = act(how_opened="sets a deadline and hangs")
    with pytest.raises(WorkersInvalid, match=r"hung in native code \(the constructor\)"):
        do(job, [1, 2])


def test_a_full_disk_in_one_process_ends_all(act):
    with pytest.raises(StoreError, match="the disk is full"):
        do(act(), ["disk full", "sleeps"])


SCRIPT = """
import sys, time
sys.path.insert(0, {here!r})
from pathlib import Path
from acting import Act
from segarena.work.executors import make_executor
from segarena.work.ledger import Ledger
from segarena.work.resumable_work import do_pending

out = Path(sys.argv[1])
units = {{str(number): number for number in range(int(sys.argv[2]))}} | {{unit: unit for unit in sys.argv[3:]}}
with Ledger(out / "done.jsonl", {{}}) as ledger:
    do_pending(Act(flag=str(out / "flag")), units, ledger, make_executor(2))
    print(sorted(ledger.done))
"""


@pytest.fixture
def start(tmp_path):
    """Start a script, without the usual guard, that runs a number of units and then the named ones."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(here=str(HERE)))
    out = tmp_path / "out"
    out.mkdir()

    def begin(count, *units):
        arguments = [sys.executable, str(script), str(out), str(count), *units]
        return out, subprocess.Popen(
            arguments, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    return begin


def wait_until(happened):
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def lines(out):
    file = out / "done.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def workers_of(out):
    return [int(file.name.removeprefix("opened-")) for file in out.glob("opened-*")]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.long
def test_a_script_without_the_usual_guard_does_not_start_anew(start):
    _, process = start(2)
    assert process.communicate()[0] == "['0', '1']\n"
    assert process.returncode == 0


# A hang-up goes the way of a request to stop.
@pytest.mark.long
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        signal.SIGINT,
        signal.SIGTERM,
        pytest.param(signal.SIGHUP, marks=pytest.mark.long),
    ],
)
def test_a_parent_that_is_ended_keeps_what_is_done_and_leaves_no_process(start, number):
    out, process = start(4, "hangs", "sleeps")
    wait_until(
        lambda: lines(out) == 5 and len(workers_of(out)) == 2
    )  # on a busy machine one may do all four alone
    time.sleep(0.1)  # both hang by now, one of them deaf to all signals
    workers = workers_of(out)
    # The terminal sends Ctrl-C and hang-up, and a scheduler its request to stop, to the whole group.
    (os.kill if number == signal.SIGKILL else os.killpg)(process.pid, number)
    assert process.wait() != 0
    process.stdout.close()
    wait_until(lambda: not any(map(is_alive, workers)))
    assert len(workers) == 2
    _, again = start(4)
    assert again.communicate()[0] == "['0', '1', '2', '3']\n"
