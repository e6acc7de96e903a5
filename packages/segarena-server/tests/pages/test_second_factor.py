"""Codes at sign-in, from the attacker's side: replay, guessing, half sign-ins, fixation and switching off."""

import io
import json
import re
import threading
import time
import zipfile

import pyotp
import pytest
from sqlalchemy import delete, select

from segarena_server.auth.access_keys import create_key
from segarena_server.auth.permissions import cookie_name, session_cookie
from segarena_server.auth.second_factor import needs_code
from segarena_server.db.orm_models import (
    AccessKey,
    Attempt,
    AuditEvent,
    Person,
    RecoveryCode,
    SecondFactor,
)
from segarena_server.settings import Settings

STEP_S = 30
PAGE = "/account/second-factor"


class Clock:
    """A clock that tests set."""

    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now

    def next_step(self, steps=1):
        self.now += STEP_S * steps


@pytest.fixture(scope="module")
def served(on_both):
    return on_both


@pytest.fixture(autouse=True)
def clock(served):
    """The server's clock; each test has a later time, so that no code of another test counts."""
    usual = served.site.clock
    made = Clock()
    with served.site.database.writing() as session:
        session.execute(delete(Attempt))
    served.site.clock = made
    yield made
    served.site.clock = usual


class Account:
    """An account with codes at sign-in, and its app."""

    def __init__(self, served, clock, name, role="admin"):
        self.served, self.clock, self.name = served, clock, name
        self.password = f"password of {name}"
        self.client = served.person(name, role)
        page = self.post(PAGE, password=self.password)
        self.secret = re.search(r'<pre class="copy secret">([A-Z2-7]{32})</pre>', page.text)[1]
        page = self.post(f"{PAGE}/confirm", code=self.code())
        self.recovery_codes = re.findall(r"(?:[A-Z2-7]{4}-){3}[A-Z2-7]{4}", page.text)
        clock.next_step(2)

    def code(self, offset=0):
        return pyotp.TOTP(self.secret).at(int(self.clock.now) + STEP_S * offset)

    def post(self, path, client=None, **fields):
        client = client or self.client
        return client.post(path, data={"key": key_of(client), **fields})

    def give_password(self):
        """Return a client that gave the right password and no code."""
        client = self.served.client()
        answer = client.post("/sign-in", data={"name": self.name, "password": self.password})
        assert answer.headers["location"] == "/sign-in/code"
        return client

    def sign_in(self, code, client=None):
        return (client or self.give_password()).post("/sign-in/code", data={"code": code})


def key_of(client):
    found = re.search(r'name="key" value="([0-9a-f]{64})"', client.get(PAGE).text)
    return found[1] if found else ""


def is_in(client):
    return client.get("/account").status_code == 200


def number_of(served, name):
    with served.site.database.reading() as session:
        return session.scalars(select(Person.id).where(Person.name == name)).one()


def log_of(served, name):
    number = number_of(served, name)
    with served.site.database.reading() as session:
        found = select(AuditEvent.action).where(
            (AuditEvent.person_id == number) | AuditEvent.about.startswith(f"account {number}")
        )
        return session.scalars(found).all()


def wrong(code):
    return f"{(int(code) + 1) % 10**6:06}"


@pytest.mark.long
def test_a_password_alone_gives_nothing_and_a_code_gives_a_session(served, clock):
    account = Account(served, clock, "Alma")
    client = account.give_password()
    assert not is_in(client)
    assert account.sign_in(account.code(), client).headers["location"] == "/"
    assert is_in(client)
    assert "Organise" in client.get("/").text
    assert "second factor on" in log_of(served, "Alma")


def test_a_code_is_accepted_once(served, clock):
    account = Account(served, clock, "Replay")
    code = account.code()
    assert account.sign_in(code).status_code == 303
    assert account.sign_in(code).status_code == 403
    clock.next_step()
    assert account.sign_in(code).status_code == 403
    assert account.sign_in(account.code()).status_code == 303


