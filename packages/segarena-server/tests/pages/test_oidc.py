"""Sign-in with an external account: accepted and rejected responses of the provider."""

import re
import time
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from pyotp.totp import TOTP
from sqlalchemy import delete, select, update

from segarena_server.auth.accounts import invite
from segarena_server.auth.second_factor import begin_set_up, confirm_set_up
from segarena_server.db.orm_models import AccessKey, Attempt, Identity, Person
from segarena_server.preflight import faults_of
from segarena_server.server_process import open_site
from segarena_server.settings import OidcSettings, Settings

pytest.importorskip("joserfc")
from at_work import Served
from provider import CLIENT, SECRET, Provider, in_base64, new_key


@pytest.fixture(scope="module")
def provider():
    made = Provider()
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def right(provider):
    provider.reset()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lab(request, tmp_path_factory, provider):
    """A server with sign-in by a provider."""
    address = (
        ""
        if request.param == "sqlite"
        else request.getfixturevalue("postgres").new_database(with_tables=True)
    )
    told = OidcSettings(
        issuer=provider.issuer, client_id=CLIENT, client_secret=SECRET, name="the lab"
    )
    site = open_site(
        tmp_path_factory.mktemp("lab") / "data", Settings(port=0, workers=0, oidc=told, db=address)
    )
    made = Served(site)
    yield made
    made.stop()


def go(client, **told):
    return client.get("/oidc", params=told).headers["location"]


def come(client, provider, subject, name="", **told):
    """Sign in at the provider and come back."""
    return client.get("/oidc/back", params=provider.let_in(go(client, **told), subject, name))


def is_in(client):
    return client.get("/account").status_code == 200


def confirm(lab, name):
    with lab.site.database.writing() as session:
        session.scalars(select(Person).where(Person.name == name)).one().state = "confirmed"


def form_key(client):
    return re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/").text)[1]


def test_the_provider_is_asked_for_a_code_bound_to_this_browser(lab, provider):
    client = lab.client()
    told = {name: value[0] for name, value in parse_qs(urlsplit(go(client)).query).items()}
    assert (told["response_type"], told["client_id"], told["code_challenge_method"]) == (
        "code",
        CLIENT,
        "S256",
    )
    assert "openid" in told["scope"].split()
    assert told["redirect_uri"] == f"{lab.site.settings.address}/oidc/back"
    assert len({told["state"], told["nonce"], told["code_challenge"]}) == 3
    again = {name: value[0] for name, value in parse_qs(urlsplit(go(client)).query).items()}
    assert not {told["state"], told["nonce"], told["code_challenge"]} & set(again.values())
    cookie = client.get("/oidc").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "path=/oidc" in cookie


def test_who_comes_first_waits_and_is_in_once_confirmed(lab, provider):
    client = lab.client()
    assert "is waiting for an organiser" in come(client, provider, "sub-grace", "Grace Hopper").text
    assert not is_in(client)
    confirm(lab, "Grace Hopper")
    welcome = come(client, provider, "sub-grace", "Grace Hopper")
    assert "Welcome, Grace Hopper" in welcome.text
    assert 'content="0; url=/"' in welcome.text
    assert "samesite=strict" in welcome.headers["set-cookie"].lower()
    assert is_in(client)


def test_an_invitation_lets_in_at_once(lab, provider):
    with lab.site.database.writing() as session:
        text = invite(session, lab.site.now(), "viewer")
    client = lab.client()
    come(client, provider, "sub-invited", "Invited One", invitation=text)
    assert is_in(client)
    other = lab.client()
    assert (
        "is waiting for an organiser"
        in come(other, provider, "sub-second", "Second One", invitation=text).text
    )


def test_where_accounts_are_by_invitation_nobody_comes_without(lab, provider, monkeypatch):
    closed = msgspec.structs.replace(lab.site.settings, registration="invited")
    monkeypatch.setattr(lab.site, "settings", closed)
    answer = come(lab.client(), provider, "sub-uninvited", "Uninvited")
    assert (answer.status_code, "requires an invitation" in answer.text) == (422, True)


