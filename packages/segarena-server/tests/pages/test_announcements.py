"""Announcements: on a challenge's page, by e-mail to subscribers, limited per day, and in the log."""

import re

import pytest
from at_work import Served
from mail import MailServer
from sqlalchemy import delete, select

from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import (
    Announcement,
    AuditEvent,
    Challenge,
    Person,
    QueuedEmail,
    Run,
)
from segarena_server.mail.smtp import MailSender
from segarena_server.privacy.personal_data import personal_data_of
from segarena_server.server_process import open_site
from segarena_server.settings import MailSettings, Settings

PATH = "/organise/challenges/cats/announcements"


@pytest.fixture(scope="module")
def mail():
    made = MailServer()
    yield made
    made.stop()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def posting(request, tmp_path_factory, mail):
    """A server with a challenge, which sends e-mails on request of the test."""
    address = (
        ""
        if request.param == "sqlite"
        else request.getfixturevalue("postgres").new_database(with_tables=True)
    )
    settings = MailSettings(
        host="127.0.0.1", port=mail.port, security="none", sender="arena@lab.example"
    )
    site = open_site(
        tmp_path_factory.mktemp("posting") / "data",
        Settings(port=0, workers=0, mail=settings, db=address),
    )
    for slug in ("cats", "dogs"):
        challenge = ChallengeDescription(
            slug=slug,
            title=slug.capitalize(),
            benchmark="clicks(rounds=2)",
            dataset="sample-squares(count=2)",
            phases=(Phase(name="test"),),
        )
        make_challenge(site, challenge, lambda *_: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MailSender, "start", lambda self: None)
        made = Served(site)
        yield made
        made.stop()


@pytest.fixture(scope="module")
def organiser(posting):
    return posting.person("Olga", "organiser", ["cats", "dogs"])


@pytest.fixture(scope="module")
def people(posting):
    """Participants of both challenges, with every combination of notifications and confirmed addresses."""
    with posting.site.database.writing() as session:
        cats = session.scalars(select(Challenge).where(Challenge.slug == "cats")).one()
        dogs = session.scalars(select(Challenge).where(Challenge.slug == "dogs")).one()
        rows = (
            ("Ada", cats, True, 1.0, "confirmed"),
            ("Bela", cats, False, 1.0, "confirmed"),
            ("Cleo", cats, True, None, "confirmed"),
            ("Dan", cats, True, 1.0, "closed"),
            ("Eve", dogs, True, 1.0, "confirmed"),
        )
        for number, (name, challenge, wants, confirmed_at, state) in enumerate(rows):
            person = Person(
                name=name,
                folded=name.lower(),
                email=f"{name.lower()}@lab.example",
                email_at=confirmed_at,
                wants_letters=wants,
                password="-",
                role="participant",
                state=state,
                made_at=1.0,
            )
            session.add(person)
            session.flush()
            run = Run(
                id=f"run-{number}",
                challenge_id=challenge.id,
                phase="test",
                person_id=person.id,
                name="mine",
                segmenter="",
                note="",
                pool="",
                made_at=1.0,
            )
            session.add(run)
        ada = session.scalars(select(Person).where(Person.name == "Ada")).one()
        mate = Person(
            name="Ada's mate",
            folded="mate",
            team_id=ada.team_id,
            email="mate@lab.example",
            email_at=1.0,
            wants_letters=True,
            password="-",
            role="participant",
            state="confirmed",
            made_at=1.0,
        )
        session.add(mate)


@pytest.fixture(autouse=True)
def fresh(posting, mail, people):
    mail.letters.clear()
    with posting.site.database.writing() as session:
        for table in (Announcement, QueuedEmail, AuditEvent):
            session.execute(delete(table))


def post(client, path=PATH, **fields):
    key = re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/").text)[1]
    return client.post(path, data={"key": key, **fields})


def publish(client, title="New data", text="There is **more**."):
    return post(client, do="publish", title=title, text=text)


def send_all(posting):
    while MailSender(posting.site).send_one():
        pass


@pytest.mark.long
def test_news_is_on_the_page_and_goes_to_participants_who_want_it(posting, mail, organiser):
    assert "notified: 2 at present" in organiser.get(PATH).text
    assert publish(organiser).headers["location"] == "/challenges/cats#news"
    page = posting.client().get("/challenges/cats").text
    assert "<h3>New data</h3>" in page
    assert "There is <strong>more</strong>." in page
    assert 'id="news"' not in posting.client().get("/challenges/dogs").text
    send_all(posting)
    recipients = [letter.recipients[-1] for letter in mail.letters]
    assert sorted(recipients) == ["ada@lab.example", "mate@lab.example"]
    letter = mail.letters[0]
    assert letter["subject"] == "[segarena] Cats: New data"
    content = letter.get_content()
    assert "There is **more**." in content
    assert "/challenges/cats#news-" in content
    assert "turn off these e-mails" in content


def test_nothing_in_an_announcement_runs(posting, mail, organiser):
    text = "<script>alert(1)</script> [x](javascript:alert(1)) ![x](https://evil.example/x.png)"
    assert publish(organiser, "<script>alert(2)</script>", text).status_code == 303
    page = posting.client().get("/challenges/cats").text
    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    assert "evil.example" not in page


