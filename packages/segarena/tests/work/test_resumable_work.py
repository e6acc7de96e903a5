"""Finished units are not repeated, failed ones are."""

import pytest

from segarena.errors import UnitFailed
from segarena.work.executors import make_executor
from segarena.work.ledger import Ledger
from segarena.work.resumable_work import do_pending

UNITS = {"a": "raises", "b": 2, "c": 3}


@pytest.fixture
def go(act, tmp_path):
    def work(units, workers=0, **options):
        with Ledger(tmp_path / "done.jsonl", {}) as ledger:
            return do_pending(act(), units, ledger, make_executor(workers), **options), ledger.done

    return work


@pytest.mark.parametrize("workers", [0, 2])
def test_failed_units_are_tried_again_and_done_ones_are_not(go, workers):
    failures, done = go(UNITS, workers=workers)
    assert done == {"b": 2, "c": 3}
    assert isinstance(failures["a"], UnitFailed)
    assert go({"a": 1, "b": "raises", "c": "raises"}, workers=workers) == (
        {},
        {"b": 2, "c": 3, "a": 1},
    )


def test_progress_counts_what_was_done_before_and_what_failed(go):
    seen = []
    go({"b": 2})
    go(
        UNITS,
        on_progress=lambda state: seen.append(
            (state.done, state.units, state.resumed, state.failures)
        ),
    )
    assert seen == [(1, 3, 1, 0), (2, 3, 1, 1), (3, 3, 1, 1)]
