"""A local server for a report, which renders the cards of further targets on request.

Only this machine can connect, and only with the token in the address. Requests contain just an
index; the server never looks up a name or path from a request.
"""

from __future__ import annotations

import re
import secrets
import sys
from contextvars import copy_context
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from segarena.reports.dialogue_gallery import all_dialogue_keys, make_card, open_run_dataset
from segarena.reports.html_document import macros
from segarena.reports.pages import Page
from segarena.reports.report import report_html
from segarena.reports.round_table import DialogueId
from segarena.roles import Dataset

LOOPBACK_ADDRESS = "127.0.0.1"


class ReportServer(ThreadingHTTPServer):
    """Serves a report on a free port of the loopback address; `url` is the address of the page.

    Each connection has its own thread, so that a slow or silent client does not block others; a
    lock serializes the rendering.
    """

    def __init__(self, own: Page) -> None:
        super().__init__((LOOPBACK_ADDRESS, 0), _Handler)
        self.own = own
        # Other users of this machine can connect to the port, but do not know the token.
        self.token = secrets.token_urlsafe(24)
        self._is_making = Lock()

    def text(self, path: str) -> str | None:
        """Return the HTML of the page or of a card by path; None for any other path."""
        token, _, rest = path.removeprefix("/").partition("/")
        # Compared in constant time, so that response times do not reveal the token.
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return None
        # At most nine digits, so that `int` never parses an arbitrarily long text.
        number = re.fullmatch(r"card/([0-9]{1,9})", rest)
        with self._is_making:
            if not rest:
                return self.html
            return self.card(int(number[1])) if number else None

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a request in a new thread that inherits the trust setting; see `segarena.records.plugin_trust`."""
        # A new thread starts with an empty context, so copy this one, which contains the trust
        # setting.
        arguments = (self.process_request_thread, request, client_address)
        Thread(target=copy_context().run, args=arguments, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore closed connections; print other errors."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK_ADDRESS}:{self.server_port}/{self.token}/"

    @cached_property
    def html(self) -> str:
        """The page."""
        return report_html(self.own, is_served=True)

    def card(self, place: int) -> str | None:
        """Render the card of a target, indexed from the hardest; None if it cannot be shown."""
        if self.own.pictures is None or not 0 <= place < len(self._keys):
            return None
        key = self._keys[place]
        card, _ = make_card(
            self.own, self._datasets, self.own.pictures, key, f"dialogue-more-{place}"
        )
        html = macros("segarena.reports", "card.html")
        return None if card is None else str(html.card(card, True))

    @cached_property
    def _keys(self) -> list[DialogueId]:
        return all_dialogue_keys(self.own)

    @cached_property
    def _datasets(self) -> list[Dataset | None]:
        return [open_run_dataset(run)[0] for run in self.own.drawn_runs]


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer  # pyright: ignore[reportIncompatibleVariableOverride] - typeshed has the base class
    timeout = 10  # seconds; browsers open spare connections and send nothing on them

    def do_GET(self) -> None:
        """Respond with the page or a card, else with 404."""
        text = None
        # Protect against DNS rebinding: another site must not read the report under its own host
        # name.
        if self.headers.get("Host") == f"{LOOPBACK_ADDRESS}:{self.server.server_port}":
            text = self.server.text(self.path)
        body = (text or "not found").encode()
        status = HTTPStatus.OK if text else HTTPStatus.NOT_FOUND
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (
            # Reports may show confidential pictures, which should not stay in the browser's cache.
            ("Cache-Control", "no-store"),
            # The address contains the token, which must not leak to linked sites.
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        """Log nothing: the terminal is used for the report's own output."""
