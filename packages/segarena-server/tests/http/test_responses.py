"""Responses to incomplete requests and to unsupported methods."""

import json
import logging
import socket
import time

import pytest

from segarena_server.server_log import LOG, JsonLines


class Lines(logging.Handler):
    """Collects the lines of the log."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.setFormatter(JsonLines())
        self.lines = []

    def emit(self, record):
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def log():
    """Return the lines of our log and of uvicorn's."""
    lines = Lines()
    loggers = [LOG, logging.getLogger("uvicorn.error")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(lines)
        logger.setLevel(logging.INFO)
    yield lines.lines
    for logger, level in zip(loggers, before, strict=True):
        logger.removeHandler(lines)
        logger.setLevel(level)


def statuses_of_posts(log):
    """Return the statuses of POST requests; lines of earlier tests' requests may come late."""
    return [line["status"] for line in list(log) if line.get("method") == "POST"]


def requests_in(log):
    return [(line["method"], line["route"]) for line in list(log) if "method" in line]


@pytest.mark.parametrize("path", ["/sign-in", "/register", "/forgotten"])
@pytest.mark.parametrize("sent", [b"", b"name=a&pass"])
def test_a_client_that_goes_away_within_a_form_is_no_fault(served, log, path, sent):
    port = int(served.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
        )
        client.sendall(head.encode() + sent)
        time.sleep(0.2)
    until = time.monotonic() + 60
    while not statuses_of_posts(log) and time.monotonic() < until:
        time.sleep(0.02)
    assert statuses_of_posts(log) == [400]
    assert not [line for line in log if "trace" in line or line["level"] == "error"]


GETS = [
    "/",
    "/sign-in",
    "/register",
    "/api/v1/ready",
    "/api/v1/ping",
    "/static/reports/viewer/content.js",
]


@pytest.mark.parametrize("path", GETS)
def test_head_is_answered_as_get_without_the_body(served, path):
    client = served.client()
    got = client.get(path)
    head = client.head(path)
    assert head.status_code == got.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == got.headers["content-type"]
    if path.startswith("/static"):
        assert head.headers["content-length"] == got.headers["content-length"]
    # The connection is still in step: a body that had been sent would be read as this response.
    assert client.get("/api/v1/ping").json() == {}


def test_head_of_what_is_not_there_or_not_allowed_is_as_get(served):
    client = served.client()
    assert client.head("/nowhere").status_code == 404
    assert client.head("/tokens").status_code == client.get("/tokens").status_code == 303
    assert client.head("/sign-out").status_code == 405


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/sign-in", {"GET", "HEAD", "POST"}),
        ("HEAD", "/sign-out", {"POST"}),
        ("DELETE", "/api/v1/ready", {"GET", "HEAD"}),
    ],
)
def test_a_method_that_is_not_there_names_those_that_are(served, method, path, allowed):
    answer = served.client().request(method, path)
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == allowed


def test_the_log_names_the_method_that_was_sent(served, log):
    served.client().head("/sign-in")
    until = time.monotonic() + 60
    while ("HEAD", "/sign-in") not in requests_in(log) and time.monotonic() < until:
        time.sleep(0.02)
    assert ("HEAD", "/sign-in") in requests_in(log)
    assert ("GET", "/sign-in") not in requests_in(log)