def test_a_name_or_an_address_that_is_known_is_no_way_into_the_account(lab, provider):
    victim = lab.person("Victim")
    provider.claims = {
        "email": "victim@lab.example",
        "email_verified": True,
        "preferred_username": "Victim",
    }
    client = lab.client()
    assert "is waiting for an organiser" in come(client, provider, "sub-thief", "Victim").text
    own = (
        select(Person)
        .join(Identity, Identity.person_id == Person.id)
        .where(Identity.subject == "sub-thief")
    )
    with lab.site.database.reading() as session:
        thief = session.scalars(own).one()
    assert (thief.name, thief.state) == ("Victim 2", "waiting")
    assert is_in(victim)


def test_the_same_subject_of_another_issuer_is_somebody_else(lab, provider):
    with lab.site.database.writing() as session:
        other = session.scalars(select(Person).where(Person.name == "Victim")).first() or Person(
            name="Other", folded="other", password="-", role="admin", state="confirmed", made_at=0.0
        )
        session.add(other)
        session.flush()
        session.add(
            Identity(
                issuer="https://other.example", subject="sub-same", person_id=other.id, made_at=0.0
            )
        )
    client = lab.client()
    assert "is waiting for an organiser" in come(client, provider, "sub-same", "Same Subject").text
    assert not is_in(client)


@pytest.mark.parametrize(
    "name", ["", "<script>alert(1)</script>", "x" * 500, "a\r\nset-cookie: x=1", 7, ["a"], "💥"]
)
def test_an_odd_name_becomes_a_plain_one(lab, provider, name):
    provider.claims = {"name": name}
    answer = come(lab.client(), provider, f"sub-odd-{hash(str(name))}")
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text


def wrong_ways(provider):
    """Return responses of a faulty or impersonated provider, which must be rejected."""
    now = int(time.time())
    return {
        "other audience": ({"aud": "another client"}, provider.by_key),
        "more audiences": ({"aud": [CLIENT, "another client"]}, provider.by_key),
        "made for another": (
            {"aud": [CLIENT, "another client"], "azp": "another client"},
            provider.by_key,
        ),
        "no audience": ({"aud": None}, provider.by_key),
        "other issuer": ({"iss": "https://evil.example"}, provider.by_key),
        "no issuer": ({"iss": None}, provider.by_key),
        "expired": ({"exp": now - 3600}, provider.by_key),
        "no end": ({"exp": None}, provider.by_key),
        "odd end": ({"exp": "tomorrow"}, provider.by_key),
        "of tomorrow": ({"iat": now + 86400}, provider.by_key),
        "other nonce": ({"nonce": "0" * 64}, provider.by_key),
        "no nonce": ({"nonce": None}, provider.by_key),
        "no subject": ({"sub": None}, provider.by_key),
        "empty subject": ({"sub": ""}, provider.by_key),
        "long subject": ({"sub": "x" * 5000}, provider.by_key),
        "subject of another kind": ({"sub": 7}, provider.by_key),
        "alg none": ({}, provider.by_nobody),
        "public key as secret": ({}, provider.by_public_key),
        "another key of the same name": (
            {},
            lambda claims: provider.by_key(claims, provider.other_key),
        ),
        "unknown key": ({}, lambda claims: provider.by_key(claims, new_key("k9"))),
        "cut": ({}, lambda claims: provider.by_key(claims)[:-10]),
        "changed": ({}, lambda claims: tampered(provider, claims)),
        "no token": ({}, lambda claims: 7),
        "nonsense": ({}, lambda claims: "💥.a.b"),
    }


def tampered(provider, claims):
    head, _, signature = provider.by_key(claims).split(".")
    return f"{head}.{in_base64(claims | {'sub': 'sub-ada'})}.{signature}"


