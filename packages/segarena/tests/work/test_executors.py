"""Every executor processes every unit once, and an error in one unit affects only that unit."""

import pytest

from segarena.errors import InvalidInput, InvalidMask, StoreError, UnitFailed
from segarena.work.executors import make_executor
from segarena.work.jobs import UnitResult


def do(job, units, workers, **options):
    """Return results, and errors, by unit."""
    outcomes = list(make_executor(workers).map(job, units, **options))
    assert len(outcomes) == len(units)
    return {one.unit: one.result if isinstance(one, UnitResult) else one.error for one in outcomes}


@pytest.mark.parametrize("workers", [0, 2])
def test_what_a_unit_does_wrong_costs_that_unit(act, workers):
    units = ["raises", "refuses", "awkward", "sys.exit", 1, 2, 3]
    found = do(act(), units, workers)
    assert list(found) == units or workers
    assert {unit: found[unit] for unit in (1, 2, 3)} == {1: 1, 2: 2, 3: 3}
    assert (type(found["raises"]), str(found["raises"])) == (
        UnitFailed,
        "ZeroDivisionError: integer division or modulo by zero",
    )
    assert (type(found["refuses"]), str(found["refuses"])) == (InvalidMask, "no mask there")
    assert str(found["awkward"]) == "Awkward: (its message cannot be shown)"
    assert str(found["sys.exit"]) == "SystemExit: 3"


@pytest.mark.parametrize("workers", [0, 1])
def test_nothing_goes_on_when_nothing_can_be_kept(act, workers):
    with pytest.raises(StoreError, match="the disk is full"):
        do(act(), ["disk full", 1], workers)


@pytest.mark.parametrize("workers", [0, 3])
def test_no_units_are_no_work(act, tmp_path, workers):
    assert do(act(flag=str(tmp_path / "flag")), [], workers) == {}
    assert workers == 0 or not list(tmp_path.iterdir())


@pytest.mark.parametrize("workers", [0, 2])
def test_a_unit_is_asked_for_when_somebody_has_nothing_to_do(act, workers):
    asked = []
    outcomes = make_executor(workers).map(act(), (asked.append(unit) or unit for unit in range(50)))
    for count, _ in enumerate(outcomes, start=1):
        assert len(asked) <= count + workers
    assert asked == list(range(50))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_job_that_cannot_be_opened_ends_the_work(act, workers):
    with pytest.raises(InvalidMask, match="no mask there"):
        do(act(how_opened="refuses"), [1], workers)


def test_fewer_than_no_workers_are_refused():
    with pytest.raises(InvalidInput, match="workers must be 0 or more, got -1"):
        make_executor(-1)