def test_the_code_that_switched_it_on_does_not_sign_in(served, clock):
    account = Account(served, clock, "First Code")
    clock.next_step(-2)
    assert account.sign_in(account.code()).status_code == 403


def test_an_earlier_code_is_refused_after_a_later_one(served, clock):
    account = Account(served, clock, "Earlier")
    earlier, later = account.code(), account.code(1)
    assert account.sign_in(later).status_code == 303
    assert account.sign_in(earlier).status_code == 403


@pytest.mark.parametrize(("offset", "status"), [(-2, 403), (-1, 303), (1, 303), (2, 403)])
def test_clocks_may_differ_by_one_step(served, clock, offset, status):
    account = Account(served, clock, f"Step {offset + 5}")
    assert account.sign_in(account.code(offset)).status_code == status


@pytest.mark.long
def test_one_code_signs_in_one_of_many_at_once(served, clock):
    account = Account(served, clock, "Race")
    code = account.code()
    clients = [account.give_password() for _ in range(6)]
    answers = []
    threads = [
        threading.Thread(target=lambda one=client: answers.append(account.sign_in(code, one)))
        for client in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.headers.get("location") for answer in answers].count("/") == 1
    assert sum(is_in(client) for client in clients) == 1


@pytest.mark.long
def test_guessing_is_limited_even_for_the_right_code_and_with_fresh_sign_ins(served, clock):
    account = Account(served, clock, "Guessed")
    for _ in range(10):
        assert account.sign_in(wrong(account.code())).status_code == 403
    assert account.sign_in(account.code()).status_code == 429
    assert account.sign_in(account.recovery_codes[0]).status_code == 429
    assert "sign-in refused" in log_of(served, "Guessed")
    clock.now += 901
    assert account.sign_in(account.code()).status_code == 303


def test_no_other_text_is_a_code(served, clock):
    account = Account(served, clock, "Odd")
    client = account.give_password()
    odd = ("", "0", "000 00", "٠" * 6, "²" * 6, "1" * 5000, "' OR 1=1 --", "\x00" * 6, "None")
    for code in odd:
        assert account.sign_in(code, client).status_code == 403, code
    assert account.sign_in(account.code(), client).status_code == 303


def test_a_sign_in_without_its_code_reaches_nothing(served, clock):
    account = Account(served, clock, "Half")
    client = account.give_password()
    (name,) = [name for name in client.cookies if name.endswith("-code")]
    text = client.cookies[name]
    session_name = cookie_name(served.site)
    for value in (text, session_cookie(served.site, text)):
        thief = served.client(cookies={session_name: value})
        for path in ("/account", "/tokens", "/organise", "/organise/people", PAGE, "/runs"):
            assert thief.get(path).headers["location"] == "/sign-in", path
    for path in ("/challenges", "/runs/x"):
        assert served.api(text).get(path).status_code == 401
    for path in ("/reset", "/address"):
        assert f'value="{text}"' not in served.client().get(path, params={"link": text}).text
    assert not is_in(client)


def test_a_sign_in_waits_ten_minutes_for_its_code(served, clock):
    account = Account(served, clock, "Slow")
    client = account.give_password()
    clock.now += 601
    assert account.sign_in(account.code(), client).headers["location"] == "/sign-in"
    assert not is_in(client)


def test_a_planted_or_invented_sign_in_gives_no_session_of_the_victim(served, clock):
    attacker = Account(served, clock, "Mallory", "participant")
    victim = Account(served, clock, "Victim")
    planted = dict(attacker.give_password().cookies)
    browser = served.client(cookies=planted)
    assert victim.sign_in(victim.code(), browser).status_code == 403
    (name,) = planted
    invented = served.client(cookies={name: "saf_" + "x" * 43})
    assert victim.sign_in(victim.code(), invented).headers["location"] == "/sign-in"
    assert not is_in(browser)
    assert not is_in(invented)


