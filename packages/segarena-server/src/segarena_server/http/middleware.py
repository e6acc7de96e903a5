"""Request middleware: Host check, security headers, request id, timestamps and access log.

Fields of the request's `state`:
`arrived`: time when the first byte of the request arrived.
`on_sent`: optional callback; receives the times when the first and the last byte of the
    response left.
`turn`: the turn in the request; `read`: time when its last byte arrived.
`taken`: bytes of a large body that are held in memory.
`is_nameless`: leave person, address and path out of the log, as for participants of a study.
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from segarena_server.challenges.time_charge import Moment
from segarena_server.http.http_errors import API
from segarena_server.site import Site

LOG = logging.getLogger("segarena_server")
_LIBRARIES = ("asyncio", "sqlalchemy", "uvicorn")
"""Libraries that log lost connections themselves."""
_LONGEST_PATH = 2000
"""In characters. Routes parse numbers in paths, and `int` fails beyond 4300 digits."""

_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "segarena-api": API,
}


class RequestMiddleware:
    """ASGI middleware.

    Args:
        app: the wrapped ASGI application.
        site: the site that is served.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        state = scope.setdefault("state", {})
        state |= {"number": secrets.token_hex(6), "arrived": Moment.now(), "taken": 0}
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    *self._headers(scope, message["headers"]),
                ]
                state["sending"] = Moment.now()
            await send(message)
            if (
                message["type"] == "http.response.body"
                and not message.get("more_body")
                and "on_sent" in state
            ):
                state["on_sent"](state["sending"], Moment.now())

        try:
            if not self._is_ours(scope):
                await _refuse(send_with_headers, 421, "host", "this host is not served here")
            elif len(scope["path"]) > _LONGEST_PATH:
                await _refuse(send_with_headers, 414, "address", "no address here is so long")
            else:
                await self._app(scope, receive, send_with_headers)
        finally:
            self._site.intake.give_back(state["taken"])
            self._log(scope, status, time.perf_counter() - started)

    def _is_ours(self, scope: Scope) -> bool:
        """Tell whether the Host header names this server; other hosts indicate DNS rebinding."""
        named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        try:
            return (
                len(named) == 1 and urlsplit(f"//{named[0]}").hostname in self._site.settings.hosts
            )
        except ValueError:
            return False

    def _headers(self, scope: Scope, given: Any) -> list[tuple[bytes, bytes]]:
        there = {name.lower() for name, _ in given}
        told = {**_HEADERS, "segarena-request": scope["state"]["number"]}
        if self._site.settings.is_secure:
            told["strict-transport-security"] = "max-age=31536000"
        if b"cache-control" not in there:
            told["cache-control"] = "no-store"
        return [(name.encode(), value.encode()) for name, value in told.items()]

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        visitor = scope["state"].get("visitor")
        route = scope.get("route")
        is_nameless = scope["state"].get("is_nameless", False)
        told = {
            "request": scope["state"]["number"],
            "method": scope["method"],
            "route": getattr(route, "path", ""),
            "path": "" if is_nameless else scope["path"][:200],
            "status": status,
            "seconds": round(seconds, 4),
            "person": visitor.person_id if visitor and not is_nameless else None,
            "address": scope["client"][0] if scope.get("client") and not is_nameless else "",
        }
        if "turn" in scope["state"]:
            told |= {"turn": scope["state"]["turn"], "replied_s": _replied_s(scope["state"])}
        self._site.counted.count(scope["method"], getattr(route, "path", ""), status, seconds)
        LOG.log(logging.ERROR if status >= 500 else logging.INFO, "request", extra={"told": told})


class JsonLines(logging.Formatter):
    """Formats each log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line of JSON."""
        at = (
            time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z"
        )
        told: dict[str, Any] = {
            "at": at,
            "level": record.levelname.lower(),
            "what": record.getMessage(),
        }
        told |= getattr(record, "told", {})
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told)


def log_to(file: Path | None, level: int) -> None:
    """Send the server log to a file, or to stderr, as lines of JSON from this level on."""
    if file is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        handler = logging.FileHandler(file)
    handler.setFormatter(JsonLines())
    for log in (LOG, *map(logging.getLogger, _LIBRARIES)):
        log.handlers = [handler]
        log.propagate = False
    LOG.setLevel(level)


def _replied_s(state: Any) -> float | None:
    """Return the response time: seconds from the last request byte to the first response byte.

    The deliberate delay of replies in a test is subtracted. None when no response was sent.
    """
    if "sending" not in state:
        return None
    return round(state["sending"].boot_s - state["read"].boot_s - state.get("held_s", 0.0), 4)


async def _refuse(send: Send, status: int, error: str, message: str) -> None:
    text = json.dumps({"error": error, "message": message}).encode()
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", b"application/json")],
        }
    )
    await send({"type": "http.response.body", "body": text})
