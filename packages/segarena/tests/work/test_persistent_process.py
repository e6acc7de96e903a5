"""A persistent process: units that arrive one at a time, and a new process after a death or hang."""

import os
import signal
import time

import pytest

from segarena.errors import InvalidInput, UnitDied, UnitHung, WorkersInvalid
from segarena.work.jobs import FactoryJob, FunctionJob, UnitFailure, UnitResult
from segarena.work.persistent_process import PersistentProcess


def answer(unit):
    if unit == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if unit == "hang":
        time.sleep(60)
    if unit == "raise":
        raise InvalidInput("not this")
    return os.getpid(), unit


def cannot_open():
    raise InvalidInput("no such thing")


@pytest.fixture(scope="module")
def standing():
    made = PersistentProcess(FunctionJob(answer), limit_s=60.0)
    yield made
    made.end()


@pytest.mark.long
def test_units_are_done_by_one_process_that_stays(standing):
    standing.end()
    assert standing.number is None
    first, second = standing.do(1), standing.do(2)
    assert isinstance(first, UnitResult)
    assert (first.result, second.result) == ((standing.number, 1), (standing.number, 2))


def test_what_a_unit_raises_is_its_failure_and_the_process_stays(standing):
    before = standing.do(0).result[0]
    failed = standing.do("raise")
    assert isinstance(failed, UnitFailure)
    assert (type(failed.error), str(failed.error), failed.unit) == (
        InvalidInput,
        "not this",
        "raise",
    )
    assert standing.do(0).result[0] == before


@pytest.mark.long
@pytest.mark.parametrize(
    ("unit", "error", "told"),
    [("die", UnitDied, "SIGKILL"), ("hang", UnitHung, "no answer in time")],
)
def test_a_unit_that_does_not_come_back_is_told_and_the_next_is_done(
    standing, monkeypatch, unit, error, told
):
    with monkeypatch.context() as patch:
        # Others are not ended on a busy machine.
        patch.setattr(standing, "_limit_s", 0.8)
        failed = standing.do(unit)
    assert isinstance(failed.error, error)
    assert told in str(failed.error)
    assert standing.do("next").result[1] == "next"


def test_a_process_that_was_killed_between_units_is_replaced(standing):
    os.kill(standing.do(0).result[0], signal.SIGKILL)
    standing._worker.process.join(60)
    assert standing.do("next").result[1] == "next"


def test_somebody_is_called_while_a_unit_is_done(standing):
    calls = []

    def call():
        calls.append(1)
        if len(calls) == 3:
            raise InvalidInput("often enough")

    with pytest.raises(InvalidInput, match="often enough"):
        standing.do("hang", call)
    standing.end()


def test_a_process_that_hangs_before_its_first_unit_says_so(act):
    process = PersistentProcess(act(how_opened="sets a deadline and hangs"), limit_s=60.0)
    with pytest.raises(WorkersInvalid, match=r"hung in native code \(the constructor\)"):
        process.do("pid")
    assert process.number is None


def test_a_job_that_cannot_be_opened_says_so():
    standing = PersistentProcess(FactoryJob(cannot_open), limit_s=1.0)
    with pytest.raises(InvalidInput, match="no such thing"):
        standing.do(1)
