"""A field of a phase is described once, and appears in options, forms, rules and docs."""

import re
from typing import Annotated

import msgspec
import pytest
import typer
from repository import ROOT
from typer.main import get_command
from typer.testing import CliRunner

from segarena.protocol.challenge_info import PhaseInfo, PhaseRules
from segarena.protocol.field_description import FieldDescription
from segarena_server.challenges.allowed_changes import forbidden_changes
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.form_fields import form_texts, parse_form
from segarena_server.challenges.phase_fields import (
    fixed_fields,
    form_inputs,
    phase_fields,
    phase_rules,
    phase_table,
    with_phase_options,
)
from segarena_server.challenges.run_plan import challenge_info
from segarena_server.commands import challenge as challenge_commands

NEW = (
    "patience",
    Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=40)],
        FieldDescription(
            label="Patience of the user",
            meaning="Rounds that the user waits",
            is_fixed=True,
            rule="The user waits for {}.",
            noun="round",
        ),
    ],
    3,
)
Wider = msgspec.defstruct("Wider", [NEW], bases=(Phase,), frozen=True, kw_only=True)
DOCS = ROOT / "docs"


def option_names(phase_type):
    app = typer.Typer()

    @app.command()
    @with_phase_options(phase_type)
    def new(name: str, *, phase_options: dict[str, str]) -> None:
        typer.echo(f"{name} {phase_options}")

    help_text = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke(app, ["--help"]).stdout
    return app, help_text


def test_an_added_field_is_an_option():
    app, help_text = option_names(Wider)
    (line,) = [line for line in help_text.splitlines() if "--patience" in line]
    # Older versions of typer write INTEGER.
    assert "<int>" in line or "INTEGER" in line
    assert "Rounds that the user waits." in line
    assert "[default: 3]" in line
    assert "'patience': '7'" in CliRunner().invoke(app, ["a", "--patience", "7"]).stdout


def test_an_added_field_is_on_the_form(working, monkeypatch):
    organiser = working.person("Olga of fields", "organiser")
    assert "patience" not in organiser.get("/organise/new").text
    monkeypatch.setattr(
        "segarena_server.pages.challenge_form.form_inputs", lambda: form_inputs(Wider)
    )
    page = organiser.get("/organise/new").text
    assert re.search(r'Patience of the user <input name="phases\[0\]\.patience"', page)
    assert "Rounds that the user waits. Empty: 3." in page


def test_an_added_field_is_parsed_from_a_form(monkeypatch):
    monkeypatch.setattr("segarena_server.challenges.form_fields.Phase", Wider)
    texts = {"slug": "a", "title": "A", "benchmark": "clicks", "dataset": "demo"}
    parsed = parse_form({**texts, "phases[0].name": "a", "phases[0].patience": "0"})
    assert parsed.faults == {"phases[0].patience": "expected a whole number >= 1"}


def test_an_added_field_is_a_rule_and_in_the_docs():
    rules = {rule.topic: rule.text for rule in phase_rules(Wider(name="a", patience=2), Wider)}
    assert rules["Patience of the user"] == "The user waits for 2 rounds."
    row = "| `patience` | `3` | a whole number >= 1, <= 40 | Rounds that the user waits |"
    assert row in phase_table(Wider)


def test_an_added_field_is_fixed_when_it_says_so():
    assert set(fixed_fields(Wider)) - set(fixed_fields()) == {"patience"}


def test_a_field_without_a_description_is_refused():
    bare = msgspec.defstruct(
        "Bare", [("patience", int, 3)], bases=(Phase,), kw_only=True, frozen=True
    )
    with pytest.raises(TypeError, match=r"^patience: expected a FieldDescription"):
        phase_fields(bare)


def test_the_command_has_an_option_for_each_field():
    command = get_command(challenge_commands.app).commands["new"]
    options = {name for parameter in command.params for name in parameter.opts}
    missing = {field.name for field in phase_fields() if f"--{field.option}" not in options}
    # The dataset of a single phase is that of the challenge; a seed on a command line would not stay secret.
    assert missing == {"seed"}
    assert not any(field.description.in_options for field in phase_fields() if field.name == "seed")


def test_options_forms_files_and_docs_have_the_same_defaults(working):
    from_file = msgspec.convert({"name": "test"}, Phase)
    command = get_command(challenge_commands.app).commands["new"]
    defaults = {
        parameter.opts[0].removeprefix("--"): parameter.default for parameter in command.params
    }
    by_options = {
        f"phases[0].{field.name}": "" if (text := defaults[field.option]) is None else str(text)
        for field in phase_fields()
        if field.description.in_options
    }
    about = {"slug": "a", "title": "A", "benchmark": "clicks", "dataset": "demo"}
    lower = {name: text.lower() for name, text in by_options.items()}
    assert parse_form({**about, **lower}).challenge.phases == (from_file,)
    organiser = working.person("Olga of defaults", "organiser")
    page = organiser.get("/organise/new").text
    shown = dict(re.findall(r'<input name="(phases\[0\]\.\w+)"[^>]*? value="([^"]*)"', page))
    for name, choices in re.findall(
        r'<select name="(phases\[0\]\.\w+)".*?>(<option.*?)</select>', page
    ):
        shown[name] = re.search(r'value="([^"]*)" selected', choices)[1]
    assert set(shown) == {f"phases[0].{each.name}" for each in form_inputs()}
    assert parse_form({**about, **shown}).challenge.phases == (from_file,)
    assert phase_table() in (DOCS / "organising.md").read_text(encoding="utf-8")


def test_participants_see_all_rules_of_a_phase():
    assert set(PhaseRules.__struct_fields__) <= set(PhaseInfo.__struct_fields__)
    phase = Phase(name="a", ladder=True, runs_per_day=4, seconds_per_answer=1.5, bank_s=3.0)
    challenge = ChallengeDescription(
        slug="a", title="A", benchmark="clicks", dataset="demo", phases=(phase,)
    )
    (info,) = challenge_info(challenge).phases
    for name in set(PhaseRules.__struct_fields__) - {"rounds"}:
        assert getattr(info, name) == getattr(phase, name)
    text = " ".join(f"{rule.topic}. {rule.text}" for rule in phase_rules(info))
    assert "Runs. Your team may start 4 runs in 24 hours. The total number of your team" in text
    assert "Each answer may take 1.5 s per object. Slower answers use up a reserve of 3 s" in text
    assert "Ladder. A run counts, and its scores are shown, when it is better" in text
    assert "At the end" not in text


def test_texts_of_a_phase_without_a_bank_have_no_rule_about_it():
    text = " ".join(rule.text for rule in phase_rules(Phase(name="a", seconds_per_answer=2.0)))
    assert "reserve" not in text


def test_the_pool_counts_and_not_how_a_phase_names_it():
    before = ChallengeDescription(
        slug="a", title="A", benchmark="clicks", dataset="demo", phases=(Phase(name="a"),)
    )
    phase = msgspec.structs.replace(before.phases[0], dataset="demo")
    after = msgspec.structs.replace(before, phases=(phase,))
    assert forbidden_changes(before, after, {"a"}) == {}
    assert form_texts(after)["phases[0].dataset"] == "demo"


def test_a_practice_says_nothing_of_ranks():
    assert "Ranked" in {rule.topic for rule in phase_rules(Phase(name="final"))}
    assert "Ranked" not in {rule.topic for rule in phase_rules(Phase(name="try", kind="practice"))}
