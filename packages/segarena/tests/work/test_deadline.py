"""Deadline of a call, which pauses during work for which the call is not responsible."""

import threading
import time

import pytest

from segarena.engine.time_limit import TimeLimit
from segarena.errors import PredictTimeout
from segarena.work.deadline import LocalDeadline, pause_deadline


@pytest.mark.long
def test_what_is_done_meanwhile_takes_nothing_of_a_call_s_time():
    deadline = LocalDeadline()
    with TimeLimit(1.0, deadline, grace_s=0.0).watch("predicting"):
        with pause_deadline(60.0):
            time.sleep(1.1)
        time.sleep(0.05)


def test_the_rest_of_the_call_has_the_rest_of_its_time():
    def call():
        with TimeLimit(0.2).watch("predicting"):
            with pause_deadline(10.0):
                time.sleep(0.05)
            time.sleep(5)

    with pytest.raises(PredictTimeout):
        call()


def test_whoever_watches_from_outside_waits_for_its_own_limit(monkeypatch):
    deadline = LocalDeadline()
    monkeypatch.setattr("segarena.work.deadline.this_deadline", lambda: deadline)
    with TimeLimit(5.0, deadline).watch("predicting"):
        before = deadline.value
        with pause_deadline(100.0):
            assert deadline.value > before + 90
            time.sleep(0.05)
        assert before + 0.05 <= deadline.value < before + 10


def test_other_threads_leave_the_clock_alone():
    def other():
        with pause_deadline(10.0):
            time.sleep(5)

    def call():
        with TimeLimit(0.2).watch("predicting"):
            threading.Thread(target=other, daemon=True).start()
            time.sleep(4)

    with pytest.raises(PredictTimeout):
        call()
