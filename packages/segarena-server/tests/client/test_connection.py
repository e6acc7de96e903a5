import base64
import pickle
import socket
import threading
from contextlib import closing
from hashlib import sha256

import pytest
from fake import TOKEN, Arena, serving

from segarena.client.challenge_server_api import Server
from segarena.client.connection import Connection
from segarena.errors import RemoteError


class Bare(Arena):
    """Answers only pings."""

    def __init__(self):
        self.requests, self.faults, self.headers, self.lock = (
            [],
            [],
            {"Segarena-Api": "1"},
            threading.Lock(),
        )


@pytest.fixture
def arena():
    return Bare()


@pytest.fixture
def ping(arena):
    """Send one request; return the response and the delays."""
    with serving(arena) as server:

        def ask(*faults, token=TOKEN, patience_s=900.0):
            pauses = []
            arena.faults = list(faults)
            with closing(
                Connection(server, token, patience_s=patience_s, sleep=pauses.append)
            ) as connection:
                connection.ask("GET", "/ping")
            return pauses

        yield ask


def test_pauses_grow(ping):
    assert ping(503, "cut", 500, 502) == [0.5, 1.0, 2.0, 4.0]


def test_the_server_says_how_long_to_wait(ping):
    assert ping(
        (503, {}, {"Retry-After": "7"}), (429, {"error": "busy", "retry_after_s": 2.5}, {})
    ) == [7.0, 2.5]


@pytest.mark.parametrize("asked", ["\u00b2", "-3", "9" * 5000, "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_what_is_no_number_of_seconds_is_not_waited_for(ping, asked):
    assert ping((503, {}, {"Retry-After": asked})) == [0.5]


def test_patience_ends(ping):
    with pytest.raises(RemoteError, match="on demand; tried for up to 3 s"):
        ping(*[503] * 9, patience_s=3.0)


REFUSALS = {
    "a wrong token": (None, "the server does not know the token; create another one"),
    "no quota": (
        (429, {"error": "quota", "message": "3 of 3 runs today", "retry_after_s": 7500}, {}),
        "3 of 3 runs today; try again in 2 h",
    ),
    "a closed phase": (
        (403, {"error": "closed", "message": "test closed on 1 May"}, {}),
        "test closed on 1 May",
    ),
    "another challenge": (
        (404, {"error": "unknown", "message": "there is no challenge x"}, {}),
        "/ping: there is no challenge x",
    ),
    "a later version": (
        (200, {}, {"Segarena-Api": "2"}),
        "uses version 2 of the interface, but this client uses version 1; update segarena",
    ),
    "a version in other digits": ((200, {}, {"Segarena-Api": "\u00b2"}), "uses version"),
    "another place": (
        (301, {}, {"Location": "https://new.example"}),
        "the server has moved to https://new.example",
    ),
    "no words": ((400, b"<html>", {}), "HTTP 400"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_one_line_and_is_not_asked_again(arena, ping, name):
    fault, why = REFUSALS[name]
    with pytest.raises(RemoteError) as refused:
        ping(fault, token=TOKEN if fault else "wrong-token")
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "wrong-token" not in str(refused.value)
    assert len(arena.requests) == 1


def test_another_kind_of_server_is_none_of_ours(arena, ping):
    arena.headers = {}
    with pytest.raises(RemoteError, match="expected a segarena server, got HTTP 200"):
        ping()


def test_more_than_was_expected_is_not_read(arena):
    with serving(arena) as server, closing(Connection(server, TOKEN)) as connection:
        arena.faults = [(200, b"x" * 5000, {})]
        with pytest.raises(RemoteError, match="expected at most 4999 bytes"):
            connection.ask("GET", "/ping", most_bytes=4999)


def test_a_slow_evaluation_is_waited_for_without_a_second_upload(arena):
    answers = [
        (202, {"state": "waiting", "retry_after_s": 0.2}, {}),
        (202, {}, {}),
        (200, b"reply", {}),
    ]
    waited = []
    with serving(arena) as server, closing(Connection(server, TOKEN)) as connection:
        arena.faults = answers
        assert Server(connection, sleep=waited.append).turn("r", "k", 3, b"turn") == b"reply"
    path = "/api/v1/runs/r/samples/k/turns/3"
    assert arena.requests == [f"POST {path}", f"GET {path}", f"GET {path}"]
    assert waited == [0.2, 1.0]


def test_a_body_is_announced_by_its_digest(arena, monkeypatch):
    seen = {}
    monkeypatch.setattr(arena, "answer", lambda *_: (200, {}))
    with serving(arena) as server, closing(Connection(server, TOKEN)) as connection:
        client = connection._opened()
        client.event_hooks = {"request": [lambda request: seen.update(request.headers)]}
        connection.ask("POST", "/x", body=b"turn")
    assert (
        seen["content-digest"] == f"sha-256=:{base64.b64encode(sha256(b'turn').digest()).decode()}:"
    )
    assert seen["authorization"] == f"Bearer {TOKEN}"


def test_a_token_shows_nowhere(arena):
    connection = Connection("https://lab.example", TOKEN)
    assert TOKEN not in repr(connection)
    assert pickle.loads(pickle.dumps(connection)).token == TOKEN


def test_a_connection_that_is_not_safe_is_not_tried_again(tmp_path):
    """A server without TLS at an https address."""
    with socket.create_server(("127.0.0.1", 0)) as plain:

        def answer():
            one, _ = plain.accept()
            with one:
                one.recv(100)
                one.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with (
            closing(Connection(f"https://127.0.0.1:{plain.getsockname()[1]}", TOKEN)) as connection,
            pytest.raises(RemoteError, match="the connection is not safe"),
        ):
            connection.ask("GET", "/ping")
        thread.join()
