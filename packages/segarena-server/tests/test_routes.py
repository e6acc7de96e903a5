"""Permissions of every route for every kind of visitor. Names from outside never become paths or headers."""

import io
import re
import uuid

import msgspec
import pytest
from PIL import Image
from sqlalchemy import select
from starlette.routing import Route

from segarena_server.app import ROUTERS
from segarena_server.auth.permissions import ANYONE, required_role
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.challenge_repository import find_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.description_images import add_image
from segarena_server.challenges.interfaces import interfaces
from segarena_server.db.orm_models import Person
from segarena_server.entry_points import RESERVED_NAMES
from segarena_server.limits.rate_limit import RateLimiter

NOBODY, VIEWER, OTHER, OWNER, ORGANISER, ELSEWHERE, ADMIN = (
    "nobody",
    "viewer",
    "other",
    "owner",
    "organiser",
    "elsewhere",  # an organiser of another challenge
    "admin",
)
PERSONS = (NOBODY, VIEWER, OTHER, OWNER, ORGANISER, ELSEWHERE, ADMIN)
EVERYBODY = set(PERSONS)
SIGNED_IN = EVERYBODY - {NOBODY}
PARTICIPANTS = SIGNED_IN - {VIEWER}
ORGANISERS = {ORGANISER, ELSEWHERE, ADMIN}
OF_THE_CHALLENGE = {ORGANISER, ADMIN}

