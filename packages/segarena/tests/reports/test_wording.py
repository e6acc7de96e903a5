"""Sentences of reports about single runs."""

import pytest

from segarena.reports.recorded_run import read_runs
from segarena.reports.wording import empty_text


@pytest.mark.parametrize(
    ("metrics", "text"), [([], "a challenge server scored the masks"), (None, "")]
)
def test_a_run_without_metrics_was_scored_by_a_server(make_run, make_ramps, metrics, text):
    changes = {} if metrics is None else {"metrics": metrics}
    (run,) = read_runs([make_run(make_ramps(), **changes)])
    assert text in empty_text(run)
    assert bool(empty_text(run)) == bool(text)
