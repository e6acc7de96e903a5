"""Request middleware: Host check, security headers, HEAD, request id, timestamps and access log.

Every GET route also answers HEAD, because RFC 9110 requires both of every server.

Fields of the request's `state`:
`arrived`: time when the first byte of the request arrived.
`on_sent`: optional callback that receives the times when the first and the last byte of the
    response left.
`turn`: the turn in the request; `read`: time when its last byte arrived.
`taken`: bytes of a large body held in memory.
`number`: id of the request.
`visitor`: the sender of the request.
`sending`: time when the response started; `held_s`: seconds for which its reply was withheld.
`is_nameless`: whether the log omits person, address and path, as for participants of a study.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from segarena_server.clock import Moment
from segarena_server.http_errors import API
from segarena_server.server_log import LOG
from segarena_server.site import Site

_LONGEST_PATH = 2000
"""Maximum length in characters. Routes parse numbers in paths, and `int` fails beyond 4300 digits."""

# Pages show text from participants; even if a template failed to escape it, no script in it would
# run.
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
    """ASGI middleware that checks the host and the address, adds headers, and logs each request.

    Args:
        app: the wrapped ASGI application.
        site: the site that the application serves.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        method = scope["method"]
        if method == "HEAD":
            # uvicorn omits the body, judging by the method in its own scope.
            scope = {**scope, "method": "GET"}
        state = scope.setdefault("state", {})
        state |= {"number": secrets.token_hex(6), "arrived": Moment.now(), "taken": 0}
        # Stays 500 if the application raises before it responds.
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
                await _refuse(
                    send_with_headers,
                    421,
                    "host",
                    "this server does not serve that host; open it by its public address",
                )
            # Checked before routing, because the routes' number parsing is what the limit protects.
            elif len(scope["path"]) > _LONGEST_PATH:
                await _refuse(
                    send_with_headers,
                    414,
                    "address",
                    "the address is too long; no page has such an address",
                )
            else:
                await self._app(scope, receive, send_with_headers)
        finally:
            # In `finally`, so that an aborted upload also returns its share of the budget.
            self._site.intake.give_back(state["taken"])
            self._log(scope, method, status, time.perf_counter() - started)

    def _is_ours(self, scope: Scope) -> bool:
        """Return whether the Host header names this server; any other value may be DNS rebinding."""
        # RFC 9112, section 3.2: a request with several Host headers is invalid.
        named = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        try:
            return (
                len(named) == 1 and urlsplit(f"//{named[0]}").hostname in self._site.settings.hosts
            )
        except ValueError:
            return False

    def _headers(self, scope: Scope, given: Any) -> list[tuple[bytes, bytes]]:
        there = {name.lower() for name, _ in given}
        headers = {**_HEADERS, "segarena-request": scope["state"]["number"]}
        # Only over TLS: over plain HTTP browsers ignore the header.
        if self._site.settings.is_secure:
            headers["strict-transport-security"] = "max-age=31536000"
        # By default nothing is cached, because most pages depend on who is signed in.
        if b"cache-control" not in there:
            headers["cache-control"] = "no-store"
        return [(name.encode(), value.encode()) for name, value in headers.items()]

    def _log(
        self,
        scope: Scope,
        method: str,
        status: int,
        seconds: float,
    ) -> None:
        visitor = scope["state"].get("visitor")
        route = scope.get("route")
        is_nameless = scope["state"].get("is_nameless", False)
        fields = {
            "request": scope["state"]["number"],
            "method": method,
            # The route pattern, not the path, so that the log can be grouped by route.
            "route": getattr(route, "path", ""),
            "path": "" if is_nameless else scope["path"][:200],
            "status": status,
            "seconds": round(seconds, 4),
            "person": visitor.person_id if visitor and not is_nameless else None,
            "address": scope["client"][0] if scope.get("client") and not is_nameless else "",
        }
        if "turn" in scope["state"]:
            fields |= {"turn": scope["state"]["turn"], "replied_s": _replied_s(scope["state"])}
        self._site.counted.count(method, getattr(route, "path", ""), status, seconds)
        LOG.log(logging.ERROR if status >= 500 else logging.INFO, "request", extra={"told": fields})


def _replied_s(state: Any) -> float | None:
    """Return the response time in seconds, from the last request byte to the first response byte.

    The deliberate delay of replies in a test is subtracted. None if no response was sent.
    """
    if "sending" not in state:
        return None
    return round(state["sending"].boot_s - state["read"].boot_s - state.get("held_s", 0.0), 4)


async def _refuse(
    send: Send,
    status: int,
    error: str,
    message: str,
) -> None:
    text = json.dumps({"error": error, "message": message}).encode()
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", b"application/json")],
        }
    )
    await send({"type": "http.response.body", "body": text})