API = "/api/v1"
TURN = API + "/runs/{run_id}/samples/{key}/turns/{number:int}"
WHO = {
    ("GET", "/"): EVERYBODY,
    ("GET", "/challenges/{slug}"): EVERYBODY,
    ("GET", "/challenges/{slug}/images/{image}"): EVERYBODY,
    ("GET", "/challenges/{slug}/{phase}"): EVERYBODY,
    ("GET", "/challenges/{slug}/{phase}/board"): EVERYBODY,
    ("GET", "/challenges/{slug}/{phase}/board.csv"): EVERYBODY,
    ("GET", "/challenges/{slug}/{phase}/board.json"): EVERYBODY,
    ("GET", "/challenges/{slug}/{phase}/board.tex"): EVERYBODY,
    ("GET", "/challenges/{slug}/{phase}/board/runs/{run_id}"): EVERYBODY,
    ("GET", "/challenges/{slug}/{phase}/board/samples/{sample_number:int}"): EVERYBODY,
    ("GET", "/static/{section}/{version}/{module:path}"): EVERYBODY,
    ("GET", "/sign-in"): EVERYBODY,
    ("POST", "/sign-in"): EVERYBODY,
    ("POST", "/sign-out"): SIGNED_IN,
    ("GET", "/register"): EVERYBODY,
    ("POST", "/register"): EVERYBODY,
    ("GET", "/oidc"): set(),  # nobody, where no provider is set
    ("GET", "/oidc/back"): set(),
    ("GET", "/forgotten"): EVERYBODY,
    ("POST", "/forgotten"): set(),  # nobody, where no mail server is set
    ("GET", "/reset"): EVERYBODY,
    ("POST", "/reset"): EVERYBODY,
    ("GET", "/address"): EVERYBODY,
    ("POST", "/address"): EVERYBODY,
    ("POST", "/account/letters"): SIGNED_IN,
    ("GET", "/team"): PARTICIPANTS,
    ("POST", "/team"): PARTICIPANTS,
    ("POST", "/team/invitations"): PARTICIPANTS,
    ("POST", "/team/join"): PARTICIPANTS,
    ("POST", "/team/leave"): PARTICIPANTS,
    ("GET", "/account"): SIGNED_IN,
    ("POST", "/account/password"): SIGNED_IN,
    ("GET", "/account/second-factor"): SIGNED_IN,
    ("POST", "/account/second-factor"): SIGNED_IN,
    ("POST", "/account/second-factor/confirm"): SIGNED_IN,
    ("POST", "/account/second-factor/codes"): SIGNED_IN,
    ("POST", "/account/second-factor/off"): SIGNED_IN,
    ("GET", "/sign-in/code"): set(),  # nobody who gave no password first
    ("POST", "/sign-in/code"): set(),
    ("GET", "/account/copy"): SIGNED_IN,
    ("POST", "/account/delete"): SIGNED_IN,
    ("GET", "/tokens"): PARTICIPANTS,
    ("POST", "/tokens"): PARTICIPANTS,
    ("POST", "/tokens/{number:int}/end"): {OWNER},
    ("GET", "/runs"): PARTICIPANTS,
    ("GET", "/runs/{run_id}"): {OWNER, *OF_THE_CHALLENGE},
    ("GET", "/runs/{run_id}/samples/{place_number:int}"): {OWNER, *OF_THE_CHALLENGE},
    ("POST", "/runs/{run_id}/finish"): {OWNER},
    ("POST", "/runs/{run_id}/choose"): {OWNER},
    ("GET", "/challenges/{slug}/{phase}/send"): PARTICIPANTS,
    ("POST", "/challenges/{slug}/{phase}/send"): PARTICIPANTS,
    ("GET", "/sent"): PARTICIPANTS,
    ("GET", "/sent/{submission_id}"): {OWNER, *OF_THE_CHALLENGE},
    ("GET", "/organise"): ORGANISERS,
    ("POST", "/organise/invitations"): ORGANISERS,
    ("GET", "/organise/people"): ORGANISERS,
    ("POST", "/organise/people/confirm"): ORGANISERS,
    ("POST", "/organise/people/{person_id:int}"): ORGANISERS,
    ("POST", "/organise/people/{person_id:int}/reset"): ORGANISERS,
    ("GET", "/organise/people/{person_id:int}/copy"): {ADMIN},
    ("POST", "/organise/people/{person_id:int}/delete"): {ADMIN},
    ("POST", "/organise/challenges/{slug}"): OF_THE_CHALLENGE,
    ("POST", "/organise/runs/{run_id}/again"): OF_THE_CHALLENGE,
    ("POST", "/organise/runs/{run_id}/return"): OF_THE_CHALLENGE,
    ("GET", "/organise/new"): ORGANISERS,
    ("POST", "/organise/new"): ORGANISERS,
    ("GET", "/organise/drafts/{draft:int}"): OF_THE_CHALLENGE,
    ("POST", "/organise/drafts/{draft:int}"): OF_THE_CHALLENGE,
    ("GET", "/organise/challenges/{slug}/change"): OF_THE_CHALLENGE,
    ("POST", "/organise/challenges/{slug}/change"): OF_THE_CHALLENGE,
    ("GET", "/organise/challenges/{slug}/organisers"): OF_THE_CHALLENGE,
    ("POST", "/organise/challenges/{slug}/organisers"): OF_THE_CHALLENGE,
    ("GET", "/organise/challenges/{slug}/teams"): OF_THE_CHALLENGE,
    ("POST", "/organise/challenges/{slug}/teams"): OF_THE_CHALLENGE,
    ("POST", "/challenges/{slug}/terms"): PARTICIPANTS,
    ("POST", "/challenges/{slug}/join"): PARTICIPANTS,
    ("GET", "/organise/challenges/{slug}/announcements"): OF_THE_CHALLENGE,
    ("POST", "/organise/challenges/{slug}/announcements"): OF_THE_CHALLENGE,
    ("POST", "/organise/challenges/{slug}/announcements/withdraw"): OF_THE_CHALLENGE,
    ("GET", "/organise/challenges/{slug}/images"): OF_THE_CHALLENGE,
    ("POST", "/organise/challenges/{slug}/images"): OF_THE_CHALLENGE,
    ("POST", "/organise/challenges/{slug}/images/delete"): OF_THE_CHALLENGE,
    ("GET", "/organise/challenges/{slug}/rehearsal"): OF_THE_CHALLENGE,
    ("POST", "/organise/challenges/{slug}/rehearsal"): OF_THE_CHALLENGE,
    ("GET", "/organise/challenges/{slug}/audit"): OF_THE_CHALLENGE,
    ("POST", "/organise/runs/{run_id}/audit"): OF_THE_CHALLENGE,
    ("GET", "/static/{name}"): EVERYBODY,
    ("GET", "/static/reports/{script:path}"): EVERYBODY,
    ("GET", f"{API}/"): EVERYBODY,
    ("GET", f"{API}/ping"): EVERYBODY,
    ("GET", f"{API}/openapi.json"): EVERYBODY,
    ("GET", f"{API}/health"): EVERYBODY,
    ("GET", f"{API}/ready"): EVERYBODY,
    ("GET", f"{API}/metrics"): ORGANISERS,
    ("GET", f"{API}/challenges"): SIGNED_IN,
    ("GET", f"{API}/challenges/{{slug}}"): SIGNED_IN,
    ("GET", f"{API}/challenges/{{slug}}/admission"): PARTICIPANTS,
    ("POST", f"{API}/challenges/{{slug}}/terms"): PARTICIPANTS,
    ("POST", f"{API}/challenges/{{slug}}/join"): PARTICIPANTS,
    ("POST", f"{API}/challenges/{{slug}}/phases/{{phase}}/runs"): PARTICIPANTS,
    ("GET", f"{API}/challenges/{{slug}}/phases/{{phase}}/next-run"): PARTICIPANTS,
    ("GET", f"{API}/runs/{{run_id}}"): {OWNER},
    ("GET", f"{API}/runs/{{run_id}}/samples/{{key}}"): {OWNER},
    ("POST", f"{API}/runs/{{run_id}}/finish"): {OWNER},
    ("GET", f"{API}/runs/{{run_id}}/scores"): {OWNER},
    ("POST", f"{API}/challenges/{{slug}}/phases/{{phase}}/sent/{{submission_id}}"): PARTICIPANTS,
    ("GET", f"{API}/sent/{{submission_id}}"): {OWNER},
    ("POST", TURN): {OWNER},
    ("GET", TURN): {OWNER},
}
"""Who gets something else than a refusal, for a run of the owner; whoever adds a route says it here."""

