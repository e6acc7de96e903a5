"""Sentences of reports about single runs."""

import pytest

from segarena.reports.recorded_run import read_runs
from segarena.reports.wording import empty_text, seconds_text


@pytest.mark.parametrize(
    ("metrics", "text"), [([], "a challenge server scored the masks"), (None, "")]
)
def test_a_run_without_metrics_was_scored_by_a_server(make_run, make_ramps, metrics, text):
    changes = {} if metrics is None else {"metrics": metrics}
    (run,) = read_runs([make_run(make_ramps(), **changes)])
    assert text in empty_text(run)
    assert bool(empty_text(run)) == bool(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.99949, "999 ms"),
        (0.9995, "1 s"),
        (999.4, "999 s"),
        (999.5, "1000 s"),
        (123456.7, "123457 s"),
    ],
)
def test_seconds_are_never_written_with_an_exponent(seconds, text):
    assert seconds_text(seconds) == text
