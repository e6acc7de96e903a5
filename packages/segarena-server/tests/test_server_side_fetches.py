"""The server opens no connection to addresses in forms, queries, headers or bodies."""

import json
import re
import socket
import uuid

import pytest

from segarena_server.app import ROUTERS
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase

CANARY_HOST = "canary.invalid"
URL = f"http://{CANARY_HOST}:9/secret"
MARKDOWN = f"![picture]({URL}.png) [link]({URL}) <img src='{URL}'> <iframe src='{URL}'></iframe>"
FIELDS = (
    "name", "contact", "password", "invitation", "label", "email", "list", "role", "state", "title", "slug", "dataset",
    "benchmark", "interfaces", "segmenter", "phase", "version", "message", "team", "reason", "image", "link", "note",
    "announcement", "phases[0].name", "phases[0].dataset", "code", "next", "url", "text", "terms",
)  # fmt: skip
"""Fields of forms; the pages ignore those that they do not have."""
PLUGIN_TEXTS = (URL, f"folder(path='{URL}')", f"worker('{URL}')", f"{URL}:Model", f"http({URL!r})")
"""Texts that an organiser may enter where a plug-in is expected."""


@pytest.fixture
def outgoing(monkeypatch):
    """Every other host that this process looks up or connects to."""
    seen = []
    connect, getaddrinfo = socket.socket.connect, socket.getaddrinfo

    def watched_connect(self, address):
        seen.append(str(address))
        return connect(self, address)

    def watched_lookup(host, *arguments, **options):
        seen.append(str(host))
        return getaddrinfo(host, *arguments, **options)

    monkeypatch.setattr(socket.socket, "connect", watched_connect)
    monkeypatch.setattr(socket, "getaddrinfo", watched_lookup)
    return seen


def foreign(seen):
    return [host for host in seen if "127.0.0.1" not in host and host != "localhost"]


@pytest.fixture(scope="module")
def people(served):
    phase = Phase(name="try", kind="practice", takes=("dialogue", "run"))
    challenge = ChallengeDescription(
        slug="photos", title="Photos", benchmark="clicks", dataset="demo", phases=(phase,), approves_teams=True
    )  # fmt: skip
    make_challenge(served.site, challenge, lambda *_: None)
    return {
        "stranger": served.client(),
        "participant": served.person("Participant"),
        "organiser": served.person("Organiser", "organiser", ["photos"]),
    }


def key_of(client):
    found = re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/").text)
    return found[1] if found else ""


def addresses():
    """Return every route of the server with values for its path parameters."""
    values = {"slug": "photos", "phase": "try", "run_id": str(uuid.uuid4()), "name": "page.css"}
    for router in ROUTERS:
        for route in router.routes:
            path = re.sub(r"\{(\w+)(?::\w+)?\}", lambda gap: values.get(gap[1], "1"), route.path)
            for method in route.methods - {"HEAD"}:
                yield method, path


@pytest.mark.long
@pytest.mark.parametrize("who", ["stranger", "participant", "organiser"])
def test_no_route_fetches_an_address_that_it_is_given(served, people, outgoing, who):
    client = people[who]
    key = key_of(client)
    form = dict.fromkeys(FIELDS, URL) | {"key": key, "text": MARKDOWN}
    headers = {
        "referer": URL,
        "x-forwarded-host": CANARY_HOST,
        "x-original-url": URL,
        "forwarded": f"host={CANARY_HOST}",
    }
    asked = 0
    for method, path in addresses():
        if path == "/sign-out":
            continue
        query = dict.fromkeys(("q", "link", "next", "url", "iss", "code", "state"), URL)
        options = {"data": form} if method == "POST" else {}
        if path.startswith("/api/"):
            options = {"content": json.dumps({"name": URL, "id": URL})} if method == "POST" else {}
        client.request(method, path, params=query, headers=headers, **options)
        asked += 1
    assert asked > 80
    assert foreign(outgoing) == []


@pytest.mark.parametrize("text", PLUGIN_TEXTS)
def test_organisers_cannot_name_an_address_as_data_or_as_a_model(served, people, outgoing, text):
    client = people["organiser"]
    form = {
        "key": key_of(client),
        "slug": "evil",
        "title": "Evil",
        "benchmark": "clicks",
        "phases[0].name": "test",
        "do": "look",
    }
    assert client.post("/organise/new", data={**form, "dataset": text}).status_code == 422
    rehearsal = {"key": form["key"], "phase": "try", "segmenter": text}
    path = "/organise/challenges/photos/rehearsal"
    assert client.post(path, data=rehearsal).status_code == 422
    assert foreign(outgoing) == []


def test_a_description_shows_no_picture_of_another_server(served, people, outgoing):
    client = people["organiser"]
    form = {"key": key_of(client), "do": "describe", "text": MARKDOWN}
    shown = client.post("/organise/challenges/photos/change", data=form).text
    preview = shown.partition('class="preview"')[2].partition("</div></div>")[0]
    assert "picture" in preview
    assert not re.search(rf'src="[^"]*{CANARY_HOST}', preview)
    assert foreign(outgoing) == []
