"""Accounts from outside: how one gets in, stays in and is kept out."""

import re

import pytest
from sqlalchemy import delete, select

from segarena_server.auth.accounts import invite, set_state
from segarena_server.db.orm_models import AccessKey, Attempt, AuditEvent, Person
from segarena_server.serving import first_admin_link

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
    assert "waits for an organiser" in answer.text


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
    assert "is not valid" in again.text
    assert first_admin_link(served.site) == ""


def test_who_registers_openly_waits_until_confirmed(served, client):
    waiting(served, "Ada")
    assert "waits for an organiser" in sign_in(client, "Ada").text
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