TRAVERSALS = [
    "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%252e%252e%252f", "..\\..\\secret",
    "/etc/passwd", "%2fetc%2fpasswd", "file:%2f%2f%2fetc%2fpasswd", "secret%00.css", "%c0%ae%c0%ae%2f", "con",
    "a" * 5000, "%0d%0aset-cookie:%20x=1", "<script>alert(1)</script>", "segarena.sqlite", "💥", "%2e%2e",
]  # fmt: skip


@pytest.fixture(scope="module")
def scene(served):
    """All kinds of visitors, and a run of the owner."""
    takes = ("dialogue", "run")
    phase = Phase(
        name="try", kind="practice", takes=takes, samples_per_run=1, runs_at_once=1000, shows="own"
    )
    challenge = ChallengeDescription(
        slug="photos", title="Photos", benchmark="clicks", dataset="demo", phases=(phase,)
    )
    make_challenge(served.site, challenge, lambda *_: None)
    another = msgspec.structs.replace(challenge, slug="films", title="Films")
    make_challenge(served.site, another, lambda *_: None)
    with served.site.database.writing() as session:
        add_image(session, find_challenge(session, "photos"), "dot.png", dot(), 0.0)
    roles = {
        VIEWER: VIEWER,
        OTHER: "participant",
        OWNER: "participant",
        ORGANISER: "organiser",
        ELSEWHERE: "organiser",
        ADMIN: ADMIN,
    }
    pages = {name: served.person(f"{name} one", role) for name, role in roles.items()} | {
        NOBODY: served.client()
    }
    api = {name: served.api(served.token(f"{name} two", role)) for name, role in roles.items()}
    api[NOBODY] = served.api("sat_nobody")
    for number in ("one", "two"):
        served.organises(f"organiser {number}", "photos")
        served.organises(f"elsewhere {number}", "films")
    token = re.search(
        r"sat_[\w-]+",
        pages[OWNER].post("/tokens", data={"label": "x", "key": key_of(pages[OWNER])}).text,
    )
    api[OWNER] = served.api(token[0])  # the same person
    told = {"id": str(uuid.uuid4()), "name": "mine"}
    run = api[OWNER].post("/challenges/photos/phases/try/runs", json=told).json()
    number = re.search(r"/tokens/(\d+)/end", pages[OWNER].get("/tokens").text)[1]
    sent = str(uuid.uuid4())
    about = {"kind": "run", "name": "mine"}
    answer = api[OWNER].post(
        f"/challenges/photos/phases/try/sent/{sent}", params=about, content=b"x"
    )
    assert answer.status_code == 202, answer.text
    draft = {
        "slug": "x",
        "title": "X",
        "benchmark": "clicks",
        "dataset": "demo",
        "phases[0].name": "x",
    }
    look = pages[ORGANISER].post(
        "/organise/new", data={**draft, "do": "look", "key": key_of(pages[ORGANISER])}
    )
    values = {
        "draft": look.headers["location"].rpartition("/")[2],
        "slug": "photos", "phase": "try", "run_id": run["id"], "key": run["places"][0]["key"], "number": "0",
        "name": "page.css", "place_number": "1", "submission_id": sent,
        "image": "dot.png",
        "sample_number": "1", "section": "studio", "version": "1", "module": "studio.css", "script": "viewer/pane.js",
    }  # fmt: skip
    return pages, api, values, number


