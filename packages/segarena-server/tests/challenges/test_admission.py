"""Admission: terms that are accepted before a run, and teams that organisers approve."""

import re
import uuid

import msgspec
import pytest
from sqlalchemy import select

from segarena_server.challenges.challenge_management import (
    change_challenge,
    existing_challenge,
    make_challenge,
)
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import (
    AuditEvent,
    JoinRequest,
    Person,
    QueuedEmail,
    TermsAcceptance,
    TermsVersion,
)
from segarena_server.mail.mail_outbox import render_email
from segarena_server.privacy.account_deletion import delete_account
from segarena_server.privacy.personal_data import personal_data_of


class Challenge:
    """A challenge at a server, and people who want to take part."""

    def __init__(self, served, **values):
        self.served = served
        self.slug = f"c{uuid.uuid4().hex[:8]}"
        phase = Phase(
            name="try",
            kind="practice",
            samples_per_run=1,
            runs_at_once=100,
            takes=("dialogue", "run"),
        )
        self.described = ChallengeDescription(
            slug=self.slug,
            title="Photos",
            benchmark="clicks",
            dataset="demo",
            phases=(phase,),
            **values,
        )
        make_challenge(served.site, self.described, lambda *_: None)

    def change(self, **values):
        self.described = msgspec.structs.replace(self.described, **values)
        change_challenge(self.served.site, self.slug, self.described)

    def participant(self, name=""):
        """Return name and API client of a new participant."""
        name = f"p {name} {uuid.uuid4().hex[:8]}"
        return name, self.served.api(self.served.token(name))

    def begin(self, api):
        told = {"id": str(uuid.uuid4()), "name": "mine"}
        return api.post(f"/challenges/{self.slug}/phases/try/runs", json=told)

    def send(self, api):
        path = f"/challenges/{self.slug}/phases/try/sent/{uuid.uuid4()}"
        return api.post(path, params={"kind": "run", "name": "mine"}, content=b"x")

    def admission(self, api):
        return api.get(f"/challenges/{self.slug}/admission").json()

    def accept(self, api, version):
        return api.post(f"/challenges/{self.slug}/terms", json={"version": version})

    def ask(self, api, message=""):
        return api.post(f"/challenges/{self.slug}/join", json={"message": message})

    def organiser(self):
        name = f"O {uuid.uuid4().hex[:8]}"
        return self.served.person(name, "organiser", [self.slug])

    def person(self, session, name):
        return session.scalars(select(Person).where(Person.name == name)).one()


def post(client, path, **form):
    key = re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/account").text)[1]
    return client.post(path, data={"key": key, **form})


def refusal(answer):
    assert answer.status_code == 403, answer.text
    return answer.json()["error"]


@pytest.mark.long
@pytest.mark.postgresql
def test_no_run_begins_before_the_terms_are_accepted(on_both):
    challenge = Challenge(on_both, terms="Use the images **here** alone.")
    name, api = challenge.participant()
    assert refusal(challenge.begin(api)) == "terms"
    assert refusal(challenge.send(api)) == "terms"
    shown = challenge.admission(api)["terms"]
    assert shown == {
        "version": 1,
        "text": "Use the images **here** alone.",
        "is_accepted": False,
    }
    assert challenge.accept(api, 1).json()["terms"]["is_accepted"]
    assert challenge.accept(api, 1).status_code == 200
    assert challenge.begin(api).status_code == 201
    with on_both.site.database.reading() as session:
        person = challenge.person(session, name)
        rows = select(TermsAcceptance).where(TermsAcceptance.person_id == person.id)
        accepted = session.scalars(rows).one()
        events = select(AuditEvent.about).where(
            AuditEvent.person_id == person.id, AuditEvent.action == "terms accepted"
        )
        assert session.scalars(events).all() == [f"{challenge.slug}: version 1"]
        copy = personal_data_of(session, person, on_both.site.now())["terms"]
    assert accepted.made_at > 0
    assert copy == [
        {
            "challenge": challenge.slug,
            "number": 1,
            "made_at": accepted.made_at,
            "text": "Use the images **here** alone.",
        }
    ]