def test_the_session_is_new_and_not_the_one_before(served, clock):
    account = Account(served, clock, "Fixed")
    client = account.give_password()
    before = set(client.cookies.values())
    account.sign_in(account.code(), client)
    after = client.cookies[cookie_name(served.site)]
    assert after not in before
    other = account.give_password()
    clock.next_step(2)
    account.sign_in(account.code(), other)
    assert other.cookies[cookie_name(served.site)] != after


def test_a_used_sign_in_is_over(served, clock):
    account = Account(served, clock, "Used")
    client = account.give_password()
    copied = dict(client.cookies)
    account.sign_in(account.code(), client)
    clock.next_step()
    again = account.sign_in(account.code(), served.client(cookies=copied))
    assert again.headers["location"] == "/sign-in"


@pytest.mark.long
def test_recovery_codes_work_once_each_and_only_for_their_account(served, clock):
    account = Account(served, clock, "Lost Phone")
    other = Account(served, clock, "Other Phone")
    assert len(set(account.recovery_codes)) == 10
    first = account.recovery_codes[0]
    assert other.sign_in(first).status_code == 403
    assert account.sign_in(first.lower().replace("-", " ")).status_code == 303
    assert account.sign_in(first).status_code == 403
    assert "9 recovery codes are left" in account.client.get(PAGE).text
    assert "recovery code used" in log_of(served, "Lost Phone")


def test_secrets_and_codes_are_not_in_the_database_nor_shown_again(served, clock):
    account = Account(served, clock, "Secret")
    with served.site.database.reading() as session:
        factor = session.get_one(SecondFactor, number_of(served, "Secret"))
        hashes = session.scalars(select(RecoveryCode.hash)).all()
    assert account.secret not in factor.nonce
    assert not {code.replace("-", "") for code in account.recovery_codes} & set(hashes)
    shown = account.client.get(PAGE).text
    assert account.secret not in shown
    assert not any(code in shown for code in account.recovery_codes)


def test_it_is_on_only_after_a_right_code(served, clock):
    client = served.person("Unconfirmed", "organiser")
    form = {"key": key_of(client), "password": "password of Unconfirmed"}
    first = client.post(PAGE, data=form)
    assert "no-store" in first.headers["cache-control"]
    assert 'class="qrline"' in first.text
    secret = re.search(r"[A-Z2-7]{32}", first.text)[0]
    again = client.post(PAGE, data=form)
    assert secret not in again.text
    code = pyotp.TOTP(secret).at(int(clock.now))
    refused = client.post(f"{PAGE}/confirm", data={"key": form["key"], "code": code})
    assert refused.status_code == 422  # of the secret before
    assert not re.search(r"[A-Z2-7]{32}", refused.text)
    with served.site.database.reading() as session:
        assert not needs_code(session, number_of(served, "Unconfirmed"))
    answer = served.client().post(
        "/sign-in", data={"name": "Unconfirmed", "password": "password of Unconfirmed"}
    )
    assert answer.headers["location"] == "/"


def test_setting_up_needs_the_password_and_ends_other_sessions(served, clock):
    client = served.person("Careful", "admin")
    stolen = served.client(cookies=dict(client.cookies))
    elsewhere = served.client()
    elsewhere.post("/sign-in", data={"name": "Careful", "password": "password of Careful"})
    assert is_in(elsewhere)
    key = key_of(client)
    refused = stolen.post(PAGE, data={"key": key, "password": "wrong password"})
    assert refused.status_code == 422
    page = client.post(PAGE, data={"key": key, "password": "password of Careful"})
    secret = re.search(r"[A-Z2-7]{32}", page.text)[0]
    code = pyotp.TOTP(secret).at(int(clock.now))
    assert client.post(f"{PAGE}/confirm", data={"key": key, "code": code}).status_code == 200
    assert is_in(client)
    assert not is_in(elsewhere)
    again = client.post(PAGE, data={"key": key, "password": "password of Careful"})
    assert again.status_code == 409