def bystander_id(served, name):
    """Register a participant of this name and return the number of the account."""
    served.person(name)
    with served.site.database.reading() as session:
        return str(session.scalars(select(Person.id).where(Person.name == name)).one())


def dot():
    file = io.BytesIO()
    Image.new("RGB", (1, 1)).save(file, "PNG")
    return file.getvalue()


def key_of(client):
    found = re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/").text)
    return found[1] if found else ""


def routes():
    return [
        (method, route)
        for router in ROUTERS
        for route in router.routes
        for method in route.methods - {"HEAD"}
    ]


def brought():
    """Return the routes of other packages' interfaces, whose permissions are tested next to each."""
    found = [route for interface in interfaces().values() for route in interface.router.routes]
    return [(method, route) for route in found for method in route.methods - {"HEAD"}]


def ask(scene, person, method, path, values):
    pages, api, _, _ = scene
    filled = re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: values[match[1]], path)
    if path.startswith(API):
        client, body = (
            api[person],
            {"json": {"id": str(uuid.uuid4()), "name": "x"}} if method == "POST" else {},
        )
        return client.request(method, filled.removeprefix(API), **body)
    client = pages[person]
    form = {"key": key_of(client), "state": "open", "role": "participant", "label": "x"}
    return client.request(method, filled, **({"data": form} if method == "POST" else {}))


def is_refused(answer, path):
    """Return whether access was denied; forbidden objects look like missing ones."""
    if answer.status_code in (401, 403, 404) and "another site" not in answer.text:
        return (
            answer.json()["error"] in ("token", "forbidden", "unknown")
            if path.startswith(API)
            else True
        )
    return answer.status_code == 303 and answer.headers["location"] == "/sign-in"


def test_the_table_of_this_test_is_that_of_the_server():
    assert {(method, route.path) for method, route in routes()} == set(WHO)
    assert all(isinstance(route, Route) and required_role(route.endpoint) for _, route in routes())


def test_no_package_may_have_an_address_that_is_ours():
    assert {route.path.split("/")[1] for _, route in routes()} == RESERVED_NAMES


@pytest.mark.long
def test_routes_of_other_packages_stand_behind_the_same_guard(scene, served):
    served.client().get("/")
    for method, route in brought():
        assert required_role(route.endpoint), route.path
        path = re.sub(r"\{\w+\}", "1", route.path)
        for headers in ({}, {"user-key": "sat_wrong"}, {"authorization": "Bearer sat_wrong"}):
            answer = served.client().request(method, path, headers=headers)
            assert answer.status_code < 500, route.path
            assert (answer.status_code == 401) == (required_role(route.endpoint) != ANYONE), (
                route.path
            )


@pytest.mark.parametrize(
    "person",
    [
        person
        if person in (NOBODY, OTHER, ELSEWHERE)
        else pytest.param(person, marks=pytest.mark.long)
        for person in PERSONS
    ],
)
def test_nobody_gets_where_they_may_not(scene, served, person):
    # An admin deletes the account with this number.
    values = {**scene[2], "person_id": bystander_id(served, f"Bystander of {person}")}
    wrong = []
    for (method, path), who in WHO.items():
        if path in (
            "/sign-out",
            "/tokens/{number:int}/end",
            "/organise/people/{person_id:int}",
            "/sign-in",
            "/register",
        ):
            continue  # they end what the others need; below
        answer = ask(scene, person, method, path, values)
        assert answer.status_code < 500, (method, path, answer.text)
        is_empty = "/board." in path or "/board/" in path or (path, method) == (TURN, "GET")
        if is_refused(answer, path) != (person not in who) and not (is_empty and person in who):
            wrong.append((method, path, answer.status_code))
    assert wrong == []