@pytest.mark.long
def test_changed_terms_are_asked_for_again_and_the_earlier_text_stays(on_both):
    challenge = Challenge(on_both, terms="first")
    _, api = challenge.participant()
    challenge.accept(api, 1)
    challenge.change(title="Other")
    assert challenge.begin(api).status_code == 201
    challenge.change(terms="second")
    assert refusal(challenge.begin(api)) == "terms"
    # Nobody accepts a text that they did not see.
    assert challenge.accept(api, 1).status_code == 409
    assert challenge.accept(api, 2).status_code == 200
    assert challenge.begin(api).status_code == 201
    with on_both.site.database.reading() as session:
        texts = (
            select(TermsVersion.number, TermsVersion.text)
            .where(TermsVersion.challenge_id == existing_challenge(on_both.site, challenge.slug).id)
            .order_by(TermsVersion.number)
        )
        assert session.execute(texts).all() == [(1, "first"), (2, "second")]
    challenge.change(terms="")
    _, other = challenge.participant()
    assert challenge.begin(other).status_code == 201


@pytest.mark.long
def test_terms_are_accepted_by_each_person_also_within_a_team(on_both):
    challenge = Challenge(on_both, terms="terms")
    first, api = challenge.participant()
    second, other = challenge.participant()
    with on_both.site.database.writing() as session:
        team_id = challenge.person(session, first).team_id
        challenge.person(session, second).team_id = team_id
    challenge.accept(api, 1)
    assert challenge.begin(api).status_code == 201
    assert refusal(challenge.begin(other)) == "terms"


@pytest.mark.long
def test_a_team_is_approved_before_its_first_run(on_both):
    challenge = Challenge(on_both, approves_teams=True)
    organiser = challenge.organiser()
    name, api = challenge.participant()
    page = f"/organise/challenges/{challenge.slug}/teams"
    assert "ask on its page" in challenge.begin(api).json()["message"]
    assert refusal(challenge.send(api)) == "approval"
    assert challenge.ask(api, "We are a lab.\r\nTwo people.").json()["request"] == "waiting"
    assert challenge.ask(api, "again").json()["request"] == "waiting"
    assert "not decided" in challenge.begin(api).json()["message"]
    assert "We are a lab." in organiser.get(page).text
    with on_both.site.database.reading() as session:
        team = str(challenge.person(session, name).team_id)
    assert post(organiser, page, team=team, do="decline").status_code == 422
    assert post(organiser, page, team=team, do="decline", reason="no <b>").status_code == 303
    assert challenge.begin(api).json()["message"].endswith("declined your team: no <b>")
    assert "<b>" not in organiser.get(page).text
    assert challenge.ask(api, "please").json()["request"] == "waiting"
    assert post(organiser, page, team=team, do="approve").status_code == 303
    assert challenge.begin(api).status_code == 201
    assert challenge.admission(api)["request"] == "approved"
    # Of another team nothing was decided.
    assert refusal(challenge.begin(challenge.participant()[1])) == "approval"


@pytest.mark.long
def test_an_approved_team_admits_whoever_joins_it_and_nobody_who_left(on_both):
    challenge = Challenge(on_both, approves_teams=True)
    first, api = challenge.participant()
    second, other = challenge.participant()
    challenge.ask(api)
    with on_both.site.database.writing() as session:
        request = session.scalars(select(JoinRequest).order_by(JoinRequest.team_id.desc())).first()
        team_id = challenge.person(session, first).team_id
        own_team_id = challenge.person(session, second).team_id
        session.get_one(JoinRequest, (request.challenge_id, team_id)).state = "approved"
        challenge.person(session, second).team_id = team_id
    assert challenge.begin(other).status_code == 201
    with on_both.site.database.writing() as session:
        challenge.person(session, second).team_id = own_team_id
    assert refusal(challenge.begin(other)) == "approval"


@pytest.mark.long
def test_a_challenge_that_is_open_takes_no_requests(on_both):
    challenge = Challenge(on_both)
    _, api = challenge.participant()
    assert challenge.ask(api).status_code == 409
    assert challenge.accept(api, 1).status_code == 409
    assert challenge.begin(api).status_code == 201


