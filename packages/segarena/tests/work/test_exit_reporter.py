"""Ends of the command that it cannot report itself: each with one line, never as a success."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from segarena.work import exit_reporter
from segarena.work.deadline import SHARED_BYTES, SharedDeadline

COMMAND = [sys.executable, "-c", "from segarena.cli.start import main; main()"]
RUN = [
    "run",
    "clicks",
    "-d",
    "sample-squares(count=1)",
    "--rounds",
    "1",
    "--out",
    "run",
    "--workers",
    "0",
]


def ended(program, tmp_path, **options):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    return done.returncode, done.stderr


WATCHED = """
import os, signal, sys, time
from segarena.work.deadline import this_deadline
from segarena.work.exit_reporter import run_supervised
def run():
    {}
run_supervised(run)
print("returned")
"""


@pytest.mark.parametrize(
    ("what", "code", "told"),
    [
        ("pass", 0, ""),
        ("sys.exit(1)", 1, ""),
        ("sys.exit(0)", 0, ""),
        ("os._exit(0)", 2, "the process ended with exit code 0"),
        ("os._exit(3)", 2, "the process ended with exit code 3"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 139, "ended by SIGSEGV"),
    ],
)
def test_every_end_is_told(tmp_path, what, code, told):
    returned, stderr = ended(WATCHED.format(what), tmp_path)
    assert returned == code
    assert told in stderr
    assert len(stderr.splitlines()) == bool(told)


@pytest.mark.long
def test_a_call_that_hangs_below_python_is_ended_and_named(tmp_path):
    program = WATCHED.format(
        "d = this_deadline(); d.what = 'user centre'; d.value = time.monotonic() + 0.1; time.sleep(60)"
    )
    code, stderr = ended(program, tmp_path)
    assert code == 2
    assert "a plug-in hung in native code (user centre) and was killed" in stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("whole_group", [False, True])
def test_signals_are_passed_on_once(number, code, whole_group, tmp_path):
    program = """
import sys, time
from segarena.work.exit_reporter import run_supervised
from segarena.cli import start
from segarena.work.signals import stoppable, exit_code
def run():
    try:
        with stoppable(is_last=True):
            print("here", flush=True)
            for _ in range(600):  # a signal that comes just before one sleep begins is seen after it
                time.sleep(0.1)
    except KeyboardInterrupt as error:
        time.sleep(0.1)
        print("clean", flush=True)
        sys.exit(exit_code(error))
run_supervised(run)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        assert process.stdout.readline() == "here\n"
        if whole_group and number != signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        assert process.communicate(timeout=60)[0] == "clean\n"
    assert process.returncode == code


def test_the_child_dies_with_its_parent(tmp_path):
    program = WATCHED.format("print(os.getpid(), flush=True); time.sleep(60)")
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        child = int(process.stdout.readline())
        process.kill()
    deadline = time.monotonic() + 60
    while is_running(child):
        assert time.monotonic() < deadline, "it lives on"
        time.sleep(0.05)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.long
def test_a_plugin_that_leaves_is_no_success_and_named(plugin, tmp_path):
    done = subprocess.run(
        [*COMMAND, *RUN, "-s", plugin("LeavesQuietly")],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert (
        "exit code 0 (segmenter LeavesQuietly encoding square-0), as os._exit does" in done.stderr
    )
    assert not done.stdout


def test_a_deadline_in_shared_memory_says_what_was_set():
    deadline = SharedDeadline(bytearray(SHARED_BYTES))
    assert (deadline.value, deadline.what, deadline.during) == (0.0, "", "")
    deadline.what = "é" * 1000
    assert deadline.during == ""
    deadline.value = 2.5
    assert deadline.value == 2.5
    assert 200 < len(deadline.during) < SHARED_BYTES
    assert set(deadline.during) == {"é"}
    deadline.what = "a"
    assert deadline.what == "a"


@pytest.mark.parametrize(
    ("number", "code", "is_forwarded"),
    [
        (signal.SIGTERM, 0, True),
        (signal.SIGCHLD, 0, False),
        (signal.SIGINT, exit_reporter._FROM_TERMINAL, False),
        (0, 0, False),  # reported after this process was stopped and continued
        (1 << 20, 0, False),
    ],
)
def test_only_signals_that_the_child_has_not_got_are_forwarded(number, code, is_forwarded):
    came = signal.struct_siginfo((number, code, 0, 0, 0, 0, 0))
    passed_on = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}
    assert exit_reporter._is_to_forward(came, passed_on) == is_forwarded
