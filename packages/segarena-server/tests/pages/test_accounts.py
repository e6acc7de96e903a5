"""Accounts over HTTP: registration, sessions and rejected visitors."""

import re

import httpx2
import msgspec
import pytest
from sqlalchemy import delete, select

from segarena_server.auth.accounts import invite, set_state
from segarena_server.db.orm_models import AccessKey, Attempt, AuditEvent, Person
from segarena_server.server_process import first_admin_link

PASSWORD = "a long password"


def form_key(page):
    return re.search(r'name="key" value="([0-9a-f]{64})"', page.text)[1]


@pytest.fixture(scope="module")
def served(on_both):
    return on_both


@pytest.fixture(autouse=True)
def unhurried(served):
    with served.site.database.writing() as session:
        session.execute(delete(Attempt))


@pytest.fixture
def client(served):
    return served.client()


def waiting(served, name):
    client = served.client()
    answer = client.post("/register", data={"name": name, "password": PASSWORD})
    assert answer.status_code == 200
    assert "is waiting for an organiser" in answer.text


def confirm(served, name, state="confirmed"):
    with served.site.database.writing() as session:
        set_state(
            session,
            session.scalars(select(Person).where(Person.name == name)).one(),
            state,
            served.site.now(),
        )


def sign_in(client, name, password=PASSWORD):
    return client.post("/sign-in", data={"name": name, "password": password})


def test_the_link_of_the_first_start_makes_an_admin_once(served):
    link = first_admin_link(served.site)
    place = link.removeprefix(served.site.settings.address)
    client = served.client()
    assert "You are invited" in client.get(place).text
    form = {"name": "First", "password": PASSWORD, "invitation": place.partition("=")[2]}
    assert client.post("/register", data=form).status_code == 303
    assert "Organise" in client.get("/").text
    again = served.client().post("/register", data={**form, "name": "Second"})
    assert again.status_code == 422
    assert "is invalid or has expired" in again.text
    assert first_admin_link(served.site) == ""


def test_who_registers_openly_waits_until_confirmed(served, client):
    waiting(served, "Ada")
    assert "is waiting for an organiser" in sign_in(client, "Ada").text
    confirm(served, "Ada")
    assert sign_in(client, "ada ").headers["location"] == "/"
    assert 'href="/account">Ada</a>' in client.get("/").text


def test_a_wrong_password_and_an_unknown_name_are_told_alike(served, client):
    served.person("Known")
    wrong, unknown = sign_in(client, "Known", "x" * 12), sign_in(client, "Unheard", "x" * 12)
    assert wrong.status_code == unknown.status_code == 403
    assert wrong.text.replace("Known", "") == unknown.text.replace("Unheard", "")


def test_guessing_is_slowed_down_even_for_the_right_password(served, client):
    served.person("Target")
    for _ in range(10):
        assert sign_in(client, "Target", "wrong password").status_code == 403
    late = sign_in(client, "Target", "password of Target")
    assert late.status_code == 429


def client_at(served, address):
    """Return a client with another address of this machine."""
    return served.client(transport=httpx2.HTTPTransport(local_address=address))


def lock_out(served, name, address="127.0.0.9", tries=30):
    attacker = client_at(served, address)
    for _ in range(tries):
        last = sign_in(attacker, name, "wrong password")
    assert last.status_code == 429


def known_device(served, name):
    """Return a client that signed in as a new person earlier."""
    client = served.person(name)
    for cookie in list(client.cookies):
        if not cookie.endswith("-device"):
            client.cookies.delete(cookie)
    return client


@pytest.mark.long
def test_wrong_passwords_from_elsewhere_do_not_lock_the_owner_out(served, client):
    served.person("Owner")
    lock_out(served, "Owner")
    assert sign_in(client, "Owner", "password of Owner").status_code == 303


@pytest.mark.long
def test_a_known_device_comes_in_from_the_address_of_an_attacker(served):
    known = served.person("Neighbour")
    # Signing out leaves the device known.
    known.post("/sign-out", data={"key": form_key(known.get("/"))})
    lock_out(served, "Neighbour", address="127.0.0.1")
    stranger = served.client()
    assert sign_in(stranger, "Neighbour", "password of Neighbour").status_code == 429
    assert sign_in(known, "Neighbour", "password of Neighbour").status_code == 303


