"""The time limit: an alarm in this process, a published deadline for the parent."""

import signal
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest

from segarena.engine.time_limit import TimeLimit
from segarena.errors import PredictTimeout


def test_what_is_quick_enough_is_left_alone():
    with TimeLimit(5.0).watch("predict"):
        answer = sum(range(1000))
    assert answer == 499500


def test_what_takes_too_long_is_interrupted_and_named():
    started = time.monotonic()
    with (
        pytest.raises(
            PredictTimeout,
            match=r"predicting cat took longer than the limit of 0\.05 s; raise --time-limit",
        ),
        TimeLimit(0.05).watch("predicting cat"),
    ):
        time.sleep(30)
    assert time.monotonic() - started < 25


def test_some_calls_may_take_several_limits():
    with TimeLimit(0.02).watch("encode", times=1000):
        time.sleep(0.06)
    with (
        pytest.raises(PredictTimeout, match=r"limit of 0\.04 s"),
        TimeLimit(0.02).watch("encode", times=2),
    ):
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
        with limit.watch("asking", times=1000):
            time.sleep(0.06)
        with (
            pytest.raises(PredictTimeout, match=r"judging took longer than the limit of 0"),
            limit.watch("judging"),
        ):
            time.sleep(30)
        with pytest.raises(ZeroDivisionError), limit.watch("asking", times=100):
            raise ZeroDivisionError
        with limit.watch("asking", times=20):
            pass
        time.sleep(0.65)  # the alarm of a call that has returned says nothing
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_call_that_keeps_the_alarm_does_not_take_it_from_the_next():
    limit = TimeLimit(0.03)
    with limit.ready():
        with limit.watch("loading", times=1000):
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


class Over(BaseException):
    """The outer of two nested limits has passed."""


def test_a_limit_around_another_rings_in_the_middle_of_it():
    inner, outer = (
        TimeLimit(30.0),
        TimeLimit(0.05, error=lambda what, seconds: Over(f"{what} {seconds:g}")),
    )
    started = time.monotonic()
    with (
        pytest.raises(Over, match=r"all 0\.05"),
        outer.watch("all"),
        suppress(Exception),
        inner.watch("one"),
    ):
        time.sleep(20)
    assert time.monotonic() - started < 15
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_limit_around_others_counts_through_all_of_them():
    inner, outer, calls = TimeLimit(30.0), TimeLimit(0.3, error=lambda what, _: Over(what)), []

    def call():
        while len(calls) < 2000:
            calls.append(1)
            with suppress(Exception), inner.watch("one"):
                time.sleep(0.01)

    with pytest.raises(Over), outer.watch("all"):
        call()
    assert 0 < len(calls) < 500


def test_a_limit_within_another_rings_first_when_it_is_shorter_and_the_other_goes_on():
    inner, outer = TimeLimit(0.02), TimeLimit(0.2, error=lambda what, _: Over(what))

    def call():
        with pytest.raises(PredictTimeout), inner.watch("one"):
            time.sleep(20)
        time.sleep(20)

    with pytest.raises(Over), outer.watch("all"):
        call()


def test_a_limit_within_one_that_has_returned_still_rings():
    outer, inner = TimeLimit(0.5), TimeLimit(0.6)
    with outer.ready():
        with outer.watch("before"):
            pass
        with pytest.raises(PredictTimeout, match="one"), inner.watch("one"):
            time.sleep(20)


def test_the_deadline_around_another_is_published_again_after_it():
    deadline = SimpleNamespace(value=0.0, what="")
    outer = TimeLimit(10.0, deadline, grace_s=1.0, clock=lambda: 100.0)
    inner = TimeLimit(3.0, deadline, grace_s=1.0, clock=lambda: 102.0)
    late = TimeLimit(30.0, deadline, grace_s=1.0, clock=lambda: 102.0)
    with outer.watch("all"):
        with inner.watch("one"):
            assert (deadline.what, deadline.value) == ("one", 106.0)
        assert (deadline.what, deadline.value) == ("all", 111.0)
        with late.watch("one"):
            assert deadline.value == 111.0
    assert deadline.value == 0.0
