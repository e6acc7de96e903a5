"""The time limit: an alarm in this process, a published deadline for the parent."""

import signal
import threading
import time
from types import SimpleNamespace

import pytest

from segarena.engine.guard import TimeLimit
from segarena.errors import PredictTimeout


def test_what_is_quick_enough_is_left_alone():
    with TimeLimit(5.0).watch("predict"):
        answer = sum(range(1000))
    assert answer == 499500


def test_what_takes_too_long_is_interrupted_and_named():
    started = time.monotonic()
    with (
        pytest.raises(
            PredictTimeout, match=r"predicting cat took longer than the limit of 0\.05 s; raise --time-limit"
        ),
        TimeLimit(0.05).watch("predicting cat"),
    ):
        time.sleep(30)
    assert time.monotonic() - started < 10


def test_some_calls_may_take_several_limits():
    with TimeLimit(0.02).watch("encode", times=100):
        time.sleep(0.06)
    with pytest.raises(PredictTimeout, match=r"limit of 0\.04 s"), TimeLimit(0.02).watch("encode", times=2):
        time.sleep(30)


def test_the_alarm_is_off_and_the_handler_as_before_after_the_block():
    before = signal.getsignal(signal.SIGALRM)
    with TimeLimit(60.0).watch("predict"):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before
    with pytest.raises(ZeroDivisionError), TimeLimit(60.0).watch("predict"):
        raise ZeroDivisionError
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_the_deadline_is_published_during_the_call_and_taken_back_after():
    deadline = SimpleNamespace(value=0.0)
    limit = TimeLimit(3.0, deadline, grace_s=5.0, clock=lambda: 100.0)
    with limit.watch("predict", times=2):
        assert deadline.value == 100.0 + 2 * 3.0 + 5.0
    assert deadline.value == 0.0
    with pytest.raises(ZeroDivisionError), limit.watch("predict"):
        raise ZeroDivisionError
    assert deadline.value == 0.0


def test_outside_the_main_thread_only_the_deadline_is_set():
    seen = []
    deadline = SimpleNamespace(value=0.0)

    def work():
        with TimeLimit(0.01, deadline, clock=lambda: 1.0).watch("predict"):
            time.sleep(0.05)
            seen.append(deadline.value)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [1.0 + 0.01 + 5.0]


def test_an_alarm_taken_once_watches_call_after_call():
    before, limit = signal.getsignal(signal.SIGALRM), TimeLimit(0.03)
    with limit.ready():
        with limit.watch("asking", times=100):
            time.sleep(0.06)
        with (
            pytest.raises(PredictTimeout, match=r"judging took longer than the limit of 0"),
            limit.watch("judging"),
        ):
            time.sleep(30)
        with pytest.raises(ZeroDivisionError), limit.watch("asking", times=100):
            raise ZeroDivisionError
        with limit.watch("asking", times=10):
            pass
        time.sleep(0.35)  # the alarm of a call that has returned says nothing
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_call_that_keeps_the_alarm_does_not_take_it_from_the_next():
    limit = TimeLimit(0.03)
    with limit.ready():
        with limit.watch("loading"):
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        with pytest.raises(PredictTimeout, match="predicting"), limit.watch("predicting"):
            time.sleep(30)


def test_another_thread_does_not_set_the_alarm_that_this_one_has():
    limit, seen = TimeLimit(0.01), []

    def work():
        with limit.watch("predict"):
            seen.append(signal.getitimer(signal.ITIMER_REAL))

    with limit.ready():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [(0.0, 0.0)]
