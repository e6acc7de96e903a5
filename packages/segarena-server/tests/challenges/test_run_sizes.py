"""Samples of a run and ranked runs are chosen so that a pool lasts."""

import pytest

from segarena.errors import InvalidInput
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.run_sizes import (
    run_sizes,
    warnings_about_ranks,
    with_known_run_sizes,
    with_run_sizes,
)


def describe(*phases):
    return ChallengeDescription(
        slug="c", title="C", benchmark="clicks", dataset="pool", phases=phases
    )


def chosen(samples, *phases):
    sized = with_run_sizes(describe(*phases), {"pool": samples})
    return [(phase.ranked_runs, phase.samples_per_run) for phase in sized.phases]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (300, (10, 30)),
        (1000, (10, 100)),
        (100, (3, 33)),
        (59, (1, 59)),
        (3, (1, 3)),
        (1, (1, 1)),
    ],
)
def test_a_default_phase_has_at_most_ten_ranked_runs_of_at_least_thirty(samples, expected):
    assert chosen(samples, Phase(name="a")) == [expected]


def test_numbers_of_the_organiser_stay():
    assert chosen(300, Phase(name="a", samples_per_run=20)) == [(15, 20)]
    assert chosen(300, Phase(name="a", ranked_runs=5)) == [(5, 60)]
    assert chosen(300, Phase(name="a", samples_per_run=20, ranked_runs=2)) == [(2, 20)]
    assert chosen(3, Phase(name="a", samples_per_run=9)) == [(1, 9)]


def test_test_phases_share_a_pool():
    assert chosen(300, Phase(name="a"), Phase(name="b")) == [(5, 30), (5, 30)]
    first = Phase(name="a", samples_per_run=50, ranked_runs=3)
    assert chosen(300, first, Phase(name="b")) == [(3, 50), (5, 30)]
    practice = Phase(name="p", kind="practice")
    assert chosen(300, practice, Phase(name="b")) == [(None, None), (10, 30)]


def test_a_phase_of_programs_alone_uses_no_samples_up():
    programs = Phase(name="a", takes=("worker",))
    assert chosen(300, programs, Phase(name="b")) == [(10, None), (10, 30)]


def test_unlimited_runs_are_about_all_samples_and_come_with_a_warning():
    unlimited = Phase(name="a", unlimited_ranked_runs=True)
    assert chosen(300, unlimited) == [(None, None)]
    (line,) = warnings_about_ranks(describe(unlimited, Phase(name="b")))
    assert line.startswith(
        "a: every run is ranked, even about samples that the team has seen before"
    )


def test_programs_on_the_samples_of_another_test_come_with_a_warning():
    programs = Phase(name="final", takes=("worker",))
    (warning,) = warnings_about_ranks(describe(Phase(name="test"), programs))
    assert warning.startswith("final: its programs use the same samples as test;")
    practice = Phase(name="try", kind="practice", dataset="other")
    elsewhere = Phase(name="test", dataset="other")
    assert warnings_about_ranks(describe(practice, elsewhere, programs)) == []


def test_more_ranked_runs_than_the_samples_last_for_are_refused():
    phase = Phase(name="a", samples_per_run=40, ranked_runs=8)
    expected = r"^phases\[0\]\.ranked_runs: .*300 samples in total, got 8 of 40 in a"
    with pytest.raises(InvalidInput, match=expected):
        chosen(300, phase)
    assert chosen(320, phase) == [(8, 40)]


def test_it_is_said_how_long_the_samples_last():
    phases = (
        Phase(name="final"),
        Phase(name="open", unlimited_ranked_runs=True),
        Phase(name="try", kind="practice", samples_per_run=4),
    )
    sized = with_run_sizes(describe(*phases), {"pool": 300})
    assert [f"{size}" for size in run_sizes(sized, {"pool": 300})] == [
        "final: 300 samples: 10 ranked runs of 30 for each team",
        "open: 300 samples: any number of ranked runs of 300 for each team",
        "try: 300 samples: every run uses the same 4; ranks in a practice phase prove nothing",
    ]


def test_a_phase_with_runs_keeps_what_was_chosen():
    before = with_run_sizes(describe(Phase(name="a"), Phase(name="b")), {"pool": 300})
    after = with_known_run_sizes(before, describe(Phase(name="a"), Phase(name="b")), {"a"})
    kept = [(phase.ranked_runs, phase.samples_per_run) for phase in after.phases]
    assert kept == [(5, 30), (None, None)]
