"""Links for new passwords and address confirmation: each has one purpose and works once."""

import re

import pytest
from at_work import Served
from mail import MailServer
from sqlalchemy import delete, select

from segarena_server.db.orm_models import Attempt, AuditEvent, Person, QueuedEmail
from segarena_server.mail.smtp import MailSender
from segarena_server.server_process import open_site
from segarena_server.settings import MailSettings, Settings


@pytest.fixture(scope="module")
def mail():
    made = MailServer()
    yield made
    made.stop()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def posting(request, tmp_path_factory, mail):
    """A server that sends e-mails on request of the test."""
    address = (
        ""
        if request.param == "sqlite"
        else request.getfixturevalue("postgres").new_database(with_tables=True)
    )
    told = MailSettings(
        host="127.0.0.1", port=mail.port, security="none", sender="arena@lab.example"
    )
    site = open_site(
        tmp_path_factory.mktemp("posting") / "data",
        Settings(port=0, workers=0, mail=told, db=address),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MailSender, "start", lambda self: None)
        made = Served(site)
        yield made
        made.stop()


@pytest.fixture(autouse=True)
def fresh(request, mail):
    mail.letters.clear()
    for name in ("posting", "served"):
        if name in request.fixturenames:
            with request.getfixturevalue(name).site.database.writing() as session:
                session.execute(delete(Attempt))


def form_key(client):
    return re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/").text)[1]


def post(client, place, **fields):
    return client.post(place, data={"key": form_key(client), **fields})


def sent(posting, mail):
    """Send all e-mails; return the newest one's recipient and the text of its link."""
    while MailSender(posting.site).send_one():
        pass
    if not mail.letters:
        return None, None
    found = re.search(r"[?&](?:link|invitation)=(\S+)", mail.letters[-1].get_content())
    return mail.letters[-1].recipients[-1], found and found[1]


def confirmed(posting, mail, name, email):
    """Return a client of a person whose address is confirmed."""
    client = posting.person(name)
    post(client, "/account/letters", email=email)
    _, link = sent(posting, mail)
    assert post(client, "/address", link=link).status_code == 303
    mail.letters.clear()
    return client


@pytest.mark.long
def test_an_address_counts_once_its_owner_confirmed_it(posting, mail):
    client = posting.person("Ada")
    assert post(client, "/account/letters", email="ada@lab.example").status_code == 303
    to, link = sent(posting, mail)
    assert to == "ada@lab.example"
    assert "not confirmed yet" in client.get("/account").text
    stranger = posting.client()
    assert "Confirm this address" in stranger.get("/address", params={"link": link}).text
    assert "not confirmed yet" in client.get("/account").text  # looking is not confirming
    assert stranger.post("/address", data={"link": link}).status_code == 303
    assert "not confirmed yet" not in client.get("/account").text
    assert stranger.post("/address", data={"link": link}).status_code == 422


@pytest.mark.long
def test_a_link_for_an_earlier_address_confirms_no_other(posting, mail):
    client = posting.person("Bela")
    post(client, "/account/letters", email="mine@lab.example")
    _, link = sent(posting, mail)
    post(client, "/account/letters", email="boss@lab.example")
    assert client.post("/address", data={"link": link, "key": form_key(client)}).status_code == 422


@pytest.mark.long
def test_a_forgotten_password_is_replaced_by_a_link_that_works_once(posting, mail):
    client = confirmed(posting, mail, "Caro", "caro@lab.example")
    stranger = posting.client()
    assert stranger.post("/forgotten", data={"name": "caro"}).status_code == 200
    to, link = sent(posting, mail)
    assert to == "caro@lab.example"
    assert "For the account Caro" in stranger.get("/reset", params={"link": link}).text
    assert stranger.post("/reset", data={"link": link, "password": "short"}).status_code == 422
    assert (
        stranger.post("/reset", data={"link": link, "password": "another password"}).status_code
        == 303
    )
    assert client.get("/account").headers["location"] == "/sign-in"
    assert (
        stranger.post("/reset", data={"link": link, "password": "a third password"}).status_code
        == 422
    )
    assert (
        stranger.post("/sign-in", data={"name": "Caro", "password": "another password"}).status_code
        == 303
    )


@pytest.mark.long
def test_the_answer_is_the_same_whether_there_is_such_an_account_or_not(posting, mail):
    confirmed(posting, mail, "Dora", "dora@lab.example")
    posting.person("Without Address")
    client = posting.client()
    names = ("Dora", "dora@lab.example", "Nobody", "nobody@lab.example", "Without Address")
    told = [client.post("/forgotten", data={"name": name}) for name in names]
    assert {(answer.status_code, answer.text) for answer in told} == {(200, told[0].text)}
    with posting.site.database.reading() as session:
        assert len(session.scalars(select(QueuedEmail)).all()) == len(
            names
        )  # as much is written for each
    sent(posting, mail)
    assert [letter.recipients for letter in mail.letters] == [["dora@lab.example"]] * 2


