"""Requests to a server that outlast what passes: lost connections, a restart, a full queue."""

from __future__ import annotations

import base64
import hashlib
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import msgspec

from segarena.errors import MissingExtra, RemoteError
from segarena.version import __version__

try:
    import httpx2
    import tenacity
except ImportError as error:
    raise MissingExtra(
        f"taking part in a challenge needs {error.name}: pip install 'segarena[client]'"
    ) from error

API = 1
"""The version of the interface that this client speaks."""

PATIENCE_S = 900.0

MOST_JSON_BYTES = 32 * 2**20
_PASSING = frozenset({408, 425, 500, 502, 503, 504})
_LONGEST_PAUSE_S = 8.0
_TIMEOUT = httpx2.Timeout(60.0, connect=15.0)


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """How a server says no; `error` is the kind of reason, `message` one line for people."""

    error: str = ""
    message: str = ""
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """What a server answered that did not say no."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class _Passing(Exception):
    """Worth another attempt; `wait_s` is how long the server asks to be left alone."""

    def __init__(self, text: str, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.wait_s = wait_s


@dataclass(slots=True)
class Connection:
    """A server, and who asks.

    Whatever is sent may be sent twice: requests name what they make, so that a server does it once.

    Attributes:
        server: its URL.
        token: shown with each request; never in errors or in what stands for this object.
        patience_s: how long something that may pass is tried again.
        on_trouble: told, in a line, that a server is not reached and will be tried again.
        sleep: what waits.
    """

    server: str
    token: str = field(repr=False)
    patience_s: float = PATIENCE_S
    on_trouble: Callable[[str], None] | None = None
    sleep: Callable[[float], None] = time.sleep
    _client: httpx2.Client | None = field(default=None, init=False, repr=False)

    def __reduce__(self) -> Any:
        return Connection, (self.server, self.token, self.patience_s)

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        most_bytes: int = MOST_JSON_BYTES,
    ) -> ServerResponse:
        """Return the answer to a request, tried again while that may help.

        Raises:
            RemoteError: the server refuses, is not reached for `patience_s`, or is none of segarena.
        """
        sent = {
            **(headers or {}),
            **({} if body is None else {"Content-Type": content_type, **_digest(body)}),
        }

        def once() -> ServerResponse:
            return self._once(method, path, body, sent, most_bytes)

        attempts = tenacity.Retrying(
            stop=tenacity.stop_before_delay(self.patience_s),
            wait=_pause_s,
            retry=tenacity.retry_if_exception_type(_Passing),
            sleep=self.sleep,
            before_sleep=self._tell,
            reraise=True,
        )
        try:
            return attempts(once)
        except _Passing as error:
            raise RemoteError(
                f"{self.server}: {error}; tried for up to {self.patience_s:.0f} s. What was done is kept: the same "
                "command goes on where it was"
            ) from error

    def close(self) -> None:
        """Let go of connections; the next request opens one."""
        client = self._client
        self._client = None
        if client is not None:
            client.close()

    def _tell(self, state: tenacity.RetryCallState) -> None:
        failure = state.outcome.exception() if state.outcome else None
        if self.on_trouble is not None and state.attempt_number == 2:
            self.on_trouble(
                f"{self.server}: {failure}; trying again for up to {self.patience_s:.0f} s"
            )

    def _opened(self) -> httpx2.Client:
        if self._client is None:
            headers = {
                "Authorization": f"Bearer {self.token}",
                "User-Agent": f"segarena/{__version__}",
                "Segarena-Api": str(API),
                "Accept-Encoding": "identity",  # what comes is measured before it is unpacked
            }
            self._client = httpx2.Client(headers=headers, timeout=_TIMEOUT, follow_redirects=False)
        return self._client

    def _once(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        most_bytes: int,
    ) -> ServerResponse:
        url = f"{self.server}/api/v1{path}"
        try:
            with self._opened().stream(
                method, url, content=body, headers=dict(headers)
            ) as response:
                answer = ServerResponse(
                    response.status_code, self._body(response, most_bytes), dict(response.headers)
                )
        except httpx2.ConnectError as error:
            if _is_tls(error):
                raise RemoteError(
                    f"{self.server}: the connection is not safe: {error}; ask the organiser"
                ) from error
            raise _Passing(str(error) or "it cannot be reached") from error
        except httpx2.TransportError as error:
            raise _Passing(str(error) or type(error).__name__) from error
        except httpx2.InvalidURL as error:
            raise RemoteError(f"{self.server}: no address: {error}") from error
        self._check(answer, path)
        return answer

    def _body(self, response: httpx2.Response, most_bytes: int) -> bytes:
        found = bytearray()
        for chunk in response.iter_raw():
            found += chunk
            if len(found) > most_bytes:
                raise RemoteError(
                    f"{self.server}: it sends more than the {most_bytes} bytes that were expected"
                )
        return bytes(found)

    def _check(self, answer: ServerResponse, path: str) -> None:
        """Raise unless the server did what it was asked, or says what is new."""
        spoken = answer.headers.get("segarena-api", "")
        if answer.status in _PASSING:
            told = _told(answer)
            raise _Passing(_line(told) or f"HTTP {answer.status}", _wait_s(answer, told))
        if 300 <= answer.status < 400 and answer.status != HTTPStatus.NOT_MODIFIED:
            place = answer.headers.get("location", "another place")[:200]
            raise RemoteError(f"{self.server}: it has moved to {place}; give that address")
        if not spoken:
            raise RemoteError(
                f"{self.server}: expected a server of segarena, got HTTP {answer.status} for {path}"
            )
        if spoken != str(API):
            if _is_number(spoken) and int(spoken) > API:
                newer = "update segarena"
            else:
                newer = "ask the organiser to update it"
            raise RemoteError(
                f"{self.server}: it speaks version {spoken[:20]} of the interface, we {API}; {newer}"
            )
        if answer.status >= 400:
            told = _told(answer)
            if answer.status == HTTPStatus.TOO_MANY_REQUESTS and told.error != "quota":
                raise _Passing(_line(told) or "too many requests", _wait_s(answer, told))
            where = f"{self.server}{path}" if answer.status == HTTPStatus.NOT_FOUND else self.server
            raise RemoteError(f"{where}: {_refusal(answer.status, told, self.server)}")


def _digest(body: bytes) -> dict[str, str]:
    """Return the header by which the server knows at the first byte what will have been sent (RFC 9530)."""
    return {
        "Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    }


def _refusal(status: int, told: ErrorBody, server: str) -> str:
    message = _line(told) or f"HTTP {status}"
    if status == HTTPStatus.UNAUTHORIZED:
        return f"the token is not known there; make another one on your page there, then: segarena login {server}"
    if told.error == "quota" and told.retry_after_s:
        return f"{message}; again in {_in_words(told.retry_after_s)}"
    return message


def _in_words(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def _line(told: ErrorBody) -> str:
    return " ".join(told.message.split())[:500]


def _told(answer: ServerResponse) -> ErrorBody:
    try:
        return msgspec.json.decode(answer.body, type=ErrorBody)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ErrorBody()


def _wait_s(answer: ServerResponse, told: ErrorBody) -> float:
    asked = answer.headers.get("retry-after", "").strip()
    return told.retry_after_s or (float(asked) if _is_number(asked) else 0.0)


def _is_number(text: str) -> bool:
    """Tell whether a header is a number that can be read; headers may hold other alphabets' digits, and thousands."""
    return text.isascii() and text.isdecimal() and len(text) < 10


def _pause_s(state: tenacity.RetryCallState) -> float:
    """Return how long to wait: doubled with every attempt up to a limit, and at least what the server asks for."""
    failure = state.outcome.exception() if state.outcome else None
    asked_s = failure.wait_s if isinstance(failure, _Passing) else 0.0
    return max(min(0.5 * 2.0 ** (state.attempt_number - 1), _LONGEST_PAUSE_S), asked_s)


def _is_tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
