"""E-mails are sent when the mail server accepts them; its faults block nothing and lose none."""

import shutil
import ssl
import threading
import time

import msgspec
import pytest
from mail import MailServer, certificate
from sqlalchemy import func, select

from segarena.errors import InvalidInput
from segarena_server.db.orm_models import AccessKey, Challenge, Person, QueuedEmail, Run
from segarena_server.mail import smtp
from segarena_server.mail.mail_outbox import (
    RenderedEmail,
    clean_address,
    queue_email,
    queue_run_over_email,
)
from segarena_server.mail.smtp import MailSender, build_message
from segarena_server.preflight import faults_of
from segarena_server.server_process import open_site
from segarena_server.settings import MailSettings, Settings

SENDER = "arena@lab.example"


@pytest.fixture
def mail():
    made = MailServer()
    yield made
    made.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def site(request, tmp_path, mail):
    address = (
        ""
        if request.param == "sqlite"
        else request.getfixturevalue("postgres").new_database(with_tables=True)
    )
    told = MailSettings(host="127.0.0.1", port=mail.port, security="none", sender=SENDER)
    site = open_site(tmp_path / "data", Settings(mail=told, db=address, url="https://lab.example"))
    yield site
    site.database.close()


def person(site, name="Ada", email="ada@lab.example", **values):
    with site.database.writing() as session:
        told = {
            "password": "-",
            "role": "participant",
            "state": "confirmed",
            "made_at": 0.0,
            "email_at": 1.0,
        }
        made = Person(name=name, folded=name.lower(), email=email, **{**told, **values})
        session.add(made)
        session.flush()
        return made


def ask(site, kind="reset", **told):
    with site.database.writing() as session:
        queue_email(session, site.now(), kind, **told)


def letters(site):
    with site.database.reading() as session:
        return list(session.scalars(select(QueuedEmail).order_by(QueuedEmail.id)))


def test_a_letter_goes_to_one_address_with_a_link_that_is_kept_as_a_hash(site, mail):
    ask(site, person=person(site))
    with site.database.reading() as session:
        assert (
            session.scalar(select(func.count(AccessKey.id))) == 0
        )  # the key is made when the letter leaves
    assert MailSender(site).send_one()
    assert not MailSender(site).send_one()
    (letter,) = mail.letters
    assert letter.recipients == ["ada@lab.example"]
    assert (letter["from"], letter["subject"]) == (SENDER, "[segarena] Reset your password")
    key = letter.get_content().partition("https://lab.example/reset?link=")[2].split()[0]
    assert key.startswith("sar_")
    with site.database.reading() as session:
        kept = session.scalars(select(AccessKey)).one()
        assert key not in kept.hash
        assert kept.ends_at - site.now() == pytest.approx(3600, abs=10)
    assert letters(site) == []


def test_a_letter_about_nobody_is_put_down_and_goes_nowhere(site, mail):
    ask(site, person=None)
    assert len(letters(site)) == 1
    assert MailSender(site).send_one()
    assert (letters(site), mail.letters) == ([], [])


def test_nothing_is_put_down_for_whom_has_no_confirmed_address(site):
    ask(site, "confirmed", person=person(site, email_at=None))
    assert letters(site) == []


@pytest.mark.long
def test_what_is_refused_is_tried_again_and_comes_once(site, mail, monkeypatch):
    ask(site, person=person(site))
    mail.way = "refuse"
    for _ in range(3):
        assert MailSender(site).send_one()
        assert not MailSender(site).send_one()  # not due yet
        (letter,) = letters(site)
        assert "550" in letter.failure
        monkeypatch.setattr(type(site), "now", lambda _, at=letter.due_at: at)
    mail.way = "take"
    assert MailSender(site).send_one()
    assert len(mail.letters) == 1
    assert letters(site) == []
    with site.database.reading() as session:
        assert (
            len(session.scalars(select(AccessKey)).all()) == 1
        )  # those of letters that did not leave are gone


@pytest.mark.long
def test_a_letter_is_given_up_in_the_end_and_stays_to_be_seen(site, mail, monkeypatch):
    monkeypatch.setattr(smtp, "_RETRY_DELAYS_S", (0.0, 0.0))
    ask(site, person=person(site))
    mail.way = "refuse"
    while MailSender(site).send_one():
        pass
    (letter,) = letters(site)
    assert (letter.state, letter.tries, "550" in letter.failure) == ("dead", 3, True)