def test_a_title_is_one_line_and_adds_no_header(posting, mail, organiser):
    publish(organiser, "Hello\r\nBcc: eve@lab.example")
    send_all(posting)
    assert mail.letters[0]["subject"] == "[segarena] Cats: Hello Bcc: eve@lab.example"
    assert mail.letters[0]["bcc"] is None
    assert len(mail.letters) == 2


@pytest.mark.parametrize(
    ("title", "text"),
    [("", "x"), ("x", " "), ("x" * 121, "x"), ("x", "x" * 10_001), ("a\x00", "x")],
)
def test_what_is_missing_or_too_long_is_not_published(posting, organiser, title, text):
    answer = publish(organiser, title, text)
    assert answer.status_code == 422
    assert "expected a t" in re.search(r'role="alert">([^<]*)<', answer.text)[1]
    with posting.site.database.reading() as session:
        assert session.scalars(select(Announcement)).all() == []


def test_a_preview_publishes_nothing_and_keeps_the_text(posting, organiser):
    answer = post(organiser, do="preview", title="Soon", text="*Soon*")
    assert "<em>Soon</em>" in answer.text
    assert 'value="Soon"' in answer.text
    assert "Soon" not in organiser.get(PATH).text


def test_three_a_day_also_if_they_are_withdrawn(posting, organiser, monkeypatch):
    for number in range(3):
        assert publish(organiser, f"News {number}").status_code == 303
    with posting.site.database.reading() as session:
        newest = session.scalars(select(Announcement.id).order_by(Announcement.id.desc())).first()
    assert post(organiser, f"{PATH}/withdraw", announcement=str(newest)).status_code == 303
    refused = publish(organiser, "One more", "Kept *text*")
    assert refused.status_code == 429
    assert "at most 3 announcements in 24 hours" in refused.text
    assert "Kept *text*" in refused.text
    later = posting.site.now() + 86401.0
    monkeypatch.setattr(posting.site, "clock", lambda: later)
    assert publish(organiser, "One more").status_code == 303


def test_a_withdrawn_announcement_is_gone_and_its_waiting_mail_too(posting, mail, organiser):
    publish(organiser)
    with posting.site.database.reading() as session:
        number = session.scalars(select(Announcement.id)).one()
    other = "/organise/challenges/dogs/announcements/withdraw"
    post(organiser, other, announcement=str(number))
    assert "New data" in posting.client().get("/challenges/cats").text
    for _ in range(2):
        assert post(organiser, f"{PATH}/withdraw", announcement=str(number)).status_code == 303
    assert "New data" not in posting.client().get("/challenges/cats").text
    send_all(posting)
    assert mail.letters == []
    with posting.site.database.reading() as session:
        lines = session.scalars(select(AuditEvent).order_by(AuditEvent.id)).all()
        assert [(line.action, line.about) for line in lines] == [
            ("announcement published", "cats: New data (2 e-mails)"),
            ("announcement withdrawn", "cats: New data"),
        ]
        assert all(line.person_id for line in lines)


def test_who_turned_e_mails_off_meanwhile_gets_none(posting, mail, organiser):
    publish(organiser)
    with posting.site.database.writing() as session:
        session.scalars(select(Person).where(Person.name == "Ada")).one().wants_letters = False
    try:
        send_all(posting)
        assert [letter.recipients[-1] for letter in mail.letters] == ["mate@lab.example"]
    finally:
        with posting.site.database.writing() as session:
            session.scalars(select(Person).where(Person.name == "Ada")).one().wants_letters = True


def test_the_copy_of_ones_data_has_the_announcements_that_one_wrote(posting, organiser):
    publish(organiser)
    with posting.site.database.reading() as session:
        olga = session.scalars(select(Person).where(Person.name == "Olga")).one()
        written = personal_data_of(session, olga, 0.0)["announcements"]
    assert [one["title"] for one in written] == ["New data"]


@pytest.mark.long
def test_the_pages_are_whole(posting, organiser, open_page, barriers, page_widths):
    for title in ("First", "Second " + "long " * 20):
        publish(
            organiser, title, "# Heading\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`" + "x" * 200 + "`"
        )
    page = open_page(posting.address)
    for name, value in organiser.cookies.items():
        page.context.add_cookies([{"name": name, "value": value, "url": posting.address}])
    for place in (PATH, "/challenges/cats"):
        page.goto(f"{posting.address}{place}")
        for width, scheme in ((1400, "light"), (390, "dark"), (390, "light"), (1400, "dark")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            assert max(page_widths(page).values()) <= width, (place, width)
            assert barriers(page) == {}, (place, width, scheme)


def test_a_preview_names_images_that_were_not_uploaded(posting, organiser):
    texts = {"title": "News", "text": "![A cat](cat.png)"}
    page = post(organiser, do="preview", **texts).text
    told = "These images were not uploaded, so only their alternative text is shown: cat.png"
    assert told in page