@pytest.mark.long
@pytest.mark.postgresql
def test_the_page_asks_for_what_is_missing_and_nothing_else(on_both):
    challenge = Challenge(
        on_both, terms="# Rules\n\nNo <script>alert(1)</script>", approves_teams=True
    )
    client = on_both.person(f"P {uuid.uuid4().hex[:8]}")
    place = f"/challenges/{challenge.slug}"
    shown = client.get(place).text
    assert "I accept the terms" in shown
    assert "Ask to take part" in shown
    assert "<script>alert" not in shown
    assert post(client, f"{place}/terms", version="1").status_code == 303
    assert post(client, f"{place}/join", message="hello").status_code == 303
    shown = client.get(place).text
    assert "I accept the terms" not in shown
    assert "You accepted version 1" in shown
    assert "have not decided about your team yet" in shown
    assert "I accept" not in on_both.client().get(place).text


@pytest.mark.long
@pytest.mark.postgresql
def test_organisers_who_want_e_mails_hear_of_requests_and_the_team_of_the_decision(on_both):
    challenge = Challenge(on_both, approves_teams=True)
    client = challenge.organiser()
    name, api = challenge.participant()
    site = on_both.site
    with site.database.writing() as session:
        for person in session.scalars(select(Person)):
            person.email = f"p{person.id}@lab.example"
            person.email_at = 1.0
            person.wants_letters = person.role == "organiser"
    challenge.ask(api, "We are a lab.")

    def letters():
        with site.database.writing() as session:
            found = session.scalars(select(QueuedEmail).order_by(QueuedEmail.id)).all()
            rendered = [render_email(session, one, "https://lab.example", 0.0) for one in found]
            return [(one.recipient, text) for one, text in zip(found, rendered, strict=True)]

    (_, asked), *rest = letters()
    assert rest == []
    assert "We are a lab." in asked.text
    assert f"/organise/challenges/{challenge.slug}/teams" in asked.text
    with site.database.reading() as session:
        person = challenge.person(session, name)
    path = f"/organise/challenges/{challenge.slug}/teams"
    post(client, path, team=str(person.team_id), do="decline", reason="too late")
    # The request is decided, so that its own e-mail would be of no use any more.
    (_, obsolete), (recipient, declined) = letters()
    assert obsolete is None
    assert recipient == person.email
    assert "too late" in declined.text


@pytest.mark.long
@pytest.mark.postgresql
def test_a_deleted_account_leaves_no_words_and_the_decision_stays(on_both):
    challenge = Challenge(on_both, terms="terms", approves_teams=True)
    name, api = challenge.participant()
    challenge.accept(api, 1)
    challenge.ask(api, "I am a person.")
    site = on_both.site
    with site.database.writing() as session:
        person = challenge.person(session, name)
        assert (
            personal_data_of(session, person, 0.0)["join_requests"][0]["message"]
            == "I am a person."
        )
        number = person.id
        team_id = person.team_id
        delete_account(session, site.folder, person, site.now())
    with site.database.reading() as session:
        request = session.scalars(select(JoinRequest).where(JoinRequest.team_id == team_id)).one()
        assert (request.message, request.person_id, request.state) == ("", None, "waiting")
        accepted = select(TermsAcceptance).where(TermsAcceptance.person_id == number)
        assert session.scalars(accepted).all() == []


@pytest.mark.long
@pytest.mark.postgresql
def test_organisers_see_waiting_teams_on_their_first_pages(on_both):
    challenge = Challenge(on_both, approves_teams=True)
    organiser = challenge.organiser()
    _, api = challenge.participant()
    link = f'<a href="/organise/challenges/{challenge.slug}/teams">1 team waits</a>'
    assert link not in organiser.get("/").text
    challenge.ask(api)
    assert link in organiser.get("/").text
    assert link in organiser.get("/organise").text
    other = Challenge(on_both, approves_teams=True).organiser()
    assert "1 team waits" not in other.get("/").text + other.get("/organise").text
    challenge.change(approves_teams=False)
    assert link not in organiser.get("/").text


@pytest.mark.long
@pytest.mark.postgresql
def test_enter_in_the_reason_does_not_approve_a_team(on_both):
    challenge = Challenge(on_both, approves_teams=True)
    organiser = challenge.organiser()
    challenge.ask(challenge.participant()[1])
    page = organiser.get(f"/organise/challenges/{challenge.slug}/teams").text
    with_reason = [form for form in page.split("<form")[1:] if 'name="reason"' in form]
    first_buttons = [re.search(r"<button[^>]*>", form)[0] for form in with_reason]
    assert len(first_buttons) == 1
    assert 'value="decline"' in first_buttons[0]