@pytest.mark.long
def test_a_known_device_has_no_more_tries_than_others_and_only_at_its_account(served):
    device = known_device(served, "Borrowed")
    served.person("Victim")
    wrong = [sign_in(device, "Borrowed", "wrong password").status_code for _ in range(12)]
    assert wrong == [403] * 10 + [429] * 2
    lock_out(served, "Victim", address="127.0.0.1")
    assert sign_in(device, "Victim", "password of Victim").status_code == 429


@pytest.mark.long
def test_the_cookie_of_a_device_is_signed_and_opens_nothing(served):
    client = known_device(served, "Cookie")
    (name,) = [name for name in client.cookies if name.endswith("-device")]
    value = client.cookies[name]
    with served.site.database.writing() as session:
        invitation = invite(session, served.site.now(), "participant")
    form = {"name": "Cookie 2", "password": PASSWORD, "invitation": invitation}
    set_cookies = served.client().post("/register", data=form).headers.get_list("set-cookie")
    (header,) = [header for header in set_cookies if "-device=" in header]
    for attribute in ("HttpOnly", "Path=/sign-in", "SameSite=strict", "Max-Age=34560000"):
        assert attribute.lower() in header.lower()
    assert served.client(cookies={name: value}).get("/tokens").headers["location"] == "/sign-in"
    lock_out(served, "Cookie", address="127.0.0.1")
    other_account = value.replace(value.partition("-")[0], "999999", 1)
    other_signature = value[:-1] + ("1" if value.endswith("0") else "0")
    for forged in (other_account, other_signature, value.replace(".", "x."), "", ".", "--.", "💥"):
        stranger = served.client(headers={"cookie": f"{name}={forged}".encode()})
        assert sign_in(stranger, "Cookie", "password of Cookie").status_code == 429
    assert sign_in(client, "Cookie", "password of Cookie").status_code == 303


@pytest.mark.long
def test_an_old_cookie_of_a_device_is_no_longer_known(served, monkeypatch):
    client = known_device(served, "Old")
    lock_out(served, "Old", address="127.0.0.1")
    now = served.site.clock()
    with monkeypatch.context() as patch:
        patch.setattr(served.site, "clock", lambda: now + 401 * 86400)
        lock_out(served, "Old", address="127.0.0.1")
        assert sign_in(client, "Old", "password of Old").status_code == 429


@pytest.mark.long
def test_a_school_behind_one_address_can_register(served):
    answers = []
    for number in range(40):
        form = {"name": f"Pupil number {number}", "password": PASSWORD}
        answers.append(served.client().post("/register", data=form).status_code)
    assert answers == [200] * 40


@pytest.mark.long
def test_registrations_from_one_address_end_at_their_bound(served, monkeypatch):
    limits = msgspec.structs.replace(served.site.settings.limits, registrations=12)
    settings = msgspec.structs.replace(served.site.settings, limits=limits)
    monkeypatch.setattr(served.site, "settings", settings)
    answers = []
    for number in range(14):
        # Text that is no invitation must not lift the bound.
        form = {"name": f"Crowd {number}", "password": PASSWORD}
        if number == 13:
            form["invitation"] = "sai_made_up"
        answers.append(served.client().post("/register", data=form).status_code)
    assert answers == [200] * 12 + [429] * 2
    other = client_at(served, "127.0.0.8")
    form = {"name": "Crowd elsewhere", "password": PASSWORD}
    assert other.post("/register", data=form).status_code == 200
    served.person("Crowd invited")


def test_a_closed_account_has_no_session_and_no_way_in(served):
    client = served.person("Gone")
    assert client.get("/tokens").status_code == 200
    confirm(served, "Gone", "closed")
    assert client.get("/tokens").headers["location"] == "/sign-in"
    assert sign_in(client, "Gone", "password of Gone").status_code == 403


def test_signing_out_ends_the_session_for_who_copied_the_cookie(served):
    client = served.person("Leaving")
    copied = dict(client.cookies)
    client.post("/sign-out", data={"key": form_key(client.get("/"))})
    thief = served.client(cookies=copied)
    assert thief.get("/tokens").headers["location"] == "/sign-in"


def test_the_cookie_is_strict_signed_and_kept_as_a_hash(served):
    with served.site.database.writing() as session:
        invitation = invite(session, served.site.now(), "participant")
    form = {"name": "Strict", "password": PASSWORD, "invitation": invitation}
    cookie = served.client().post("/register", data=form).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    name, value = re.match(r"(segarena-[0-9a-f]{8})=([^;]+)", cookie).groups()
    key, _, signature = value.partition(".")
    with served.site.database.reading() as session:
        assert key not in " ".join(session.scalars(select(AccessKey.hash)))
    for forged in (f"{key}.{'0' * 64}", key, f"{key}x.{signature}", "", "."):
        client = served.client(cookies={name: forged})
        assert client.get("/tokens").headers["location"] == "/sign-in"


