"""What an organiser writes is read with errors that name the field; a participant sees no secret of it."""

import json
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from repository import ROOT

from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena.protocol.challenge_info import ChallengeInfo
from segarena_server.challenges.description import (
    ChallengeDescription,
    Phase,
    challenge_text,
    read_challenge,
)
from segarena_server.challenges.run_plan import challenge_info, participant_plan, public_user_name

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
PLAIN = {
    "slug": "spring-clicks",
    "title": "Clicks in spring",
    "benchmark": "clicks(rounds=7)",
    "dataset": "demo",
    "phases": [
        {"name": "practice", "kind": "practice"},
        {"name": "final", "seed": 271828, "dataset": "phantom"},
    ],
}


def test_what_is_written_is_read_again():
    full = ChallengeDescription(
        slug="a",
        title="A",
        text="B",
        benchmark="davis",
        dataset="demo-videos",
        phases=(
            Phase(
                name="p",
                opens=NOON,
                closes=NOON + timedelta(days=1),
                seconds_per_answer=2.0,
                bank_s=3.5,
                seed=2**62,
            ),
            Phase(name="q", kind="practice", shows="board", decimals=0, late="finish"),
        ),
        is_public=False,
        frozen=NOON,
    )
    assert read_challenge(challenge_text(full)) == full


WRONG = {
    "slug": ({"slug": "Spring!"}, r"^slug: expected `str` matching"),
    "unknown": ({"sulg": 1}, r"^challenge: .*sulg"),
    "no phases": ({"phases": []}, r"^phases: expected `array` of length >= 1"),
    "missing": ({"benchmark": None}, r"^benchmark: expected `str`, got `null`"),
    "number": (
        {"phases": [{"name": "a", "runs_per_day": 0}]},
        r"^phases\[0\]\.runs_per_day: expected `int` >= 1",
    ),
    "kind": (
        {"phases": [{"name": "a", "kind": "exam"}]},
        r"^phases\[0\]\.kind: invalid enum value 'exam'",
    ),
    "no offset": (
        {"phases": [{"name": "a", "opens": "2026-05-01T12:00:00"}]},
        r"^phases\[0\]\.opens: .*timezone",
    ),
    "twice": (
        {"phases": [{"name": "a"}, {"name": "a"}]},
        r"^phases\[0\]\.name: expected different names",
    ),
    "backwards": (
        {
            "phases": [
                {"name": "a", "opens": "2026-05-02T12:00:00Z", "closes": "2026-05-01T12:00:00Z"}
            ]
        },
        r"^phases\[0\]\.closes: expected a time after opens",
    ),
    "bank": (
        {"phases": [{"name": "a", "bank_s": 3}]},
        r"^phases\[0\]\.bank_s: needs seconds_per_answer",
    ),
    "plug-in": ({"benchmark": "clicks(rounds="}, r"^benchmark: .*expected NAME"),
    "pool": (
        {"phases": [{"name": "a", "dataset": "demo)"}]},
        r"^phases\[0\]\.dataset: .*expected NAME",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    changed, expected = WRONG[name]
    with pytest.raises(InvalidInput, match=expected):
        read_challenge(json.dumps({**PLAIN, **changed}))


@pytest.mark.parametrize("text", ["", "[]", "{", b"\xff", "[" * 100_000])
def test_what_is_no_description_is_refused(text):
    with pytest.raises(InvalidInput):
        read_challenge(text)


def test_a_phase_opens_and_closes():
    phase = Phase(name="a", opens=NOON, closes=NOON + timedelta(hours=1))
    moments = [NOON + timedelta(minutes=minutes) for minutes in (-1, 0, 59, 60)]
    assert [phase.is_open(moment) for moment in moments] == [False, True, True, False]
    assert [phase.is_closed(moment) for moment in moments] == [False, False, False, True]
    assert Phase(name="b").is_open(NOON)


def test_a_participant_sees_the_rules_and_no_secret():
    text = msgspec.json.encode(challenge_info(read_challenge(json.dumps(PLAIN))))
    assert b"271828" not in text
    assert b"phantom" not in text
    found = msgspec.json.decode(text, type=ChallengeInfo)
    assert found.benchmark == "clicks(rounds=7)"
    assert [(phase.name, phase.rounds, phase.sample_kind) for phase in found.phases] == [
        ("practice", 7, "image"),
        ("final", 7, "image"),
    ]
    assert [(user.name, user.prompt_kinds) for user in found.users] == [("centre", ["click"])]
    assert found.phases[0].seconds_per_object is None


def test_the_page_says_what_every_field_means():
    page = (ROOT / "docs" / "organising.md").read_text(encoding="utf-8")
    rows = "\n".join(
        line.partition("|")[2].partition("|")[0]
        for line in page.splitlines()
        if line.startswith("| `")
    )
    fields = {*ChallengeDescription.__struct_fields__, *Phase.__struct_fields__}
    assert {name for name in fields if f"`{name}`" not in rows} == set()


def test_files_of_the_server_are_not_shown(tmp_path):
    (tmp_path / "clicks.csv").write_text("")
    written = f"rclicks(clicks={str(tmp_path / 'clicks.csv')!r}, click_model=\"network(path='/x/w.pt')\", groups=2)"
    assert (
        challenge_info(read_challenge(json.dumps({**PLAIN, "benchmark": written}))).benchmark
        == "rclicks(groups=2)"
    )


def test_limits_of_a_phase_are_rules_of_its_runs():
    challenge = ChallengeDescription(
        slug="a",
        title="A",
        benchmark="davis(rounds=8)",
        dataset="demo-videos",
        phases=(Phase(name="a", rounds=3, seconds_per_object=5.0, seed=9), Phase(name="b")),
    )
    limited, free = (participant_plan(challenge, phase) for phase in challenge.phases)
    assert (
        limited.benchmark.rounds,
        limited.benchmark.budget.seconds_per_object,
        limited.seed,
    ) == (3, 5.0, 9)
    assert limited.benchmark.options["seconds_per_object"] == 5.0
    assert (free.benchmark.rounds, free.benchmark.budget.seconds_per_object) == (8, 240.0)
    clicks = participant_plan(
        read_challenge(json.dumps(PLAIN)), Phase(name="c", seconds_per_object=1.5)
    )
    assert clicks.benchmark.budget.seconds_per_object == 1.5


@pytest.mark.parametrize("changed", [{"slug": "spring\n"}, {"phases": [{"name": "final\n"}]}])
def test_a_line_does_not_end_within_a_name(changed):
    with pytest.raises(InvalidInput, match="regex"):
        read_challenge(json.dumps({**PLAIN, **changed}))


def test_an_option_may_be_longer_than_any_name_of_a_file():
    written = f"centre(note={'x' * 300!r})"
    assert public_user_name(PluginSpec.of(written)) == written
