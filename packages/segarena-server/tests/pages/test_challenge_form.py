"""A challenge created and changed by forms alone, without scripts."""

import re
import time
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from sqlalchemy import select

from segarena_server.challenges.challenge_management import existing_challenge, make_challenge
from segarena_server.challenges.challenge_repository import description_of
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import AuditEvent, Job

SOON = datetime(2029, 5, 1, tzinfo=UTC)
PAST = datetime(2020, 5, 1, tzinfo=UTC)
FORM = {
    "slug": "spring",
    "title": "Spring",
    "text": "One.\r\n\r\nTwo.",
    "benchmark": "clicks(rounds=2)",
    "dataset": "sample-squares(count=3)",
    "zone": "Europe/Berlin",
    "is_public": "true",
    "practice_may_reveal_test": "true",
    "phases[0].name": "practice",
    "phases[0].kind": "practice",
    "phases[0].samples_per_run": "2",
    "phases[1].name": "final",
    "phases[1].closes": "2030-07-01T12:00",
    "phases[1].shows": "own",
    "phases[1].ladder": "true",
}


@pytest.fixture(scope="module")
def organiser(working):
    return working.person("Olga", "organiser")


def key_of(client):
    return re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/organise/new").text)[1]


def post(client, path, **form):
    return client.post(path, data={**form, "key": key_of(client)})


def done(client, answer):
    """Follow a response to its draft, and return the page once its jobs are done."""
    assert answer.status_code == 303, answer.text
    for _ in range(1200):
        page = client.get(answer.headers["location"])
        if "refresh" not in page.headers:
            return page
        time.sleep(0.05)
    raise AssertionError(page.text)


def fault_beside(page, field):
    """Return the error next to a field."""
    found = re.search(rf'id="{re.escape(field)}-fault">([^<]*)<', page.text)
    return found and found[1]


@pytest.mark.long
def test_a_challenge_is_looked_at_and_made(working, organiser):
    look = done(organiser, post(organiser, "/organise/new", do="look", **FORM))
    assert "Nothing has been created yet" in look.text
    assert re.search(r"<td>practice</td>.*?<td>final</td>", look.text, re.DOTALL)
    assert organiser.get("/challenges/spring").status_code == 404
    again = organiser.get(re.search(r'href="(/organise/new\?draft=\d+)"', look.text)[1])
    assert 'value="clicks(rounds=2)"' in again.text
    assert 'value="2030-07-01T10:00:00"' in again.text
    made = done(organiser, post(organiser, str(look.url.path), do="make"))
    assert re.search(r"spring: \d+ samples, \d+ dialogues", made.text)
    described = description_of(existing_challenge(working.site, "spring"))
    assert [phase.name for phase in described.phases] == ["practice", "final"]
    assert described.phases[1].closes.isoformat() == "2030-07-01T12:00:00+02:00"
    assert described.text == "One.\n\nTwo."
    assert all(phase.seed for phase in described.phases)
    assert organiser.get("/challenges/spring").status_code == 200
    with working.site.database.reading() as session:
        event = session.scalars(
            select(AuditEvent).where(
                AuditEvent.action == "challenge made", AuditEvent.about == "spring"
            )
        ).one()
        assert event.person_id is not None


@pytest.mark.parametrize(
    ("wrong", "field", "told"),
    [
        ({"slug": "Spring!"}, "slug", "lower case"),
        ({"title": ""}, "title", "required"),
        ({"phases[1].closes": "soon"}, "phases[1].closes", "expected a date"),
        ({"zone": "Mars"}, "phases[1].closes", "time zone"),
        ({"phases[0].runs_per_day": "0"}, "phases[0].runs_per_day", "whole number"),
        ({"benchmark": "nothing"}, "benchmark", "installed"),
        ({"benchmark": "clicks(rounds='x')"}, "benchmark", "rounds"),
        ({"dataset": "folder(path='/etc')"}, "dataset", "expected files"),
        ({"dataset": "evil.py:Evil"}, "dataset", "installed"),
        ({"phases[1].name": "practice"}, "phases[0].name", "differ"),
        ({"title": "<script>alert(1)</script>", "slug": ""}, "slug", "required"),
    ],
)
def test_what_is_wrong_is_told_beside_its_field_and_the_rest_stays(organiser, wrong, field, told):
    page = post(organiser, "/organise/new", do="look", **{**FORM, "slug": "other", **wrong})
    assert page.status_code == 422
    assert told in fault_beside(page, field)
    assert 'value="2030-07-01T12:00"' in page.text or "phases[1].closes" in wrong
    assert "<script>alert" not in page.text