@pytest.mark.long
@pytest.mark.parametrize("path", [f"{PAGE}/off", f"{PAGE}/codes"])
def test_switching_off_and_new_codes_need_the_password_and_a_code(served, clock, path):
    account = Account(served, clock, f"Keeper {path[-3:]}")
    number = number_of(served, account.name)
    right = {"password": account.password, "code": account.code()}
    for fields, status in (
        ({**right, "password": "wrong password"}, 422),
        ({**right, "code": wrong(right["code"])}, 422),
        ({"password": account.password}, 422),
        ({"code": right["code"]}, 422),
    ):
        assert account.post(path, **fields).status_code == status
    foreign = account.client.post(path, data={"key": "0" * 64, **right})
    assert foreign.status_code == 403
    with served.site.database.reading() as session:
        assert needs_code(session, number)
    assert account.post(path, **right).status_code in (200, 303)
    with served.site.database.reading() as session:
        assert needs_code(session, number) == path.endswith("codes")
    clock.next_step(2)
    assert served.client().post(
        "/sign-in", data={"name": account.name, "password": account.password}
    ).headers["location"] == ("/sign-in/code" if path.endswith("codes") else "/")


@pytest.mark.long
def test_new_recovery_codes_replace_the_earlier_ones(served, clock):
    account = Account(served, clock, "Renewed")
    page = account.post(f"{PAGE}/codes", password=account.password, code=account.code())
    fresh = re.findall(r"(?:[A-Z2-7]{4}-){3}[A-Z2-7]{4}", page.text)
    assert not set(fresh) & set(account.recovery_codes)
    assert account.sign_in(account.recovery_codes[0]).status_code == 403
    assert account.sign_in(fresh[0]).status_code == 303


@pytest.mark.long
def test_a_code_of_a_signed_in_person_is_throttled_with_those_at_sign_in(served, clock):
    account = Account(served, clock, "Both Ways")
    for _ in range(10):
        account.post(f"{PAGE}/off", password=account.password, code=wrong(account.code()))
    assert account.sign_in(account.code()).status_code == 429
    late = account.post(f"{PAGE}/off", password=account.password, code=account.code())
    assert late.status_code == 429


def test_a_new_password_ends_half_sign_ins_and_still_needs_a_code(served, clock):
    account = Account(served, clock, "Reset")
    half = account.give_password()
    with served.site.database.writing() as session:
        link = create_key(session, "reset", clock.now, person_id=number_of(served, "Reset"))
    form = {"link": link, "password": "another long password"}
    assert served.client().post("/reset", data=form).status_code == 303
    assert account.sign_in(account.code(), half).headers["location"] == "/sign-in"
    account.password = "another long password"
    client = account.give_password()
    assert not is_in(client)
    assert account.sign_in(account.code(), client).status_code == 303


def test_a_closed_account_does_not_finish_its_sign_in(served, clock):
    account = Account(served, clock, "Shut", "participant")
    half = account.give_password()
    with served.site.database.writing() as session:
        session.get_one(Person, number_of(served, "Shut")).state = "closed"
    assert account.sign_in(account.code(), half).headers["location"] == "/sign-in"


def test_tokens_of_programs_go_on_working(served, clock):
    account = Account(served, clock, "Programs", "participant")
    page = account.post("/tokens", label="mine")
    token = re.search(r"sat_[\w-]+", page.text)[0]
    assert served.api(token).get("/challenges").status_code == 200
    assert account.give_password() is not None
    assert served.api(token).get("/challenges").status_code == 200


def test_the_copy_of_personal_data_has_no_secrets(served, clock):
    account = Account(served, clock, "Copied")
    archive = zipfile.ZipFile(io.BytesIO(account.client.get("/account/copy").content))
    about = json.loads(archive.read("account.json"))["second_factor"]
    assert set(about) == {"made_at", "confirmed_at", "recovery_codes_left"}
    assert about["recovery_codes_left"] == 10


def test_deleting_an_account_deletes_its_second_factor(served, clock):
    account = Account(served, clock, "Leaver", "participant")
    number = number_of(served, "Leaver")
    assert account.post("/account/delete", password=account.password).status_code == 200
    with served.site.database.reading() as session:
        assert session.get(SecondFactor, number) is None
        found = select(RecoveryCode).where(RecoveryCode.person_id == number)
        assert session.scalars(found).all() == []


