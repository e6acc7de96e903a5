"""HTTP connection to a server, with retries after lost connections, restarts and full queues."""

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

API_VERSION = 1
"""Version of the HTTP interface that this client uses."""

PATIENCE_S = 900.0
"""Default duration of retries in seconds."""

# A wrong or hostile server must not fill the participant's memory.
MAX_JSON_BYTES = 32 * 2**20
# Timeouts, early requests, and errors of servers and proxies may disappear with a retry.
_TRANSIENT_STATUS = frozenset({408, 425, 500, 502, 503, 504})
_LONGEST_PAUSE_S = 8.0
_TIMEOUT = httpx2.Timeout(60.0, connect=15.0)


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """Body of an error response: `error` is a code, `message` a line of text for people."""

    error: str = ""
    message: str = ""
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """A successful response."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class _Passing(Exception):
    """A transient error, after which a retry may succeed; `wait_s` is the delay that the server requests."""

    def __init__(self, text: str, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.wait_s = wait_s


@dataclass(slots=True)
class Connection:
    """An authenticated connection to a server.

    A retry may send a request twice. Each request therefore contains the id of what it creates, so
    that the server creates it only once.

    Attributes:
        server: URL of the server.
        token: sent with each request; never part of error messages or of the representation.
        patience_s: how long to retry, in seconds.
        on_trouble: called with one line when a request has failed twice in a row and is repeated.
        sleep: function that waits between retries.
    """

    server: str
    token: str = field(repr=False)
    patience_s: float = PATIENCE_S
    on_trouble: Callable[[str], None] | None = None
    sleep: Callable[[float], None] = time.sleep
    _client: httpx2.Client | None = field(default=None, init=False, repr=False)

    def __reduce__(self) -> Any:
        # An open socket cannot be pickled; another process opens its own.
        return Connection, (self.server, self.token, self.patience_s)

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        most_bytes: int = MAX_JSON_BYTES,
    ) -> ServerResponse:
        """Return the response to a request, with retries after transient errors.

        Raises:
            RemoteError: the server rejects the request, is unreachable for `patience_s`, or is not a segarena server.
        """
        all_headers = dict(headers or {})
        if body is not None:
            all_headers["Content-Type"] = content_type
            all_headers.update(_digest(body))

        def once() -> ServerResponse:
            return self._once(method, path, body, all_headers, most_bytes)

        attempts = tenacity.Retrying(
            stop=tenacity.stop_before_delay(self.patience_s),
            wait=_pause_s,
            retry=tenacity.retry_if_exception_type(_Passing),
            sleep=self.sleep,
            before_sleep=self._report_trouble,
            reraise=True,
        )
        try:
            return attempts(once)
        except _Passing as error:
            raise RemoteError(
                f"{self.server}: {error}; tried for up to {self.patience_s:.0f} s. Finished work is kept; repeat the "
                "command to resume"
            ) from error

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        client = self._client
        self._client = None
        if client is not None:
            client.close()

    def _report_trouble(self, state: tenacity.RetryCallState) -> None:
        failure = state.outcome.exception() if state.outcome else None
        # A single lost request is normal; only the second in a row is worth a message, and only one
        # message.
        if self.on_trouble is not None and state.attempt_number == 2:
            self.on_trouble(
                f"{self.server}: {failure}; trying again for up to {self.patience_s:.0f} s"
            )

    def _opened(self) -> httpx2.Client:
        if self._client is None:
            headers = {
                "Authorization": f"Bearer {self.token}",
                "User-Agent": f"segarena/{__version__}",
                "Segarena-Api": str(API_VERSION),
                "Accept-Encoding": "identity",  # the size limit applies to the bytes as received
            }
            # A redirect would send the token to an address that the participant did not give.
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
            raise _Passing(str(error) or "the server is unreachable") from error
        except httpx2.TransportError as error:
            raise _Passing(str(error) or type(error).__name__) from error
        except httpx2.InvalidURL as error:
            raise RemoteError(
                f"{self.server}: the host name cannot be resolved: {error}"
            ) from error
        self._check(answer, path)
        return answer

    def _body(self, response: httpx2.Response, most_bytes: int) -> bytes:
        body = bytearray()
        # Count raw bytes, because a decompressed body could exceed the limit before it is noticed.
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > most_bytes:
                raise RemoteError(f"{self.server}: expected at most {most_bytes} bytes, got more")
        return bytes(body)

    def _check(self, answer: ServerResponse, path: str) -> None:
        """Raise an error for an error status, a redirect, or a different or missing version of the interface."""
        version = answer.headers.get("segarena-api", "")
        if answer.status in _TRANSIENT_STATUS:
            error = _error_body(answer)
            raise _Passing(_line(error) or f"HTTP {answer.status}", _wait_s(answer, error))
        if 300 <= answer.status < 400 and answer.status != HTTPStatus.NOT_MODIFIED:
            location = answer.headers.get("location", "another address")[:200]
            raise RemoteError(
                f"{self.server}: the server has moved to {location}; use that address"
            )
        if not version:
            raise RemoteError(
                f"{self.server}: expected a segarena server, got HTTP {answer.status} for {path}"
            )
        if version != str(API_VERSION):
            if _is_number(version) and int(version) > API_VERSION:
                remedy = "update segarena"
            else:
                remedy = "ask the organiser to update it"
            raise RemoteError(
                f"{self.server}: the server uses version {version[:20]} of the interface, "
                f"but this client uses version {API_VERSION}; {remedy}"
            )
        if answer.status >= 400:
            error = _error_body(answer)
            # A quota lasts for hours, so only the other limits are worth a retry.
            if answer.status == HTTPStatus.TOO_MANY_REQUESTS and error.error != "quota":
                raise _Passing(_line(error) or "too many requests", _wait_s(answer, error))
            where = f"{self.server}{path}" if answer.status == HTTPStatus.NOT_FOUND else self.server
            raise RemoteError(f"{where}: {_error_text(answer.status, error, self.server, path)}")


def _digest(body: bytes) -> dict[str, str]:
    """Return the Content-Digest header (RFC 9530), so that the server knows the hash before the body arrives."""
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    return {"Content-Digest": f"sha-256=:{digest}:"}


def _error_text(
    status: int,
    error: ErrorBody,
    server: str,
    path: str,
) -> str:
    message = _line(error) or f"HTTP {status}"
    if status == HTTPStatus.UNAUTHORIZED:
        return (
            "the server does not know the token; create another one on your page there, then: "
            f"segarena login {server}"
        )
    if error.error in ("terms", "approval") and path.startswith("/challenges/"):
        challenge = "/".join(path.split("/")[:3])
        return f"{message}: segarena join {server}{challenge}"
    if error.error == "quota" and error.retry_after_s:
        return f"{message}; try again in {_duration(error.retry_after_s)}"
    return message


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def _line(error: ErrorBody) -> str:
    return " ".join(error.message.split())[:500]


def _error_body(answer: ServerResponse) -> ErrorBody:
    try:
        return msgspec.json.decode(answer.body, type=ErrorBody)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ErrorBody()


def _wait_s(answer: ServerResponse, error: ErrorBody) -> float:
    if error.retry_after_s:
        return error.retry_after_s
    header = answer.headers.get("retry-after", "").strip()
    return float(header) if _is_number(header) else 0.0


def _is_number(text: str) -> bool:
    """Return whether a header is a number of reasonable length; headers may contain digits of other scripts."""
    return text.isascii() and text.isdecimal() and len(text) < 10


def _pause_s(state: tenacity.RetryCallState) -> float:
    """Return the delay before a retry: it doubles up to a limit, and is at least the delay that the server requests."""
    failure = state.outcome.exception() if state.outcome else None
    server_wait_s = failure.wait_s if isinstance(failure, _Passing) else 0.0
    backoff_s = 0.5 * 2.0 ** (state.attempt_number - 1)
    return max(min(backoff_s, _LONGEST_PAUSE_S), server_wait_s)


def _is_tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
