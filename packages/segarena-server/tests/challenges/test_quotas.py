"""Limits of runs: who may begin a run, and messages for others with the reason and the time."""

from datetime import UTC, datetime, timedelta

import pytest

from segarena_server.challenges.description import Phase
from segarena_server.challenges.quotas import RunSpan, may_begin, must_end

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def hours(number):
    return timedelta(hours=number)


def span(begun_h, ended_h=None):
    return RunSpan(
        begun=NOON + hours(begun_h), ended=None if ended_h is None else NOON + hours(ended_h)
    )


CASES = {
    "free": ({}, [span(-5, -4)], None),
    "not open yet": ({"opens": NOON + hours(2)}, [], ("opens at 2026-05-01T14:00:00", 7200.0)),
    "closed": ({"closes": NOON}, [], ("is closed", None)),
    "all used": (
        {"runs_in_all": 2},
        [span(-90, -80), span(-50, -40)],
        ("2 of 2 runs of the phase", None),
    ),
    "one at once": ({}, [span(-90)], ("1 of 1 concurrent runs", None)),
    "two at once": ({"runs_at_once": 2}, [span(-90)], None),
    "today": (
        {"runs_per_day": 2},
        [span(-30, -29), span(-20, -19), span(-3, -2)],
        ("2 of 2 runs in 24", 14400.0),
    ),
    "yesterday": ({"runs_per_day": 1}, [span(-24, -23)], None),
    "lowered since": (
        {"runs_per_day": 1},
        [span(-20, -19), span(-3, -2)],
        ("2 of 1 runs", 75600.0),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_team_may_begin_or_is_told_why_not(name):
    limits, earlier, expected = CASES[name]
    refused = may_begin(Phase(name="final", **limits), earlier, NOON)
    if expected is None:
        assert refused is None
    else:
        assert expected[0] in refused.reason
        assert refused.retry_after_s == expected[1]


def test_what_is_not_over_ends_with_the_phase_or_may_be_finished():
    strict, kind = (Phase(name="a", closes=NOON, late=late) for late in ("refuse", "finish"))
    assert [must_end(phase, NOON) for phase in (strict, kind)] == [True, False]
    assert not must_end(strict, NOON - hours(1))
