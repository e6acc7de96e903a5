"""Allowed changes of a challenge that has runs, and their description."""

from datetime import UTC, datetime

import msgspec
import pytest

from segarena_server.challenges.allowed_changes import describe_changes, forbidden_changes
from segarena_server.challenges.description import ChallengeDescription, Phase

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
FINAL = Phase(name="final", seed=7, runs_per_day=2, rounds=5)
BEFORE = ChallengeDescription(
    slug="c",
    title="C",
    benchmark="clicks",
    dataset="demo",
    phases=(Phase(name="practice", kind="practice", seed=3), FINAL),
)


def changed(phase=None, **values):
    final = msgspec.structs.replace(FINAL, **(phase or {}))
    return msgspec.structs.replace(BEFORE, phases=(BEFORE.phases[0], final), **values)


@pytest.mark.parametrize(
    "after",
    [
        changed(title="D", text="E", is_public=False, frozen=NOON),
        changed(
            {"opens": NOON, "closes": NOON, "runs_per_day": 9, "runs_in_all": 3, "runs_at_once": 2}
        ),
        changed({"shows": "board", "decimals": 3, "late": "finish"}),
    ],
)
def test_dates_texts_limits_of_runs_and_what_is_shown_change_at_any_time(after):
    assert forbidden_changes(BEFORE, after, {"final"}) == {}
    assert describe_changes(BEFORE, after)


@pytest.mark.parametrize(
    ("after", "field"),
    [
        (changed({"rounds": 6}), "phases[1].rounds"),
        (changed({"seed": 8}), "phases[1].seed"),
        (changed({"kind": "practice"}), "phases[1].kind"),
        (changed({"ladder": False}), "phases[1].ladder"),
        (changed({"seconds_per_object": 3.0}), "phases[1].seconds_per_object"),
        (changed({"dataset": "phantom"}), "phases[1].dataset"),
        (changed(benchmark="clicks(rounds=3)"), "benchmark"),
        (changed(dataset="phantom"), "dataset"),
        (changed({"name": "last"}), "phases"),
        (msgspec.structs.replace(BEFORE, phases=BEFORE.phases[:1]), "phases"),
    ],
)
def test_what_judges_runs_stays_once_there_is_one(after, field):
    assert set(forbidden_changes(BEFORE, after, {"final"})) == {field}
    assert forbidden_changes(BEFORE, after, set()) == {}


def test_a_phase_without_runs_may_change_while_another_has_some():
    other = msgspec.structs.replace(BEFORE.phases[0], kind="test", rounds=9, dataset="phantom")
    after = msgspec.structs.replace(BEFORE, phases=(FINAL, other))
    assert forbidden_changes(BEFORE, after, {"final"}) == {}


def test_a_change_is_told_in_words_and_without_seeds():
    told = describe_changes(BEFORE, changed({"closes": NOON, "runs_per_day": None, "seed": 99}))
    assert told == ["phases[1].closes: – → 2026-05-01T12:00:00", "phases[1].runs_per_day: 2 → –"]