@pytest.mark.parametrize("person", sorted(EVERYBODY - {OWNER}))
def test_a_token_is_ended_by_its_owner_alone(scene, person):
    _, _, values, token = scene
    answer = ask(scene, person, "POST", "/tokens/{number:int}/end", {**values, "number": token})
    assert is_refused(answer, "/tokens")
    assert scene[1][OWNER].get("/challenges").status_code == 200


@pytest.mark.parametrize("person", sorted(EVERYBODY - {ADMIN}))
def test_only_admins_change_organisers_and_make_them(scene, person):
    client = scene[0][person]
    form = {"key": key_of(client), "role": "admin"}
    assert is_refused(client.post("/organise/invitations", data=form), "/")
    assert is_refused(client.post("/organise/people/1", data=form), "/")


def test_what_is_not_yours_sounds_like_what_is_not_there(scene):
    _, api, values, _ = scene
    for path in (f"/runs/{values['run_id']}", f"/runs/{values['run_id']}/samples/{values['key']}"):
        there, nowhere = (
            api[OTHER].get(path),
            api[OTHER].get(path.replace(values["run_id"], str(uuid.uuid4()))),
        )
        assert (there.status_code, there.content) == (nowhere.status_code, nowhere.content)
        assert set(there.headers) == set(nowhere.headers)


@pytest.mark.parametrize("name", TRAVERSALS)
def test_names_from_outside_are_names_alone(scene, served, name):
    pages, api, values, _ = scene
    secret = served.site.secret.hex()
    for path in (
        f"/static/{name}",
        f"/challenges/{name}",
        f"/challenges/photos/{name}/board",
        f"/runs/{name}",
    ):
        answer = pages[ADMIN].get(path)
        assert answer.status_code in (303, 404, 414), path
        assert "root:" not in answer.text
        assert secret not in answer.text
        assert "<script>alert" not in answer.text
        assert "x=1" not in answer.headers.get("set-cookie", "")
    for path in (
        f"/challenges/{name}",
        f"/runs/{name}",
        f"/runs/{values['run_id']}/samples/{name}",
    ):
        assert api[OWNER].get(path).status_code in (404, 414)


def test_errors_tell_nothing_of_the_machine(scene, served):
    _, api, values, _ = scene
    odd = [
        api[OWNER].post(
            f"/runs/{values['run_id']}/samples/{values['key']}/turns/0", content=b"\xff" * 100
        ),
        api[OWNER].post("/challenges/photos/phases/try/runs", content=b"{" * 1000),
        api[OWNER].get("/runs/%00"),
        api[OWNER].get(f"/runs/{values['run_id']}/samples/{values['key']}/turns/{10**30}"),
        scene[0][OWNER].post(
            f"/tokens/{10**30}/end", data={"key": key_of(scene[0][OWNER])}, headers={"accept": "x"}
        ),
        api[OWNER].delete(f"/runs/{values['run_id']}"),
        api[OWNER].post(
            f"/runs/{values['run_id']}/samples/{values['key']}/turns/99999999999999999999",
            content=b"",
        ),
    ]
    for answer in odd:
        assert 400 <= answer.status_code < 500
        is_page = answer.headers["content-type"].startswith("text/html")
        assert is_page or set(answer.json()) <= {"error", "message", "retry_after_s"}
        assert not re.search(r"/tmp|/home|\.py|Traceback|sqlalchemy|SELECT", answer.text)


def test_too_many_requests_are_slowed_down(served, monkeypatch):
    client = served.api("sat_x")
    monkeypatch.setattr(served.site, "requests", RateLimiter(5, 3600.0))
    answers = [client.get("/ping") for _ in range(8)]
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0
    assert answers[-1].json()["retry_after_s"] > 0