@pytest.fixture
def strict(served, monkeypatch):
    """A server that requires codes of organisers and admins."""

    def require(of):
        values = {name: getattr(served.site.settings, name) for name in ("port", "workers", "db")}
        monkeypatch.setattr(served.site, "settings", Settings(**values, second_factor=of))

    return require


@pytest.mark.parametrize(
    ("of", "role", "is_required"),
    [
        ("optional", "admin", False),
        ("admins", "admin", True),
        ("admins", "organiser", False),
        ("organisers", "organiser", True),
        ("organisers", "admin", True),
        ("organisers", "participant", False),
    ],
)
def test_where_codes_are_required_a_session_without_them_opens_only_their_page(
    served, strict, of, role, is_required
):
    strict(of)
    client = served.person(f"{of} {role}", role)
    paths = ("/account", "/tokens", "/runs", "/team", "/account/copy")
    for path in (*paths, *(("/organise", "/organise/people") if role != "participant" else ())):
        answer = client.get(path)
        is_sent_there = answer.headers.get("location") == PAGE
        assert is_sent_there == is_required, path
    home = client.get("/")
    assert (("set it up" in home.text), ("/organise" in home.text)) == (
        is_required,
        not is_required and role != "participant",
    )
    page = client.get(PAGE)
    assert page.status_code == 200
    assert ("requires a second factor for your role" in page.text) == is_required


def test_a_required_second_factor_opens_everything_once_it_is_on(served, clock, strict):
    strict("admins")
    account = Account(served, clock, "Obedient")
    assert account.client.get("/organise").status_code == 200
    assert account.post("/sign-out").status_code == 303


def test_required_codes_ask_neither_tokens_nor_sessions_of_a_provider(served, clock, strict):
    strict("admins")
    token = served.token("robot", "admin")
    assert served.api(token).get("/challenges").status_code == 200
    client = served.person("By Provider", "admin")
    assert client.get("/organise").headers["location"] == PAGE
    with served.site.database.writing() as session:
        own = select(AccessKey).where(
            AccessKey.person_id == number_of(served, "By Provider"), AccessKey.kind == "session"
        )
        session.scalars(own).one().label = "by the provider"
    assert client.get("/organise").status_code == 200


@pytest.mark.long
def test_setting_up_and_signing_in_by_keyboard_alone(served, open_page, page_widths, barriers):
    served.site.clock = time.time
    client = served.person("Keyboard", "admin")
    page = open_page(served.address, width=390, scheme="dark")
    for name, value in client.cookies.items():
        page.context.add_cookies([{"name": name, "value": value, "url": served.address}])
    page.goto(f"{served.address}{PAGE}")
    assert barriers(page) == {}
    type_into(page, "password", "password of Keyboard")
    assert max(page_widths(page).values()) <= 390
    assert barriers(page) == {}
    secret = re.search(r"[A-Z2-7]{32}", page.text_content("pre.secret"))[0]
    type_into(page, "code", pyotp.TOTP(secret).now())
    assert "switched on" in page.text_content("main")
    assert max(page_widths(page).values()) <= 390
    assert barriers(page) == {}
    recovery = re.search(r"(?:[A-Z2-7]{4}-){3}[A-Z2-7]{4}", page.text_content("pre.secret"))[0]
    page.context.clear_cookies()
    page.goto(f"{served.address}/sign-in")
    page.get_by_label("Name").fill("Keyboard")
    type_into(page, "password", "password of Keyboard")
    assert barriers(page) == {}
    type_into(page, "code", recovery)
    assert page.text_content(".account .name") == "Keyboard"


def type_into(page, field, text):
    """Go to a field with the tab key, type, and send the form with the enter key."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == field:
            break
    page.keyboard.insert_text(text)
    with page.expect_navigation():
        page.keyboard.press("Enter")
