"""A challenge in a form: every invalid field is named, and valid content is preserved."""

from datetime import UTC, datetime, timedelta

import pytest

from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.form_fields import MAX_PHASES, form_texts, parse_form

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TEXTS = {
    "slug": "spring",
    "title": "Spring",
    "benchmark": "clicks(rounds=7)",
    "dataset": "demo",
    "phases[0].name": "practice",
    "phases[0].kind": "practice",
    "phases[1].name": "final",
    "phases[1].closes": "2026-07-01T12:00",
    "phases[1].runs_per_day": "3",
    "phases[1].seconds_per_answer": "2.5",
    "phases[1].ladder": "true",
}


def test_what_is_filled_in_is_a_challenge():
    filled = parse_form(TEXTS, zone="Europe/Berlin", seeds={"final": 5})
    assert filled.faults == {}
    practice, final = filled.challenge.phases
    assert (practice.kind, practice.runs_per_day, practice.ladder) == ("practice", None, True)
    assert final.closes == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert (final.runs_per_day, final.seconds_per_answer, final.ladder, final.seed) == (
        3,
        2.5,
        True,
        5,
    )


def test_every_wrong_field_is_named():
    wrong = {
        "slug": "Spring!",
        "title": " ",
        "phases[0].kind": "exam",
        "phases[0].name": "",
        "phases[1].closes": "soon",
        "phases[1].runs_per_day": "many",
        "phases[1].decimals": "9",
        "phases[1].seconds_per_answer": "-1",
        "frozen": "2026-03-29T02:30",
        "is_public": "perhaps",
    }
    filled = parse_form(TEXTS | wrong, zone="Europe/Berlin")
    assert filled.challenge is None
    assert set(filled.faults) == set(wrong)
    assert filled.faults["phases[1].runs_per_day"] == "expected a whole number"
    assert filled.faults["phases[1].decimals"] == "expected a whole number <= 6"
    assert "because clocks change in Europe/Berlin" in filled.faults["frozen"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"phases[1].name": "practice"}, "phases[0].name"),
        ({"phases[1].opens": "2026-08-01"}, "phases[1].closes"),
        ({"phases[0].bank_s": "3"}, "phases[0].bank_s"),
        ({"benchmark": "clicks("}, "benchmark"),
        ({"phases[1].closes": "2026-07-01T12:00", "zone": "x"}, None),
    ],
)
def test_fields_that_do_not_fit_together_are_named(wrong, field):
    assert set(parse_form(TEXTS | wrong).faults) == ({field} if field else set())


@pytest.mark.parametrize(
    "zone", ["Berlin", "../etc/passwd", "", "/etc/localtime", "x" * 5000, "\0"]
)
def test_a_zone_that_is_none_is_told_beside_the_moment(zone):
    assert set(parse_form(TEXTS, zone=zone).faults) == {"phases[1].closes"}


@pytest.mark.parametrize(
    "text",
    ["", "0001-01-01T00:00", "9999-12-31T23:59:59", "2026-13-01", "2026-10-25T02:30", "9" * 40],
)
def test_moments_that_cannot_be_are_refused(text):
    faults = parse_form(TEXTS | {"phases[1].closes": text}, zone="Europe/Berlin").faults
    assert set(faults) == ({"phases[1].closes"} if text else set())


def test_more_phases_than_a_form_holds_are_not_lost_without_a_word():
    more = TEXTS | {f"phases[{number}].name": f"p{number}" for number in range(MAX_PHASES + 1)}
    assert "13" in parse_form(more).faults["phases"]


def test_what_is_there_comes_back_the_same():
    full = ChallengeDescription(
        slug="a",
        title="A",
        text="B\n\nC",
        benchmark="davis",
        dataset="demo-videos",
        phases=(
            Phase(
                name="p",
                opens=NOON,
                closes=NOON + timedelta(days=1),
                seconds_per_answer=1234567.25,
                bank_s=3.5,
            ),
            Phase(
                name="q",
                kind="practice",
                shows="board",
                decimals=0,
                late="finish",
                ladder=True,
                dataset="phantom",
            ),
        ),
        is_public=False,
        frozen=NOON + timedelta(seconds=7),
    )
    assert parse_form(form_texts(full)).challenge == full
