"""Connections without a complete request are closed and do not block other clients."""

import socket
import time

import pytest

from segarena_server.http import connections
from segarena_server.pages import static
from segarena_server.server_process import open_site
from segarena_server.settings import Limits, Settings

HALF = b"GET /api/v1/ping HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Unfin"
WHOLE = b"GET /api/v1/ping HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HEADER_S = 1.5
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def server(serve_site, tmp_path_factory):
    """A server with a short time for headers and room for 250 idle connections."""
    limits = Limits(header_s=HEADER_S, idle_connections=250)
    settings = Settings(port=0, workers=0, limits=limits)
    return serve_site(open_site(tmp_path_factory.mktemp("connections") / "data", settings))


@pytest.fixture
def connect(server):
    """Open connections on which some bytes are sent."""
    opened = []
    port = int(server.address.rpartition(":")[2])

    def make(number, sent):
        for _ in range(number):
            connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
            if sent:
                connection.sendall(sent)
            opened.append(connection)
        return opened[-number:]

    yield make
    for connection in opened:
        connection.close()


def is_open(connection):
    connection.setblocking(False)
    try:
        return connection.recv(4096) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def number_open(connections):
    return sum(map(is_open, connections))


def wait_until_closed(connections):
    until = time.monotonic() + PATIENCE_S
    while number_open(connections) and time.monotonic() < until:
        time.sleep(0.05)
    return number_open(connections)


@pytest.mark.long
@pytest.mark.parametrize("sent", [b"", b"GET / HT", HALF], ids=["nothing", "a line", "headers"])
def test_half_a_request_does_not_keep_a_connection_for_ever(server, connect, sent):
    started = time.monotonic()
    attackers = connect(200, sent)
    assert server.client().get("/api/v1/ping").status_code == 200
    found = number_open(attackers)
    # A busy machine may have reached their time meanwhile.
    if time.monotonic() - started < HEADER_S:
        assert found == 200
    assert wait_until_closed(attackers) == 0
    assert server.client().get("/api/v1/ping").status_code == 200


@pytest.mark.long
def test_a_byte_now_and_then_does_not_renew_the_time(connect):
    (slow,) = connect(1, b"GET /")
    until = time.monotonic() + PATIENCE_S
    while is_open(slow):
        assert time.monotonic() < until
        time.sleep(0.2)
        try:
            slow.sendall(b"x")
        except OSError:
            break


@pytest.mark.long
def test_the_second_request_of_a_connection_has_the_same_time(connect):
    (slow,) = connect(1, WHOLE)
    assert b"200 OK" in slow.recv(4096)
    slow.sendall(HALF)
    assert wait_until_closed([slow]) == 0


@pytest.mark.long
def test_requests_that_come_in_pieces_and_one_after_the_other_are_answered(connect):
    # Together they take longer than one may. A busy machine may take too long for one of them: then begin anew.
    until = time.monotonic() + PATIENCE_S
    while not all_are_answered(*connect(1, b"")):
        assert time.monotonic() < until


def all_are_answered(connection):
    """Send four requests in pieces; return False if one took so long that the server may close the connection."""
    for _ in range(4):
        started = time.monotonic()
        try:
            for piece in (WHOLE[:9], WHOLE[9:30], WHOLE[30:]):
                connection.sendall(piece)
                time.sleep(HEADER_S / 6)
            answer = connection.recv(4096)
        except OSError:
            answer = b""
        if time.monotonic() - started > 0.8 * HEADER_S:
            return False
        assert b"200 OK" in answer
    return True


@pytest.mark.long
def test_the_connection_that_was_idle_longest_makes_room(server, connect):
    attackers = connect(300, b"GET / HT")
    assert server.client().get("/api/v1/ping").status_code == 200
    # The others may have reached their time on a slow machine; the first fifty never survive the last.
    deadline = time.monotonic() + PATIENCE_S
    while number_open(attackers[:50]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert number_open(attackers[:50]) == 0
    assert wait_until_closed(attackers) == 0


@pytest.mark.long
def test_a_client_that_takes_nothing_of_a_response_is_cut_off(server, connect, monkeypatch):
    monkeypatch.setattr(connections, "_STALLED_S", 0.5)
    # A few of these fill what the kernel keeps, and not thousands.
    monkeypatch.setattr(static, "read_text", lambda *_: "x" * 2**20)
    (greedy,) = connect(1, b"")
    path = "/static/reports/viewer/content.js"
    assert server.client().get(path).status_code == 200
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    greedy.settimeout(0.2)
    until = time.monotonic() + 60
    is_cut_off = False
    # The kernel takes some megabytes before the server notices that nobody reads them.
    while not is_cut_off and time.monotonic() < until:
        try:
            greedy.sendall(request)
        except TimeoutError:
            continue
        except OSError:
            is_cut_off = True
    assert is_cut_off
