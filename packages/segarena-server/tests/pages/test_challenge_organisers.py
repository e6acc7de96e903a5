"""Organisers of a challenge: added and removed on its page, without rights in other challenges."""

import re
import uuid

import pytest
from sqlalchemy import select

from segarena_server.auth.accounts import set_role
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import AuditEvent, ChallengeOrganiser, Person, Run


@pytest.fixture(scope="module")
def site(on_both):
    phase = Phase(name="try", kind="practice", samples_per_run=1, runs_at_once=100)
    for slug in ("photos", "films"):
        challenge = ChallengeDescription(
            slug=slug, title=slug.title(), benchmark="clicks", dataset="demo", phases=(phase,)
        )
        make_challenge(on_both.site, challenge, lambda *_: None)
    return on_both


def organiser(site, name, *slugs):
    client = site.person(name, "organiser")
    for slug in slugs:
        site.organises(name, slug)
    return client


def post(client, path, **form):
    key = re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/account").text)[1]
    return client.post(path, data={"key": key, **form})


@pytest.mark.long
def test_an_organiser_adds_another_by_name_who_manages_this_challenge_alone(site):
    olga = organiser(site, "Olga", "photos")
    oscar = organiser(site, "Oscar")
    page = "/organise/challenges/photos/organisers"
    assert "You organise no challenge yet" in oscar.get("/organise").text
    assert oscar.get("/organise/challenges/photos/change").status_code == 404
    assert post(olga, page, do="add", name="oscar").status_code == 303
    assert "Oscar" in olga.get(page).text
    assert oscar.get("/organise/challenges/photos/change").status_code == 200
    assert oscar.get("/organise/challenges/films/change").status_code == 404
    listed = oscar.get("/organise").text
    assert "/organise/challenges/photos/audit" in listed
    assert "/organise/challenges/films/audit" not in listed
    assert post(oscar, page, do="remove", name="Olga").status_code == 303
    assert olga.get(page).status_code == 404
    own_removal = post(oscar, page, do="remove", name="Oscar")
    assert own_removal.headers["location"] == "/organise#challenges"
    assert oscar.get(page).status_code == 404


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Paul", "has the role participant"),
        ("Nobody Known", "expected the name of a confirmed account"),
    ],
)
def test_only_accounts_with_the_role_can_be_added(site, name, problem):
    client = organiser(site, f"Adds {name}", "photos")
    if name == "Paul":
        site.person("Paul")
    answer = post(client, "/organise/challenges/photos/organisers", do="add", name=name)
    assert answer.status_code == 422
    assert problem in answer.text


def test_removing_somebody_who_is_no_organiser_names_those_who_are(site):
    client = organiser(site, "Rita", "films")
    organiser(site, "Not Here", "photos")
    answer = post(client, "/organise/challenges/films/organisers", do="remove", name="Not Here")
    assert answer.status_code == 422
    assert "its organisers" in answer.text
    assert "Rita" in answer.text


def test_whoever_loses_the_role_loses_the_challenges_for_good(site):
    client = organiser(site, "Demoted", "photos")
    for role, status in (("participant", 404), ("organiser", 404)):
        with site.site.database.writing() as session:
            person = session.scalars(select(Person).where(Person.name == "Demoted")).one()
            set_role(session, person, role)
        assert client.get("/organise/challenges/photos/organisers").status_code == status
    with site.site.database.reading() as session:
        rows = select(ChallengeOrganiser).where(ChallengeOrganiser.person_id == person.id)
        assert session.scalars(rows).all() == []


@pytest.mark.long
def test_an_account_with_runs_elsewhere_cannot_be_taken_over_with_a_reset_link(site):
    mine, elsewhere = organiser(site, "Of Photos", "photos"), organiser(site, "Of Films", "films")
    token = site.token("takes part in films")
    told = {"id": str(uuid.uuid4()), "name": "mine"}
    begun = site.api(token).post("/challenges/films/phases/try/runs", json=told)
    assert begun.status_code == 201
    with site.site.database.reading() as session:
        number = session.get_one(Run, told["id"]).person_id
    for action, form in (("/reset", {}), ("", {"state": "closed"})):
        path = f"/organise/people/{number}{action}"
        assert post(mine, path, **form).status_code == 403
        assert post(elsewhere, path, **form).status_code in (200, 303)


def test_the_log_of_an_organiser_has_their_challenges_and_themselves_alone(site):
    client = organiser(site, "Reads Log", "photos")
    with site.site.database.writing() as session:
        lines = ["photos: changed-here", "films: changed-there", "photos/try begun-here"]
        for about in [*lines, "photos-two: changed-there"]:
            session.add(AuditEvent(at=1.0, action="told", about=about))
    shown = client.get("/organise").text
    assert "changed-here" in shown
    assert "begun-here" in shown
    assert "changed-there" not in shown


def test_a_draft_is_seen_by_whoever_described_it(site):
    client = organiser(site, "Maker")
    form = {"slug": "new", "title": "New", "benchmark": "clicks", "dataset": "demo"}
    look = post(client, "/organise/new", **form, **{"phases[0].name": "test"}, do="look")
    draft = look.headers["location"]
    assert client.get(draft).status_code == 200
    assert organiser(site, "Other Maker", "photos").get(draft).status_code == 404


@pytest.mark.long
def test_members_of_other_roles_see_hidden_names_in_no_board(site):
    # An organiser of one challenge is a participant of all others.
    strange = organiser(site, "Strange", "films")
    own = organiser(site, "Own", "photos")
    link = "/organise/challenges/photos/change"
    assert link not in strange.get("/challenges/photos").text
    assert link in own.get("/challenges/photos").text
