"""`segarena join`: terms and approval from the participant's side, against the real server."""

import msgspec
import pytest
from real import at_work, describe, lay, token_of
from typer.testing import CliRunner

import segarena
from segarena.cli.main import app
from segarena.errors import RemoteError


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    described = describe("photos", "clicks(rounds=2)", "sample-squares(count=1)")
    closed = msgspec.structs.replace(described, terms="Be *fair*.", approves_teams=True)
    site = lay(tmp_path_factory.mktemp("server") / "data", closed)
    with at_work(site) as address:
        yield site, f"{address}/challenges/photos"
    site.database.close()


def run(*words, code=0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


@pytest.mark.long
def test_a_run_says_in_one_line_what_to_do_and_join_does_it(server, tmp_path, monkeypatch):
    site, challenge = server
    monkeypatch.setenv("SEGARENA_TOKEN", token_of(site, "ann"))
    take_part = {"challenge": challenge, "segmenter": "watershed", "out": tmp_path / "mine"}
    with pytest.raises(RemoteError) as refused:
        segarena.evaluate(**take_part)
    assert str(refused.value).endswith(f"segarena join: segarena join {challenge}")
    assert "accept the terms of photos first" in str(refused.value)
    assert "\n" not in str(refused.value)
    shown = run("join", challenge, code=2)
    assert "Be *fair*." in shown
    assert "--accept 1" in shown
    assert "conflict" not in run("join", challenge, "--accept", 2, code=2)
    shown = run("join", challenge, "--accept", 1, "--message", "We are a lab.", code=1)
    assert "the organisers have your request" in shown
    with pytest.raises(RemoteError, match="have not decided about your team yet"):
        segarena.evaluate(**take_part)
    data = str(site.folder.path)
    decide = ("challenge", "teams", "photos", "--data", data)
    assert "We are a lab." in run(*decide)
    assert "reason: expected a reason" in run(*decide, "--decline", "ann", code=2)
    assert "declined" in run(*decide, "--decline", "ann", "--reason", "who are you?")
    assert "your earlier request was declined: who are you?" in run("join", challenge, code=1)
    assert "approved" in run(*decide, "--approve", "ann")
    assert "you can take part" in run("join", challenge)
    assert segarena.evaluate(**take_part).is_complete


@pytest.mark.long
def test_terms_and_approval_are_options_of_a_new_challenge(tmp_path):
    terms = tmp_path / "terms.md"
    terms.write_text("Be *fair*.\n")
    data = ("--data", tmp_path / "data")
    new = ("challenge", "new", "films", "--terms", terms, "--approve-teams", *data)
    run(*new, "--dataset", "sample-squares(count=1)")
    shown = run("challenge", "show", "films", *data)
    assert '"terms": "Be *fair*."' in shown
    assert '"approves_teams": true' in shown
    assert "No team has asked" in run("challenge", "teams", "films", *data)