def test_a_form_without_the_key_of_the_session_is_refused(served):
    client = served.person("Careful")
    assert client.post("/tokens", data={"label": "x"}).status_code == 403
    assert client.post("/tokens", data={"label": "x", "key": "0" * 64}).status_code == 403
    own = form_key(client.get("/tokens"))
    assert "sat_" in client.post("/tokens", data={"label": "x", "key": own}).text


ELSEWHERE = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
]


@pytest.mark.parametrize("headers", ELSEWHERE)
def test_a_form_of_another_site_is_refused(served, client, headers):
    answer = client.post("/register", data={"name": "Cross", "password": PASSWORD}, headers=headers)
    assert answer.status_code == 403
    assert "another site" in answer.text


def test_a_token_is_shown_once_and_can_be_taken_back(served):
    client = served.person("Scripts")
    own = form_key(client.get("/tokens"))
    made = client.post("/tokens", data={"label": "my <b>cluster</b>", "key": own}).text
    text = re.search(r"sat_[\w-]+", made)[0]
    listed = client.get("/tokens").text
    assert text not in listed
    assert "my &lt;b&gt;cluster&lt;/b&gt;" in listed
    number = re.search(r"/tokens/(\d+)/end", listed)[1]
    other = served.person("Other")
    stolen = other.post(f"/tokens/{number}/end", data={"key": form_key(other.get("/"))})
    assert stolen.status_code == 404
    client.post(f"/tokens/{number}/end", data={"key": own})
    assert f"/tokens/{number}/end" not in client.get("/tokens").text


@pytest.mark.parametrize(
    "name", ["", "x", "<script>", "a\r\nset-cookie: x=1", "../..", "x" * 41, "\x00\x00"]
)
def test_odd_names_are_refused_or_plain(served, client, name):
    answer = client.post("/register", data={"name": name, "password": PASSWORD})
    assert answer.status_code in (200, 422)
    assert "<script>" not in answer.text
    assert answer.headers.get("x") is None


def test_two_people_never_have_one_name(served, client):
    served.person("Straße")
    answer = client.post("/register", data={"name": "STRASSE", "password": PASSWORD})
    assert answer.status_code == 422
    assert "taken" in answer.text


@pytest.mark.parametrize("password", ["short", "", "x" * 201])
def test_passwords_have_a_length(served, client, password):
    answer = client.post("/register", data={"name": "Short Password", "password": password})
    assert answer.status_code == 422
    assert "10 to 200" in answer.text


def test_an_invitation_of_another_kind_opens_nothing(served, client):
    other = served.person("Inviter")
    token = re.search(
        r"sat_[\w-]+",
        other.post("/tokens", data={"label": "x", "key": form_key(other.get("/"))}).text,
    )
    form = {"name": "By Token", "password": PASSWORD, "invitation": token[0]}
    assert client.post("/register", data=form).status_code == 422


def test_what_is_done_stands_in_the_log_without_secrets(served, client):
    other = served.person("Noted")
    other.post("/tokens", data={"label": "x", "key": form_key(other.get("/"))})
    client.post("/sign-in", data={"name": "Noted", "password": "not this password"})
    with served.site.database.reading() as session:
        told = [(event.action, event.about) for event in session.scalars(select(AuditEvent))]
    assert {"registered", "sign-in", "sign-in refused", "token made"} <= {
        action for action, _ in told
    }
    assert not [about for _, about in told if "sat_" in about or "password" in about]


def test_too_large_a_form_is_cut_off(served, client):
    assert client.post("/sign-in", data={"name": "x" * 20_000, "password": "y"}).status_code == 413


def test_another_host_is_not_served(served, client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/", headers={"host": "[::1"}).status_code == 421


def test_every_answer_binds_the_browser(served, client):
    for place in ("/", "/nothing", "/static/page.css", "/api/v1/nothing"):
        headers = client.get(place).headers
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"


def test_a_person_who_is_signed_in_sees_no_form_that_would_be_rejected(served):
    client = served.person("Twice")
    answer = client.get("/sign-in")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    page = client.get("/register").text
    assert "You are signed in as Twice" in page
    assert 'action="/register"' not in page