def test_all_that_is_wrong_is_told_at_once(organiser):
    wrong = {"slug": "Bad Name", "benchmark": "nothing", "phases[1].dataset": "folder(path='/etc')"}
    page = post(organiser, "/organise/new", do="look", **{**FORM, **wrong})
    assert all(fault_beside(page, field) for field in wrong)
    assert "3 fields are not valid yet" in page.text


def test_phases_are_added_and_taken_out(organiser):
    page = post(organiser, "/organise/new", do="add", **FORM)
    assert page.status_code == 200
    assert 'name="phases[2].name"' in page.text
    page = post(organiser, "/organise/new", do="without-0", **FORM)
    assert 'name="phases[1].name"' not in page.text
    assert re.search(r'name="phases\[0\]\.name" type="text" value="final"', page.text)
    assert 'value="2030-07-01T12:00"' in page.text


@pytest.mark.long
def test_what_cannot_be_opened_is_told_on_the_draft_and_can_be_tried_again(
    working, organiser, tmp_path
):
    working.site.settings = type(working.site.settings)(port=0, workers=1, roots=(str(tmp_path),))
    form = {**FORM, "slug": "gone", "dataset": f"folder(path='{tmp_path}/gone')"}
    page = done(organiser, post(organiser, "/organise/new", do="look", **form))
    assert "gone" in re.search(r'role="alert">([^<]*)<', page.text)[1]
    assert "Try again" in page.text
    page = done(organiser, post(organiser, str(page.url.path), do="look"))
    assert "Try again" in page.text


@pytest.mark.long
def test_dates_of_a_challenge_that_runs_are_changed_on_its_page(working, organiser):
    form = {**FORM, "slug": "running", "phases[1].closes": ""}
    look = done(organiser, post(organiser, "/organise/new", do="look", **form))
    done(organiser, post(organiser, str(look.url.path), do="make"))
    seeds = [
        phase.seed for phase in description_of(existing_challenge(working.site, "running")).phases
    ]
    ada = working.api(working.token("Ada of running"))
    told = {"id": "8b1c7e0e-8e0b-4c73-9ac8-2d9a8c5e0a01", "name": "mine"}
    assert ada.post("/challenges/running/phases/final/runs", json=told).status_code == 201
    path = "/organise/challenges/running/change"
    assert 'value="clicks(rounds=2)"' in organiser.get(path).text
    changed = {
        **form,
        "title": "Summer",
        "phases[1].closes": "2031-01-01T00:00",
        "phases[1].runs_per_day": "5",
    }
    assert post(organiser, path, do="look", **changed).status_code == 303
    described = description_of(existing_challenge(working.site, "running"))
    assert (described.title, described.phases[1].runs_per_day) == ("Summer", 5)
    assert [phase.seed for phase in described.phases] == seeds
    for wrong, field in (
        ({"phases[1].rounds": "1"}, "phases[1].rounds"),
        ({"benchmark": "clicks"}, "benchmark"),
    ):
        page = post(organiser, path, do="look", **{**changed, **wrong})
        assert page.status_code == 422
        assert "stays" in fault_beside(page, field)
    with working.site.database.reading() as session:
        (line,) = session.scalars(
            select(AuditEvent.about).where(
                AuditEvent.action == "challenge changed", AuditEvent.about.startswith("running: ")
            )
        )
    assert "title: Spring → Summer" in line
    assert not any(str(seed) in line for seed in seeds)


