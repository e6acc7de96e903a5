import http.client
import re
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from viewer_contents import viewer_contents

from segarena.errors import PluginInvalid, UntrustedPlugin
from segarena.records.plugin_trust import restrict_plugins
from segarena.registry import find
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html, report_sections
from segarena.reports.report_server import ReportServer


@pytest.fixture(scope="module")
def own(write_run, make_ramps, tmp_path_factory):
    run = write_run(tmp_path_factory.mktemp("served") / "run", make_ramps())
    return page_of(read_runs([run], trust=True))


@pytest.fixture
def server(own):
    with ReportServer(own) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path, host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("GET", path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def is_guarded():
    """Return whether code that a run folder names is rejected here."""
    try:
        find("segmenter", "none.py:Mine")
    except UntrustedPlugin:
        return True
    except PluginInvalid:
        return False


def test_the_page_may_ask_where_it_came_from_and_nowhere_else(server):
    status, page = ask(server, f"/{server.token}/")
    assert status == 200
    assert "connect-src 'self'" in re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "connect-src" not in report_html(server.own)


def test_every_target_has_a_card_by_its_number(server):
    for place, target in enumerate(server.own.ranked):
        status, card = ask(server, f"/{server.token}/card/{place}")
        assert status == 200
        assert " / ".join(target.key) in card
        (content,) = viewer_contents(card)
        assert tuple(content["key"][:2]) == target.key


@pytest.mark.parametrize(
    "path", ["/", "/card/0", "/TOKEN", "/wrong/", "/TOKEN/card/99", "/TOKEN/card/-1", "/TOKEN/../x"]
)
def test_nothing_else_is_found(server, path):
    assert ask(server, path.replace("TOKEN", server.token) if path != "/TOKEN" else "/x") == (
        404,
        "not found",
    )


def test_a_page_of_another_name_learns_nothing(server):
    assert ask(server, f"/{server.token}/", host="evil.example") == (404, "not found")


def test_slow_and_silent_connections_do_not_keep_others_waiting(server):
    address = ("127.0.0.1", server.server_port)
    with socket.create_connection(address), socket.create_connection(address) as slow:
        slow.sendall(b"GET /" + server.token.encode())  # and takes its time with the rest
        assert ask(server, f"/{server.token}/")[0] == 200


def test_who_leaves_before_the_answer_is_not_told_of_in_the_terminal(server, capfd):
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.server_port)) as leaving:
            leaving.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )  # a reset, not an end
            leaving.sendall(
                f"GET /{server.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode()
            )
    assert ask(server, f"/{server.token}/")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_what_is_not_trusted_is_not_run_in_the_threads_of_a_server(
    make_run, make_ramps, monkeypatch
):
    seen = []
    monkeypatch.setattr(
        ReportServer, "card", lambda self, place: seen.append(is_guarded()) or "card"
    )
    for trust, expected in ((False, True), (True, False)):
        own = page_of(read_runs([make_run(make_ramps())]))
        with (
            restrict_plugins(trust=trust),
            ReportServer(own) as server,
            ThreadPoolExecutor(1) as asking,
        ):
            answer = asking.submit(ask, server, f"/{server.token}/card/0")
            server.handle_request()
            assert answer.result() == (200, "card")
        assert seen.pop() is expected


@pytest.mark.parametrize(
    "request_", ["POST /{} HTTP/1.1", "GET /{} NONSENSE", "GET " + "/x" * 40_000, "\x00\xff", ""]
)
def test_odd_requests_are_answered_without_the_page(server, request_):
    answer = bytearray()
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as odd:
        with suppress(OSError):  # a server that has read enough may close before all is sent
            odd.sendall(request_.replace("{}", server.token).encode("latin-1") + b"\r\n\r\n")
            odd.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while part := odd.recv(1 << 16):
                answer += part
    assert b"<main" not in answer
    assert b"200 OK" not in answer
    assert ask(server, f"/{server.token}/")[0] == 200


def test_all_shows_every_target_whatever_the_gallery_would_choose(
    make_run, make_ramps, monkeypatch
):
    monkeypatch.setattr("segarena.reports.pictures.MAX_HARDEST_CARDS", 2)
    monkeypatch.setattr("segarena.reports.pictures.MAX_GALLERY_DIALOGUES", 3)
    own = page_of(read_runs([make_run(make_ramps())], trust=True))
    some, every = (report_html(own, report_sections(own, shows_all=all_)) for all_ in (False, True))
    assert some.count("<article") == 3
    assert "3 of 8 targets are shown" in some
    assert every.count("<article") == 8
    assert "8 of 8 targets are shown" in every