@pytest.mark.long
def test_letters_to_one_account_are_few_and_whoever_asks_for_many_waits(posting, mail):
    confirmed(posting, mail, "Ella", "ella@lab.example")
    client = posting.client()
    told = [client.post("/forgotten", data={"name": "Ella"}).status_code for _ in range(12)]
    assert told == [200] * 10 + [429] * 2
    # Ten times as many for other names, because a school may have one address: ten are used up.
    others = [client.post("/forgotten", data={"name": f"x{n}"}).status_code for n in range(92)]
    assert others == [200] * 90 + [429] * 2


@pytest.mark.parametrize("text", ["", "sar_", "sar_" + "x" * 43, "sas_x", "sar_\r\nx", "💥"])
def test_a_link_that_is_none_opens_nothing(posting, text):
    client = posting.client()
    assert "is invalid or has expired" in client.get("/reset", params={"link": text}).text
    assert (
        client.post("/reset", data={"link": text, "password": "a long password"}).status_code == 422
    )
    assert client.post("/address", data={"link": text}).status_code == 422


@pytest.mark.long
def test_a_key_of_one_kind_is_none_of_another(posting, mail):
    client = posting.person("Finn")
    post(client, "/account/letters", email="finn@lab.example")
    _, link = sent(posting, mail)
    assert (
        posting.client()
        .post("/reset", data={"link": link, "password": "a long password"})
        .status_code
        == 422
    )


@pytest.mark.long
def test_an_invitation_goes_by_letter(posting, mail):
    organiser = posting.person("Organiser", "organiser")
    shown = post(organiser, "/organise/invitations", role="viewer", email="new@lab.example").text
    assert "invitation to new@lab.example" in shown
    assert "sai_" not in shown
    to, link = sent(posting, mail)
    assert to == "new@lab.example"
    form = {"name": "New One", "password": "a long password", "invitation": link}
    assert posting.client().post("/register", data=form).status_code == 303
    odd = post(organiser, "/organise/invitations", role="viewer", email="a@b\r\nBcc: c@d")
    assert odd.status_code == 422


def test_whoever_is_confirmed_is_told(posting, mail):
    client = posting.client()
    form = {"name": "Waiting One", "password": "a long password", "email": "waiting@lab.example"}
    assert "is waiting for an organiser" in client.post("/register", data=form).text
    _, link = sent(posting, mail)
    client.post("/address", data={"link": link})
    organiser = posting.person("Confirms", "organiser")
    with posting.site.database.reading() as session:
        number = session.scalars(select(Person.id).where(Person.name == "Waiting One")).one()
    post(organiser, f"/organise/people/{number}", state="confirmed")
    to, _ = sent(posting, mail)
    assert (to, "is confirmed" in mail.letters[-1]["subject"]) == ("waiting@lab.example", True)


@pytest.mark.long
def test_without_a_mail_server_an_organiser_makes_the_link(served):
    person, organiser = served.person("Forgetful"), served.person("Helps", "organiser")
    assert "Ask an organiser" in served.client().get("/forgotten").text
    assert served.client().post("/forgotten", data={"name": "Forgetful"}).status_code == 404
    with served.site.database.reading() as session:
        number = session.scalars(select(Person.id).where(Person.name == "Forgetful")).one()
        own = session.scalars(select(Person.id).where(Person.name == "Helps")).one()
    link = re.search(r"sar_[\w-]+", post(organiser, f"/organise/people/{number}/reset").text)[0]
    assert (
        served.client()
        .post("/reset", data={"link": link, "password": "another password"})
        .status_code
        == 303
    )
    assert person.get("/account").headers["location"] == "/sign-in"
    other = served.person("Other Organiser", "organiser")
    assert (
        post(other, f"/organise/people/{own}/reset").status_code == 403
    )  # for organisers, admins do
    with served.site.database.reading() as session:
        told = {(event.action, event.about) for event in session.scalars(select(AuditEvent))}
    assert ("reset link made", f"account {number}") in told
    assert not [about for _, about in told if "sar_" in about]


@pytest.mark.long
def test_of_many_registrations_from_one_address_the_later_ones_need_an_e_mail_address(posting):
    answers = []
    for number in range(12):
        form = {"name": f"Many {number}", "password": "a long password"}
        answers.append(posting.client().post("/register", data=form))
    assert [answer.status_code for answer in answers] == [200] * 10 + [422] * 2
    assert "enter an e-mail address as well" in answers[-1].text
    form = {"name": "Many 99", "password": "a long password", "email": "m99@lab.example"}
    assert posting.client().post("/register", data=form).status_code == 200