def test_a_sender_that_dies_leaves_the_letter_to_another(site, mail, monkeypatch):
    ask(site, person=person(site))
    monkeypatch.setattr(MailSender, "_send", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        MailSender(site).send_one()
    monkeypatch.undo()
    assert not MailSender(site).send_one()
    later = site.now() + smtp._CLAIM_S + 1
    monkeypatch.setattr(type(site), "now", lambda _: later)
    assert MailSender(site).send_one()
    assert len(mail.letters) == 1


def test_two_senders_send_a_letter_once(site, mail):
    for number in range(6):
        ask(site, person=person(site, f"Person {number}", f"p{number}@lab.example"))

    def send():
        while MailSender(site).send_one():
            pass

    threads = [threading.Thread(target=send) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(letter.recipients[0] for letter in mail.letters) == [
        f"p{n}@lab.example" for n in range(6)
    ]


def test_a_mail_server_that_hangs_keeps_nobody_waiting(site, mail, monkeypatch):
    monkeypatch.setattr(smtp, "_TIMEOUT_S", 0.3)
    mail.way = "hang"
    ask(site, person=person(site))
    sender = MailSender(site)
    sender.start()
    deadline = time.monotonic() + 60
    while not letters(site)[0].tries and time.monotonic() < deadline:
        time.sleep(0.01)
    person(site, "Bela")  # the database is free meanwhile
    while not letters(site)[0].failure and time.monotonic() < deadline:
        time.sleep(0.01)
    sender.stop()
    assert "timed out" in letters(site)[0].failure


def test_who_wants_to_be_told_is_told_that_a_run_is_over(site, mail):
    wants, silent = person(site, wants_letters=True), person(site, "Bela", "bela@lab.example")
    with site.database.writing() as session:
        challenge = Challenge(slug="photos", description="{}", made_at=0.0)
        session.add(challenge)
        session.flush()
        told = {
            "challenge_id": challenge.id,
            "phase": "final",
            "name": "n",
            "segmenter": "",
            "note": "",
            "pool": "d",
        }
        for number, who in enumerate((wants, silent)):
            run = Run(id=f"run-{number}", person_id=who.id, made_at=1.0, **told)
            session.add(run)
            session.flush()
            queue_run_over_email(session, run, site.now())
    while MailSender(site).send_one():
        pass
    (letter,) = mail.letters
    assert letter.recipients == ["ada@lab.example"]
    assert "https://lab.example/runs/run-0" in letter.get_content()


ODD = [
    "ada@lab.example\r\nBcc: all@lab.example", "ada@lab.example\nx", "a@b,c@d", "a@b>c", "ada", "@", "a b@c", "a@b@c",
    "<a@b>", "ada@lab.example\x00", "x" * 300 + "@lab.example", "ädä@lab.example", 'a"b@c d',
]  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(InvalidInput, match="name@example"):
        clean_address(text)


def test_an_address_may_be_left_out_and_loses_what_is_around_it():
    assert (clean_address(""), clean_address(" ada@lab.example\n")) == ("", "ada@lab.example")


@pytest.mark.parametrize("field", ["recipient", "subject"])
def test_nothing_begins_a_header_of_its_own(field):
    told = {"recipient": "a@b", "subject": "s"} | {field: "x\r\nBcc: all@lab.example"}
    mail = MailSettings(host="h", sender=SENDER)
    with pytest.raises(ValueError, match=r"(?i)newline|linefeed|carriage"):
        build_message(mail, told["recipient"], RenderedEmail(subject=told["subject"], text="x"))


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl here")
@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_password_is_told_to_a_server_with_a_known_certificate_alone(
    tmp_path, is_trusted, monkeypatch
):
    made, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    mail = MailServer(password="secret one", context=context)
    monkeypatch.setenv("SEGARENA_SMTP_PASSWORD", "secret one")
    trusted = str(made) if is_trusted else ""
    told = MailSettings(
        host="127.0.0.1", port=mail.port, sender=SENDER, user="arena", ca_file=trusted
    )
    site = open_site(tmp_path / "data", Settings(mail=told))
    ask(site, person=person(site))
    MailSender(site).send_one()
    left = letters(site)
    site.database.close()
    mail.stop()
    if is_trusted:
        assert [letter.was_safe for letter in mail.letters] == [True]
        assert left == []
    else:
        assert mail.letters == []
        assert "certificate" in left[0].failure.lower()


def test_a_password_comes_from_a_file_before_all_else(tmp_path, monkeypatch):
    monkeypatch.setenv("SEGARENA_SMTP_PASSWORD", "of the environment")
    file = tmp_path / "password"
    file.write_text("of the file\n")
    assert MailSettings(host="h", sender=SENDER).secret() == "of the environment"
    assert MailSettings(host="h", sender=SENDER, password="set").secret() == "set"
    assert (
        MailSettings(host="h", sender=SENDER, password="set", password_file=str(file)).secret()
        == "of the file"
    )


def test_a_mail_server_that_takes_nothing_is_told_before_the_start(tmp_path, mail):
    told = MailSettings(host="127.0.0.1", port=mail.port, security="none", sender=SENDER)
    assert [
        fault for fault in faults_of(tmp_path / "data", Settings(mail=told)) if "mail" in fault
    ] == []
    mail.password = "another one"
    wrong = msgspec.structs.replace(told, user="arena", password="x")
    assert [fault for fault in faults_of(tmp_path / "data", Settings(mail=wrong)) if "535" in fault]