def test_what_the_form_does_not_have_stays(working, organiser):
    phases = (
        Phase(name="practice", kind="practice", samples_per_run=1, runs_in_all=7, decimals=4),
    )
    made = ChallengeDescription(
        slug="kept",
        title="K",
        text="T",
        benchmark="clicks(rounds=1)",
        dataset="sample-squares",
        phases=phases,
    )
    make_challenge(working.site, msgspec.structs.replace(made, is_public=False, frozen=SOON))
    working.organises("Olga", "kept")
    form = {"slug": "kept", "title": "L", "phases[0].name": "practice"}
    assert post(organiser, "/organise/challenges/kept/change", do="look", **form).status_code == 303
    now = description_of(existing_challenge(working.site, "kept"))
    assert (now.title, now.text, now.is_public, now.frozen) == ("L", "T", False, SOON)
    hidden = {"title": "folder(path='/etc')", "phases[0].name": "practice"}
    assert (
        post(organiser, "/organise/challenges/kept/change", do="look", **hidden).status_code == 303
    )
    page = post(
        organiser,
        "/organise/challenges/kept/change",
        do="look",
        **hidden,
        dataset="folder(path='/etc')",
    )
    assert "expected files" in fault_beside(page, "dataset")
    assert (now.phases[0].runs_in_all, now.phases[0].decimals, now.phases[0].kind) == (
        7,
        4,
        "practice",
    )


@pytest.mark.long
def test_another_benchmark_is_laid_ready_by_a_job_as_long_as_nothing_runs(working, organiser):
    form = {**FORM, "slug": "fresh"}
    look = done(organiser, post(organiser, "/organise/new", do="look", **form))
    done(organiser, post(organiser, str(look.url.path), do="make"))
    path = "/organise/challenges/fresh/change"
    look = done(
        organiser, post(organiser, path, do="look", **{**form, "benchmark": "clicks(rounds=1)"})
    )
    assert description_of(existing_challenge(working.site, "fresh")).benchmark == "clicks(rounds=2)"
    made = done(organiser, post(organiser, str(look.url.path), do="make"))
    assert "fresh: " in made.text
    assert description_of(existing_challenge(working.site, "fresh")).benchmark == "clicks(rounds=1)"


def test_jobs_of_other_kinds_are_no_drafts(working, organiser):
    with working.site.database.writing() as session:
        job = Job(kind="something else", about="x", made_at=0.0, state="done")
        session.add(job)
        session.flush()
        number = job.id
    assert organiser.get(f"/organise/drafts/{number}").status_code == 404
    assert post(organiser, f"/organise/drafts/{number}", do="make").status_code == 404
    assert organiser.get(f"/organise/new?draft={number}").status_code == 404
    assert organiser.get("/organise/new?draft=x").status_code == 404


def test_errors_link_to_their_fields_and_folded_fields_are_open(organiser):
    wrong = {"slug": "Bad Name", "phases[1].samples_per_run": "0"}
    page = post(organiser, "/organise/new", do="look", **{**FORM, **wrong}).text
    summary = re.search(r'<div class="banner" role="alert">.*?</div>', page, re.DOTALL)[0]
    assert '<a href="#slug-fault">Short name</a>' in summary
    assert '<a href="#phases[1].samples_per_run-fault">Phase 2, Samples per run</a>' in summary
    folded = re.findall(r"<details( open)?><summary>Samples, rounds", page)
    assert folded[1] == " open"


def test_adding_a_phase_leads_to_it(organiser):
    page = post(organiser, "/organise/new", do="add", **FORM).text
    assert 'id="phase-3"' in page
    assert 'formaction="/organise/new#phase-4">Add a phase' in page


def test_a_board_without_runs_says_what_it_waits_for(working):
    phases = (
        Phase(name="closed", shows="own", opens=PAST, closes=PAST + timedelta(days=1)),
        Phase(name="hidden", shows="own"),
        Phase(name="shown"),
    )
    described = ChallengeDescription(
        practice_may_reveal_test=True,
        slug="waits",
        title="Waits",
        benchmark="clicks(rounds=2)",
        dataset="sample-squares(count=3)",
        phases=phases,
    )
    make_challenge(working.site, described)
    organiser = working.person("Vic", "organiser", ["waits"])
    participant = working.person("Wim")

    def board(client, phase):
        return client.get(f"/challenges/waits/{phase}/board").text

    assert "No ranked run is over yet" in board(participant, "closed")
    assert "No ranked run is over yet" in board(participant, "shown")
    assert "You can see the board when the phase closes" in board(participant, "hidden")
    assert "the phase has no closing time" in board(organiser, "hidden")