WAYS = (
    "other audience", "more audiences", "made for another", "no audience", "other issuer", "no issuer", "expired",
    "no end", "odd end", "of tomorrow", "other nonce", "no nonce", "no subject", "empty subject", "long subject",
    "subject of another kind", "alg none", "public key as secret", "another key of the same name", "unknown key",
    "cut", "changed", "no token", "nonsense",
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_cannot_be_believed_lets_nobody_in(lab, provider, way):
    provider.claims, provider.sign = wrong_ways(provider)[way]
    client = lab.client()
    with lab.site.database.reading() as session:
        before = len(session.scalars(select(Person.id)).all())
    answer = come(client, provider, "sub-ada", "Ada Lovelace")
    assert (answer.status_code, "with the provider failed" in answer.text) == (403, True), (
        answer.text
    )
    assert not is_in(client)
    with lab.site.database.reading() as session:
        assert len(session.scalars(select(Person.id)).all()) == before
    provider.reset()
    assert (
        come(client, provider, "sub-sound", "Sound One").status_code == 200
    )  # nothing else was wrong


def test_several_audiences_are_fine_when_it_was_made_for_us(lab, provider):
    provider.claims = {"aud": [CLIENT, "another client"], "azp": CLIENT}
    assert come(lab.client(), provider, "sub-azp", "Several").status_code == 200


def test_a_state_comes_back_once_and_only_to_the_browser_that_has_it(lab, provider):
    client, other = lab.client(), lab.client()
    told = provider.let_in(go(client), "sub-ada")
    assert other.get("/oidc/back", params=told).status_code == 403  # somebody else's browser
    go(other)
    assert other.get("/oidc/back", params=told).status_code == 403  # with a sign-in of its own
    assert client.get("/oidc/back", params=told).status_code == 200
    again = provider.let_in(
        f"?state={told['state']}&nonce=x&code_challenge=x&redirect_uri=x", "sub-ada"
    )
    replayed = lab.client(cookies={"segarena_login": told["state"]})
    assert "has expired" in replayed.get("/oidc/back", params=again).text
    assert not is_in(replayed)


@pytest.mark.parametrize("state", ["", "sal_", "sal_" + "x" * 43, "sas_x", "💥"])
def test_a_made_up_state_is_refused(lab, state):
    client = lab.client()
    client.cookies.set("segarena_login", state.encode("ascii", "ignore").decode())
    assert client.get("/oidc/back", params={"state": state, "code": "x"}).status_code == 403


def test_a_sign_in_that_took_too_long_is_over(lab, provider):
    client = lab.client()
    told = provider.let_in(go(client), "sub-ada")
    with lab.site.database.writing() as session:
        for key in session.scalars(select(AccessKey).where(AccessKey.kind == "login")):
            key.ends_at = lab.site.now() - 1
    assert "has expired" in client.get("/oidc/back", params=told).text


def test_a_code_is_worth_nothing_without_the_verifier_of_the_browser(lab, provider):
    client, thief = lab.client(), lab.client()
    stolen = provider.let_in(go(client), "sub-ada")["code"]
    own = provider.let_in(go(thief), "sub-nobody")["state"]
    assert thief.get("/oidc/back", params={"state": own, "code": stolen}).status_code == 403
    assert not is_in(thief)


def test_new_keys_of_the_provider_are_fetched_and_not_for_every_wrong_token(lab, provider):
    held = lab.serving._server.config.app._app.state.provider
    fresh = new_key("k2")
    provider.keys = [provider.key, fresh]
    provider.sign = lambda claims: provider.by_key(claims, fresh)
    held._keys = held._keys and type(held._keys)(held._keys.content, held._keys.at - 61)
    assert come(lab.client(), provider, "sub-fresh", "Fresh Key").status_code == 200
    provider.asked.clear()
    provider.sign = lambda claims: provider.by_key(claims, new_key("k3"))
    for _ in range(5):
        assert come(lab.client(), provider, "sub-fresh").status_code == 403
    assert provider.asked.count("/realm/keys") == 0


ODDLY = [
    {"issuer": "https://evil.example"},
    {"authorization_endpoint": "http://evil.example/go"},
    {"jwks_uri": 7},
]


@pytest.mark.parametrize("told", ODDLY)
def test_a_provider_that_describes_itself_oddly_is_not_used(lab, provider, told):
    held = lab.serving._server.config.app._app.state.provider
    before = held._configuration, held._keys
    held._configuration = held._keys = None
    provider.described = told
    client = lab.client()
    answer = client.get("/oidc")
    if answer.status_code == 303:
        answer = client.get(
            "/oidc/back", params=provider.let_in(answer.headers["location"], "sub-ada")
        )
    assert answer.status_code == 403
    held._configuration, held._keys = before


@pytest.mark.long
def test_somebody_connects_an_account_and_nobody_elses(lab, provider):
    client, other = lab.person("Has Password"), lab.person("Other Person")
    assert "Connect your account" in client.get("/account").text
    come(client, provider, "sub-connected", connect="yes")
    assert "You can sign in here" in client.get("/account").text
    fresh = lab.client()
    come(fresh, provider, "sub-connected")
    assert "Sign out" in fresh.get("/").text
    assert "Has Password" in fresh.get("/account").text
    assert come(other, provider, "sub-connected", connect="yes").status_code == 422


def switch_codes_on(lab, name):
    """Give an account a second factor."""
    now = lab.site.now()
    with lab.site.database.writing() as session:
        number = session.scalars(select(Person.id).where(Person.name == name)).one()
        code = TOTP(begin_set_up(session, lab.site.secret, number, now)).at(int(now))
        assert confirm_set_up(session, lab.site.secret, number, code, now)


def test_a_sign_in_at_the_provider_asks_for_no_code_of_ours(lab, provider):
    client = lab.person("Codes And Provider")
    come(client, provider, "sub-codes", connect="yes")
    switch_codes_on(lab, "Codes And Provider")
    fresh = lab.client()
    come(fresh, provider, "sub-codes")
    assert is_in(fresh)
    form = {"name": "Codes And Provider", "password": "password of Codes And Provider"}
    by_password = lab.client()
    assert by_password.post("/sign-in", data=form).headers["location"] == "/sign-in/code"
    assert not is_in(by_password)


def test_an_old_session_of_an_account_with_codes_connects_nothing(lab, provider, monkeypatch):
    switched = lab.person("Stolen Session")
    cookies = dict(switched.cookies)
    now = lab.site.now()
    switch_codes_on(lab, "Stolen Session")
    with lab.site.database.writing() as session:
        session.execute(
            update(AccessKey).where(AccessKey.made_at >= now - 60).values(ended_at=None)
        )
    thief = lab.client(cookies=cookies)
    assert thief.get("/oidc?connect=yes").status_code == 303
    monkeypatch.setattr(lab.site, "clock", lambda: now + 601)
    assert is_in(thief)
    assert thief.get("/oidc?connect=yes").status_code == 422


def test_who_has_no_password_deletes_the_account_after_signing_in_just_now(lab, provider):
    with lab.site.database.writing() as session:
        text = invite(session, lab.site.now(), "participant")
        session.execute(delete(Attempt))
    client = lab.client()
    come(client, provider, "sub-leaves", "Leaves Again", invitation=text)
    with lab.site.database.writing() as session:
        for key in session.scalars(select(AccessKey).where(AccessKey.kind == "session")):
            key.made_at -= 3600
    old = client.post("/account/delete", data={"key": form_key(client)})
    assert (old.status_code, "more than ten minutes ago" in old.text) == (422, True)
    come(client, provider, "sub-leaves")
    assert client.post("/account/delete", data={"key": form_key(client)}).status_code == 200
    with lab.site.database.reading() as session:
        assert session.scalars(select(Identity).where(Identity.subject == "sub-leaves")).all() == []
    assert (
        "is waiting for an organiser"
        in come(lab.client(), provider, "sub-leaves", "Leaves Again").text
    )


@pytest.mark.long
def test_nobody_signs_in_with_a_password_that_is_none(lab, provider):
    client = lab.client()
    come(lab.client(), provider, "sub-no-password", "No Password")
    confirm(lab, "No Password")
    for password in ("-", "", " "):
        form = {"name": "No Password", "password": password}
        assert client.post("/sign-in", data=form).status_code == 403


def test_without_a_provider_there_is_nothing(served):
    assert served.client().get("/oidc").status_code == 404
    assert served.client().get("/oidc/back").status_code == 404
    assert "/oidc" not in served.client().get("/sign-in").text


def test_a_provider_that_cannot_be_used_is_told_before_the_start(tmp_path, provider):
    told = OidcSettings(issuer=provider.issuer, client_id=CLIENT)
    assert [
        fault for fault in faults_of(tmp_path / "data", Settings(oidc=told)) if "oidc" in fault
    ] == []
    provider.described = {"jwks_uri": "http://evil.example/keys"}
    assert [
        fault for fault in faults_of(tmp_path / "data", Settings(oidc=told)) if "jwks_uri" in fault
    ]
